#include <pthread.h>
#include "../support/hooks.h"
/* A lock made on a page no hook touched is not a store of foreign code. */
int main(void) {
    char *p = lf_pm(1 << 20);
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init((pthread_mutex_t *)(p + 8192 - 24), &a);
    return 0;
}
