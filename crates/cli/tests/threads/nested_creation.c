// A bug that needs both of two threads to have created one; its schedule says who created whom.
// check: --model tso
// exit: 100
// finds: assertion order != 21
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int order;

static void *child(void *value) {
    order = order * 10 + *(int *)value;
    return 0;
}

static void *parent(void *value) {
    pthread_t thread;
    pthread_create(&thread, 0, child, value);
    pthread_join(thread, 0);
    return 0;
}

int main(void) {
    int one = 1, two = 2;
    pthread_t a, b;
    pthread_create(&a, 0, parent, &one);
    pthread_create(&b, 0, parent, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(order != 21);
    return 0;
}
