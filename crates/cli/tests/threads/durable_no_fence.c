// Creating a thread, and taking a recursive mutex once more, complete no write-back: only fences and locked instructions do.
// check: --checks crash
// exit: 100
// finds: assertion `!(p->y == 1 && p->x == 0)` is false
// check: --checks crash --platform eadr
// exit: 100
// finds: assertion `!(p->y == 1 && p->x == 0)` is false
// check: --checks crash -DCLWB -DJOIN
// exit: 100
// finds: assertion `!(p->y == 1 && p->x == 0)` is false
// check: --checks crash -DCLWB -DTWICE
// exit: 100
// finds: assertion `!(p->y == 1 && p->x == 0)` is false
// check: --checks crash -DFENCE
// exit: 0
// check: --checks crash -DFENCE -DCLWB -DTWICE
// exit: 0
#define _GNU_SOURCE
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
struct pm {
  _Alignas(64) long long x;
  _Alignas(64) long long y;
};
static struct pm *p;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static void *idle(void *unused) { return unused; }
static void *second(void *unused) {
  p->y = 1;
  lf_persist(&p->y, sizeof p->y);
  return unused;
}
__attribute__((target("clwb"))) static void first(void) {
#ifdef CLWB
  p->x = 1;
  _mm_clwb(&p->x);
#else
  _mm_stream_si64(&p->x, 1);
#endif
#ifdef FENCE
  _mm_sfence();
#endif
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    assert(!(p->y == 1 && p->x == 0));
    return 0;
  }
  pthread_t t, u;
  pthread_create(&t, 0, idle, 0);
#ifdef TWICE
  pthread_mutex_lock(&lock);
  first();
  pthread_mutex_lock(&lock);
  second(0);
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_join(t, 0);
#elif defined JOIN
  first();
  pthread_join(t, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(u, 0);
#else
  first();
  pthread_create(&u, 0, second, 0);
  pthread_join(u, 0);
  pthread_join(t, 0);
#endif
  return 0;
}
