#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdint.h>
struct record {
  _Alignas(64) uint64_t there;
  struct { _Alignas(64) uint64_t value; } part[8];
};
static void *store(void *of) {
  struct record *record = of;
  for (int i = 0; i < 8; i++)
    record->part[i].value = 1;
  record->there = 1;
  lf_persist(record, sizeof *record);
  return 0;
}
int main(void) {
  struct record *record = lf_pm(sizeof *record);
  if (lf_failures()) {
    if (!record->there)
      return 0;
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++)
      sum += record->part[i].value;
    assert(sum == 8);
    return 0;
  }
  pthread_t other;
  pthread_create(&other, 0, store, record);
  pthread_join(other, 0);
  return 0;
}
