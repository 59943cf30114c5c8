// executions: 2: 5, 3: 13, 4: 33, 5: 81, 6: 193, 7: 449, 8: 1025, 9: 2305
// put together
#include "common.h"
atomic_int x;
static void *write_it(void *i) { store(x, 2); return 0; }
static void *swap(void *i) { cas(&x, 2, 3); return 0; }
static void *(*of(int i))(void *) { return i ? swap : write_it; }
static int program(void) { run(N + 1, of); return 0; }
