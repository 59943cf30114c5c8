/* iw+rw: thread 0: insert, write; thread 1: remove, write */
#include "set.h"

THREAD(t0) {
  answer(0, insert(0, 1));
  write_flag(0);
  return NULL;
}

THREAD(t1) {
  answer(1, remove_key(1));
  write_flag(1);
  return NULL;
}

static void recover(void) {
  assert(!was_inserted(0) || has_key(0, 1));
  assert(!answered(0, YES) || was_inserted(0));
  assert(!answered(1, YES) || !(is_there(0)));
  assert(!flag(0) || (was_inserted(0))); /* the flag promises what came before */
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {t0, t1};
  run(threads, 2);
  return 0;
}
