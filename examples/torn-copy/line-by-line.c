/* Correct without `--tear`: value and flag share a cache line, and stores of a line persist in the order they were made: value, flag. */
#include <assert.h>
#include <landfall.h>

struct record {
  long value;
  long valid;
};

static void recover(const struct record *r)
{
  if (r->valid)
      assert(r->value == 42);
}

int main(void)
{
  struct record *r = lf_pm(sizeof *r);
  recover(r);
  r->value = 42;
  r->valid = 1;
  lf_persist(r, sizeof *r);
  return 0;
}
