/* uu+uu: thread 0: update, update; thread 1: update, update */
#include "flit.h"

THREAD(t0) {
  first_update(X);
  update(Y);
  return NULL;
}

THREAD(t1) {
  update(X);
  update(Y);
  return NULL;
}

static void recover(void) {
  assert(found(Y) <= found(X)); /* each update of y follows one of x */
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
