// Nobody is left who could change what the loop looks at, and it changes nothing itself: certain, whatever --events is.
// check: --checks crash --events 1000 -DLOOP=
// exit: 100
// finds: hang
// check: --checks crash --events 1000 -DLOOP=sched_yield()
// exit: 100
// finds: hang
// check: --checks crash --events 1000 -DLOOP=lf_yield()
// exit: 100
// finds: hang
// check: --checks crash --events 1000 -DLOOP=turn()
// exit: 100
// finds: hang
// Time passes: there might be a deadline.
// check: --checks crash --events 1000 -DLOOP=time(0)
// exit: 5
// limit: events
#include <landfall.h>
#include <sched.h>
#include <time.h>

static int turns;

static void turn(void) {
  turns = (turns + 1) % 5;
}

int main(void) {
  turn();
  volatile long *held = lf_pm(64);
  while (*held) {
    LOOP;
  }
  *held = 1;
  lf_persist((void *)held, 8);
  *held = 0;
  lf_persist((void *)held, 8);
}
