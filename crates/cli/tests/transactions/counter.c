// A transaction, and where it fails one locked instruction.
// check: -mrtm -DK=2 -DN=1
// exit: 0
// schedules: 8
// check: -mrtm -DK=2 -DN=2
// exit: 0
// check: -mrtm -DK=3 -DN=1
// exit: 0
#include "../all_threads.h"
#include <assert.h>
#include <immintrin.h>
#include <stdatomic.h>

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
    all_threads(work, 0);
    assert(x == K * N);
}
