// A spin lock that tries a transaction first. Nobody else is in the section (default); or, where sections touch different things, nobody has to wait
// (-DFAST): looking whether the lock is free by an instruction that always writes (-DALWAYS_WRITES) makes transactions abort each other.
// check: -mrtm --model sc -DK=2 -DN=1
// exit: 0
// check: -mrtm -DK=2 -DN=1 -DALWAYS_WRITES
// exit: 0
// check: -mrtm -DK=3 -DN=1
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifndef K
#define K 2
#define N 1
#endif

#ifdef MUTEX
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif
static atomic_int held;

static int is_free(void) {
#ifdef ALWAYS_WRITES
    int expected = 0;
    return atomic_compare_exchange_strong(&held, &expected, 0);
#else
    return atomic_load_explicit(&held, memory_order_relaxed) == 0;
#endif
}

static void acquire(void) {
    if (_xbegin() == _XBEGIN_STARTED) {
        if (is_free())
            return;
        _xabort(0xff);
    }
#ifdef MUTEX
    pthread_mutex_lock(&mutex);
    atomic_store(&held, 1);
#else
    int expected = 0;
    while (!atomic_compare_exchange_strong(&held, &expected, 1))
        expected = 0;
#endif
}

static void release(void) {
    if (is_free())
        _xend();
    else {
        atomic_store_explicit(&held, 0, memory_order_release);
#ifdef MUTEX
        pthread_mutex_unlock(&mutex);
#endif
    }
}

#ifdef FAST
static struct {
    _Alignas(64) int count;
} own[K];
#else
static int inside;
#endif

static void *work(void *number) {
    for (int i = 0; i < N; i++) {
        acquire();
#ifdef FAST
        assert(_xtest());
        own[(long)number].count++;
#else
        (void)number;
        inside++;
        if (!_xtest())
            sched_yield();
        assert(inside == 1);
        inside--;
#endif
        release();
    }
    return 0;
}

int main(void) {
    pthread_t threads[K];
    for (long i = 0; i < K; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < K; i++)
        pthread_join(threads[i], 0);
}
