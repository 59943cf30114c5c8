// Critical sections of one lock that share nothing need no order; the lock adds nothing to what they share. Unless somebody could see it held.
// check: -DN=3
// schedules: 1
// check: -DN=5 --model sc
// schedules: 1
// check: -DN=3 -DLOOKS
// schedules: 1
// check: -DN=3 -DSHARES
// schedules: 6
// check: -DN=4 -DSHARES -O2 --model sc
// schedules: 24
// check: -DN=3 -DSPINS
// schedules: 1
// check: -DN=3 -DNESTED
// schedules: 6
// check: -DN=2 -DTRIES
// exit: 100
// finds: assertion `got` is false
// check: -DN=2 -DTRIES -DNESTED --model sc
// exit: 100
// finds: assertion `got` is false
// check: -DN=2 -DTIMED
// exit: 100
// finds: assertion `got` is false
// check: -DN=2 -DHIDES
// exit: 100
// finds: data-race data race on `outside`
// check: -DN=2 -DHIDES --model sc
// exit: 100
// finds: data-race data race on `outside`
// check: -DN=2 -DHIDES --races limited
// exit: 100
// finds: data-race data race on `outside`
// check: -DN=3 -DDECIDES
// exit: 100
// finds: assertion `value[2] != 6` is false
// check: -DN=2 -DFAILS
// exit: 100
// finds: assertion `value[1] == 0` is false
// check: -DN=2 -DKEEPS
// exit: 100
// finds: deadlock every thread waits
// check: -DN=2 -DINVERTS
// exit: 100
// finds: deadlock 2 threads wait for each other
// check: -DN=2 -DDESTROYS
// exit: 100
// finds: lock-misuse destroys `lock`, which
// check: -DN=2 -DPOLLS
// exit: 0
// check: -DN=2 -DFENCES
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static int value[N + 1], shared, outside, got, done;

static void take(void) {
#ifdef SPINS
    pthread_spin_lock(&spin);
#else
#ifdef NESTED
    pthread_mutex_lock(&outer);
#endif
    pthread_mutex_lock(&lock);
#endif
}

static void give(void) {
#ifdef SPINS
    pthread_spin_unlock(&spin);
#else
    pthread_mutex_unlock(&lock);
#ifdef NESTED
    pthread_mutex_unlock(&outer);
#endif
#endif
}

static void *works(void *argument) {
    int me = (int)(long)argument;
#ifdef HIDES
    if (me == 0)
        outside = 1;
#endif
#ifdef POLLS
    for (int seen = 0; me == 0 && !seen;) {
        take();
        seen = done;
        give();
    }
#endif
    take();
    value[me]++;
#ifdef LOOKS
    value[me] += shared;
#endif
#ifdef SHARES
    shared++;
#endif
#ifdef DECIDES
    if (me == 0)
        shared = 1;
    if (me == 1 && shared == 0)
        value[2] = 6;
    if (me == 2)
        value[2] = 7;
#endif
#ifdef FAILS
    if (me == 0)
        assert(value[1] == 0);
#endif
#ifdef KEEPS
    if (me == 0)
        pthread_exit(0);
#endif
#ifdef FENCES
    atomic_thread_fence(memory_order_seq_cst);
#endif
#ifdef INVERTS
    if (me == 0) {
        pthread_mutex_lock(&outer);
        pthread_mutex_unlock(&outer);
    }
#endif
#ifdef POLLS
    done |= me;
#endif
    give();
#ifdef HIDES
    if (me == 1)
        outside = 2;
#endif
#ifdef INVERTS
    if (me == 1) {
        pthread_mutex_lock(&outer);
        take();
        give();
        pthread_mutex_unlock(&outer);
    }
#endif
    return 0;
}

#if defined(TRIES) || defined(TIMED)
static void *tries(void *unused) {
#ifdef TIMED
    struct timespec soon = {1, 0};
    if (pthread_mutex_timedlock(&lock, &soon) != 0)
        return 0;
#else
    if (pthread_mutex_trylock(&lock) != 0)
        return 0;
#endif
    got = 1;
    pthread_mutex_unlock(&lock);
    return 0;
}
#endif

#ifdef DESTROYS
static void *destroys(void *unused) {
    pthread_mutex_destroy(&lock);
    return 0;
}
#endif

int main(void) {
    pthread_t threads[N], another;
    pthread_spin_init(&spin, 0);
    for (long i = 0; i < N; i++)
        pthread_create(&threads[i], 0, works, (void *)i);
#if defined(TRIES) || defined(TIMED)
    pthread_create(&another, 0, tries, 0);
    pthread_join(another, 0);
#endif
#ifdef DESTROYS
    pthread_create(&another, 0, destroys, 0);
    pthread_join(another, 0);
#endif
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], 0);
#ifdef SHARES
    assert(shared == N);
#endif
#ifdef DECIDES
    // The third came first, and then the second, before the first.
    assert(value[2] != 6);
#endif
#if defined(TRIES) || defined(TIMED)
    assert(got);
#endif
    (void)another;
    return 0;
}
