/* Children, and parents that wait for them. */
#include "kernel.h"
#include <string.h>

/* Shared by the two. The parent gives it back, when the child is done with it. */
struct process {
  int (*function)(void *);
  void *argument;
  int value;
  bool has_ended;
  struct semaphore ended;
  struct thread *parent;
};

static void run(void *argument) {
  struct process *process = argument;
  int value = process->function(process->argument);
#if defined WAITS_FIRST
  /* Thinks that the parent waits by now. */
  bool before = interrupts_off();
  process->value = value;
  if (process->parent) {
    thread_unblock(process->parent);
    process->parent = 0;
  }
  interrupts_as(before);
#elif defined TOUCHES_AFTER
  process->value = value;
  semaphore_up(&process->ended);
  /* The parent may have given it back. */
  process->has_ended = true;
#else
  process->value = value;
  process->has_ended = true;
  semaphore_up(&process->ended);
#endif
}

struct process *process_spawn(const char *name, int (*function)(void *), void *argument) {
  struct process *process = lfk_malloc(sizeof *process);
  memset(process, 0, sizeof *process);
  process->function = function;
  process->argument = argument;
  semaphore_init(&process->ended, 0);
  thread_create(name, PRIORITY_DEFAULT, run, process);
  return process;
}

int process_wait(struct process **child) {
  struct process *process = *child;
  if (!process)
    return -1;
#ifdef WAITS_FIRST
  bool before = interrupts_off();
  process->parent = thread_current();
  thread_block();
  interrupts_as(before);
#else
  semaphore_down(&process->ended);
#endif
  int value = process->value;
  *child = 0;
  lfk_free(process);
  return value;
}
