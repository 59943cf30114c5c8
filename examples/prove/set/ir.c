/* ir: thread 0: insert, remove */
#include "set.h"

THREAD(t0) {
  answer(0, insert(0, 1));
  answer(1, remove_key(1));
  return NULL;
}

static void recover(void) {
  assert(!was_inserted(0) || has_key(0, 1));
  assert(!answered(0, YES) || was_inserted(0));
  assert(!answered(1, YES) || !(is_there(0)));
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
