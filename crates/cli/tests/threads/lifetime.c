// Locks and the like that are used after their end, or made anew while in use; and what is no misuse.
// also: --equivalence reads
// check: -DPOST
// exit: 100
// finds: lock-misuse thread 1 uses `semaphore`, which was destroyed
// check: -DTAKE
// exit: 100
// finds: lock-misuse thread 1 uses `semaphore`, which was destroyed
// check: -DTAKE --model sc --checks locks
// exit: 100
// finds: lock-misuse thread 1 uses `semaphore`, which was destroyed
// check: -DLOCK
// exit: 100
// finds: lock-misuse thread 1 uses `mutex`, which was destroyed
// check: -DREPLACED
// exit: 0
// check: -DWAITED
// exit: 100
// finds: lock-misuse main destroys `condition`, which others hold or wait for
// check: -DBROADCAST
// exit: 0
// check: -DMEETING
// exit: 100
// finds: lock-misuse main makes anew `barrier`, which others hold or wait for
// check: -DMET
// exit: 0
// check: -DREADS_TWICE
// exit: 0
// check: -DROBUST
// exit: 2
// says: a robust mutex
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static int ready, value;

static void *other(void *unused) {
#if defined(POST)
    sem_post(&semaphore);
#elif defined(TAKE)
    sem_wait(&semaphore);
#elif defined(LOCK) || defined(REPLACED) || defined(ROBUST)
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
#elif defined(WAITED) || defined(BROADCAST)
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
#elif defined(MEETING) || defined(MET)
    pthread_barrier_wait(&barrier);
#elif defined(READS_TWICE)
    pthread_rwlock_rdlock(&readers);
    pthread_rwlock_rdlock(&readers);
    pthread_rwlock_unlock(&readers);
    int once = value;
    assert(once == value);
    pthread_rwlock_unlock(&readers);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 1);
    pthread_barrier_init(&barrier, 0, 2);
#ifdef REPLACED
    // Destroyed, and initialised without a call.
    pthread_mutex_destroy(&mutex);
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
#endif
#ifdef ROBUST
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
#endif
    pthread_create(&thread, 0, other, 0);
#if defined(POST)
    sem_destroy(&semaphore);
#elif defined(TAKE)
    // Between the two it is gone.
    sem_destroy(&semaphore);
    sem_init(&semaphore, 0, 1);
#elif defined(LOCK)
    pthread_mutex_destroy(&mutex);
#elif defined(WAITED)
    pthread_cond_destroy(&condition);
#elif defined(BROADCAST)
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_cond_destroy(&condition);
    pthread_mutex_unlock(&mutex);
#elif defined(MEETING)
    pthread_barrier_init(&barrier, 0, 2);
    pthread_barrier_wait(&barrier);
#elif defined(MET)
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier);
#elif defined(READS_TWICE)
    pthread_rwlock_wrlock(&readers);
    value++;
    pthread_rwlock_unlock(&readers);
#endif
    pthread_join(thread, 0);
    return 0;
}
