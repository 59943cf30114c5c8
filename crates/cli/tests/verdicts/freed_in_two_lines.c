// A block that spans two lines is freed while another thread's store to its first line is on its way: once called a data race without effect.
// check: -DSIZE=64
// exit: 100
// finds: use-after-free writes 4 bytes, 0 bytes into a block of 64 that was freed
// check: -DSIZE=64 -DFIRST
// exit: 100
// finds: use-after-free writes 4 bytes, 0 bytes into a block of 64 that was freed
// check: -DSIZE=64 -DJOINED
// exit: 0
// check: -DSIZE=640 --model sc
// exit: 100
// finds: use-after-free writes 4 bytes
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int *word;
static atomic_int over;

static void *user(void *unused) {
    if (!atomic_load_explicit(&over, memory_order_acquire))
        *word = 8;
    return unused;
}

int main(void) {
    word = malloc(SIZE);
    *word = 7;
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
#ifdef FIRST
    atomic_exchange(&over, 1);
#endif
#ifdef JOINED
    pthread_join(thread, 0);
    free(word);
#else
    free(word);
    pthread_join(thread, 0);
#endif
}
