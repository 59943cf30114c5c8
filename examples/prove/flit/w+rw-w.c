/* w+rw-w: thread 0: write; thread 1: load, write; then main writes a flag */
#include "flit.h"

THREAD(t0) {
  first_write(OWN + 0);
  return NULL;
}

THREAD(t1) {
  load(OWN + 0);
  write_one(OWN + 1);
  return NULL;
}

static void recover(void) {
  if (memory->flags[0].value)
    assert(found(OWN + 0) == 1 && found(OWN + 1) == 1); /* the flag promises all of it */
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
