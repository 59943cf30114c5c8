// A hash map with chains that grows when it is full (map_basic), or is large enough from the start (-DSIZE=8: map_basicer).
// check: -mrtm --model sc -DK=2 -DN=1 -DSIZE=1
// exit: 0
// check: -mrtm -DK=2 -DN=1 -DSIZE=8
// exit: 0
#include "../all_threads.h"
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef SIZE
#define SIZE 1
#endif
#define MOST 64

struct entry {
    unsigned key, value;
    struct entry *next;
};

static struct entry entries[K][N];
static struct entry *first[MOST], *second[MOST], **buckets = first;
static unsigned size = SIZE, used;
static atomic_int busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void grow(void) {
    struct entry **old = buckets, **fresh = old == first ? second : first;
    for (unsigned i = 0; i < 2 * size; i++)
        fresh[i] = 0;
    for (unsigned i = 0; i < size; i++)
        while (old[i]) {
            struct entry *entry = old[i];
            old[i] = entry->next;
            entry->next = fresh[entry->key % (2 * size)];
            fresh[entry->key % (2 * size)] = entry;
        }
    buckets = fresh;
    size *= 2;
}

static void insert(struct entry *entry) {
    if (used == size)
        grow();
    entry->next = buckets[entry->key % size];
    buckets[entry->key % size] = entry;
    used++;
}

static void add(struct entry *entry) {
    if (_xbegin() == _XBEGIN_STARTED) {
        if (atomic_load_explicit(&busy, memory_order_relaxed))
            _xabort(1);
        insert(entry);
        _xend();
    } else {
        pthread_mutex_lock(&lock);
        atomic_store(&busy, 1);
        insert(entry);
        atomic_store_explicit(&busy, 0, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
}

static void *work(void *number) {
    unsigned own = (long)number;
    for (unsigned i = 0; i < N; i++) {
        struct entry *entry = &entries[own][i];
        entry->key = i * K + own;
        entry->value = entry->key + 1;
        add(entry);
    }
    return 0;
}

int main(void) {
    all_threads(work, 1);
    assert(used == K * N);
    for (unsigned key = 0; key < K * N; key++) {
        struct entry *entry = buckets[key % size];
        while (entry && entry->key != key)
            entry = entry->next;
        assert(entry && entry->value == key + 1);
    }
}
