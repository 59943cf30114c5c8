// More ways to fail than are looked at closely: those found last are told, too. Whichever end the search begins with, one of the two
// assertions comes after fifty other causes.
// check: --checks crash
// exit: 100
// finds: exit
// finds: assertion seen != 3
// finds: assertion seen != 62
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *count(void *unused) {
  for (int i = 1; i <= 64; i++) atomic_store_explicit(&x, i, memory_order_relaxed);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, count, 0);
  int seen = atomic_load(&x);
  pthread_join(thread, 0);
  assert(seen != 3);
  assert(seen != 62);
  return seen;
}
