// An assumption that does not hold ends the execution, whose steps still say which others there are.
// check: -DSTORES=4
// exit: 0
// schedules: 1
// assumed: 4
// check: -DSTORES=4 --model sc --bound preemptions
// exit: 0
// schedules: 1
// check: -DSTORES=8
// exit: 0
// schedules: 1
// assumed: 8
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *stores(void *_) {
  for (int i = 1; i <= STORES; i++) atomic_store(&x, i);
  return 0;
}
int main() {
  pthread_t p;
  pthread_create(&p, 0, stores, 0);
  lf_assume(atomic_load(&x) == STORES);
  assert(x == STORES);
  pthread_join(p, 0);
  return 0;
}
