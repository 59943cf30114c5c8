#include <pthread.h>
#include <stdio.h>
#include "../support/hooks.h"
/* A mutex and a reader-writer lock in persistent memory. */
int main(void) {
    pthread_mutex_t *m = lf_pm(4096); pthread_rwlock_t *r = (pthread_rwlock_t *)((char *)m + 128), v = PTHREAD_RWLOCK_INITIALIZER;
    pthread_mutex_init(m, 0); pthread_mutex_lock(m); pthread_mutex_unlock(m);
    pthread_rwlock_init(r, 0); pthread_rwlock_rdlock(r); pthread_rwlock_unlock(r); pthread_rwlock_wrlock(&v); pthread_rwlock_unlock(&v);
    return pthread_mutex_trylock(m);
}
