// Assembly that is not looked at while several threads are alive: what it does to what they share is no step, so nothing is clean. What only is not
// taken apart is looked at as it happens.
// check: --checks crash -DCALLS
// exit: 5
// limit: unseen
// note: unseen_assembly.c:32:3: this assembly is not taken apart
// check: --checks crash -DROTATE
// exit: 0
// check: --checks crash -DROTATE_CARRY
// exit: 0
// check: --checks crash -DFILE_SCOPE
// exit: 5
// limit: unseen
// check: --checks crash -DNAKED
// exit: 5
// limit: unseen
// check: --checks crash -DALONE
// exit: 0
// check: --checks crash -DLOCKED
// exit: 0
// check: --checks crash -DHINT
// exit: 0
#include <assert.h>
#include <pthread.h>
static int x;
int y;
#ifdef CALLS
void other(void) { y++; }
#endif
static void touch(void) {
#if defined CALLS
  __asm__ volatile("call other" : : : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
#elif defined ROTATE
  __asm__ volatile("rcll $1, %0" : "+m"(x) : : "memory");
#elif defined ALONE
  int one = 1;
  __asm__ volatile("xaddl %0,%1" : "+r"(one), "+m"(x) : : "memory");
#elif defined ROTATE_CARRY
  __asm__("rcll $1, %0" : "+m"(x));
#elif defined LOCKED
  __asm__ volatile("lock; incl %0" : "+m"(x) : : "cc");
#elif defined HINT
  __asm__ volatile("rep; nop" : : : "memory");
  __asm__ volatile("" : : : "memory");
#elif defined FILE_SCOPE
  void increment(void);
  increment();
#elif defined NAKED
  void naked(void);
  naked();
#endif
}
#ifdef FILE_SCOPE
__asm__(".text\n.globl increment\nincrement:\n incl y(%rip)\n ret\n");
#endif
#ifdef NAKED
__attribute__((naked)) void naked(void) { __asm__("incl y(%rip)\n ret"); }
#endif
static void *work(void *unused) {
#ifndef ALONE
  touch();
#endif
  return 0;
}
int main(void) {
  pthread_t a, b;
#ifdef ALONE
  touch();
#endif
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifdef ALONE
  touch();
#endif
  return 0;
}
