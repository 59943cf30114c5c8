// Exchange, addition, subtraction, compare and swap in assembly, in one step and not.
// check: --checks crash -DFETCH_ADD
// exit: 0
// check: --checks crash -DFETCH_ADD -DUNLOCKED
// exit: 100
// finds: assertion
// check: --checks crash -DFETCH_SUB
// exit: 0
// check: --checks crash -DFETCH_SUB -DUNLOCKED
// exit: 100
// finds: assertion
// check: --checks crash -DEXCHANGE
// exit: 0
// check: --checks crash -DEXCHANGE -DUNLOCKED
// exit: 100
// finds: assertion
// check: --checks crash -DCOMPARE_SWAP
// exit: 0
// check: --checks crash -DCOMPARE_SWAP -DUNLOCKED
// exit: 100
// finds: assertion
#include <assert.h>
#include <pthread.h>
#ifdef UNLOCKED
#define LOCK ""
#else
#define LOCK "lock; "
#endif
static int word;
static int fetch_add(int by) {
  __asm__ volatile(LOCK "xaddl %0, %1" : "+r"(by), "+m"(word) : : "memory", "cc");
  return by;
}
static int exchange(int value) {
#ifdef UNLOCKED
  int before = *(volatile int *)&word;
  *(volatile int *)&word = value;
  return before;
#else
  __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(word) : : "memory");
  return value;
#endif
}
static int compare_swap(int expected, int value) {
  __asm__ volatile(LOCK "cmpxchgl %2, %1" : "+a"(expected), "+m"(word) : "r"(value) : "memory", "cc");
  return expected;
}
/* What each of the two got. */
static int got[2];
static void *work(void *number) {
  int me = *(int *)number;
#if defined FETCH_ADD
  got[me] = fetch_add(1);
#elif defined FETCH_SUB
  got[me] = fetch_add(-1);
#elif defined EXCHANGE
  got[me] = exchange(me + 1);
#else
  got[me] = compare_swap(0, me + 1);
#endif
  return 0;
}
int main(void) {
  pthread_t other;
  int zero = 0, one = 1;
  pthread_create(&other, 0, work, &one);
  work(&zero);
  pthread_join(other, 0);
#if defined FETCH_ADD
  assert(word == 2 && got[0] + got[1] == 1);
#elif defined FETCH_SUB
  assert(word == -2 && got[0] + got[1] == -1);
#elif defined EXCHANGE
  assert(word + got[0] + got[1] == 3);
#else
  assert((got[0] == 0) != (got[1] == 0));
#endif
  return 0;
}
