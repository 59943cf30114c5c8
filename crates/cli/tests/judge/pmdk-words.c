// expect: assertion lost lost kept kept
// says: pmem_persist(&r->value, sizeof r->value)
// flags: --checks crash
/* The file makes stores durable with a call of libpmem: so does the advice. */
#include <assert.h>
#include <landfall.h>
#include <stddef.h>

void pmem_persist(const void *address, size_t length);

struct record {
  _Alignas(64) long value;
  _Alignas(64) long ready;
};

int main(void) {
  struct record *r = lf_pm(sizeof *r);
  if (lf_failures()) {
    if (r->ready)
      assert(r->value == 7);
    return 0;
  }
  r->value = 7; //~ lost
  r->ready = 1; //~ kept
  pmem_persist(&r->ready, sizeof r->ready);
  return 0;
}
