/* ww: thread 0: write, write */
#include "flit.h"

THREAD(t0) {
  first_write(OWN + 0);
  write_one(OWN + 1);
  return NULL;
}

static void recover(void) {
  if (found(OWN + 1))
    assert(found(OWN + 0)); /* the second write promises the first */
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {t0};
  run(threads, 1);
  return 0;
}
