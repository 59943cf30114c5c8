// Who looks at what it alone has is not like the others: its id, the ids of others, an address on its stack, of its thread-local variables or in
// its heap, in memory or in a computation; what it returned is looked at; it alone is joined before something is done; it creates threads. Where
// something is wrong it is in one order only, in which the first thread is not the first.
// also: --equivalence reads
// check: --model sc -DSELF
// exit: 100
// finds: assertion
// schedules: 2
// check: --model tso -DIDS
// exit: 100
// finds: data-race
// schedules: 3
// check: --model sc -DSTACK
// exit: 0
// schedules: 2
// check: --model tso -DLOCAL
// exit: 0
// schedules: 2
// check: --model sc -DHEAP
// exit: 0
// schedules: 2
// check: --model sc -DNUMBER
// exit: 100
// finds: assertion
// check: --model sc -DNUMBER -O2
// exit: 100
// finds: assertion
// check: --model tso -DRETURNS
// exit: 100
// finds: assertion
// check: --model tso -DJOINED
// exit: 100
// finds: assertion
// check: --model sc -DJOINED_PLAIN
// exit: 100
// finds: data-race
// check: --model sc -DBETWEEN
// exit: 100
// finds: data-race
// check: --model sc -DCREATES
// exit: 0
// schedules: 3
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_int count;
static int data;
static pthread_t threads[2];
static _Atomic uintptr_t published;
static _Thread_local int local;

static void *grandchild(void *argument) {
    return argument;
}

/// Which stack is this on?
static uintptr_t number_of(int *variable) {
    return ((uintptr_t)variable - 0x228000000000) / ((8 << 20) + (64 << 10));
}

static void *runs(void *argument) {
    (void)argument;
    int old = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    int variable = 0;
    if (old != 0) {
#ifdef BETWEEN
        return (void *)(intptr_t)data;
#endif
        return (void *)1;
    }
#if defined(SELF)
    atomic_store(&published, (uintptr_t)pthread_self());
#elif defined(IDS)
    atomic_store(&published, threads[0] < threads[1]);
#elif defined(STACK)
    atomic_store(&published, (uintptr_t)&variable);
#elif defined(LOCAL)
    atomic_store(&published, (uintptr_t)&local);
#elif defined(HEAP)
    atomic_store(&published, (uintptr_t)malloc(8));
#elif defined(NUMBER)
    atomic_store(&published, number_of(&variable) == 2);
#elif defined(JOINED_PLAIN)
    data = 1;
#elif defined(CREATES)
    pthread_t child;
    pthread_create(&child, 0, grandchild, 0);
    pthread_join(child, 0);
#else
    atomic_store(&published, 1);
#endif
    (void)variable, (void)local, (void)number_of, (void)grandchild;
    return 0;
}

int main(void) {
    pthread_create(&threads[0], 0, runs, 0);
#ifdef BETWEEN
    data = 1;
#endif
    pthread_create(&threads[1], 0, runs, 0);
#if defined(JOINED) || defined(JOINED_PLAIN)
    pthread_join(threads[0], 0);
#ifdef JOINED
    uintptr_t found = atomic_load(&published);
#else
    int found = data;
#endif
    pthread_join(threads[1], 0);
    assert(found == 1);
#elif defined(RETURNS)
    void *first, *second;
    pthread_join(threads[0], &first);
    pthread_join(threads[1], &second);
    assert(first < second);
#else
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
#if defined(SELF)
    assert(atomic_load(&published) == (uintptr_t)threads[0]);
#elif defined(NUMBER)
    assert(atomic_load(&published) == 0);
#endif
#endif
    return 0;
}
