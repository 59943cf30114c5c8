// K threads that do the same, each told its number or nothing; they have all ended when this returns. How often each does it is N.
#include <pthread.h>

#ifndef K
#define K 2
#define N 1
#endif

static void all_threads(void *(*work)(void *), int numbered) {
    pthread_t threads[K];
    for (long i = 0; i < K; i++)
        pthread_create(&threads[i], 0, work, numbered ? (void *)i : 0);
    for (int i = 0; i < K; i++)
        pthread_join(threads[i], 0);
}
