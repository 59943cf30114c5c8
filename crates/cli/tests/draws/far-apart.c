/* All that one thread does must come between two steps of the other, with others in between. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic int gate, work, other_work;

static void *opens(void *u) {
  for (int i = 0; i < 15; i++)
    work++;
  gate = 1;
  for (int i = 0; i < 15; i++)
    work++;
  gate = 2;
  return u;
}

static void *looks_twice(void *u) {
  for (int i = 0; i < 15; i++)
    other_work++;
  int before = gate;
  for (int i = 0; i < 15; i++)
    other_work++;
  int after = gate;
  assert(!(before == 0 && after == 2));
  return u;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, opens, NULL);
  pthread_create(&b, NULL, looks_twice, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
