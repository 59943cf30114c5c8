// A wait may end for no reason: whoever does not look again goes on too early.
// check: --checks crash
// exit: 100
// finds: assertion `ready` is false
// note: ends for no reason
// check: --checks crash --spurious 0
// schedules: 2
// check: --checks crash -DLOOP
// schedules: 2
// check: --checks crash -DLOOP -O2
// schedules: 2
// check: --checks crash -DLOOP --spurious 3
// schedules: 2
// check: --checks crash -DCOUNTS
// exit: 100
// finds: assertion `looked <= 1` is false
// check: --checks crash -DTWICE
// check: --checks crash -DTWICE --spurious 2
// exit: 100
// finds: assertion `ready` is false
// check: --checks crash -DTIMES
// exit: 100
// finds: assertion `ready` is false
// check: --checks crash -DC11
// exit: 100
// finds: assertion `ready` is false
// note: ends for no reason
// check: --checks crash -DFUTEX
// exit: 100
// finds: assertion `ready` is false
// note: ends for no reason
// check: --checks crash -DFUTEX -DLOOP
// check: --checks crash --sv-comp
// check: --checks crash -DLOOP -DMISSES
// exit: 100
// finds: assertion `waiting == 1` is false
// note: ends for no reason
// check: --checks crash -DLOOP -DMISSES --spurious 0
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting; // Who believes that somebody who waits stays there until a signal is wrong.
static mtx_t lock11;
static cnd_t changed11;

#ifdef FUTEX
static atomic_int ready;
static void enter(void) {}
static void leave(void) {}
static void wait(void) { syscall(SYS_futex, &ready, FUTEX_WAIT, 0, 0, 0, 0); }
static void wake(void) { syscall(SYS_futex, &ready, FUTEX_WAKE, 1, 0, 0, 0); }
#elif defined C11
static int ready;
static void enter(void) { mtx_lock(&lock11); }
static void leave(void) { mtx_unlock(&lock11); }
static void wait(void) { cnd_wait(&changed11, &lock11); }
static void wake(void) { cnd_signal(&changed11); }
#else
static int ready;
static void enter(void) { pthread_mutex_lock(&lock); }
static void leave(void) { pthread_mutex_unlock(&lock); }
static void wait(void) { pthread_cond_wait(&changed, &lock); }
static void wake(void) { pthread_cond_signal(&changed); }
#endif

static void *waiter(void *unused) {
    enter();
#if defined LOOP
    waiting++;
    while (!ready)
        wait();
    waiting--;
#elif defined COUNTS // A loop, but each turn leaves something.
    int looked = 0;
    while (!ready) {
        looked++;
        wait();
    }
    assert(looked <= 1);
#elif defined TWICE // Enough for one.
    if (!ready)
        wait();
    if (!ready)
        wait();
#elif defined TIMES // A loop that does not look.
    for (int i = 0; i < 1 && !ready; i++)
        wait();
#else
    if (!ready)
        wait();
#endif
    assert(ready);
    leave();
    return unused;
}

int main(void) {
    pthread_t thread;
    mtx_init(&lock11, mtx_plain);
    cnd_init(&changed11);
    pthread_create(&thread, 0, waiter, 0);
    enter();
#ifdef MISSES
    int there = waiting;
    ready = 1;
    leave();
    enter();
    if (there)
        assert(waiting == 1);
#else
    ready = 1;
#endif
    wake();
    leave();
    pthread_join(thread, 0);
}
