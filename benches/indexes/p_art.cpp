#include <cstdlib>
#include <cstring>

#include "Tree.h"

#include "driver.h"

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
static void open(index_type *) {}
static void ready(index_type *, int) {}
static uint64_t get(index_type *index, uint64_t key) {
  auto thread = of(index)->getThreadInfo();
  return reinterpret_cast<uint64_t>(of(index)->lookup(made(key), thread));
}
static void put(index_type *index, uint64_t key, int) {
  auto thread = of(index)->getThreadInfo();
  of(index)->insert(made(key), thread);
}
