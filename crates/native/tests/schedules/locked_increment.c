// executions: 2: 2, 3: 6, 4: 24, 5: 120, 6: 720
// put together
#include "common.h"
#include <assert.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;
static void *increment(void *_) { pthread_mutex_lock(&m); x = x + 1; pthread_mutex_unlock(&m); return 0; }
static void *(*of(int i))(void *) { return increment; }
static int program(void) { run(N, of); assert(x == N); return 0; }
