// Memory from mmap is called by where it comes from, as blocks of the heap are; a race with who takes it away says what that means.
// check: --checks data-races
// exit: 100
// finds: data-race data race on `named_mapping.c:23 counters->more[1]`
// check: --checks data-races -DTAKEN
// exit: 100
// finds: data-race data race on `named_mapping.c:23 counters->first`
// note: who comes after `munmap` finds what that made of the memory
#include <pthread.h>
#include <sys/mman.h>
struct counters {
  long first;
  int more[2];
};
static struct counters *all;
static void *counts(void *unused) {
  all->first++;
  all->more[1]++;
  return unused;
}
int main(void) {
  pthread_t thread;
  struct counters *counters = mmap(0, sizeof *counters, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  all = counters;
  pthread_create(&thread, 0, counts, 0);
#ifdef TAKEN
  munmap(counters, sizeof *counters);
#else
  counters->more[1]++;
#endif
  pthread_join(thread, 0);
  return 0;
}
