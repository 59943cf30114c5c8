/* dw: thread 0: dequeue, write */
#include "queue.h"

THREAD(t0) {
  dequeue(0, 0, FIRST);
  write_flag(0);
  return NULL;
}

static void recover(void) {
  assert(!flag(0) || (result(0))); /* the flag promises what came before */
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
