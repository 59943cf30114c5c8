/* The machine of <landfall/kernel.h>, on threads and signals: a context is a thread that waits for its turn, an interrupt is a signal,
 * the interrupt flag is the mask of signals. So what is known about those holds here as well. */
#include <landfall/kernel.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A function whose own accesses of memory are no steps: what it touches is the running context's alone, or changes only with interrupts off. */
#define UNSEEN __attribute__((disable_sanitizer_instrumentation))

struct lfk_context {
  sem_t turn;
  unsigned processor;
  int interrupts_on;
  /* Interrupts that came while it ran, and halts in a row with nothing in between. */
  unsigned taken, idle;
  /* It waits for devices only; whoever interrupts it says so. */
  int halted;
  sem_t woken;
  void (*start)(void *);
  void *argument;
  void *data;
};

unsigned lfk_idle_ticks = 256;

static lfk_context boot;
static __thread lfk_context *self;
static void (*handlers[LFK_VECTORS])(unsigned);
static unsigned timer_vector, processors = 1;
static int timer_runs;
static sigset_t interrupts, devices;

/* Devices that were started: a timer that goes off once stands for each. */
enum { MOST_STARTED = 16 };
static struct device {
  unsigned vector;
  int made, works;
  timer_t timer;
} started[MOST_STARTED];

static void interrupt(int signal);

/* Before anything of the kernel, constructors included. */
__attribute__((constructor(101))) static void power_on(void) {
  sigemptyset(&devices);
  for (unsigned vector = 0; vector < LFK_VECTORS; vector++)
    sigaddset(&devices, SIGRTMIN + (int)vector);
  interrupts = devices;
  sigaddset(&interrupts, SIGALRM);
  struct sigaction action = {0};
  action.sa_handler = interrupt;
  action.sa_mask = interrupts;
  for (unsigned vector = 0; vector < LFK_VECTORS; vector++)
    sigaction(SIGRTMIN + (int)vector, &action, 0);
  sigaction(SIGALRM, &action, 0);
  self = &boot;
  sem_init(&boot.turn, 0, 0);
  pthread_sigmask(SIG_BLOCK, &interrupts, 0);
}

UNSEEN lfk_context *lfk_self(void) { return self; }

UNSEEN void lfk_cli(void) {
  pthread_sigmask(SIG_BLOCK, &interrupts, 0);
  self->interrupts_on = 0;
}

UNSEEN void lfk_sti(void) {
  self->interrupts_on = 1;
  pthread_sigmask(SIG_UNBLOCK, &interrupts, 0);
}

UNSEEN int lfk_interrupts_on(void) { return self->interrupts_on; }

static void tick_every(int microseconds) {
  struct itimerval often = {{0, microseconds}, {0, microseconds}};
  timer_runs = microseconds != 0;
  setitimer(ITIMER_REAL, &often, 0);
}

UNSEEN void lfk_hlt(void) {
  /* What comes before it does not end it, if interrupts were on. */
  if (self->interrupts_on)
    lfk_sti();
  unsigned before = self->taken;
  /* What is pending comes now, and ends the wait. */
  lfk_sti();
  lfk_cli();
  /* When it has ticked for nothing, it stops: then whoever waits waits for ever, and that is seen. */
  if (timer_runs && self->idle++ == lfk_idle_ticks) {
    fprintf(stderr, "the timer stops: %u ticks in a row woke nobody (lfk_idle_ticks)\n", lfk_idle_ticks);
    tick_every(0);
  }
  if (self->taken == before && timer_runs) {
    /* Who waits for a tick or a device waits for the tick, as long as there is one: the device may interrupt before, and after. */
    self->interrupts_on = 1;
    sigsuspend(&devices);
  } else if (self->taken == before) {
    /* Whichever comes first. */
    sem_init(&self->woken, 0, 0);
    self->halted = 1;
    lfk_sti();
    while (sem_wait(&self->woken))
      ;
    lfk_cli();
    self->halted = 0;
  }
  lfk_sti();
}

UNSEEN unsigned long lfk_flags(void) { return self->interrupts_on ? 0x202 : 0x2; }

unsigned long lfk_stack(void) {
  if (!self->data)
    self->data = lfk_new_page();
  return (unsigned long)self->data + LFK_PAGE / 2;
}

UNSEEN static void has_interrupted(unsigned vector) {
  for (int at = 0; at < MOST_STARTED; at++)
    if (started[at].works && started[at].vector == vector) {
      started[at].works = 0;
      return;
    }
}

