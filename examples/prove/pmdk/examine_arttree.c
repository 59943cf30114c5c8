/* examine_arttree: no persist barrier in get_examine. What was counted is flushed, but nothing waits for it. */
#include "pmdk.h"

struct state {
  LINE uint64_t examined;
  LINE uint64_t mode;
};

static void get_examine(struct state *state) {
  state->examined = 1; //~ lost
  lf_flush(&state->examined, sizeof state->examined);
#ifdef REPAIRED
  lf_fence();
#endif
  state->mode = 2; //~ kept
  lf_flush(&state->mode, sizeof state->mode);
  lf_fence();
}

int main(void) {
  struct state *state = lf_pm(sizeof *state);
  if (lf_failures() > 0) {
    SEE(state->examined);
    SEE(state->mode);
    return 0;
  }
  get_examine(state);
  return 0;
}
