// What orders plain data: release and acquire, or fences. That x86 keeps the order of relaxed accesses does not help.
// also: --equivalence reads
// check: -DWRITE=relaxed -DREAD=relaxed
// exit: 100
// finds: data-race data race on `data`
// check: -DWRITE=release -DREAD=relaxed
// exit: 100
// finds: data-race data race on `data`
// check: -DWRITE=relaxed -DREAD=acquire
// exit: 100
// finds: data-race data race on `data`
// check: -DWRITE=release -DREAD=acquire
// exit: 0
// check: -DWRITE=seq_cst -DREAD=seq_cst
// exit: 0
// check: -DWRITE=seq_cst -DREAD=seq_cst --model sc
// exit: 0
// check: -DWRITE=relaxed -DREAD=relaxed -DBEFORE=release -DAFTER=acquire
// exit: 0
// check: -DWRITE=relaxed -DREAD=relaxed -DBEFORE=seq_cst -DAFTER=seq_cst
// exit: 0
// check: -DWRITE=relaxed -DREAD=relaxed -DBEFORE=acquire -DAFTER=release
// exit: 100
// finds: data-race data race on `data`
// check: -DWRITE=relaxed -DREAD=acquire -DBEFORE=release
// exit: 0
// check: -DWRITE=release -DREAD=relaxed -DAFTER=acquire
// exit: 0
// check: -DWRITE=release -DREAD=acquire -DRELAY=relaxed
// exit: 0
// check: -DWRITE=relaxed -DREAD=acquire -DRELAY=release
// exit: 100
// finds: data-race data race on `data`
// check: -DWRITE=release -DREAD=acquire -DREPLACE
// exit: 100
// finds: data-race data race on `data`
// check: -DSTORES
// exit: 100
// finds: data-race data race on `data`
// check: -DFAILS=acquire
// exit: 0
// check: -DFAILS=relaxed
// exit: 100
// finds: data-race data race on `data`
// check: -DWRITE=release -DREAD=acquire -DHALF
// exit: 0
#include <pthread.h>
#include <stdatomic.h>

#define ORDER_(x) memory_order_##x
#define ORDER(x) ORDER_(x)

static int data;
static union {
    atomic_long whole;
    atomic_int half;
} flag;

static void *writes(void *unused) {
    data = 1;
#if defined(STORES)
    atomic_store(&flag.whole, 1);
#elif defined(FAILS)
    atomic_store_explicit(&flag.whole, 1, memory_order_release);
#else
#ifdef BEFORE
    atomic_thread_fence(ORDER(BEFORE));
#endif
    atomic_store_explicit(&flag.whole, 1, ORDER(WRITE));
#endif
    return 0;
}

static void *reads(void *unused) {
#if defined(STORES)
    // A store takes nothing over, however strong it is.
    atomic_store(&flag.whole, 2);
    data = 2;
#elif defined(FAILS)
    long none = 0;
    if (!atomic_compare_exchange_strong_explicit(&flag.whole, &none, 2, memory_order_acq_rel, ORDER(FAILS)) && data != 1) return (void *)1;
#else
#ifdef HALF
    int seen = atomic_load_explicit(&flag.half, ORDER(READ));
#else
    long seen = atomic_load_explicit(&flag.whole, ORDER(READ));
#endif
#ifdef AFTER
    atomic_thread_fence(ORDER(AFTER));
#endif
#if defined(RELAY) || defined(REPLACE)
    if (seen == 2 && data != 1) return (void *)1;
#else
    if (seen && data != 1) return (void *)1;
#endif
#endif
    return 0;
}

#if defined(RELAY) || defined(REPLACE)
static void *between(void *unused) {
#ifdef RELAY
    // Passes on what it replaces.
    long one = 1;
    atomic_compare_exchange_strong_explicit(&flag.whole, &one, 2, ORDER(RELAY), memory_order_relaxed);
#else
    if (atomic_load_explicit(&flag.whole, memory_order_relaxed) == 1) atomic_store_explicit(&flag.whole, 2, memory_order_release);
#endif
    return 0;
}
#endif

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, writes, 0);
#if defined(RELAY) || defined(REPLACE)
    pthread_t c;
    pthread_create(&c, 0, between, 0);
#endif
    pthread_create(&b, 0, reads, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
#if defined(RELAY) || defined(REPLACE)
    pthread_join(c, 0);
#endif
    return 0;
}