UNSEEN static void interrupt(int signal) {
  unsigned vector = signal == SIGALRM ? timer_vector : (unsigned)(signal - SIGRTMIN);
  self->interrupts_on = 0;
  self->taken++;
  if (self->halted)
    sem_post(&self->woken);
  if (signal != SIGALRM)
    has_interrupted(vector);
  if (!handlers[vector])
    lfk_panic("an interrupt that nobody handles");
  handlers[vector](vector);
  self->interrupts_on = 1;
}

static void known(unsigned vector) {
  if (vector >= LFK_VECTORS)
    lfk_panic("no such interrupt vector");
}

void lfk_handle(unsigned vector, void (*handler)(unsigned)) {
  known(vector);
  handlers[vector] = handler;
}

void lfk_start_timer(unsigned vector) {
  known(vector);
  timer_vector = vector;
  tick_every(10000);
}

/* One that does not work: best of all one with this vector, since its timer is there. */
UNSEEN static struct device *idle_device(unsigned vector) {
  struct device *found = 0;
  for (int at = MOST_STARTED - 1; at >= 0; at--) {
    struct device *device = &started[at];
    int fits = device->made && device->vector == vector;
    if (!device->works && (fits || !device->made))
      found = device;
  }
  if (!found)
    lfk_panic("more devices work at once than the machine has room for");
  found->works = 1;
  found->vector = vector;
  return found;
}

UNSEEN void lfk_start_device(unsigned vector) {
  known(vector);
  struct device *device = idle_device(vector);
  if (!device->made) {
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + (int)vector;
    device->made = 1;
    timer_create(CLOCK_MONOTONIC, &event, &device->timer);
  }
  struct itimerspec once = {{0, 0}, {0, 1}};
  timer_settime(device->timer, 0, &once, 0);
}

static void wait_for_turn(void) {
  while (sem_wait(&self->turn))
    ;
  self->idle = 0;
}

static void *begin(void *context) {
  self = context;
  wait_for_turn();
  self->start(self->argument);
  lfk_panic("a context has returned from its first function");
}

lfk_context *lfk_new_context(void (*start)(void *), void *argument) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  lfk_context *context = calloc(1, sizeof *context);
  if (!context)
    lfk_panic("out of memory");
  context->start = start;
  context->argument = argument;
  sem_init(&context->turn, 0, 0);
  pthread_t thread;
  if (pthread_create(&thread, 0, begin, context))
    lfk_panic("out of threads");
  pthread_sigmask(SIG_SETMASK, &before, 0);
  pthread_detach(thread);
  return context;
}

void lfk_switch(lfk_context *to) {
  if (self->interrupts_on)
    lfk_panic("a switch with interrupts on");
  if (to == self)
    return;
  to->processor = self->processor;
  sem_post(&to->turn);
  wait_for_turn();
}

void *lfk_data(const lfk_context *context) { return context->data; }
void lfk_set_data(lfk_context *context, void *data) { context->data = data; }

UNSEEN unsigned lfk_processor(void) { return self->processor; }

unsigned lfk_start_processor(void (*start)(void *), void *argument) {
  lfk_context *context = lfk_new_context(start, argument);
  unsigned number = __atomic_fetch_add(&processors, 1, __ATOMIC_SEQ_CST);
  context->processor = number;
  sem_post(&context->turn);
  return number;
}

void lfk_spin_lock(lfk_spinlock *lock) {
  while (!lfk_spin_try(lock))
    ;
}

int lfk_spin_try(lfk_spinlock *lock) { return !__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE); }
void lfk_spin_unlock(lfk_spinlock *lock) { __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE); }

/* The heap is libc's, and must not be interrupted by itself. */
void *lfk_malloc(size_t bytes) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  void *block = malloc(bytes);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  return block;
}

void *lfk_new_page(void) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  void *page = aligned_alloc(LFK_PAGE, LFK_PAGE);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  if (!page)
    lfk_panic("out of pages");
  return page;
}

void lfk_free(void *block) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  free(block);
  pthread_sigmask(SIG_SETMASK, &before, 0);
}

void lfk_free_page(void *page) { lfk_free(page); }

void lfk_panic(const char *why) {
  fprintf(stderr, "panic: %s\n", why);
  abort();
}

UNSEEN void lfk_power_off(void) {
  lfk_cli();
  exit(0);
}
