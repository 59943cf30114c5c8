/* iw: thread 0: insert, write */
#include "set.h"

THREAD(t0) {
  answer(0, insert(0, 1));
  write_flag(0);
  return NULL;
}

static void recover(void) {
  assert(!was_inserted(0) || has_key(0, 1));
  assert(!answered(0, YES) || was_inserted(0));
  assert(!flag(0) || (was_inserted(0))); /* the flag promises what came before */
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
