/* e+de+e+d: thread 0: enqueue; thread 1: dequeue, enqueue; thread 2: enqueue; thread 3: dequeue */
#include "queue.h"

THREAD(t0) {
  enqueue(1, FIRST);
  return NULL;
}

THREAD(t1) {
  dequeue(1, 0, 1);
  enqueue(2, 1);
  return NULL;
}

THREAD(t2) {
  enqueue(3, 1);
  return NULL;
}

THREAD(t3) {
  dequeue(3, 1, 1);
  return NULL;
}

static void recover(void) {
  assert(!is_on_list(1) || is_whole(1));
  assert(!is_on_list(2) || is_whole(2));
  assert(!is_on_list(3) || is_whole(3));
  assert(result(0) != VALUE(1) || is_taken_by(1, 1));
  assert(result(0) != VALUE(2) || is_taken_by(2, 1));
  assert(result(0) != VALUE(3) || is_taken_by(3, 1));
  assert(result(1) != VALUE(1) || is_taken_by(1, 3));
  assert(result(1) != VALUE(2) || is_taken_by(2, 3));
  assert(result(1) != VALUE(3) || is_taken_by(3, 3));
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {t0, t1, t2, t3};
  run(threads, 4);
  return 0;
}
