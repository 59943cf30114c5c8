// expect: redundant-flush at again
// expect: redundant-fence at nothing
// expect: redundant-flush at unread
#include <landfall.h>
#include <stdint.h>

struct two {
  _Atomic uint64_t read;
  char pad[56];
  _Atomic uint64_t unread;
};

int main(void) {
  struct two *t = lf_pm(sizeof *t);
  if (lf_failures())
    return t->read == 77;
  for (int i = 1; i < 4; i++) {
    t->read = i;
    lf_flush(&t->read, sizeof t->read);
    lf_flush(&t->read, sizeof t->read); //~ again
    lf_fence();
    lf_fence(); //~ nothing
  }
  t->unread = 1;
  lf_flush(&t->unread, sizeof t->unread); //~ unread
  lf_fence();
  return 0;
}
