// The same with a flag that keeps transactions away from who holds the lock. The flag must be seen before anything that the lock protects is
// touched: a store waits in the store buffer, so it takes a fence, or the increment is lost as before.
// check: -mrtm --model sc -DK=2 -DN=1
// exit: 0
// schedules: 10
// check: -mrtm -DK=2 -DN=2
// exit: 0
// check: -mrtm -DK=3 -DN=1
// exit: 0
// check: -mrtm --model sc -DK=2 -DN=2 -DNO_FENCE
// exit: 0
// check: -mrtm -DK=2 -DN=1 -DNO_FENCE
// exit: 100
// finds: assertion x == K * N
#include "../all_threads.h"
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>

static int x;
static atomic_bool stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    for (int i = 0; i < N; i++) {
        if (_xbegin() == _XBEGIN_STARTED) {
            if (atomic_load_explicit(&stop, memory_order_relaxed))
                _xabort(1);
            x++;
            _xend();
        } else {
            pthread_mutex_lock(&lock);
#ifdef NO_FENCE
            atomic_store_explicit(&stop, 1, memory_order_release);
#else
            atomic_store(&stop, 1);
#endif
            x++;
            atomic_store_explicit(&stop, 0, memory_order_release);
            pthread_mutex_unlock(&lock);
        }
    }
    return unused;
}

int main(void) {
    all_threads(work, 0);
    assert(x == K * N);
}
