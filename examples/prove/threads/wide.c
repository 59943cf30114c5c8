/* Numbers of 128 bits: a counter of two words that a carry goes through. Its words lie on one line, the lower one is written first, so what is
 * found after a failure is the old number, the new one, or the new lower word below the old upper one.
 *
 * -DWHOLE asserts that it is never torn. */
#include <assert.h>
#include <emmintrin.h>
#include <landfall.h>
#include <stdint.h>

typedef unsigned __int128 wide;

struct memory {
  _Alignas(64) wide number;
  _Alignas(64) uint64_t done;
};

static const wide START = ((wide)1 << 64) - 2, STEP = 3;

/* (2^64 - 2 + 3) = 2^64 + 1; times 2^64 + 5 modulo 2^128 is 6 * 2^64 + 5. */
static void arithmetic(wide sum, __int128 less) {
  assert(sum == ((wide)1 << 64 | 1));
  assert(sum * (((wide)1 << 64) + 5) == ((wide)6 << 64) + 5);
  assert((uint64_t)(sum >> 64) == 1 && (uint64_t)(sum >> 1) == (uint64_t)1 << 63);
  assert((sum ^ sum) == 0 && (sum & 3) == 1 && sum > START);
  assert(less < 0 && (less >> 64) == -1 && (int64_t)less == -3 && less - 1 < less);
}

int main(void) {
  struct memory *memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    wide found = memory->number;
    assert(!memory->done || found == START + STEP);
#ifdef WHOLE
    assert(found == 0 || found == START + STEP);
#else
    assert(found == 0 || found == START + STEP || found == 1);
#endif
    return 0;
  }
  uint64_t any = lf_nondet();
  lf_assume(any < 4);
  wide sum = START + any;
  if (any == STEP)
    arithmetic(sum, -(__int128)any);
  memory->number = START + STEP;
  _mm_clflush(&memory->number);
  memory->done = 1;
  return 0;
}
