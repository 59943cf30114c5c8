// What constructors made, locked or created before `main` is there in every run.
// check: --checks crash
// exit: 0
// check: --checks crash -DCREATES
// exit: 0
// check: --checks crash -DFAILS
// exit: 100
// finds: assertion `count == 3` is false
// check: --checks crash -DCREATES -DFAILS
// exit: 100
// finds: assertion `count == 3` is false
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
static sem_t full;
static pthread_mutex_t recursive, held;
static pthread_cond_t changed;
static pthread_rwlock_t shared;
static pthread_barrier_t meeting;
static pthread_spinlock_t spinning, spun;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int count, ready, onces;
static _Atomic int destroyed;

static void first(void) { onces++; }
static void destroy(void *unused) { destroyed++; }
static void *work(void *unused) {
  pthread_once(&once, first);
  pthread_setspecific(key, &key);
  sem_wait(&full);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&recursive);
  pthread_spin_lock(&spinning);
#ifdef FAILS
  pthread_spin_unlock(&spinning);
  pthread_mutex_unlock(&recursive);
  pthread_mutex_unlock(&recursive);
  sem_post(&full);
#endif
  int found = __atomic_load_n(&count, __ATOMIC_RELAXED);
  __atomic_store_n(&count, found + 1, __ATOMIC_RELAXED);
#ifndef FAILS
  pthread_spin_unlock(&spinning);
  pthread_mutex_unlock(&recursive);
  pthread_mutex_unlock(&recursive);
  sem_post(&full);
#endif
  return 0;
}
#ifdef CREATES
static pthread_t early;
#endif
__attribute__((constructor)) static void construct(void) {
  sem_init(&full, 0, 1);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  pthread_mutex_init(&held, 0);
  pthread_mutex_lock(&held);
  pthread_cond_init(&changed, 0);
  pthread_rwlock_init(&shared, 0);
  pthread_rwlock_rdlock(&shared);
  pthread_barrier_init(&meeting, 0, 2);
  pthread_spin_init(&spinning, 0);
  pthread_spin_init(&spun, 0);
  pthread_spin_lock(&spun);
  pthread_once(&once, first);
  pthread_key_create(&key, destroy);
#ifdef CREATES
  pthread_create(&early, 0, work, 0);
#endif
}
static void *waits(void *unused) {
  // What a constructor still holds is held.
  assert(pthread_mutex_trylock(&held) != 0);
  assert(pthread_spin_trylock(&spun) != 0);
  assert(pthread_rwlock_trywrlock(&shared) != 0);
  pthread_barrier_wait(&meeting);
  pthread_mutex_lock(&held);
  while (!ready)
    pthread_cond_wait(&changed, &held);
  pthread_mutex_unlock(&held);
  pthread_rwlock_wrlock(&shared);
  pthread_rwlock_unlock(&shared);
  pthread_spin_lock(&spun);
  pthread_spin_unlock(&spun);
  return work(0);
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, waits, 0);
  pthread_barrier_wait(&meeting);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&held);
  pthread_rwlock_unlock(&shared);
  pthread_spin_unlock(&spun);
  pthread_join(a, 0);
#ifdef CREATES
  b = early;
#else
  pthread_create(&b, 0, work, 0);
#endif
  pthread_t c;
  pthread_create(&c, 0, work, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  assert(count == 3);
  assert(onces == 1 && destroyed == 3);
  return 0;
}
