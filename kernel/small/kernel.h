/* A small kernel's threads, in the way teaching kernels write them: one processor, a run queue, priorities that are donated, sleeping
 * until a tick, waiting for a child. It runs on the machine of <landfall/kernel.h>.
 *
 * What people get wrong is in the sources as well, each mistake behind its own macro. */
#ifndef SMALL_KERNEL_H
#define SMALL_KERNEL_H

#include <landfall/kernel.h>
#include <stdbool.h>
#include <stdint.h>

enum { PRIORITY_IDLE = 0, PRIORITY_LOW = 10, PRIORITY_DEFAULT = 31, PRIORITY_HIGH = 50 };

enum thread_state { RUNNING, READY, BLOCKED, DYING };

struct lock;

/* At the beginning of its page. */
struct thread {
  lfk_context *context;
  const char *name;
  enum thread_state state;
  /* As it was given, and as it counts while others wait for locks of this thread. */
  int own_priority, priority;
  struct lock *held;     /* Locks it has, */
  struct lock *wanted;   /* and the one that it waits for. */
  struct thread *next;   /* In the run queue, or among those that wait for the same. */
  int64_t wakes_at;      /* In ticks, */
  struct thread *sleeps; /* and who wakes next. */
  void (*function)(void *);
  void *argument;
};

/* Threads in the order in which they came. */
struct queue {
  struct thread *first;
};
void queue_push(struct queue *queue, struct thread *thread);
/* The first of those with the highest priority, or null. */
struct thread *queue_pop(struct queue *queue);
int queue_highest(const struct queue *queue);

/* threads.c */
void boot(void);
struct thread *thread_create(const char *name, int priority, void (*function)(void *), void *argument);
struct thread *thread_current(void);
/* These two with interrupts off. */
void thread_block(void);
void thread_unblock(struct thread *thread);
void thread_yield(void);
__attribute__((__noreturn__)) void thread_exit(void);
/* Somebody with a higher priority is ready: lets them run. */
void thread_give_way(void);

/* Turns interrupts off; and as they were. */
bool interrupts_off(void);
void interrupts_as(bool before);

/* synch.c */
struct semaphore {
  int value;
  struct queue waiters;
};
void semaphore_init(struct semaphore *semaphore, int value);
void semaphore_down(struct semaphore *semaphore);
void semaphore_up(struct semaphore *semaphore);

struct lock {
  struct thread *holder;
  struct semaphore free;
  struct lock *next; /* Among those of one holder. */
};
void lock_init(struct lock *lock);
void lock_acquire(struct lock *lock);
void lock_release(struct lock *lock);

/* timer.c */
void timer_init(void);
int64_t timer_ticks(void);
void timer_sleep(int64_t ticks);

/* process.c */
struct process;
/* A child that ends with what `function` returns. */
struct process *process_spawn(const char *name, int (*function)(void *), void *argument);
/* Waits until it has ended: with which value. A second time it is -1. */
int process_wait(struct process **child);

#endif
