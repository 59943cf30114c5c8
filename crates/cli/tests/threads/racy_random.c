// Random schedules that do not stop at racing accesses: no power failure is looked for in those that show the race.
// check: --checks crash --random 200 --preempt sync
// exit: 5
// check: --checks crash
// exit: 0
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
struct pm {
  _Alignas(64) long x;
  _Alignas(64) long y;
};
static struct pm *p;
static volatile long flag;
static _Atomic long step;
static void *writer(void *unused) {
  p->x = 1;
  lf_persist(&p->x, sizeof p->x);
  flag = 1;
  return unused;
}
static void *reader(void *unused) {
  (void)atomic_load_explicit(&step, memory_order_relaxed);
  if (flag) {
    p->y = 1;
    lf_persist(&p->y, sizeof p->y);
  }
  return unused;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    assert(!(p->y == 1 && p->x == 0));
    return 0;
  }
  pthread_t t, u;
  pthread_create(&t, 0, writer, 0);
  pthread_create(&u, 0, reader, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
