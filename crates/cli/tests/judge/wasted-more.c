// expect: redundant-flush at clean
// expect: redundant-fence at after
/* A line that nobody stored to; a fence after clflush. The last flush is needed once, and so never reported. */
#include <immintrin.h>
#include <landfall.h>
#include <stdatomic.h>
#include <stdint.h>

struct three {
  _Atomic uint64_t one;
  char pad[56];
  _Atomic uint64_t two;
  char pad2[56];
  _Atomic uint64_t untouched;
};

int main(void) {
  struct three *t = lf_pm(sizeof *t);
  if (lf_failures())
    return t->one + t->two + t->untouched == 77;
  atomic_store_explicit(&t->one, 1, memory_order_release);
  _mm_clflush(t);
  _mm_sfence(); //~ after
  lf_flush(&t->untouched, sizeof t->untouched); //~ clean
  for (int i = 0; i < 3; i++) {
    if (i == 1)
      atomic_store_explicit(&t->two, 1, memory_order_release);
    lf_persist(&t->two, sizeof t->two);
  }
  return 0;
}
