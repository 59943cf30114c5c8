#include <assert.h>
#include <landfall.h>
#include <stdint.h>
struct record {
  _Alignas(64) uint64_t there;
  struct { _Alignas(64) uint64_t value; } part[9];
};
int main(void) {
  struct record *record = lf_pm(sizeof *record);
  if (lf_failures()) {
    if (!record->there)
      return 0;
    uint64_t sum = 0;
    for (int i = 0; i < 9; i++)
      sum += record->part[i].value;
    assert(sum == 9);
    return 0;
  }
  for (int i = 0; i < 9; i++)
    record->part[i].value = 1;
  record->there = 1;
  lf_persist(record, sizeof *record);
  return 0;
}
