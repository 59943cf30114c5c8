// executions: 5: 64, 10: 3328
// put together
#include "common.h"
atomic_int a[32][16];
static void *reader(void *_) {
  int i = N;
  while (load(a[i][0]) != 0) i--;
  return 0;
}
static void *writer(void *i) { intptr_t j = (intptr_t)i; store(a[j][0], load(a[j - 1][0]) + 1); return 0; }
static void *(*of(int i))(void *) { return i ? writer : reader; }
static int program(void) { run(N + 1, of); return 0; }
