/* pminvader2: no persist barrier in create_star. A star is written back, and nothing waits for that. */
#include "pmdk.h"

struct star {
  LINE uint64_t x;
  uint64_t y;
};

struct sky {
  struct star stars[2];
  LINE uint64_t count;
};

static void create_star(struct sky *sky, uint64_t at, uint64_t x) {
  sky->stars[at] = (struct star){.x = x, .y = x + 1}; //~ lost
  lf_flush(&sky->stars[at], sizeof sky->stars[at]);
#ifdef REPAIRED
  lf_fence();
#endif
  sky->count = at + 1; //~ kept
  lf_persist(&sky->count, sizeof sky->count);
}

int main(void) {
  struct sky *sky = lf_pm(sizeof *sky);
  if (lf_failures() > 0) {
    SEE(sky->count);
    SEE(sky->stars[0].x);
    SEE(sky->stars[1].x);
    return 0;
  }
  create_star(sky, 0, 11);
  create_star(sky, 1, 12);
  return 0;
}
