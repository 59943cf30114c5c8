/* Threads: the run queue, and who runs. */
#include "kernel.h"
#include <assert.h>
#include <string.h>

static struct queue ready;
static struct thread *idle_thread;
/* The one that has just ended: its page is given back by whoever runs next, on a stack of their own. */
static struct thread *ended;

void queue_push(struct queue *queue, struct thread *thread) {
  struct thread **last = &queue->first;
  while (*last)
    last = &(*last)->next;
  thread->next = 0;
  *last = thread;
}

int queue_highest(const struct queue *queue) {
  int highest = -1;
  for (struct thread *thread = queue->first; thread; thread = thread->next)
    if (thread->priority > highest)
      highest = thread->priority;
  return highest;
}

struct thread *queue_pop(struct queue *queue) {
  int highest = queue_highest(queue);
  struct thread **found = &queue->first;
  while (*found && (*found)->priority != highest)
    found = &(*found)->next;
  struct thread *thread = *found;
  if (thread)
    *found = thread->next;
  return thread;
}

bool interrupts_off(void) {
  bool before = lfk_interrupts_on();
  lfk_cli();
  return before;
}

void interrupts_as(bool before) {
  if (before)
    lfk_sti();
}

struct thread *thread_current(void) { return lfk_data(lfk_self()); }

static void after_switch(void) {
  if (ended) {
    lfk_free_page(ended);
    ended = 0;
  }
}

static void schedule(void) {
  struct thread *current = thread_current();
  struct thread *next = queue_pop(&ready);
  if (!next)
    next = idle_thread;
  next->state = RUNNING;
  if (next == current)
    return;
  if (current->state == DYING)
    ended = current;
  lfk_switch(next->context);
  after_switch();
}

static void begin(void *page) {
  struct thread *thread = page;
  after_switch();
  lfk_sti();
  thread->function(thread->argument);
  thread_exit();
}

static struct thread *make(const char *name, int priority) {
  struct thread *thread = lfk_new_page();
  memset(thread, 0, sizeof *thread);
  thread->name = name;
  thread->own_priority = thread->priority = priority;
  thread->state = BLOCKED;
  return thread;
}

struct thread *thread_create(const char *name, int priority, void (*function)(void *), void *argument) {
  struct thread *thread = make(name, priority);
  thread->function = function;
  thread->argument = argument;
  thread->context = lfk_new_context(begin, thread);
  lfk_set_data(thread->context, thread);
  bool before = interrupts_off();
  thread_unblock(thread);
  interrupts_as(before);
  thread_give_way();
  return thread;
}

void thread_block(void) {
  thread_current()->state = BLOCKED;
  schedule();
}

void thread_unblock(struct thread *thread) {
  assert(thread->state == BLOCKED);
  thread->state = READY;
  if (thread != idle_thread)
    queue_push(&ready, thread);
}

void thread_yield(void) {
  bool before = interrupts_off();
  struct thread *current = thread_current();
  if (current != idle_thread)
    queue_push(&ready, current);
  current->state = READY;
  schedule();
  interrupts_as(before);
}

void thread_give_way(void) {
  bool before = interrupts_off();
  bool higher = queue_highest(&ready) > thread_current()->priority;
  interrupts_as(before);
  if (higher)
    thread_yield();
}

void thread_exit(void) {
  lfk_cli();
  thread_current()->state = DYING;
  schedule();
  lfk_panic("a thread that has ended runs");
}

static void idle(void *unused) {
  (void)unused;
  for (;;) {
    lfk_cli();
    thread_block();
    lfk_hlt();
  }
}

/* Makes a thread of what runs. */
void boot(void) {
  struct thread *first = make("main", PRIORITY_DEFAULT);
  first->state = RUNNING;
  first->context = lfk_self();
  lfk_set_data(first->context, first);
  idle_thread = make("idle", PRIORITY_IDLE);
  idle_thread->function = idle;
  idle_thread->context = lfk_new_context(begin, idle_thread);
  lfk_set_data(idle_thread->context, idle_thread);
  timer_init();
  /* Nobody sleeps for longer. */
  lfk_idle_ticks = 16;
  lfk_sti();
}
