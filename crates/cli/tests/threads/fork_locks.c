// Locks, conditions and semaphores between processes: in memory that both have they are one, elsewhere each has its own.
// check: --checks crash -DSEMAPHORE
// exit: 0
// check: --checks crash -DSEMAPHORE -DOWN
// exit: 100
// finds: deadlock
// check: -DMUTEX
// exit: 0
// check: --checks crash -DMUTEX -DOWN
// exit: 100
// finds: assertion `both->count == 2` is false
// check: --checks crash -DCONDITION
// exit: 0
// check: --checks crash -DCONDITION -DIF
// exit: 100
// finds: assertion `both->ready` is false
// check: --checks crash -DREADERS
// exit: 0
// check: --checks crash -DBARRIER
// exit: 0
// check: --checks crash -DHOLDS
// exit: 2
// says: the process holds a lock of its own
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct both {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_rwlock_t readers;
  pthread_barrier_t barrier;
  sem_t given;
  int ready;
  int count;
};

static struct both *both;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t own_semaphore;

static void make(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&both->lock, &attributes);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&both->changed, &condition);
  pthread_rwlockattr_t readers;
  pthread_rwlockattr_init(&readers);
  pthread_rwlockattr_setpshared(&readers, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&both->readers, &readers);
  pthread_barrierattr_t barrier;
  pthread_barrierattr_init(&barrier);
  pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&both->barrier, &barrier, 2);
  sem_init(&both->given, 1, 0);
  sem_init(&own_semaphore, 0, 0);
}

static void add(void) {
#ifdef OWN
  pthread_mutex_t *lock = &own_lock;
#else
  pthread_mutex_t *lock = &both->lock;
#endif
  pthread_mutex_lock(lock);
  both->count = both->count + 1;
  pthread_mutex_unlock(lock);
}

static void child(void) {
#ifdef SEMAPHORE
  both->ready = 1;
#ifdef OWN
  sem_post(&own_semaphore);
#else
  sem_post(&both->given);
#endif
#elif defined MUTEX
  add();
#elif defined CONDITION
  pthread_mutex_lock(&both->lock);
  both->ready = 1;
  pthread_cond_signal(&both->changed);
  pthread_mutex_unlock(&both->lock);
#elif defined READERS
  pthread_rwlock_wrlock(&both->readers);
  both->count = 1;
  both->ready = 1;
  pthread_rwlock_unlock(&both->readers);
#elif defined BARRIER
  both->ready = 1;
  pthread_barrier_wait(&both->barrier);
#endif
}

static void parent(void) {
#ifdef SEMAPHORE
#ifdef OWN
  sem_wait(&own_semaphore);
#else
  sem_wait(&both->given);
#endif
  assert(both->ready);
#elif defined MUTEX
  add();
#elif defined CONDITION
  pthread_mutex_lock(&both->lock);
#ifdef IF
  if (!both->ready)
#else
  while (!both->ready)
#endif
    pthread_cond_wait(&both->changed, &both->lock);
  assert(both->ready);
  pthread_mutex_unlock(&both->lock);
#elif defined READERS
  pthread_rwlock_rdlock(&both->readers);
  assert(both->ready == both->count);
  pthread_rwlock_unlock(&both->readers);
#elif defined BARRIER
  pthread_barrier_wait(&both->barrier);
  assert(both->ready);
#endif
}

int main(void) {
  both = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  make();
#ifdef HOLDS
  pthread_mutex_lock(&own_lock);
#endif
  pid_t id = fork();
  if (id == 0) {
    child();
    _exit(0);
  }
  parent();
  waitpid(id, 0, 0);
#ifdef MUTEX
  assert(both->count == 2);
#endif
  return 0;
}
