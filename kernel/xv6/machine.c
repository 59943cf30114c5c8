/* What xv6 has in swtch.S, vm.c, kalloc.c, lapic.c and the file system, as far as proc.c asks for it, on the machine of <landfall/kernel.h>. One
 * source of the program. A process runs a function instead of a program; the function of the first one is `test`. */
#include "types.h"
#include "defs.h"
#include "param.h"
#include "memlayout.h"
#include "mmu.h"
#include "proc.h"
#include "spinlock.h"
#include "x86.h"

enum { MOST_CONTEXTS = 64, TIMER = 0 };

struct cpu cpus[NCPU];
int ncpu = PROCESSORS;

int lapicid(void) { return (int)lfk_processor(); }
void panic(char *why) { lfk_panic(why); }
void cprintf(char *format, ...) { (void)format; }

char *kalloc(void) { return lfk_new_page(); }
void kfree(char *page) { lfk_free_page(page); }
pde_t *setupkvm(void) { return lfk_new_page(); }
pde_t *copyuvm(pde_t *from, uint bytes) { return lfk_new_page(); }
void freevm(pde_t *table) { lfk_free_page(table); }
void inituvm(pde_t *table, char *code, uint bytes) {}
int allocuvm(pde_t *table, uint from, uint to) { return (int)to; }
int deallocuvm(pde_t *table, uint from, uint to) { return (int)to; }
void switchuvm(struct proc *process) {}
void switchkvm(void) {}

struct inode *namei(char *path) { return 0; }
struct inode *idup(struct inode *inode) { return inode; }
void iput(struct inode *inode) {}
struct file *filedup(struct file *file) { return file; }
void fileclose(struct file *file) {}
void begin_op(void) {}
void end_op(void) {}
void iinit(int device) {}
void initlog(int device) {}
char _binary_initcode_start[1], _binary_initcode_size[1];

char *safestrcpy(char *to, const char *from, int size) {
  int at = 0;
  while (at < size - 1 && from[at]) {
    to[at] = from[at];
    at++;
  }
  to[at] = 0;
  return to;
}

void test(void);

/* Where a process goes on "in user space". */
void trapret(void) {}

/* A child that runs this function. */
int spawn(void (*function)(void)) {
  myproc()->tf->eip = (uint)(unsigned long)function;
  return fork();
}

static void begin(void *fresh) {
  void (*first)(void) = (void (*)(void))(unsigned long)((struct context *)fresh)->eip;
  first();
  void (*function)(void) = (void (*)(void))(unsigned long)myproc()->tf->eip;
  (function ? function : test)();
  exit();
}

/* Contexts that were left: what xv6 keeps of them is their address. */
static void *known[MOST_CONTEXTS];
static int count;

static int is_known(void *context) {
  for (int at = 0; at < MOST_CONTEXTS; at++)
    if (__atomic_load_n(&known[at], __ATOMIC_ACQUIRE) == context)
      return 1;
  return 0;
}

void swtch(struct context **old, struct context *new) {
  void *self = lfk_self();
  if (!is_known(self)) {
    int at = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
    if (at >= MOST_CONTEXTS)
      lfk_panic("more contexts than machine.c has room for");
    __atomic_store_n(&known[at], self, __ATOMIC_RELEASE);
  }
  *old = self;
  lfk_switch(is_known(new) ? (lfk_context *)new : lfk_new_context(begin, new));
}

static void tick(unsigned vector) {
  if (myproc() && myproc()->state == RUNNING)
    yield();
}

static void processor(void *unused) { scheduler(); }

int main(void) {
  for (int number = 0; number < NCPU; number++)
    cpus[number].apicid = (uchar)number;
  pinit();
  userinit();
  lfk_handle(TIMER, tick);
#ifndef NO_TIMER
  lfk_start_timer(TIMER);
#endif
  for (int number = 1; number < PROCESSORS; number++)
    lfk_start_processor(processor, 0);
  scheduler();
}
