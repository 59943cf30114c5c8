// Two workers take N tasks and create a thread for each.
// executions: 1: 3, 2: 14, 3: 59
#include "common.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left, done;
static void *task(void *i) {
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return 0;
}
static void *worker(void *i) {
    for (;;) {
        pthread_mutex_lock(&lock);
        int some = left;
        if (some) left--;
        pthread_mutex_unlock(&lock);
        if (!some) return 0;
        pthread_t child;
        pthread_create(&child, 0, task, 0);
        pthread_join(child, 0);
    }
}
static void *(*of(int i))(void *) { return worker; }
static int program(void) { left = N; run(2, of); return done != N; }
