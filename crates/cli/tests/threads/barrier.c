// What comes after a barrier comes after the last arrival: a store that waits in its buffer, and whoever joins a thread that did nothing more.
// check: --model tso
// exit: 0
// check: --model sc
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static pthread_barrier_t first, second;
static atomic_int late, told;

static void *looks(void *unused) {
    intptr_t seen = atomic_load_explicit(&late, memory_order_relaxed);
    pthread_barrier_wait(&first);
    return (void *)seen;
}

static void *stores(void *unused) {
    pthread_barrier_wait(&first);
    atomic_store_explicit(&late, 1, memory_order_relaxed);
    return 0;
}

static void *passes(void *unused) {
    pthread_barrier_wait(&second);
    return 0;
}

static void *tells(void *unused) {
    atomic_store_explicit(&told, 1, memory_order_relaxed);
    pthread_barrier_wait(&second);
    return 0;
}

int main(void) {
    pthread_t a, b, c, d;
    void *seen;
    pthread_barrier_init(&first, 0, 2);
    pthread_barrier_init(&second, 0, 2);
    pthread_create(&a, 0, looks, 0);
    pthread_create(&b, 0, stores, 0);
    pthread_join(a, &seen);
    pthread_join(b, 0);
    assert(!seen);
    pthread_create(&c, 0, passes, 0);
    pthread_create(&d, 0, tells, 0);
    pthread_join(c, 0);
    assert(atomic_load_explicit(&told, memory_order_relaxed) == 1);
    pthread_join(d, 0);
    return 0;
}
