// A thread library without libc: `clone`, `futex` and `exit` as system calls in assembly, and thread-local storage of its own.
// check: --checks crash
// exit: 0
// check: --checks crash -O2
// exit: 0
// check: --checks crash -DSTORAGE
// exit: 0
// check: --checks crash -DSTORAGE -DBY_CALL
// exit: 0
// check: --checks crash -DRACES
// exit: 100
// finds: assertion `count == 2` is false
// check: --checks crash -DNO_WAIT
// exit: 100
// finds: assertion `count == 2` is false
// check: --checks crash -DLOOKS_TWICE
// exit: 100
// finds: deadlock
// check: --checks crash -DLOST
// exit: 100
// finds: deadlock
// check: --checks crash -DPROCESS
// exit: 2
// says: creates a process
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { SIZE = 1 << 16 };
static char stacks[2][SIZE] __attribute__((aligned(64)));
static atomic_int alive[2], count, lock;
static struct storage {
  struct storage *self;
  long number, unused[6];
} storages[2];

static long system_call(long number, long a, long b, long c, long d) {
  register long fourth __asm__("r10") = d;
  long result = number;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

// A mutex of its own.
static void take(void) {
  int free = 0;
  if (atomic_compare_exchange_strong(&lock, &free, 1))
    return;
  while (atomic_exchange(&lock, 2))
    system_call(SYS_futex, (long)&lock, FUTEX_WAIT, 2, 0);
}

static void give(void) {
#ifdef LOST
  atomic_store(&lock, 0);
#else
  if (atomic_exchange(&lock, 0) == 2)
    system_call(SYS_futex, (long)&lock, FUTEX_WAKE, 1, 0);
#endif
}

__attribute__((used, noreturn)) static void run(long me) {
#ifdef STORAGE
  long found;
#ifdef BY_CALL
  storages[me].self = &storages[me];
  storages[me].number = me;
  system_call(SYS_arch_prctl, 0x1002, (long)&storages[me], 0, 0);
#endif
  __asm__ volatile("movq %%fs:8, %0" : "=r"(found));
  assert(found == me);
#endif
#ifdef RACES
  count = count + 1;
#else
  take();
  count = count + 1;
  give();
#endif
  system_call(SYS_exit, 0, 0, 0, 0);
  __builtin_unreachable();
}

static long start(long me) {
  long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
#ifdef PROCESS
  flags = CLONE_VM;
#endif
#if defined STORAGE && !defined BY_CALL
  flags |= CLONE_SETTLS;
  storages[me].self = &storages[me];
  storages[me].number = me;
#endif
  long *top = (long *)(stacks[me] + SIZE);
  *--top = me;
  alive[me] = 1;
  register long child __asm__("r10") = (long)&alive[me];
  register long storage __asm__("r8") = (long)&storages[me];
  long result = SYS_clone;
  __asm__ volatile("syscall; testq %%rax, %%rax; jne 1f; popq %%rdi; xorl %%ebp, %%ebp; call run; 1:"
                   : "+a"(result)
                   : "D"(flags), "S"(top), "d"(0L), "r"(child), "r"(storage)
                   : "rcx", "r11", "memory");
  return result;
}

int main(void) {
  for (long i = 0; i < 2; i++)
    assert(start(i) > 0);
#ifndef NO_WAIT
  for (int i = 0, was; i < 2; i++)
    while ((was = alive[i]))
#ifdef LOOKS_TWICE
      // It may have ended since.
      was = alive[i],
#endif
      system_call(SYS_futex, (long)&alive[i], FUTEX_WAIT, was, 0);
#endif
  assert(count == 2);
  return 0;
}
