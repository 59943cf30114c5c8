/* pminvader: in create_alien, stores might persist out of order before flushed. */
#include "pmdk.h"

struct alien {
  LINE uint16_t x;
  uint16_t y;
  LINE uint16_t timer;
};

static void create_alien(struct alien *alien, uint16_t x) {
  alien->x = x; //~ lost
  DURABLE(alien->x);
  alien->y = 2;
  DURABLE(alien->y);
  alien->timer = 9; //~ kept
  DURABLE(alien->timer);
  lf_persist(alien, sizeof *alien);
}

int main(void) {
  struct alien *aliens = lf_pm(2 * sizeof *aliens);
  if (lf_failures() > 0) {
    for (int i = 0; i < 2; i++) {
      SEE(aliens[i].x);
      SEE(aliens[i].y);
      SEE(aliens[i].timer);
    }
    return 0;
  }
  create_alien(&aliens[0], 5);
  create_alien(&aliens[1], 6);
  return 0;
}
