/*
 * Broken, as `--tear` shows: value and flag share a cache line, and a line never holds a later store without the earlier ones.
 * But this is one memcpy: nobody promises in which order it stores. The flag may reach memory first.
 */
#include <assert.h>
#include <landfall.h>
#include <string.h>

struct record {
  long value;
  long valid;
};

static void recover(const struct record *r)
{
  if (r->valid)
      assert(r->value == 42); //~ fails
}

int main(void)
{
  struct record *r = lf_pm(sizeof *r);
  recover(r);
  struct record fresh = {.value = 42, .valid = 1};
  memcpy(r, &fresh, sizeof fresh); //~ copied
  lf_persist(r, sizeof *r);
  return 0;
}
