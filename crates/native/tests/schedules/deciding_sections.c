// N threads with three critical sections each, of which each one decides by what it finds where it counts: one execution for each order,
// and next to no run more to know what they do in it.
// executions: 2: 20, 3: 1680
#include "common.h"
#include <assert.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long came, each[16];
static void *work(void *_) {
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&lock);
    each[came % 16]++;
    came++;
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
static void *(*of(int i))(void *) { return work; }
static int program(void) { run(N, of); assert(came == 3 * N && each[0] == 1); return 0; }
