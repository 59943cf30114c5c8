// executions: 2: 6, 3: 66, 4: 1200, 5: 32880
// put together
#include "common.h"
atomic_int x;
static void *go(void *i) { cas(&x, 0, 1); store(x, (intptr_t)i + 3); return 0; }
static void *(*of(int i))(void *) { return go; }
static int program(void) { run(N, of); return 0; }
