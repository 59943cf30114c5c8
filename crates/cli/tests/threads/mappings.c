// Memory that is unmapped, protected, moved, emptied or replaced while another thread uses it: every order of the two.
// check: --checks crash -DUNMAPS
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DUNMAPS -DJOINED
// check: --checks crash -DUNMAPS -DTOLD
// check: --checks crash -DUNMAPS -DBY_NUMBER
// exit: 100
// finds: segfault segmentation fault
// check: -DUNMAPS
// exit: 100
// finds: segfault segmentation fault
// finds: data-race nothing orders them
// check: --checks crash -DPROTECTS
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DPROTECTS -DREADS
// check: --checks crash -DMOVES
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DEMPTIES -DREADS
// exit: 100
// finds: assertion `*word == 7` is false
// check: --checks crash -DREPLACES -DREADS
// exit: 100
// finds: assertion `*word == 7` is false
// check: --checks crash -DREPLACES -DREADS -DJOINED
// check: --checks crash -DSHRINKS
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DUNMAPS --model sc
// exit: 100
// finds: segfault segmentation fault
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int *word;
static atomic_int told;

static void change(void) {
#ifdef UNMAPS
#ifdef BY_NUMBER
    syscall(SYS_munmap, word, 4096);
#else
    munmap(word, 4096);
#endif
#elif defined PROTECTS
    mprotect(word, 4096, PROT_READ);
#elif defined MOVES
    assert(mremap(word, 4096, 4 << 12, MREMAP_MAYMOVE) != MAP_FAILED);
#elif defined EMPTIES
    madvise(word, 4096, MADV_DONTNEED);
#elif defined REPLACES
    mmap(word, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#elif defined SHRINKS
    sbrk(-(1 << 16));
#endif
}

static void *user(void *unused) {
#ifdef READS
    assert(*word == 7);
#else
    *word = 8;
#endif
    told = 1;
    return unused;
}

int main(void) {
#ifdef SHRINKS
    word = sbrk(1 << 16);
    word = (int *)((char *)word + (1 << 15));
#else
    // What is behind it stays, so that it cannot grow where it is.
    word = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
    *word = 7;
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
#ifdef JOINED
    pthread_join(thread, 0);
    change();
#else
#ifdef TOLD
    if (told)
#endif
        change();
    pthread_join(thread, 0);
#endif
}
