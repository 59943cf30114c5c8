// Threads that run the same on the same argument are explored up to renaming: who counts first does not matter. That they are joined one after
// the other tells nobody anything.
// check: --model tso -DN=4
// exit: 0
// schedules: 1
// symmetric: 24
// check: --model sc -DN=6
// exit: 0
// schedules: 1
// symmetric: 720
// More than 64 of them are alike, too.
// check: --checks crash -DN=100
// exit: 0
// schedules: 1
// check: --model sc -DN=4 --no-symmetry
// exit: 0
// schedules: 24
// check: --model tso -DN=3 -DSWAP
// exit: 0
// schedules: 8
// symmetric: 48
// check: --model tso -DN=3 -DSWAP --no-symmetry
// exit: 0
// schedules: 48
// check: --model sc -DN=3 -DLOCKS
// exit: 0
// schedules: 15
// symmetric: 90
// check: --model sc -DN=3 -DREADERS
// exit: 0
// schedules: 6
// symmetric: 36
// check: --model sc -DN=3 -DREADERS --no-symmetry
// exit: 0
// schedules: 36
// check: --model tso -DN=4 -DARGUMENTS
// exit: 0
// schedules: 24
// check: --model tso -DN=3 -DORDER
// exit: 100
// finds: assertion
// symmetric: 6
// check: --model sc -DN=2 -DANY --nondet 0,1 --no-symmetry
// exit: 100
// finds: assertion
// schedules: 8
// check: --model sc -DN=2 -DANY --nondet 0,1
// exit: 100
// finds: assertion
// symmetric: 8
// check: --model sc -DN=3 -DPLAIN
// exit: 100
// finds: data-race
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int count;
static int plain;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *counts(void *argument) {
    (void)argument;
#if defined(SWAP)
    int old = atomic_load(&count);
    while (!atomic_compare_exchange_strong(&count, &old, old + 1)) {
    }
#elif defined(LOCKS)
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&mutex);
        plain++;
        pthread_mutex_unlock(&mutex);
    }
#elif defined(READERS)
    pthread_rwlock_rdlock(&lock);
    int old = plain;
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    plain = old + 1;
    pthread_rwlock_unlock(&lock);
#elif defined(ANY)
    // One of them is told 0, the other one 1, and that one comes last.
    int mine = (int)lf_nondet();
    int old = atomic_fetch_add(&count, 1 + mine);
    assert(!(mine == 1 && old == 1));
#elif defined(PLAIN)
    plain++;
#else
    int old = atomic_fetch_add(&count, 1);
#ifdef ORDER
    // Whoever comes last.
    assert(old < N - 1);
#else
    (void)old;
#endif
#endif
    return 0;
}

int main(void) {
    pthread_t threads[N];
    for (intptr_t i = 0; i < N; i++) {
#ifdef ARGUMENTS
        pthread_create(&threads[i], 0, counts, (void *)i);
#else
        pthread_create(&threads[i], 0, counts, 0);
#endif
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], 0);
    }
    return 0;
}
