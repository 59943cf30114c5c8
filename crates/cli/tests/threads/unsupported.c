// Calls whose answer depends on the schedule in a way that is not searched are refused, not guessed.
// check: -DTRY_JOIN
// exit: 2
// says: pthread_tryjoin_np and pthread_timedjoin_np are not supported
// check: -DREQUEUE
// exit: 2
// says: futex: only FUTEX_WAIT and FUTEX_WAKE are supported
// check: -DBITS
// exit: 2
// says: futex: only FUTEX_WAIT and FUTEX_WAKE are supported
// check: -DMANY
// exit: 2
// says: more than 512 threads in one run that their creator has not joined
// check: -DWAITERS --bound preemptions=0
// exit: 2
// says: more than 28 threads wait for one condition
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static int word, other;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *nothing(void *unused) { return unused; }

static void *waits(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
#if defined(TRY_JOIN)
    if (!pthread_tryjoin_np(thread, 0)) return 0;
#elif defined(REQUEUE)
    syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 0);
#elif defined(BITS)
    syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, 0, 0, 2);
#endif
    pthread_join(thread, 0);
#ifdef MANY
    for (int i = 0; i < 600; i++)
        pthread_create(&thread, 0, nothing, 0);
#endif
#ifdef WAITERS
    for (int i = 0; i < 40; i++)
        pthread_create(&thread, 0, waits, 0);
    pthread_join(thread, 0);
#endif
    return 0;
}
