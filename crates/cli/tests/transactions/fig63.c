// What transactions write is different for each thread, and where they fail all of it is read: a failure is in conflict with the successes of others,
// and with nothing else.
// check: -mrtm -DK=2 -DN=1
// exit: 0
// schedules: 6
// check: -mrtm -DK=3 -DN=1
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef K
#define K 2
#define N 1
#endif

static atomic_int done[K];

static void *work(void *number) {
    atomic_int *own = &done[(long)number];
    for (int i = 0; i < N; i++) {
        if (_xbegin() == _XBEGIN_STARTED) {
            int now = atomic_load_explicit(own, memory_order_relaxed);
            atomic_store_explicit(own, now + 1, memory_order_relaxed);
            _xend();
        } else {
            int all = 0;
            for (int k = 0; k < K; k++)
                all += atomic_load_explicit(&done[k], memory_order_relaxed);
            assert(all < K * N);
        }
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
