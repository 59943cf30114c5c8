// expect: volatile-pointer at follow
// says: pointing to the 32 bytes allocated at tests/published/07-volatile-vector.cpp:20:
// says: (`now->retired.assign(4, 7);`)
// flags: --checks crash
/* What epochs retire is kept in a vector whose own memory is volatile, and the vector in persistent memory (Jaaru's bug 7, of P-ART). */
#include <cstdint>
#include <landfall.h>
#include <new>
#include <vector>

struct epoch {
  uint64_t number;
  std::vector<uint64_t> retired;
};

int main() {
  epoch *now = static_cast<epoch *>(lf_pm(sizeof(epoch)));
  if (lf_failures() == 0) {
    new (now) epoch();
    now->retired.assign(4, 7);
    now->number = 1;
    lf_persist(now, sizeof *now);
    return 0;
  }
  if (!now->number)
    return 0;
  uint64_t sum = 0;
  const uint64_t *first = now->retired.data(); //~ follow
  for (int i = 0; i < 4; i++)
    sum += first[i];
  return sum > 100;
}
