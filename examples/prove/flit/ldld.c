/* ldld: one thread updates x; another loads it twice and keeps what it loaded. What was kept is there. */
#include "flit.h"

THREAD(updates) {
  first_update(X);
  return NULL;
}

THREAD(loads) {
  memory->flags[0].value = load(X);
  memory->flags[1].value = load(X);
  return NULL;
}

static void recover(void) {
  assert(memory->flags[0].value <= found(X));
  assert(memory->flags[1].value <= found(X));
}

int main(void) {
  memory = lf_pm(sizeof *memory);
  if (lf_failures() > 0) {
    recover();
    return 0;
  }
  static void *(*const threads[])(void *) = {updates, loads};
  run(threads, 2);
  return 0;
}
