// executions: 2: 2, 3: 5, 4: 14, 5: 43, 6: 144, 7: 523, 8: 2048
// put together
#include "common.h"
atomic_int x;
static void *rotate(void *i) { cas(&x, (intptr_t)i, (intptr_t)i + 1); return 0; }
static void *(*of(int i))(void *) { return rotate; }
static int program(void) { run(N, of); return 0; }
