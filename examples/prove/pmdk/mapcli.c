/* mapcli: no persist barrier in str_insert_random. Several keys in a row, flushed, and nothing waits in between. */
#include "pmdk.h"

struct slot {
  LINE uint64_t key;
};

static void str_insert_random(struct slot *map, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    map[i].key = i + 1; //~ lost
    lf_flush(&map[i], sizeof map[i]);
#ifdef REPAIRED
    lf_fence();
#endif
  }
  lf_fence();
}

int main(void) {
  struct slot *map = lf_pm(5 * sizeof *map);
  if (lf_failures() > 0) {
    for (int i = 0; i < 5; i++)
      SEE(map[i].key);
    return 0;
  }
  str_insert_random(map, 5);
  return 0;
}
