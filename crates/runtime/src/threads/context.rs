//! A thread's context: stack, thread descriptor, what it is about to do. Switching takes a few loads and stores.

use super::lifecycle::How;
use super::{MOST, descriptor, threads};
use crate::files::pool::Reach;
use crate::run::trace::Origin;
use crate::state::{allocate, place, state};
use crate::syscalls::dispatch::Current;
use crate::syscalls::sys;
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use landfall_vocab::builtin::Builtin;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Status {
    Unused = 0,
    /// It has announced a step.
    Ready,
    Done,
    /// It ended the process: nobody joins it.
    Gone,
}

/// A step that a thread is about to take.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Step {
    pub(crate) kind: u8,
    pub(crate) object: usize,
    pub(crate) origin: Origin,
}

impl Step {
    pub(crate) const NONE: Step = Step {
        kind: 0,
        object: 0,
        origin: Origin::NONE,
    };

    pub(crate) fn new(kind: u8, object: usize, caller: usize) -> Step {
        Step {
            kind,
            object,
            origin: Origin::library(Builtin::thread, caller),
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Context {
    pub(crate) stack_pointer: usize,
    pub(crate) thread_pointer: usize,
    pub(crate) status: Status,
    pub(crate) detached: bool,
    /// The barrier it waits at has opened.
    pub(crate) released: bool,
    /// It knows of others what no step of its own says yet: it has just begun, joined, passed a barrier.
    pub(crate) learned: bool,
    /// There may be others: it was created, or has created one. Not a question of the schedule.
    pub(crate) among_others: bool,
    /// A barrier, of these: joining says nothing of that.
    pub(crate) passed: bool,
    /// How often it waited long enough for something that did not happen.
    pub(crate) timeouts: u32,
    /// Its virtual time, while others run.
    pub(crate) clock: u64,
    pub(crate) step: Step,
    pub(crate) start: usize,
    pub(crate) argument: usize,
    pub(crate) result: usize,
    pub(crate) stack: (usize, usize),
    /// As far down it was in use when it last called us.
    pub(crate) entered: usize,
    /// Memory for a moment, of system calls that others may interrupt; zero before the first.
    pub(crate) scratch: usize,
    /// Signals that it blocks, while others run.
    mask: u64,
    /// The system call in the middle of which others went on.
    interrupted: bool,
    call: (Current, Reach),
}

/// Stacks of threads other than main, as large as libc makes them; main keeps the stack of the run.
pub(crate) const STACK_LEN: usize = 8 << 20;
const GUARD: usize = 64 << 10;

pub(crate) fn stack_of(number: usize) -> (usize, usize) {
    let low = place::THREAD_STACKS + number * (STACK_LEN + GUARD) + GUARD;
    (low, low + STACK_LEN)
}

/// All of the stacks, with their guards.
pub(crate) fn all_stacks() -> (usize, usize) {
    let start = place::THREAD_STACKS;
    (start, start + MOST * (STACK_LEN + GUARD))
}

/// Is this address in the guard below some thread's stack?
pub(crate) fn in_guard(address: usize) -> bool {
    let (start, end) = all_stacks();
    (start..end).contains(&address) && (address - start) % (STACK_LEN + GUARD) < GUARD
}

/// Once per server, before anything is tracked.
pub(crate) unsafe fn map_stacks() -> bool {
    let (start, end) = all_stacks();
    if sys::map(start, end - start).is_none() {
        return false;
    }
    for number in 0..MOST {
        let guard = stack_of(number).0 - GUARD;
        sys::call(libc::SYS_mprotect, [guard, GUARD, libc::PROT_NONE as usize]);
    }
    true
}

impl Context {
    pub(crate) unsafe fn main() -> Context {
        Context {
            stack_pointer: 0,
            thread_pointer: (*state()).thread_pointer,
            status: Status::Ready,
            detached: true,
            released: false,
            learned: false,
            among_others: false,
            passed: false,
            timeouts: 0,
            clock: (*state()).clock,
            step: Step::NONE,
            start: 0,
            argument: 0,
            result: 0,
            stack: ((*state()).stack_low, (*state()).stack_high),
            entered: 0,
            scratch: 0,
            mask: (*state()).mask,
            interrupted: false,
            call: (Current::NONE, Reach::NONE),
        }
    }

    /// A thread that will call `start(argument)`. `None` when libc has no room for its variables.
    pub(super) unsafe fn new(number: usize, how: &How) -> Option<Context> {
        let thread_pointer = descriptor::take(number)?;
        let How {
            start, argument, ..
        } = *how;
        let stack = how.stack.unwrap_or_else(|| stack_of(number));
        // As `__lf_decide` leaves it: control words, six registers, where to go; entered with rsp ≡ 8 mod 16, as after a call.
        let top = (stack.1 & !15) - 64;
        let frame = (top - 72) as *mut usize;
        (frame as *mut u32).write(0x1f80);
        (frame as *mut u32).add(1).write(0x037f);
        for register in 1..7 {
            frame.add(register).write(0);
        }
        frame
            .add(7)
            .write(super::lifecycle::entered as *const () as usize);
        frame.add(8).write(0); // the outermost return address
        Some(Context {
            stack_pointer: frame as usize,
            thread_pointer,
            status: Status::Ready,
            detached: false,
            released: false,
            learned: false,
            among_others: true,
            passed: false,
            timeouts: 0,
            clock: (*state()).clock,
            step: Step::NONE,
            start,
            argument,
            result: 0,
            stack,
            entered: 0,
            scratch: 0,
            mask: (*state()).mask,
            interrupted: false,
            call: (Current::NONE, Reach::NONE),
        })
    }
}

// rdi: where to keep the stack pointer of who asks; rsi: the stack to decide on; rdx: who asks. Who goes on is whatever stack pointer
// `decided` points to, or the asker where it says nothing.
global_asm!(
    ".globl __lf_decide",
    "__lf_decide:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp+4]",
    "mov [rdi], rsp",
    "mov rbx, rsp",
    "mov rsp, rsi",
    "mov rdi, rdx",
    "call {decided}",
    "mov rsp, rbx",
    "test rax, rax",
    "je 2f",
    "mov rsp, [rax]",
    "ldmxcsr [rsp]",
    "fldcw [rsp+4]",
    "2:",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    decided = sym decided,
);

unsafe extern "C" {
    fn __lf_decide(keep: *mut usize, stack: usize, who: usize);
}

/// Who goes on is decided on a stack of its own. Whose stores are in memory changes in between, and a store of a thread to its own
/// stack may lie where its call into the runtime has put its frames since: nobody may run on a stack that is not as it was left.
const DECIDING_LEN: usize = 256 << 10;

/// Once per server: the top of that stack.
pub(super) unsafe fn deciding_stack() -> usize {
    allocate(DECIDING_LEN) as usize + DECIDING_LEN
}

/// Lets whoever is chosen go on; returns when the running thread is.
#[inline]
pub(super) unsafe fn decide() {
    let threads = threads();
    let me = (*threads).current;
    let asks = &raw mut (*threads).contexts[me];
    __lf_decide(&raw mut (*asks).stack_pointer, (*threads).deciding, me);
    if (*asks).interrupted {
        (*asks).interrupted = false;
        crate::syscalls::dispatch::go_on((*asks).call);
    }
}

/// Where a thread that asked came from, as its frames say.
pub(super) unsafe fn frame_of(thread: usize) -> usize {
    const REGISTERS: usize = 48;
    *(((*threads()).contexts[thread].stack_pointer + REGISTERS) as *const usize)
}

/// Null where the asker itself goes on.
unsafe extern "C" fn decided(me: usize) -> *const usize {
    let next = super::steps::choose(me);
    if next == me {
        return core::ptr::null();
    }
    super::spin::switch(me, next);
    let threads = threads();
    let leaving = &raw mut (*threads).contexts[me];
    if !(*state()).call.is_none() {
        (*leaving).call = crate::syscalls::dispatch::leave();
        (*leaving).interrupted = true;
    }
    let to = &raw const (*threads).contexts[next];
    (*leaving).clock = (*state()).clock;
    (*state()).clock = (*to).clock;
    (*leaving).mask = (*state()).mask;
    (*state()).mask = (*to).mask;
    (*threads).current = next;
    ((*state()).stack_low, (*state()).stack_high) = (*to).stack;
    (*state()).last_stack = 0;
    set_thread_pointer((*to).thread_pointer);
    &raw const (*to).stack_pointer
}

/// Whether the processor and the kernel let a program change FS itself: asked once.
static DIRECT: AtomicU8 = AtomicU8::new(0);

pub(crate) unsafe fn set_thread_pointer(to: usize) {
    const YES: u8 = 1;
    const NO: u8 = 2;
    const FSGSBASE: u64 = 2;
    const ARCH_SET_FS: usize = 0x1002;
    if DIRECT.load(Relaxed) == 0 {
        let able = libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0;
        DIRECT.store(if able { YES } else { NO }, Relaxed);
    }
    if DIRECT.load(Relaxed) == YES {
        asm!("wrfsbase {}", in(reg) to, options(nostack, preserves_flags));
    } else {
        sys::call(libc::SYS_arch_prctl, [ARCH_SET_FS, to]);
    }
}
