// A hash table in persistent memory, with two threads. An entry is written and flushed before a transaction links it, and the link is flushed behind the
// transaction. What goes wrong: the entry is written in the transaction and flushed with the link (-DENTRY_INSIDE: the link may survive alone, as if
// the end of a transaction were durable), or flushed inside (-DFLUSH_INSIDE: no such transaction ever commits).
// check: -mrtm -mclwb --checks crash
// exit: 0
// check: -mrtm -mclwb --checks crash -DFLUSH_INSIDE
// exit: 0
// note: never commits
// check: -mrtm -mclwb --checks crash -DENTRY_INSIDE
// exit: 100
// finds: assertion value
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define BUCKETS 2
#define THREADS 2

struct entry {
    _Alignas(64) uint64_t key;
    uint64_t value;
    struct entry *next;
};

struct table {
    _Alignas(64) struct entry *first[BUCKETS];
    struct entry entries[THREADS];
};

static struct table *table;
static atomic_int busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void flush(const void *at) {
    _mm_clwb((void *)at);
    _mm_sfence();
}

static void fill(struct entry *entry, uint64_t key) {
    entry->key = key;
    entry->value = key + 100;
}

static void link_in(struct entry *entry, uint64_t key) {
    struct entry **first = &table->first[key % BUCKETS];
#if defined ENTRY_INSIDE
    fill(entry, key);
#endif
    entry->next = *first;
#if defined FLUSH_INSIDE
    flush(entry);
#endif
    *first = entry;
}

static void *insert(void *number) {
    uint64_t key = (uintptr_t)number;
    struct entry *entry = &table->entries[key];
#if !defined ENTRY_INSIDE
    fill(entry, key);
    flush(entry);
#endif
    if (_xbegin() == _XBEGIN_STARTED) {
        if (atomic_load_explicit(&busy, memory_order_relaxed))
            _xabort(1);
        link_in(entry, key);
        _xend();
    } else {
        pthread_mutex_lock(&lock);
        atomic_store(&busy, 1);
        link_in(entry, key);
        atomic_store_explicit(&busy, 0, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    flush(entry);
    flush(&table->first[key % BUCKETS]);
    return 0;
}

int main(void) {
    table = lf_pm(sizeof *table);
    if (lf_failures()) {
        for (uint64_t bucket = 0; bucket < BUCKETS; bucket++)
            for (struct entry *entry = table->first[bucket]; entry; entry = entry->next)
                assert(entry->value == entry->key + 100);
        return 0;
    }
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, insert, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
}
