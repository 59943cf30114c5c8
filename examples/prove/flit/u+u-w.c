/* u+u-w: thread 0: update; thread 1: update; then main writes a flag */
#include "flit.h"

THREAD(t0) {
  first_update(X);
  return NULL;
}

THREAD(t1) {
  update(X);
  return NULL;
}

static void recover(void) {
  if (memory->flags[0].value)
    assert(found(X) == 2); /* the flag promises all of it */
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {t0, t1};
  run(threads, 2);
  memory->flags[0].value = 1;
  return 0;
}
