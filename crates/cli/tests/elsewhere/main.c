#include <landfall.h>
#include <pthread.h>
void put(volatile long *at, long value);
struct pm {
  _Alignas(64) long x;
  _Alignas(64) long y;
};
static struct pm *p;
static void *other(void *unused) {
  put(&p->x, 1);
  put(&p->y, 1);
  return unused;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures())
    return 0;
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  put(&p->y, 2);
  pthread_join(t, 0);
  return 0;
}
