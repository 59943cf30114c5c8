/* Correct: the copy is durable before a single store makes it valid. In whatever order memcpy stores, it does not matter. */
#include <assert.h>
#include <landfall.h>
#include <stdatomic.h>
#include <string.h>

struct record {
  long value[3];
  _Atomic long valid;
};

static void recover(const struct record *r)
{
  if (atomic_load_explicit(&r->valid, memory_order_acquire))
      assert(r->value[0] == 4 && r->value[1] == 2 && r->value[2] == 42);
}

int main(void)
{
  struct record *r = lf_pm(sizeof *r);
  recover(r);
  const long fresh[3] = {4, 2, 42};
  memcpy(r->value, fresh, sizeof fresh);
  lf_persist(r->value, sizeof r->value);
  atomic_store_explicit(&r->valid, 1, memory_order_release);
  lf_persist(&r->valid, sizeof r->valid);
  return 0;
}
