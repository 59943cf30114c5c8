#include "masstree.h"

#include "driver.h"

static masstree::masstree *of(index_type *index) { return reinterpret_cast<masstree::masstree *>(index); }
static index_type *create() { return reinterpret_cast<index_type *>(new masstree::masstree()); }
static void open(index_type *) {}
static void ready(index_type *, int) {}
static uint64_t get(index_type *index, uint64_t key) {
  auto thread = of(index)->getThreadInfo();
  return reinterpret_cast<uint64_t>(of(index)->get(key, thread));
}
static void put(index_type *index, uint64_t key, int) {
  auto thread = of(index)->getThreadInfo();
  of(index)->put(key, reinterpret_cast<void *>(key), thread);
}
