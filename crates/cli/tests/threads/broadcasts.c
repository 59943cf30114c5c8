// N threads wait for one condition, each in a loop, and one broadcast lets all of them go on. Whether one of them waited, or came later and found it
// done, is nothing that anybody could tell; nor in which order they get the lock back. A signal lets one of them go on, whichever.
// check: -DN=1
// schedules: 1
// check: -DN=3 --no-symmetry
// schedules: 1
// check: -DN=5 --no-symmetry --model sc
// schedules: 1
// check: -DN=4 --no-symmetry -DOUTSIDE --spurious 0
// schedules: 1
// check: -DN=2 -DONCE
// exit: 100
// finds: deadlock
// check: -DN=2 -DTRUSTS
// exit: 100
// finds: deadlock
// check: -DN=2 -DCOUNTS
// exit: 100
// finds: assertion `left != 1` is false
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int ready, count;

static void *waits(void *arg) {
    pthread_mutex_lock(&lock);
#ifdef TRUSTS
    // Nothing says that the broadcast is still to come.
    pthread_cond_wait(&some, &lock);
#else
    while (!ready)
        pthread_cond_wait(&some, &lock);
#endif
#ifdef COUNTS
    count++;
    int left = N - count;
    assert(left != 1);
#endif
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[N];
    for (long i = 0; i < N; i++)
        pthread_create(&threads[i], 0, waits, (void *)i);
    pthread_mutex_lock(&lock);
    ready = 1;
#ifdef ONCE
    pthread_cond_signal(&some);
#elif !defined OUTSIDE
    pthread_cond_broadcast(&some);
#endif
    pthread_mutex_unlock(&lock);
#ifdef OUTSIDE
    pthread_cond_broadcast(&some);
#endif
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], 0);
}
