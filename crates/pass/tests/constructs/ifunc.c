// The loader calls resolvers of indirect functions before anything is bound: they stay native.
#include "pm.h"

static void store_impl(int *p) { *p = 1; }
static int resolved;
static void (*resolve(void))(int *) {
  resolved++;
  return store_impl;
}
void indirect_store(int *p) __attribute__((ifunc("resolve")));

int main(void) {
  indirect_store(pm(0));
  return 0;
}
