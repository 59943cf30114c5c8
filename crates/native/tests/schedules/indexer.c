// executions: 12: 8, 15: 4096
// put together
#include "common.h"
atomic_int table[128][16];
static void *insert(void *t) {
  for (int i = 0; i < 4; i++) {
    int w = 11 * i + (int)(intptr_t)t, h = 7 * w % 128;
    while (!cas(&table[h][0], 0, w)) h = (h + 1) % 128;
  }
  return 0;
}
static void *(*of(int i))(void *) { return insert; }
static int program(void) { run(N, of); return 0; }
