// expect: persistency-race racing copied
// expect: persistency-race racing across
// expect: persistency-race racing odd
/* Stores that no instruction makes at once: of two words, across the end of a word, of three bytes. They stay findings. */
#include <landfall.h>
#include <stdint.h>
#include <string.h>

struct pair {
  uint64_t low, high;
};

struct log {
  _Alignas(64) struct pair pair;
  _Alignas(64) char bytes[16];
  _Alignas(64) char three[8];
};

int main(void) {
  struct log *log = lf_pm(sizeof *log);
  if (lf_failures()) {
    uint64_t across = 0;
    memcpy(&across, log->bytes + 4, sizeof across);
    return log->pair.low + across + (uint64_t)log->three[0] + (uint64_t)log->three[2] == 77;
  }
  struct pair pair = {1, 2};
  log->pair = pair; //~ copied
  lf_persist(log, sizeof *log);
  typedef uint64_t anywhere __attribute__((aligned(1)));
  *(anywhere *)(log->bytes + 4) = 0x1234567812345678; //~ across
  lf_persist(log, sizeof *log);
  memcpy(log->three, "abc", 3); //~ odd
  lf_persist(log, sizeof *log);
  return 0;
}
