// A thread library of its own: `clone` with a stack of the program's, and a futex that the kernel wakes when the thread ends.
// check: --checks crash
// exit: 0
// check: --checks crash -DNO_WAIT
// exit: 100
// finds: assertion `count == 2 && own == 0` is false
// check: -DNO_WAIT -DFREES
// exit: 100
// finds: use-after-free stack
// check: -DFREES
// exit: 0
// check: -DFREES -DMAPS
// exit: 0
// check: --checks crash -DRACES
// exit: 100
// finds: assertion `count == 2 && own == 0` is false
// check: --checks crash -DTWO
// exit: 0
// check: --checks crash -DEXITS
// exit: 0
// check: --checks crash -DPROCESS
// exit: 2
// says: creates a process
// check: --checks crash -DTWICE
// exit: 2
// says: on two stacks
// check: -DTLS
// exit: 0
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { SIZE = 1 << 16, FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };
struct thread {
  atomic_int id;
  char *stack;
};
static atomic_int count;
static int plain;
static _Thread_local int own;
static int work(void *id) {
  // The kernel has told it who it is.
  assert(*(atomic_int *)id == syscall(SYS_gettid));
  int was = count;
#ifdef RACES
  count = was + 1;
#else
  count++;
#endif
#ifdef TLS
  assert(own == 0);
  own = 1;
#endif
  plain++;
#ifdef EXITS
  syscall(SYS_exit, 0);
  assert(0);
#endif
  return 0;
}
static void create(struct thread *thread) {
#ifdef MAPS
  thread->stack = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
  thread->stack = malloc(SIZE);
#endif
  int flags = FLAGS | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
#ifdef PROCESS
  flags = CLONE_VM;
#endif
#ifdef TWICE
  syscall(SYS_clone, flags, thread->stack + SIZE, 0, 0, 0);
#endif
  atomic_store(&thread->id, -1);
  int parent;
  int id = clone(work, thread->stack + SIZE, flags, &thread->id, &parent, 0, &thread->id);
  assert(id > 0 && id == parent);
}
static void join(struct thread *thread) {
#ifndef NO_WAIT
  int id;
  while ((id = atomic_load(&thread->id)))
    syscall(SYS_futex, &thread->id, FUTEX_WAIT, id, 0, 0, 0);
#endif
#ifdef MAPS
  munmap(thread->stack, SIZE);
#elif defined FREES
  free(thread->stack);
#endif
}
int main(void) {
  struct thread one, two;
  create(&one);
#ifdef TWO
  join(&one);
  create(&two);
  join(&two);
#elif defined RACES
  int was = count;
  count = was + 1;
  join(&one);
#else
  count++;
  join(&one);
#endif
  assert(count == 2 && own == 0);
  return 0;
}
