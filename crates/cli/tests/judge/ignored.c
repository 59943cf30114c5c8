// expect: robustness lost size kept name
/* What was read where nobody judges is judged when it is read again outside. */
#include <landfall.h>
#include <stdint.h>

struct file {
  _Atomic uint64_t size;
  char pad[56];
  _Atomic uint64_t name;
};

int main(void) {
  struct file *f = lf_pm(sizeof *f);
  if (lf_failures()) {
    lf_ignore_begin();
    int some = f->name | f->size;
    lf_ignore_end();
    return some && f->name ? f->size == 77 : 0; /* 77 is never stored: recovery always ends well */
  }
  f->size = 5; //~ size
  f->name = 1; //~ name
  lf_persist(&f->name, sizeof f->name);
  lf_persist(&f->size, sizeof f->size);
  return 0;
}
