#include "masstree.h"
#include "Epoche.cpp"

#define SHARED_WITH_TBB
#include "driver.h"

/* TBB would load an allocator of its own while the program runs; so it takes malloc, as all else does. */
extern "C" void *dlopen(const char *, int) { return nullptr; }

static masstree::masstree *of(index_type *index) { return reinterpret_cast<masstree::masstree *>(index); }
static index_type *create() { return reinterpret_cast<index_type *>(new masstree::masstree()); }
/* Who frees what, and when, is kept by thread and by TBB: nothing of it outlives a power failure, and nobody makes it anew. That is a mistake,
 * and found; with it every recovery fails, so with threads it is mended. */
static void open(index_type *index) {
  if (THREADS > 1 && lf_failures())
    new (&of(index)->epoche) MASS::Epoche(256);
}
static void ready(index_type *, int) {}
static uint64_t get(index_type *index, uint64_t key) {
  auto thread = of(index)->getThreadInfo();
  return reinterpret_cast<uint64_t>(of(index)->get(key, thread));
}
static void put(index_type *index, uint64_t key, int) {
  auto thread = of(index)->getThreadInfo();
  of(index)->put(key, reinterpret_cast<void *>(key), thread);
}
