#include <signal.h>
#include "../support/hooks.h"
/* A handler that returns without mending anything, whatever it does itself, has not handled the fault. */
static int got;
static uint64_t *p;
static void on_fault(int s) { STEP(); if (got++ < 3) __lf_store8(p, got, 0, SITE); }
int main(void) {
    p = lf_pm(64);
    signal(SIGSEGV, on_fault);
    *(volatile int *)8 = 1;
    return 0;
}
