// A read-modify-write of assembly is one instruction: another thread may come between its load and its store, the thread's own handler may not.
// check: --checks crash
// exit: 0
// check: --checks crash --model sc
// exit: 0
// check: --checks crash -DSEPARATE
// exit: 100
// finds: assertion `x == 2` is false
// check: --checks crash -DOTHER
// exit: 100
// finds: assertion `x == 3` is false
#include <assert.h>
#include <pthread.h>
#include <signal.h>

static volatile int x;
static int handled;

static void add(void) {
#ifdef SEPARATE
    int was = x;
    x = was + 1;
#else
    __asm__ volatile("incl %0" : "+m"(x) : : "memory");
#endif
}

static void handler(int signal) {
    (void)signal;
    add();
    handled = 1;
}

static void *interrupted(void *unused) {
    add();
    return unused;
}

int main(void) {
    signal(SIGUSR1, handler);
    pthread_t thread;
    pthread_create(&thread, 0, interrupted, 0);
    pthread_kill(thread, SIGUSR1);
#ifdef OTHER
    add();
    pthread_join(thread, 0);
    if (handled)
        assert(x == 3);
#else
    pthread_join(thread, 0);
    if (handled)
        assert(x == 2);
#endif
}
