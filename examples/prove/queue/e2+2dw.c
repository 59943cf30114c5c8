/* e2+2dw: thread 0: enqueue, enqueue; thread 1: dequeue, write; thread 2: dequeue, write */
#include "queue.h"

THREAD(t0) {
  enqueue(1, FIRST);
  enqueue(2, 1);
  return NULL;
}

THREAD(t1) {
  dequeue(1, 0, 1);
  write_flag(1);
  return NULL;
}

THREAD(t2) {
  dequeue(2, 1, 1);
  write_flag(2);
  return NULL;
}

static void recover(void) {
  assert(!is_on_list(1) || is_whole(1));
  assert(!is_on_list(2) || is_whole(2));
  assert(!is_taken(2) || is_taken(1)); /* in order */
  assert(result(0) != VALUE(1) || is_taken_by(1, 1));
  assert(result(0) != VALUE(2) || is_taken_by(2, 1));
  assert(result(1) != VALUE(1) || is_taken_by(1, 2));
  assert(result(1) != VALUE(2) || is_taken_by(2, 2));
  assert(!flag(1) || (result(0))); /* the flag promises what came before */
  assert(!flag(2) || (result(1))); /* the flag promises what came before */
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {t0, t1, t2};
  run(threads, 3);
  return 0;
}
