// executions: 2: 2, 3: 6, 4: 24, 5: 120, 6: 720, 7: 5040
// put together
#include "common.h"
atomic_int x;
static void *add(void *_) { atomic_fetch_add(&x, 1); return 0; }
static void *(*of(int i))(void *) { return add; }
static int program(void) { run(N, of); return x != N; }
