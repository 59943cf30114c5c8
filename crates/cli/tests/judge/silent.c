// expect: robustness lost size kept name
// says: `size` and `name` are members of `struct file`, 64 bytes apart
/* Nothing fails, but a name may become durable without its size: no assertion looks at both. */
#include <landfall.h>
#include <stdint.h>

struct file {
  _Atomic uint64_t size;
  char pad[56];
  _Atomic uint64_t name;
};

int main(void) {
  struct file *f = lf_pm(sizeof *f);
  if (lf_failures())
    return f->name ? f->size == 77 : 0; /* 77 is never stored: recovery always ends well */
  f->size = 5; //~ size
  f->name = 1; //~ name
  lf_persist(&f->name, sizeof f->name);
  lf_persist(&f->size, sizeof f->size);
  return 0;
}
