// Signals that are not about an address are no segfaults.
// check: --checks crash -DEND=__builtin_trap()
// exit: 100
// finds: abort an instruction that there is not (SIGILL)
// not: segfault
// check: --checks crash -DEND=__builtin_debugtrap()
// exit: 100
// finds: abort a trap for a debugger (SIGTRAP)
// check: --checks crash -DEND=*valid/=zero
// exit: 100
// finds: abort arithmetic that has no result (SIGFPE)
// check: --checks crash -DEND=raise(SIGILL)
// exit: 100
// finds: abort an instruction that there is not (SIGILL)
// check: --checks crash -DEND=*null=1
// exit: 100
// finds: segfault segmentation fault at address 0x8
#include <landfall.h>
#include <signal.h>
int main(void) {
  long *valid = lf_pm(sizeof *valid);
  volatile long zero = 0, *volatile null = (long *)8;
  (void)zero, (void)null;
  if (lf_failures()) {
    if (*valid)
      END;
    return 0;
  }
  __atomic_store_n(valid, 1, __ATOMIC_RELEASE);
  lf_persist(valid, sizeof *valid);
  return 0;
}
