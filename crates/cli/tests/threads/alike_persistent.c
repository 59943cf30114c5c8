// Threads that are alike, and the power fails: what one order of them leaves, every renaming of it leaves.
// check: --model tso --checks crash
// exit: 5
// limit: recover-schedules
// schedules: 1
// symmetric: 6
// check: --model tso --checks crash --no-symmetry
// exit: 5
// limit: recover-schedules
// schedules: 6
// check: --model tso --checks crash -DFORGETS
// exit: 100
// finds: assertion
// schedules: 1
// symmetric: 6
// check: --model sc --checks crash -DFORGETS --failures 2
// exit: 100
// finds: assertion
// symmetric: 6
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { THREADS = 3 };

struct pool {
    _Alignas(64) _Atomic uint64_t count;
    _Alignas(64) _Atomic uint64_t all;
    _Alignas(64) uint64_t begun;
};

static struct pool *pool;

static void *counts(void *unused) {
    (void)unused;
    uint64_t old = atomic_fetch_add(&pool->count, 1);
    if (old == THREADS - 1) {
#ifndef FORGETS
        _mm_clflush((void *)&pool->count);
#endif
        atomic_store(&pool->all, 1);
        _mm_clflush((void *)&pool->all);
    }
    return 0;
}

int main(void) {
    pool = lf_pm(sizeof *pool);
    if (pool->begun) {
        assert(!pool->all || pool->count == THREADS);
        return 0;
    }
    pool->begun = 1;
    _mm_clflush(&pool->begun);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], 0, counts, 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], 0);
    }
    return 0;
}
