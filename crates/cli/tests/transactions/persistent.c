// What a transaction stored to persistent memory appears at once, and is durable line by line: half of it may be there after a power failure.
// check: -mrtm -mclwb
// exit: 0
// check: -mrtm -mclwb -DBOTH
// exit: 100
// finds: assertion p->a == p->b
// check: -mrtm -mclwb -DBOTH --platform eadr
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <stdint.h>

struct pool {
    // On one line.
    uint64_t a, beside;
    _Alignas(64) uint64_t b;
};

int main(void) {
    struct pool *p = lf_pm(sizeof *p);
    assert(p->a == p->beside);
#ifdef BOTH
    assert(p->a == p->b);
#endif
    if (_xbegin() == _XBEGIN_STARTED) {
        p->a = 1;
        p->beside = 1;
        p->b = 1;
        _xend();
        _mm_clwb(&p->a);
        _mm_clwb(&p->b);
        _mm_sfence();
    }
}
