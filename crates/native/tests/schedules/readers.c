// executions: 2: 4, 8: 256, 13: 8192
// put together
#include "common.h"
atomic_int x;
static void *write_it(void *_) { store(x, 1); return 0; }
static void *read_it(void *_) { load(x); return 0; }
static void *(*of(int i))(void *) { return i ? read_it : write_it; }
static int program(void) { run(N + 1, of); return 0; }
