// Two threads die of the same memory, one of them always first where nobody may come between: once not deterministic.
// check: --checks crash
// exit: 100
// finds: segfault segmentation fault
// finds: segfault segmentation fault
// check: --checks crash --model sc
// exit: 100
// finds: segfault segmentation fault
// finds: segfault segmentation fault
// check: --checks crash -DBY_NUMBER
// exit: 100
// finds: segfault segmentation fault
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int *word;

static void *user(void *unused) {
    atomic_load(word + 16);
    return unused;
}

static void *owner(void *unused) {
#ifdef BY_NUMBER
    syscall(SYS_munmap, word, 4096);
#else
    munmap(word, 4096);
#endif
    __asm__ volatile("incl %0" : "+m"(*word) : : "memory");
    return unused;
}

int main(void) {
    word = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, user, 0);
    pthread_create(&threads[1], 0, owner, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
