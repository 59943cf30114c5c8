// Values change places in an array: in a transaction, or under the locks of both. Locks are words that transactions look at.
// check: -mrtm --model sc -DK=2 -DN=1
// exit: 0
// check: -mrtm -DK=2 -DN=2
// exit: 0
// check: -mrtm -DK=3 -DN=1
// exit: 0
// check: -mrtm -DK=2 -DN=1 -DIN_ANY_ORDER
// exit: 100
// finds: deadlock wait for each other
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef K
#define K 2
#define N 1
#endif
#define PLACES 2

static int values[PLACES];
static atomic_int held[PLACES];
static pthread_mutex_t locks[PLACES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void change_places(int a, int b) {
    int old = values[a];
    values[a] = values[b];
    values[b] = old;
}

static void take(int place) {
    pthread_mutex_lock(&locks[place]);
    atomic_store(&held[place], 1);
}

static void give_back(int place) {
    atomic_store_explicit(&held[place], 0, memory_order_release);
    pthread_mutex_unlock(&locks[place]);
}

static void swap(int a, int b) {
    if (_xbegin() == _XBEGIN_STARTED) {
        if (atomic_load_explicit(&held[a], memory_order_relaxed) ||
            atomic_load_explicit(&held[b], memory_order_relaxed))
            _xabort(1);
        change_places(a, b);
        _xend();
        return;
    }
#ifdef IN_ANY_ORDER
    int first = a, second = b;
#else
    int first = a < b ? a : b, second = a < b ? b : a;
#endif
    take(first);
    take(second);
    change_places(a, b);
    give_back(second);
    give_back(first);
}

static void *work(void *number) {
    long odd = (long)number % 2;
    for (int i = 0; i < N; i++)
        swap(odd, 1 - odd);
    return 0;
}

int main(void) {
    pthread_t threads[K];
    for (int i = 0; i < PLACES; i++)
        values[i] = i + 1;
    for (long i = 0; i < K; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < K; i++)
        pthread_join(threads[i], 0);
    assert(values[0] == 1 + K * N % 2 && values[1] == 2 - K * N % 2);
}
