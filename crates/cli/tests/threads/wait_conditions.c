// A pool of two workers with futures, and a cache whose entries are made once: as written, and with every wait for a condition replaced by an assumption.
// check: -DPOOL -DTASKS=1 --no-symmetry
// schedules: 2
// check: -DPOOL -DTASKS=1 --no-symmetry -DASSUMED
// schedules: 2
// check: -DPOOL -DTASKS=2 --no-symmetry
// schedules: 8
// check: -DPOOL -DTASKS=2 --no-symmetry -DASSUMED
// schedules: 8
// check: -DCACHE -DREADERS=2 --no-symmetry
// schedules: 2
// check: -DCACHE -DREADERS=4 --no-symmetry
// schedules: 4
// check: -DCACHE -DREADERS=4 --no-symmetry -DASSUMED
// schedules: 4
#include <assert.h>
#include <landfall.h>
#include <pthread.h>

#ifdef ASSUMED
#define WAIT_UNTIL(c, condition, lock) \
    if (!(c)) { \
        pthread_mutex_unlock(lock); \
        lf_assume(0); \
    }
#define WAKE(how, condition) (void)0
#else
#define WAIT_UNTIL(c, condition, lock) \
    while (!(c)) \
    pthread_cond_wait(condition, lock)
#define WAKE(how, condition) pthread_cond_##how(condition)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;

#ifdef POOL
struct future {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int ready, value;
};

static struct future futures[TASKS];
static int queued, taken, stop;

static void *works(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        WAIT_UNTIL(stop || taken < queued, &some, &lock);
        if (taken == queued) {
            pthread_mutex_unlock(&lock);
            return arg;
        }
        int task = taken++;
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&futures[task].lock);
        futures[task].value = 7 + task;
        futures[task].ready = 1;
        pthread_mutex_unlock(&futures[task].lock);
        WAKE(broadcast, &futures[task].done);
    }
}

int main(void) {
    pthread_t workers[2];
    for (int i = 0; i < TASKS; i++) {
        pthread_mutex_init(&futures[i].lock, 0);
        pthread_cond_init(&futures[i].done, 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], 0, works, 0);
    for (int i = 0; i < TASKS; i++) {
        pthread_mutex_lock(&lock);
        queued++;
        pthread_mutex_unlock(&lock);
        WAKE(signal, &some);
    }
    for (int i = 0; i < TASKS; i++) {
        pthread_mutex_lock(&futures[i].lock);
        WAIT_UNTIL(futures[i].ready, &futures[i].done, &futures[i].lock);
        assert(futures[i].value == 7 + i);
        pthread_mutex_unlock(&futures[i].lock);
    }
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    WAKE(broadcast, &some);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], 0);
}
#endif

#ifdef CACHE
static int making, made, value;

static void *reads(void *arg) {
    pthread_mutex_lock(&lock);
    WAIT_UNTIL(!making, &some, &lock);
    if (!made) {
        making = 1;
        pthread_mutex_unlock(&lock);
        value = 7;
        pthread_mutex_lock(&lock);
        made = 1;
        making = 0;
        WAKE(broadcast, &some);
    }
    assert(value == 7);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], 0, reads, 0);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], 0);
}
#endif
