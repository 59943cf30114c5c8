#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static sigjmp_buf back;
static int got;
static void on_segv(int s) { siglongjmp(back, s); }
static void on_usr1(int s) { got++; }
int main(void) {
    struct sigaction a; memset(&a, 0, sizeof a); a.sa_handler = on_segv; sigaction(SIGSEGV, &a, 0);
    signal(SIGUSR1, on_usr1);
    for (int i = 0; i < 3; i++) { if (sigsetjmp(back, 1) == 0) *(volatile int *)8 = 1; else printf("back %d\n", i); }
    raise(SIGUSR1); kill(getpid(), SIGUSR1);
    printf("usr1 %d\n", got);
    return 0;
}
