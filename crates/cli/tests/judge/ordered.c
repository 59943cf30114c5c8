// expect: clean
/* The same with the size flushed first, and nothing torn: the size is flushed before the name can be seen. */
#include <landfall.h>
#include <stdint.h>

struct file {
  uint64_t size;
  char pad[56];
  _Atomic uint64_t name;
};

int main(void) {
  struct file *f = lf_pm(sizeof *f);
  if (lf_failures())
    return f->name ? f->size == 77 : 0;
  f->size = 5;
  lf_persist(&f->size, sizeof f->size);
  f->name = 1;
  lf_persist(&f->name, sizeof f->name);
  return 0;
}
