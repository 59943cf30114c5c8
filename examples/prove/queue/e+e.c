/* e+e: thread 0: enqueue; thread 1: enqueue */
#include "queue.h"

THREAD(t0) {
  enqueue(1, FIRST);
  return NULL;
}

THREAD(t1) {
  enqueue(2, 1);
  return NULL;
}

static void recover(void) {
  assert(!is_on_list(1) || is_whole(1));
  assert(!is_on_list(2) || is_whole(2));
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
