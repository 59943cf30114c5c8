// A wait for a condition after which its thread only looks again, and before which it had only taken the lock, could as well not have been: it
// costs nothing. Where something can tell it is tried.
// check: -DWAITERS=2 --no-symmetry
// schedules: 1
// check: -DWAITERS=2 --no-symmetry -O2 --model sc
// schedules: 1
// check: -DWAITERS=2 -DSIGNALS_TWICE
// exit: 0
// check: -DWAITERS=2 -DSIGNALS
// exit: 100
// finds: deadlock
// check: -DWAITERS=2 -DSIGNALS -DFIRST_LOOKS_FOR_MORE
// exit: 100
// finds: deadlock
// check: -DWAITERS=1 -DSIGNALS -DTOO_EARLY
// exit: 100
// finds: deadlock
// check: -DWAITERS=1 -DCOUNTS
// exit: 100
// finds: assertion `!(waiting && !ready)` is false
// check: -DWAITERS=1 -DON_STACK
// exit: 100
// finds: assertion `!(mine && *mine && !ready)` is false
// check: -DWAITERS=1 -DGIVES_UP
// exit: 100
// finds: assertion `ready` is false
// check: -DWAITERS=1 -DREADS_FIRST
// exit: 100
// finds: assertion `seen == other` is false
// check: -DWAITERS=1 -DONCE_ONLY
// exit: 100
// finds: assertion `ready` is false
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int ready, more, waiting, stop, other, *mine;

static void *waits(void *arg) {
    int on_stack = 0;
    (void)arg;
#ifdef ON_STACK
    pthread_mutex_lock(&lock);
    mine = &on_stack;
    pthread_mutex_unlock(&lock);
#endif
    pthread_mutex_lock(&lock);
    on_stack = 1;
#ifdef COUNTS
    waiting = 1;
#endif
#ifdef READS_FIRST
    int seen = other;
#endif
#ifdef ONCE_ONLY
    if (!ready)
        pthread_cond_wait(&some, &lock);
#else
    while (!ready) {
        pthread_cond_wait(&some, &lock);
#ifdef GIVES_UP
        if (stop)
            break;
#endif
    }
#endif
    assert(ready);
#ifdef READS_FIRST
    assert(seen == other);
#endif
    on_stack = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void *waits_for_more(void *arg) {
    pthread_mutex_lock(&lock);
    while (!more)
        pthread_cond_wait(&some, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        void *(*runs)(void *) = waits;
#ifdef FIRST_LOOKS_FOR_MORE
        runs = i ? waits : waits_for_more;
#else
        (void)waits_for_more;
#endif
        pthread_create(&threads[i], 0, runs, 0);
    }
#ifdef TOO_EARLY
    pthread_cond_signal(&some);
#endif
    pthread_mutex_lock(&lock);
    assert(!(waiting && !ready));
    assert(!(mine && *mine && !ready));
#if defined GIVES_UP || defined ONCE_ONLY
    stop = 1;
#else
    other = 1;
    ready = 1;
#endif
#ifndef FIRST_LOOKS_FOR_MORE
    more = 1;
#endif
    pthread_mutex_unlock(&lock);
#ifdef SIGNALS_TWICE
    pthread_cond_signal(&some);
    pthread_cond_signal(&some);
#elif defined TOO_EARLY
#elif defined SIGNALS
    pthread_cond_signal(&some);
#else
    pthread_cond_broadcast(&some);
#endif
#ifdef FIRST_LOOKS_FOR_MORE
    pthread_join(threads[1], 0);
    pthread_mutex_lock(&lock);
    more = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&some);
#endif
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], 0);
}
