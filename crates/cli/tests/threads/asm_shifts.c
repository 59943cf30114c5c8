// Negations and shifts of assembly are a load and a store, too, and compute what the processor does.
// check: --checks crash -DALONE
// exit: 0
// check: --checks crash -DALONE -O2
// exit: 0
// check: --checks crash -DSHIFTS
// exit: 100
// finds: assertion `x == 4` is false
// check: --checks crash -DROTATES
// exit: 100
// finds: assertion `x == 4` is false
// check: --checks crash -DNEGATES
// exit: 100
// finds: assertion `x == 5` is false
#include <assert.h>
#include <pthread.h>
static int x;
static long wide;
static void *work(void *unused) {
#if defined SHIFTS
  __asm__ volatile("shll $1, %0" : "+m"(x) : : "cc");
#elif defined ROTATES
  __asm__ volatile("roll $1, %0" : "+m"(x) : : "cc");
#elif defined NEGATES
  __asm__ volatile("negl %0" : "+m"(x) : : "cc");
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
#if defined SHIFTS || defined ROTATES
  x = 1;
#elif defined NEGATES
  x = 5;
#endif
  pthread_create(&thread, 0, work, 0);
#ifdef ALONE
  unsigned char zero, sign, carry;
  x = -24;
  __asm__ volatile("sarl $3, %0" : "+m"(x) : : "cc");
  assert(x == -3);
  __asm__ volatile("shrl $1, %0" : "+m"(x) : : "cc");
  assert(x == 0x7ffffffe);
  x = 0x40000001;
  __asm__ volatile("roll $9, %0" : "+m"(x) : : "cc");
  assert(x == 0x280);
  __asm__ volatile("rorl $12, %0" : "+m"(x) : : "cc");
  assert(x == 0x28000000);
  wide = -1;
  __asm__ volatile("shrq $40, %0" : "+m"(wide) : : "cc");
  assert(wide == 0xffffff);
  wide = 3;
  __asm__ volatile("salq $7, %0" : "+m"(wide) : : "cc");
  assert(wide == 384);
  __asm__ volatile("negq %0; sets %1" : "+m"(wide), "=q"(sign) : : "cc");
  assert(wide == -384 && sign);
  wide = 0;
  __asm__ volatile("negq %0; sete %1; setc %2" : "+m"(wide), "=q"(zero), "=q"(carry) : : "cc");
  assert(zero && !carry);
  wide = 1;
  __asm__ volatile("negq %0; setc %1" : "+m"(wide), "=q"(carry) : : "cc");
  assert(carry);
#else
  work(0);
#endif
  pthread_join(thread, 0);
#if defined SHIFTS || defined ROTATES
  assert(x == 4);
#elif defined NEGATES
  assert(x == 5);
#endif
  return 0;
}
