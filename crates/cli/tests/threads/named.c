// Persistent memory is called what the source calls it.
// check: --checks data-races
// exit: 100
// finds: data-race data race on `p->value`
// check: --checks data-races -DDIFFERENT
// exit: 100
// finds: data-race data race on `pm+0x0`
#include <landfall.h>
#include <pthread.h>
static struct pm {
  long value;
} *p;
static void *set(void *unused) {
  p->value = 1;
  return unused;
}
static void *look(void *unused) {
#ifdef DIFFERENT
  // Two names for one place: neither says where it is.
  struct pm *other = p;
  other->value = 2;
  return unused;
#else
  return p->value ? unused : 0;
#endif
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) return 0;
  pthread_t a, b;
  pthread_create(&a, 0, set, 0);
  pthread_create(&b, 0, look, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
