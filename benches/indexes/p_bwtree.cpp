#include "bwtree.h"

#include "driver.h"

struct less_key {
  bool operator()(uint64_t a, uint64_t b) const { return a < b; }
};
struct same_key {
  bool operator()(uint64_t a, uint64_t b) const { return a == b; }
};
using tree = wangziqi2013::bwtree::BwTree<uint64_t, uint64_t, less_key, same_key>;

static tree *of(index_type *index) { return reinterpret_cast<tree *>(index); }
static index_type *create() {
  /* Without the thread that collects garbage: it goes round for ever. */
  tree *made = new tree(false, less_key{}, same_key{});
  made->UpdateThreadLocal(THREADS + 1);
  return reinterpret_cast<index_type *>(made);
}
static void open(index_type *) {}
static void ready(index_type *index, int thread) { of(index)->AssignGCID(thread); }
static uint64_t get(index_type *index, uint64_t key) {
  std::vector<uint64_t> values;
  of(index)->GetValue(key, values);
  return values.empty() ? 0 : values[0];
}
static void put(index_type *index, uint64_t key, int) { of(index)->Insert(key, key); }
