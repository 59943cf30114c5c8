/* i+crw: thread 0: insert; thread 1: contains, remove, write */
#include "set.h"

THREAD(t0) {
  answer(0, insert(0, 1));
  return NULL;
}

THREAD(t1) {
  answer(1, contains(1));
  answer(2, remove_key(1));
  write_flag(1);
  return NULL;
}

static void recover(void) {
  assert(!was_inserted(0) || has_key(0, 1));
  assert(!answered(0, YES) || was_inserted(0));
  assert(!answered(1, YES) || was_inserted(0));
  assert(!answered(2, YES) || !(is_there(0)));
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
