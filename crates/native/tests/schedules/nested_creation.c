// Threads that create threads: the order of creations, which says who has which number, times the order of the additions.
// executions: 1: 1, 2: 6, 3: 90
#include "common.h"
atomic_int x;
static void *add(void *i) { atomic_fetch_add(&x, 1); return 0; }
static void *create(void *i) {
    pthread_t child;
    pthread_create(&child, 0, add, 0);
    pthread_join(child, 0);
    return 0;
}
static void *(*of(int i))(void *) { return create; }
static int program(void) { run(N, of); return x != N; }
