/* i+i: thread 0: insert; thread 1: insert */
#include "set.h"

THREAD(t0) {
  answer(0, insert(0, 1));
  return NULL;
}

THREAD(t1) {
  answer(1, insert(1, 1));
  return NULL;
}

static void recover(void) {
  assert(!was_inserted(0) || has_key(0, 1));
  assert(!was_inserted(1) || has_key(1, 1));
  assert(!(is_there(0) && is_there(1))); /* not twice */
  assert(!answered(0, YES) || was_inserted(0));
  assert(!answered(0, NO) || was_inserted(0) || was_inserted(1)); /* somebody had */
  assert(!answered(1, YES) || was_inserted(1));
  assert(!answered(1, NO) || was_inserted(0) || was_inserted(1)); /* somebody had */
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
