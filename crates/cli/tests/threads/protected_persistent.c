// Persistent memory that a thread makes read-only: whoever stores there later ends; what was on its way when that happened arrives. Which comes
// first is not tried.
// check: --checks crash
// exit: 5
// limit: unseen
// limit: recover-schedules
// check: --checks crash --model sc
// exit: 5
// limit: unseen
// limit: recover-schedules
// check: --checks crash -DOTHERS
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DLATER
// exit: 100
// finds: segfault segmentation fault
// check: --checks crash -DLATER -O2 --model sc
// exit: 100
// finds: segfault segmentation fault
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
static long *pm;
static _Atomic int protected_now;

static void *stores(void *unused) {
#ifdef LATER
  while (!protected_now)
    ;
  pm[0] = 2;
#elif defined OTHERS
  pm[0] = 2;
  lf_persist(pm, 8);
#else
  // Another page.
  pm[512] = 2;
  lf_persist(&pm[512], 8);
#endif
  return unused;
}

int main(void) {
  pm = lf_pm(8192);
  pthread_t thread;
  pthread_create(&thread, 0, stores, 0);
  // Still on its way when the page is protected.
  pm[8] = 3;
  mprotect(pm, 4096, PROT_READ);
  protected_now = 1;
  return pthread_join(thread, 0);
}
