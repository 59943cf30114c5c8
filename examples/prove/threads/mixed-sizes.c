/* A word is written as a whole and read in parts: another thread, and recovery, see all of it or nothing. Two words (-DTWO) are two steps,
 * on one line in order, so the second is never there alone; read the other way round (-DTWO -DBACKWARDS) the assertion fails. */
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>

union word {
  uint64_t whole;
  struct {
    uint32_t low;
    uint16_t middle, high;
  };
};

struct memory {
  _Alignas(64) union word first;
  union word second; /* on the same line */
  _Alignas(64) uint32_t seen_low;
  uint16_t seen_high;
};

static struct memory *memory;

static void *writes(void *argument) {
  memory->first.whole = 0x0003000200000001;
#ifdef TWO
  memory->second.whole = 0x0003000200000001;
#endif
  return argument;
}

static void *reads(void *argument) {
  uint64_t both = memory->first.whole;
  memory->seen_low = (uint32_t)both;
  memory->seen_high = (uint16_t)(both >> 48);
  assert((memory->seen_low == 1) == (memory->seen_high == 3));
  return argument;
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    assert((memory->first.low == 1) == (memory->first.high == 3));
#ifdef TWO
#ifdef BACKWARDS
    assert(memory->first.low != 1 || memory->second.middle == 2);
#else
    assert(memory->second.low != 1 || memory->first.middle == 2);
#endif
#endif
    return 0;
  }
  /* A store of a part makes the parts places of their own. */
  memory->first.middle = 0;
  pthread_t one, two;
  pthread_create(&one, NULL, writes, NULL);
  pthread_create(&two, NULL, reads, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  return 0;
}
