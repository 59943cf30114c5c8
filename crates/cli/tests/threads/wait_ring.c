// A ring for one producer and one consumer, each with a copy of the other's index. As many schedules as with its waits replaced by assumptions.
// check: --checks crash,data-races -DN=3
// exit: 0
// schedules: 5
// check: --checks crash,data-races -DN=3 -DASSUME
// exit: 0
// schedules: 5
// check: --checks crash,data-races -DN=5 -O2
// exit: 0
// check: --checks crash,data-races -DN=3 -DTOO_FULL
// exit: 100
// finds: data-race
#include <assert.h>
#include <stdatomic.h>
#include "../support/threads.h"

#ifdef TOO_FULL
#define ROOM 3
#else
#define ROOM 2
#endif
#ifdef ASSUME
#define WHILE(condition, look)                                                                                         \
  if (condition) {                                                                                                     \
    look;                                                                                                              \
    lf_assume(!(condition));                                                                                           \
  }
#else
#define WHILE(condition, look)                                                                                         \
  while (condition)                                                                                                    \
    look;
#endif

static int ring[2];
static atomic_uint head, tail;

static void *produces(void *unused) {
  unsigned seen = 0, at = 0;
  for (int i = 1; i <= N; i++) {
    WHILE(at - seen == ROOM, seen = atomic_load(&head))
    ring[at % 2] = i;
    atomic_store(&tail, ++at);
  }
  return unused;
}

static void *consumes(void *unused) {
  unsigned seen = 0, at = 0;
  for (int i = 1; i <= N; i++) {
    WHILE(at == seen, seen = atomic_load(&tail))
    int found = ring[at % 2];
    assert(ROOM == 3 || found == i);
    atomic_store(&head, ++at);
  }
  return unused;
}

int main(void) {
  run_both(produces, consumes);
}
