/* What Pintos has in interrupt.c, switch.S, palloc.c and debug.c, on the machine of <landfall/kernel.h>. One source of the program. */
#include "threads/interrupt.h"
#include "threads/palloc.h"
#include "threads/switch.h"
#include "threads/thread.h"
#include "devices/timer.h"
#include <stdarg.h>

/* Interrupts of devices begin here. */
enum { FIRST_VECTOR = 0x20, MOST_THREADS = 64 };

static intr_handler_func *handlers[LFK_VECTORS];
static bool in_interrupt, yields;

enum intr_level intr_get_level(void) { return lfk_interrupts_on() ? INTR_ON : INTR_OFF; }

enum intr_level intr_enable(void) {
  enum intr_level before = intr_get_level();
  lfk_sti();
  return before;
}

enum intr_level intr_disable(void) {
  enum intr_level before = intr_get_level();
  lfk_cli();
  return before;
}

enum intr_level intr_set_level(enum intr_level level) { return level == INTR_ON ? intr_enable() : intr_disable(); }

bool intr_context(void) { return in_interrupt; }
void intr_yield_on_return(void) { yields = true; }

static void interrupted(unsigned vector) {
  in_interrupt = true;
  yields = false;
  handlers[vector](0);
  in_interrupt = false;
  if (yields)
    thread_yield();
}

void intr_register_ext(uint8_t vector, intr_handler_func *handler, const char *name) {
  (void)name;
  handlers[vector - FIRST_VECTOR] = handler;
  lfk_handle(vector - FIRST_VECTOR, interrupted);
}

void pit_configure_channel(int channel, int mode, int frequency) {
  (void)mode;
  (void)frequency;
  lfk_start_timer((unsigned)channel);
}

void *palloc_get_page(enum palloc_flags flags) {
  void *page = lfk_new_page();
  if (flags & PAL_ZERO)
    memset(page, 0, LFK_PAGE);
  return page;
}

void palloc_free_page(void *page) { lfk_free_page(page); }

/* Which context runs which thread. */
static struct {
  struct thread *thread;
  lfk_context *context;
} known[MOST_THREADS];

static struct thread *left;
void thread_schedule_tail(struct thread *previous);
extern uint32_t thread_stack_ofs;

/* A new thread's page holds the frames that switch.S would return through. */
static void begin(void *page) {
  void *top;
  memcpy(&top, (char *)page + thread_stack_ofs, sizeof top);
  struct switch_threads_frame *switched = top;
  struct switch_entry_frame *entry = (void *)(switched + 1);
  void **start = (void *)(entry + 1);
  void (*kernel_thread)(thread_func *, void *) = (void (*)(thread_func *, void *))entry->eip;
  thread_schedule_tail(left);
  kernel_thread((thread_func *)start[1], start[2]);
}

static int place_of(struct thread *thread) {
  for (int at = 0; at < MOST_THREADS; at++)
    if (known[at].thread == thread)
      return at;
  return -1;
}

struct thread *switch_threads(struct thread *current, struct thread *next) {
  int at = place_of(0);
  if (at < 0)
    lfk_panic("more threads than machine.c has room for");
  known[at].thread = current;
  known[at].context = lfk_self();
  int to = place_of(next);
  lfk_context *context = to < 0 ? 0 : known[to].context;
  if (to >= 0)
    known[to].thread = 0;
  if (!context) {
    context = lfk_new_context(begin, next);
    lfk_set_data(context, next);
  }
  left = current;
  lfk_switch(context);
  return left;
}

void switch_entry(void) {}

void debug_panic(const char *file, int line, const char *function, const char *message, ...) {
  char text[256];
  va_list rest;
  va_start(rest, message);
  int length = snprintf(text, sizeof text, "%s:%d in %s: ", file, line, function);
  vsnprintf(text + length, sizeof text - (size_t)length, message, rest);
  lfk_panic(text);
}

size_t strlcpy(char *to, const char *from, size_t size) {
  size_t length = strlen(from);
  if (size) {
    size_t kept = length < size ? length : size - 1;
    memcpy(to, from, kept);
    to[kept] = 0;
  }
  return length;
}

/* What tests print is not looked at. */
void msg(const char *format, ...) { (void)format; }
void fail(const char *format, ...) { lfk_panic(format); }
void pass(void) {}

/* The test, as it is called in tests/threads/tests.c. */
void TEST(void);

int main(void) {
  lfk_set_data(lfk_self(), palloc_get_page(PAL_ZERO));
  thread_init();
  timer_init();
  thread_start();
  TEST();
  lfk_power_off();
}
