/* 2uu+2uu-w2: thread 0: update, update; thread 1: update, update; thread 2: update, update; thread 3: update, update; then main writes two flags */
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

THREAD(t2) {
  update(X);
  update(Y);
  return NULL;
}

THREAD(t3) {
  update(X);
  update(Y);
  return NULL;
}

static void recover(void) {
  if (memory->flags[0].value)
    assert(found(X) == 4 && found(Y) == 4); /* the flag promises all of it */
  if (memory->flags[1].value)
    assert(found(X) == 4 && found(Y) == 4); /* the flag promises all of it */
  assert(found(Y) <= found(X)); /* each update of y follows one of x */
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {t0, t1, t2, t3};
  run(threads, 4);
  memory->flags[0].value = 1;
  memory->flags[1].value = 1;
  return 0;
}
