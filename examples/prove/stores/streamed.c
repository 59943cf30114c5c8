/* A word that is stored past the caches is durable after the next fence. There is no such store of a byte: compilers make an ordinary one of it,
   and that needs its flush. */
#include <assert.h>
#include <landfall.h>

#ifndef TYPE
#define TYPE long long
#endif

struct record {
  TYPE value;
  char pad[64 - sizeof(TYPE)];
  char valid;
};

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  if (lf_failures()) {
    if (r->valid)
      assert(r->value == 7);
    return 0;
  }
  __builtin_nontemporal_store((TYPE)7, &r->value);
  lf_fence();
  r->valid = 1;
  lf_persist(&r->valid, 1);
  return 0;
}
