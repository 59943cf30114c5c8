// A transaction, and where it fails a lock. The lock keeps other failures away, but no transaction: an increment is lost.
// check: -mrtm --model sc -DK=2 -DN=1
// exit: 100
// finds: assertion x == K * N
// finds: data-race x
// schedules: 10
// check: -mrtm -DK=2 -DN=2
// exit: 100
// finds: assertion x == K * N
#include "../all_threads.h"
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>

static int x;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    for (int i = 0; i < N; i++) {
        if (_xbegin() == _XBEGIN_STARTED) {
            x++;
            _xend();
        } else {
            pthread_mutex_lock(&lock);
            x++;
            pthread_mutex_unlock(&lock);
        }
    }
    return unused;
}

int main(void) {
    all_threads(work, 0);
    assert(x == K * N);
}
