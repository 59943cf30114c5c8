// A source in assembly: its instructions are steps, and their stores wait in buffers, as those of C.
// with: assembly_source.S
// check: --checks crash
// exit: 100
// finds: assertion `counter == 2` is false
// check: --checks crash -DIN_PARTS
// exit: 100
// finds: assertion `counter == 2` is false
// check: --checks crash -DLOCKED
// exit: 0
// check: --checks crash -DSTRING
// exit: 100
// finds: assertion `counter == 0x01010101 || counter == 0x02020202` is false
// check: --checks crash -DSTRING -DMUTEX
// exit: 0
// check: --checks crash -DBITS
// exit: 100
// finds: assertion `counter == 3` is false
// check: --checks crash -DBITS -DMUTEX
// exit: 0
// check: --checks crash -DSPINS
// exit: 0
// check: --checks crash -DSPINS -DBROKEN
// exit: 100
// finds: assertion `!(inside[0] && inside[1])` is false
// check: --checks crash -DMEETS
// exit: 100
// finds: assertion `saw[0] || saw[1]` is false
// check: --checks crash -DMEETS --model sc
// exit: 0
// check: --checks crash -DMEETS -DFENCED
// exit: 0
// check: --checks crash -DMEETS -DLOCKED_STACK
// exit: 0
// check:
// exit: 100
// finds: assertion `counter == 2` is false
// finds: data-race data race on `counter`
#include <assert.h>
#include <pthread.h>

int counter;
void bump(int number);
void take(int *lock);
int meet(int *mine, int *theirs);

static int side[2], saw[2], held, inside[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    long number = (long)argument;
#ifdef MUTEX
    pthread_mutex_lock(&mutex);
#endif
#if defined SPINS
    take(&held);
    __atomic_store_n(&inside[number], 1, __ATOMIC_SEQ_CST);
    assert(!(inside[0] && inside[1]));
    __atomic_store_n(&inside[number], 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
#elif defined MEETS
    saw[number] = meet(&side[number], &side[1 - number]);
#else
    bump(number + 1);
#endif
#ifdef MUTEX
    pthread_mutex_unlock(&mutex);
#endif
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
#if defined MEETS
    assert(saw[0] || saw[1]);
#elif defined STRING
    assert(counter == 0x01010101 || counter == 0x02020202);
#elif defined BITS
    assert(counter == 3);
#elif !defined SPINS
    assert(counter == 2);
#endif
}
