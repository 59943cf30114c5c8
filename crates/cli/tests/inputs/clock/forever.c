/* Two threads whose executions never end. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, turns; /* with a counter no turn is in vain */

static void *one(void *unused) {
  for (;;) {
    turns++;
    x = 1;
    while (y)
      ;
    x = 0;
  }
  return unused;
}

static void *other(void *unused) {
  for (;;) {
    turns++;
    y = 1;
    while (x)
      ;
    y = 0;
  }
  return unused;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, other, 0);
}
