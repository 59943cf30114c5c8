// A fence that finds the store buffer empty would have waited, had the store been slower. Whoever reads z may do so before its own store.
// executions sc: 1: 10
// executions tso: 1: 12
#include "common.h"
#define relaxed memory_order_relaxed
static atomic_int x, y, z;
static void *first(void *i) {
    atomic_store_explicit(&x, 1, relaxed);
    atomic_load_explicit(&z, relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_load_explicit(&y, relaxed);
    return 0;
}
static void *second(void *i) {
    atomic_store_explicit(&y, 1, relaxed);
    atomic_load_explicit(&z, relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_load_explicit(&x, relaxed);
    return 0;
}
static void *third(void *i) { atomic_store_explicit(&z, 1, relaxed); return 0; }
static void *(*of(int i))(void *) { return i == 0 ? first : i == 1 ? second : third; }
static int program(void) { run(3, of); return 0; }
