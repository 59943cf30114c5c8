// A transaction, and where it fails one locked instruction.
// check: -mrtm -DK=2 -DN=1
// exit: 0
// schedules: 8
// check: -mrtm -DK=2 -DN=2
// exit: 0
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

static atomic_int x;

static void *work(void *unused) {
    for (int i = 0; i < N; i++) {
        if (_xbegin() == _XBEGIN_STARTED) {
            int now = atomic_load_explicit(&x, memory_order_relaxed);
            atomic_store_explicit(&x, now + 1, memory_order_relaxed);
            _xend();
        } else {
            atomic_fetch_add(&x, 1);
        }
    }
    return unused;
}

int main(void) {
    pthread_t threads[K];
    for (int i = 0; i < K; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < K; i++)
        pthread_join(threads[i], 0);
    assert(x == K * N);
}
