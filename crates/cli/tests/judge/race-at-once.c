// expect: clean
/* Plain stores that this compiler makes one instruction of, each: a line of the summary (`--checks races` lists them). */
#include <landfall.h>
#include <stdint.h>

struct pair {
  uint32_t low, high;
};

struct log {
  uint64_t number;
  struct pair pair;
  uint16_t small;
  uint64_t words[4];
};

int main(void) {
  struct log *log = lf_pm(sizeof *log);
  if (lf_failures()) {
    uint64_t sum = log->number + log->small + log->pair.low;
    for (int i = 0; i < 4; i++)
      sum += log->words[i];
    return sum == 77;
  }
  log->number = 5;
  lf_persist(log, sizeof *log);
  log->small = 1;
  lf_persist(log, sizeof *log);
  struct pair pair = {1, 2};
  log->pair = pair;
  lf_persist(log, sizeof *log);
  for (int i = 0; i < 4; i++)
    log->words[i] = i + 1;
  lf_persist(log, sizeof *log);
  return 0;
}
