// A locked instruction on a variable that nobody else can see drains the store buffer and completes write-backs like any other.
// check: --checks crash -mclwb
// exit: 0
// check: --checks crash -mclwb -O2
// exit: 0
// check: --checks crash -mclwb -DHOW=1
// exit: 0
// check: --checks crash -mclwb -O2 -DHOW=1
// exit: 0
// check: --checks crash -mclwb -DHOW=2
// exit: 0
// check: --checks crash -mclwb -O3 -DHOW=2
// exit: 0
// check: --checks crash -mclwb -DHOW=3
// exit: 0
// check: --checks crash -mclwb -O1 -DHOW=3
// exit: 0
// check: --checks crash -mclwb -DHOW=4
// exit: 0
// check: --checks crash -mclwb -O2 -DHOW=4
// exit: 0
// check: --checks crash -mclwb -DHOW=5
// exit: 100
// finds: assertion
// check: --checks crash -mclwb -DALONE
// exit: 0
// check: --checks crash -mclwb -DALONE -O2 -DHOW=2
// exit: 0
// check: --checks crash -mclwb -DALONE -O2 -DHOW=3
// exit: 0
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#ifndef HOW
#define HOW 0
#endif
struct root { _Alignas(64) uint64_t value; _Alignas(64) uint64_t valid[2]; } *root;
static _Atomic int x, y;
static int a, b;

static void fence(void) {
#if HOW == 0
  int local = 0;
  __atomic_fetch_add(&local, 1, __ATOMIC_RELAXED);
#elif HOW == 1
  // Not what it expects.
  int local = 0, expected = 1;
  __atomic_compare_exchange_n(&local, &expected, 2, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#elif HOW == 2
  volatile _Atomic int local;
  local = 1;
#elif HOW == 3
  int local = 0;
  __asm__ volatile("lock; addl $1, %0" : "+m"(local)::"cc");
#elif HOW == 4
  int local = __sync_lock_test_and_set(&(int){0}, 1);
  (void)local;
#else
  _Atomic int local;
  atomic_store_explicit(&local, 1, memory_order_release);
#endif
}

static void publish(int thread) {
  if (thread == 0) {
    root->value = 7;
    _mm_clwb(&root->value);
  }
  fence();
  if (thread == 0)
    root->valid[0] = 1;
}

static void *other(void *unused) {
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  publish(1);
  a = atomic_load_explicit(&y, memory_order_relaxed);
  return unused;
}

int main(void) {
  root = lf_pm(sizeof *root);
  if (lf_failures()) {
    assert(!root->valid[0] || root->value == 7);
    return 0;
  }
#ifdef ALONE
  publish(0);
#else
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  publish(0);
  b = atomic_load_explicit(&x, memory_order_relaxed);
  pthread_join(thread, 0);
  assert(a || b);
#endif
  return 0;
}
