// Who takes one lock, tries the other, and gives the first one back if it is taken: two of them may see each other do so again and again. What both did
// in vain, once, is tried; to do it again shows nothing new.
// check: -DN=2
// exit: 0
// schedules: 4
// check: -DN=2 -DYIELD -O2
// exit: 0
// schedules: 4
// check: -DN=3
// exit: 0
// schedules: 12
// What fails only where they do see each other is found.
// check: --checks crash -DN=2 -DSEEN
// exit: 100
// finds: assertion `0`
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t forks[N];
static int ate[N];

static void *dines(void *argument) {
    long i = (long)argument;
    pthread_mutex_t *left = &forks[i], *right = &forks[(i + 1) % N];
    for (;;) {
        pthread_mutex_lock(left);
        if (pthread_mutex_trylock(right) == 0) {
            ate[i]++;
            pthread_mutex_unlock(right);
            pthread_mutex_unlock(left);
            return 0;
        }
#ifdef SEEN
        assert(0);
#endif
        pthread_mutex_unlock(left);
#ifdef YIELD
        sched_yield();
#endif
    }
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&forks[i], 0);
    for (long i = 0; i < N; i++)
        pthread_create(&threads[i], 0, dines, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < N; i++)
        assert(ate[i] == 1);
}
