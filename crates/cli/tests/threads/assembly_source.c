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
// check: -DSTRING -DUNASKED
// exit: 5
// limit: unseen
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
void bump(void);
int meet(int *mine, int *theirs);

static int side[2], saw[2];

static void *work(void *argument) {
    long number = (long)argument;
#ifdef MEETS
    saw[number] = meet(&side[number], &side[1 - number]);
#else
    (void)number;
    bump();
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
#elif !defined UNASKED
    assert(counter == 2);
#endif
}
