// Elements of arrays have their index, members their names, statics of functions the function's.
// check: --checks crash
// exit: 100
// finds: deadlock
// note: `forks[1]`
// note: `forks[0]`
// check: --checks data-races
// exit: 100
// finds: data-race data race on `grid[1][0].in.d`
// finds: data-race data race on `eats.meals`
#include <pthread.h>
static pthread_mutex_t forks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static struct cell {
  int a;
  struct {
    int c, d;
  } in;
} grid[2][3];
static void *eats(void *p) {
  static int meals;
  long i = (long)p;
  pthread_mutex_lock(&forks[i]);
  pthread_mutex_lock(&forks[1 - i]);
  pthread_mutex_unlock(&forks[1 - i]);
  pthread_mutex_unlock(&forks[i]);
  meals++;
  grid[1][i].in.d++;
  return 0;
}
int main() {
  pthread_t p, q;
  pthread_create(&p, 0, eats, (void *)0);
  pthread_create(&q, 0, eats, (void *)1);
  grid[1][0].in.d = 4;
  pthread_join(p, 0);
  pthread_join(q, 0);
  return 0;
}
