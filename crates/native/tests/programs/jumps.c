#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include "../support/hooks.h"
/* Leaves one fault thousands of times by a jump, and does something each time. */
static sigjmp_buf back;
static void on_fault(int s) { siglongjmp(back, s); }
int main(void) {
    uint64_t *p = lf_pm(64);
    signal(SIGSEGV, on_fault);
    for (volatile int i = 0; i < 3000; i++) {
        if (sigsetjmp(back, 1) == 0) *(volatile int *)8 = 1;
        __lf_store8(p, i, 0, SITE);
    }
    printf("%lu\n", __lf_load8(p, 0, SITE));
    return 0;
}
