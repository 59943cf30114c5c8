// seen
#include <landfall.h>
#include <stdatomic.h>

static atomic_int *x;

void write_x(int value) {
  atomic_store(x, value);
  lf_persist(x, sizeof *x);
}

int read_x(void) {
  int value = /*@*/atomic_load(x);
  return value;
}
