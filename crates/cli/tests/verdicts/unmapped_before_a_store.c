// A thread has looked whether it may store, and the memory goes before it does: once clean, where stores wait in buffers.
// check: --checks crash
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash --model sc
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DTWICE
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DLOCKED
// exit: 0
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static int *word;
static atomic_int over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *user(void *unused) {
#ifdef LOCKED
    pthread_mutex_lock(&lock);
#endif
    if (!atomic_load_explicit(&over, memory_order_acquire))
        *word = 8;
#ifdef LOCKED
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void) {
    word = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
#ifdef LOCKED
    pthread_mutex_lock(&lock);
#endif
    atomic_exchange(&over, 1);
#ifdef LOCKED
    pthread_mutex_unlock(&lock);
#endif
    munmap(word, 4096);
#ifdef TWICE
    munmap(word, 4096);
#endif
    pthread_join(thread, 0);
}
