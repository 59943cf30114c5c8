#include <cstdlib>
#include <cstring>

#include "Tree.h"
#include "Epoche.cpp"

#define SHARED_WITH_TBB
#include "driver.h"

/* TBB would load an allocator of its own while the program runs; so it takes malloc, as all else does. */
extern "C" void *dlopen(const char *, int) { return nullptr; }

static ART_ROWEX::Tree *of(index_type *index) { return reinterpret_cast<ART_ROWEX::Tree *>(index); }

/* A tree points to keys, and keys have their value: they outlive a power failure, too. */
static Key *made(uint64_t key) {
  Key any;
  Key *made = any.make_leaf(key, sizeof key, key);
  lf_persist(made, sizeof *made + sizeof key);
  return made;
}

static void load(TID number, Key &into) {
  Key any;
  into = *any.make_leaf(number, sizeof number, number);
}

static index_type *create() { return reinterpret_cast<index_type *>(new ART_ROWEX::Tree(load)); }
/* Who frees what, and when, is kept by thread and by TBB: nothing of it outlives a power failure, and nobody makes it anew. That is a mistake,
 * and found; with it every recovery fails, so with threads it is mended. */
static void open(index_type *index) {
  if (THREADS > 1 && lf_failures())
    new (&of(index)->epoche) ART::Epoche(256);
}
static void ready(index_type *, int) {}
static uint64_t get(index_type *index, uint64_t key) {
  /* Nobody keeps what is only looked up: a recovery that allocated it might get a key that is there. */
  alignas(64) char place[sizeof(Key) + sizeof key];
  Key *wanted = new (place) Key;
  wanted->value = key;
  wanted->key_len = sizeof key;
  *reinterpret_cast<uint64_t *>(wanted->fkey) = __builtin_bswap64(key);
  auto thread = of(index)->getThreadInfo();
  auto found = static_cast<uint64_t *>(of(index)->lookup(wanted, thread));
  return found ? *found : 0;
}
static void put(index_type *index, uint64_t key, int) {
  auto thread = of(index)->getThreadInfo();
  of(index)->insert(made(key), thread);
}
