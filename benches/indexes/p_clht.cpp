#include "driver.h"

extern "C" {
#include <stdlib.h>
#include "clht.h"
#include "ssmem.h"
}

static clht_t *of(index_type *index) { return reinterpret_cast<clht_t *>(index); }
static index_type *create() { return reinterpret_cast<index_type *>(clht_create(1)); }
/* Locks that were held when the power failed are opened again, by one thread. */
static void open(index_type *index) { clht_lock_initialization(of(index)); }
static void ready(index_type *index, int thread) { clht_gc_thread_init(of(index), thread); }
static uint64_t get(index_type *index, uint64_t key) { return clht_get(of(index)->ht, key); }
static void put(index_type *index, uint64_t key, int) { clht_put(of(index), key, key); }
