/* Landfall: a machine for the threads of a kernel.
 *
 * What a teaching kernel takes from its processors: an interrupt flag, a timer and devices that interrupt at any instruction while
 * that flag is set, contexts to switch between, spin locks, pages. With it the kernel's own scheduler, locks and `wait` are compiled
 * like any program, and `landfall check --kernel` tries them under every schedule and every interrupt.
 *
 * A context is a thread that runs only when somebody switches to it, so one processor runs one context at a time. */
#ifndef LANDFALL_KERNEL_H
#define LANDFALL_KERNEL_H

#ifndef __LANDFALL_KERNEL__
#error "compile this with `landfall check --kernel`, or `landfall cc --kernel`"
#endif

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Interrupts of the processor that the caller runs on. They are off at first, and while a handler runs. */
void lfk_cli(void);
void lfk_sti(void);
int lfk_interrupts_on(void);
/* `sti; hlt`: lets interrupts in and waits for one; what comes before it, with interrupts on, is not waited for. Where everybody waits, the timer goes on ticking: but not for ever, see below. */
void lfk_hlt(void);

/* Vectors are numbers below this. */
#define LFK_VECTORS 16u
/* Who is called when an interrupt comes. A handler may switch to another context. */
void lfk_handle(unsigned vector, void (*handler)(unsigned vector));
/* A timer that ticks for ever. While processors work, it comes at any instruction, --signals times in all; the rest are ticks that come
 * while they halt. */
void lfk_start_timer(unsigned vector);
/* A device that was told to work: it interrupts once, at any time from now on. Sixteen may be at work. */
void lfk_start_device(unsigned vector);
/* So many ticks in a row that wake nobody, and the timer stops: whoever waits then waits for ever, which is a deadlock. More than any
 * thread ever sleeps for; fewer are found out faster. */
extern unsigned lfk_idle_ticks;

typedef struct lfk_context lfk_context;
/* The running one. */
lfk_context *lfk_self(void);
/* One that begins at `start`, with interrupts off, when it is first switched to. */
lfk_context *lfk_new_context(void (*start)(void *argument), void *argument);
/* Leaves this one to be switched to later, by whichever processor. Interrupts must be off. */
void lfk_switch(lfk_context *to);
/* What the kernel wants to find again from a context: the thread's page, for example. */
void *lfk_data(const lfk_context *context);
void lfk_set_data(lfk_context *context, void *data);

/* What assembly is told: `pushf` with the interrupt flag in bit 9, and a stack pointer inside of the page that is the context's data, where
 * kernels look for the running thread. (The stack itself lies elsewhere, and is as large as any thread's.) */
unsigned long lfk_flags(void);
unsigned long lfk_stack(void);

/* The number of the processor that the caller runs on, from 0. */
unsigned lfk_processor(void);
/* Another processor, which begins at `start` with interrupts off. Returns its number. */
unsigned lfk_start_processor(void (*start)(void *argument), void *argument);

typedef struct {
  unsigned taken;
} lfk_spinlock;
/* Interrupts are the caller's business. */
void lfk_spin_lock(lfk_spinlock *lock);
int lfk_spin_try(lfk_spinlock *lock);
void lfk_spin_unlock(lfk_spinlock *lock);

/* Pages of 4096 bytes, aligned, not cleared. Use after it was given back is found. */
#define LFK_PAGE 4096u
void *lfk_new_page(void);
void lfk_free_page(void *page);

/* Smaller blocks. (libc's own malloc is no function to be interrupted in: it is for when interrupts are off.) */
void *lfk_malloc(size_t bytes);
void lfk_free(void *block);

/* Ends the run: with a failure, or as it should. */
__attribute__((__noreturn__)) void lfk_panic(const char *why);
__attribute__((__noreturn__)) void lfk_power_off(void);

#ifdef __cplusplus
}
#endif

#endif /* LANDFALL_KERNEL_H */
