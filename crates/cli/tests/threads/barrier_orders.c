// In which order threads arrive at a barrier multiplies nothing; who is told to be the serial thread, by as many as there are; and who meets whom, where more come than it waits for.
// check: -DN=3
// schedules: 1
// check: -DN=4 --model sc
// schedules: 1
// check: -DN=5 -O2
// schedules: 1
// check: -DN=3 -DROUNDS=3
// schedules: 1
// check: -DN=3 -DSERIAL
// schedules: 3
// check: -DN=4 -DSERIAL --model sc
// schedules: 4
// check: -DN=5 -DSERIAL -O2
// schedules: 5
// check: -DN=3 -DSERIAL -DROUNDS=2
// schedules: 9
// Who only asks whether it failed does not ask who it is.
// check: -DN=3 -DFAILED
// schedules: 1
// check: -DN=4 -DFAILED -O2
// schedules: 1
// check: -DN=3 -DFAILED -DROUNDS=3 -O1 --model sc
// schedules: 1
// check: -DN=3 -DASSERTED
// schedules: 1
// check: -DN=3 -DASSERTED -O2
// schedules: 1
// check: -DN=3 -DSWITCHED
// schedules: 1
// check: -DN=3 -DSWITCHED -O2
// schedules: 1
// check: -DN=3 -DBOTH
// finds: data-race
// exit: 100
// check: -DN=4 -DPARTIES=2
// schedules: 6
// check: -DN=2 -DSERIAL -DWRONG
// exit: 100
// finds: assertion `serial[0] == 1` is false
// check: -DN=3 -DLATE
// exit: 100
// finds: data-race data race on `value[1]`
// check: -DN=3 -DPARTIES=2
// exit: 100
// finds: deadlock every thread waits
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef PARTIES
#define PARTIES N
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

static pthread_barrier_t barrier;
static int value[N], serial[ROUNDS], other;

static void *meets(void *argument) {
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        value[me]++;
#ifdef SERIAL
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            serial[round] = me + 1;
#elif defined(FAILED)
        int rc = pthread_barrier_wait(&barrier);
        if (rc != 0 && rc != PTHREAD_BARRIER_SERIAL_THREAD) {
            puts("cannot wait");
            exit(1);
        }
        rc = other;
        if (rc)
            abort();
#elif defined(BOTH)
        // Which of the two it is decides what is done, though none of it is a failure.
        int rc = pthread_barrier_wait(&barrier);
        if (rc != 0 && rc != PTHREAD_BARRIER_SERIAL_THREAD)
            exit(1);
        serial[round] += rc == 0 ? 1 : 2;
#elif defined(ASSERTED)
        int rc = pthread_barrier_wait(&barrier);
        assert(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
#elif defined(SWITCHED)
        switch (pthread_barrier_wait(&barrier)) {
        case 0:
        case PTHREAD_BARRIER_SERIAL_THREAD:
            break;
        default:
            exit(1);
        }
#else
        pthread_barrier_wait(&barrier);
#endif
#ifdef LATE
        if (me == 0)
            value[1]++;
#endif
#if PARTIES == N
        int sum = 0;
        for (int of = 0; of < N; of++)
            sum += value[of];
        assert(sum >= N * (round + 1));
        pthread_barrier_wait(&barrier);
#endif
    }
    return 0;
}

int main(void) {
    pthread_t threads[N];
    pthread_barrier_init(&barrier, 0, PARTIES);
    for (long i = 0; i < N; i++)
        pthread_create(&threads[i], 0, meets, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], 0);
#ifdef SERIAL
    for (int round = 0; round < ROUNDS; round++)
        assert(serial[round] != 0);
#endif
#ifdef WRONG
    // Not the last to come, and not the first created.
    assert(serial[0] == 1);
#endif
    pthread_barrier_destroy(&barrier);
    return 0;
}
