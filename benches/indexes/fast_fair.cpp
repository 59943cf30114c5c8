#include "btree.h"


#include "driver.h"

using fastfair::btree;

static btree *of(index_type *index) { return reinterpret_cast<btree *>(index); }
static index_type *create() { return reinterpret_cast<index_type *>(new btree()); }
static void open(index_type *) {}
static void ready(index_type *, int) {}
static uint64_t get(index_type *index, uint64_t key) { return reinterpret_cast<uint64_t>(of(index)->btree_search(key)); }
static void put(index_type *index, uint64_t key, int) { of(index)->btree_insert(key, reinterpret_cast<char *>(key)); }
