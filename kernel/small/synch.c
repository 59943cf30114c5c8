/* Semaphores, and locks whose holders run with the priority of whoever waits for them. */
#include "kernel.h"

void semaphore_init(struct semaphore *semaphore, int value) {
  semaphore->value = value;
  semaphore->waiters.first = 0;
}

void semaphore_down(struct semaphore *semaphore) {
#ifdef LOOKS_WITH_INTERRUPTS_ON
  /* Between the look and the wait somebody may say that it is there. */
  while (semaphore->value == 0) {
    bool before = interrupts_off();
    queue_push(&semaphore->waiters, thread_current());
    thread_block();
    interrupts_as(before);
  }
  bool before = interrupts_off();
  semaphore->value--;
  interrupts_as(before);
#else
  bool before = interrupts_off();
  while (semaphore->value == 0) {
    queue_push(&semaphore->waiters, thread_current());
    thread_block();
  }
  semaphore->value--;
  interrupts_as(before);
#endif
}

void semaphore_up(struct semaphore *semaphore) {
  bool before = interrupts_off();
  struct thread *waiter = queue_pop(&semaphore->waiters);
  if (waiter)
    thread_unblock(waiter);
  semaphore->value++;
  interrupts_as(before);
  thread_give_way();
}

void lock_init(struct lock *lock) {
  lock->holder = 0;
  lock->next = 0;
  semaphore_init(&lock->free, 1);
}

/* Whoever has the lock, and whoever that one waits for, runs no later than the thread that wants it. */
static void donate(struct lock *lock, int priority) {
  while (lock && lock->holder && lock->holder->priority < priority) {
    lock->holder->priority = priority;
    lock = lock->holder->wanted;
  }
}

/* Its own priority, or the highest of those who wait for what it has. */
static int due_priority(const struct thread *thread) {
  int priority = thread->own_priority;
  for (const struct lock *lock = thread->held; lock; lock = lock->next) {
    int highest = queue_highest(&lock->free.waiters);
    if (highest > priority)
      priority = highest;
  }
  return priority;
}

void lock_acquire(struct lock *lock) {
  struct thread *current = thread_current();
  bool before = interrupts_off();
  current->wanted = lock;
  donate(lock, current->priority);
  semaphore_down(&lock->free);
  current->wanted = 0;
  lock->holder = current;
  lock->next = current->held;
  current->held = lock;
  interrupts_as(before);
}

static void let_go(struct lock *lock) {
  struct lock **one = &lock->holder->held;
  while (*one != lock)
    one = &(*one)->next;
  *one = lock->next;
}

void lock_release(struct lock *lock) {
  struct thread *current = thread_current();
#ifdef KEEPS_DONATION
  /* Who wants the lock in between donates once more, to a thread that does not look again. */
  let_go(lock);
  current->priority = due_priority(current);
  bool before = interrupts_off();
#else
  bool before = interrupts_off();
  let_go(lock);
  current->priority = due_priority(current);
#endif
  lock->holder = 0;
  semaphore_up(&lock->free);
  interrupts_as(before);
  thread_give_way();
}
