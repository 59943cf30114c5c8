// Who finds it done commutes: one schedule for each who may do it.
// check: -DN=3 --no-symmetry
// schedules: 3
// check: -DN=3
// schedules: 1
// symmetric: 3
// check: -DN=4 --model sc --no-symmetry
// schedules: 4
// check: -DN=4 --model sc
// schedules: 1
// symmetric: 4
#include <assert.h>
#include "../support/threads.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int value;

static void make(void) { value = 1; }

static void *uses(void *unused) {
    pthread_once(&once, make);
    assert(value == 1);
    return 0;
}

int main(void) {
    run_threads(N, uses, 0, 0);
    return 0;
}
