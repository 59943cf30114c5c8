// flags: --failures 2
// expect: robustness lost size kept name
/* The recovery itself stores in the wrong order, which only a power failure in the recovery can show. */
#include <landfall.h>
#include <stdint.h>

struct file {
  _Atomic uint64_t size;
  char pad[56];
  _Atomic uint64_t name;
  _Alignas(64) _Atomic uint64_t used;
};

int main(void) {
  struct file *f = lf_pm(sizeof *f);
  if (lf_failures() == 0) {
    f->used = 1;
    return 0;
  }
  if (lf_failures() == 2)
    return f->name ? f->size == 77 : 0; /* 77 is never stored: recovery always ends well */
  f->size = 5; //~ size
  f->name = 1; //~ name
  lf_persist(&f->name, sizeof f->name);
  lf_persist(&f->size, sizeof f->size);
  return 0;
}
