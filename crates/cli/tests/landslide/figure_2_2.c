// The same with a lock of one's own: an exchange, and a yield to whoever has it. (The test of mutexes: two threads, two rounds.)
// check: --asm-atomic
// exit: 0
// check: --checks crash -DLOOKS_FIRST
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#include <sched.h>
enum { ROUNDS = 2 };
struct mutex {
  volatile int held;
};
static int exchange(volatile int *at, int value) {
  __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
  return value;
}
static void lock(struct mutex *mutex) {
#ifdef LOOKS_FIRST
  while (mutex->held)
    sched_yield();
  mutex->held = 1;
#else
  while (exchange(&mutex->held, 1))
    sched_yield();
#endif
}
static void unlock(struct mutex *mutex) { mutex->held = 0; }
static struct mutex mutex;
static int x;
static void *count(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    lock(&mutex);
    x++;
    unlock(&mutex);
  }
  return unused;
}
int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, count, 0);
  pthread_create(&second, 0, count, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  assert(x == 2 * ROUNDS);
  return 0;
}
