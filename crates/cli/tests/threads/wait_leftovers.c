// What a turn in vain leaves behind is overlooked only if nobody ever reads it before it is written again: by its own thread, by another
// one that it tells, by main when all have ended, in a copy.
// check: --checks crash,data-races
// exit: 0
// schedules: 1
// check: --checks crash -DREADS_ITSELF
// exit: 100
// finds: assertion `slot->value != 1` is false
// check: --checks crash -DREADS_ITSELF --model sc -O2
// exit: 100
// finds: assertion `slot->value != 1` is false
// check: --checks crash -DREADS_IN_A_TURN
// exit: 100
// finds: assertion `slot->value != 1` is false
// check: --checks crash -DTELLS
// exit: 100
// finds: assertion `slot->value != 1` is false
// check: --checks crash -DREADS_AT_THE_END
// exit: 100
// finds: assertion `slot->value != 1` is false
// check: --checks crash -DCOPIES
// exit: 100
// finds: assertion `slot->value != 1` is false
// check: --checks crash -DGROWS
// exit: 100
// finds: assertion `slot->value != 1` is false
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct slot {
  int value;
};
static struct slot *slot;
static atomic_int x, stop, told;

static void look(void) { assert(slot->value != 1); }

/* Leaves what it found; the last turn leaves the loop before that. */
static int turn(void) {
  if (atomic_load(&stop)) {
#ifdef READS_IN_A_TURN
    look();
#endif
    return 1;
  }
  slot->value = atomic_load(&x);
  return 0;
}

static void *waits(void *unused) {
  while (!turn())
    ;
#ifdef READS_ITSELF
  look();
#elif defined COPIES
  struct slot copy;
  memcpy(&copy, slot, sizeof copy);
  slot = &copy;
  look();
#elif defined GROWS
  slot = realloc(slot, 4096);
  look();
#endif
  atomic_store(&told, 1);
  return unused;
}

static void *stops(void *unused) {
  atomic_store(&x, 1);
  atomic_store(&stop, 1);
#ifdef TELLS
  if (atomic_load(&told))
    look();
#endif
  return unused;
}

int main(void) {
  pthread_t a, b;
  slot = calloc(1, sizeof *slot);
  pthread_create(&a, 0, waits, 0);
  pthread_create(&b, 0, stops, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef READS_AT_THE_END
  look();
#endif
}
