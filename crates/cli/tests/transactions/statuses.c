// What aborts a transaction, with which status, and that all of it is undone: variables of its function, memory, the heap.
// check: -mrtm -DBODY=_xabort(42); -DWANT=0x2a000001
// exit: 0
// schedules: 2
// check: -mrtm -DBODY=if(_xbegin()==_XBEGIN_STARTED){y=3;_xabort(9);} -DWANT=0x9000021
// exit: 0
// check: -mrtm -DBODY=getppid(); -DWANT=0
// exit: 0
// check: -mrtm -DBODY=*nowhere=1; -DWANT=0
// exit: 0
// check: -mrtm -DBODY=_mm_clflush(&x); -DWANT=0
// exit: 0
// check: -mrtm -DBODY=_mm_stream_si32(&x,1); -DWANT=0
// exit: 0
// check: -mrtm -DBODY=_mm_pause(); -DWANT=0
// exit: 0
// check: -mrtm -DBODY=half*=3; -DWANT=0
// exit: 0
// check: -mrtm -DBODY=grows(); -DWANT=0x3000001
// exit: 0
// check: -mrtm -DBODY=touches(64*8+1,64); -DWANT=8
// exit: 0
// check: -mrtm -DBODY=touches(9,4096); -DWANT=8
// exit: 0
// check: -mrtm -DBODY=touches(7,4096);_mm_mfence(); -DWANT=commits
// exit: 0
// check: -mrtm -DBODY=deep(6); -DWANT=commits
// exit: 0
// check: -mrtm -DBODY=deep(7); -DWANT=32
// exit: 0
// check: -mrtm -DBODY=;_xend(); -DWANT=commits
// exit: 100
// finds: segfault segmentation fault
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int x, y;
static char *volatile nowhere;
static volatile long double half;
static const unsigned commits = 77;
static char large[1 << 20] __attribute__((aligned(4096)));

static void grows(void) {
    int *one = malloc(16), *other = malloc(100);
    *one = 3;
    free(malloc(8));
    free(one);
    other[3] = 1;
    _xabort(3);
}

static void touches(int lines, int apart) {
    for (int i = 0; i < lines; i++)
        large[i * apart] = 1;
}

static void deep(int levels) {
    if (levels && _xbegin() == _XBEGIN_STARTED) {
        deep(levels - 1);
        _xend();
    }
}

static void *work(void *unused) {
    int local = 5;
    volatile int kept = 7;
    unsigned status = _xbegin();
    if (status == _XBEGIN_STARTED) {
        local = 6;
        kept = 8;
        x = 42;
        assert(_xtest());
        BODY
        _xend();
        assert(WANT == commits && x == 42 && local == 6 && kept == 8);
    } else {
        assert(status == WANT || status == _XABORT_RETRY);
        assert(local == 5 && kept == 7 && x == 0 && y == 0 && large[0] == 0);
    }
    assert(!_xtest());
    free(malloc(16));
    return unused;
}

int main(void) {
    pthread_t thread;
    _xabort(1);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
}
