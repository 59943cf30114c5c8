//! A thread's context: stack, thread descriptor, what it is about to do. Switching takes a few loads and stores.

use super::cleanup::Cleanup;
use super::clone::ThreadIds;
use super::given_stacks::GivenStack;
use super::lifecycle::How;
use super::said::ThreadSayings;
use super::signals::ThreadSignals;
use super::stepped::Stepped;
use super::transactions::Questions;
use super::trusted::Trusted;
use super::wakes::Wakes;
use super::{MOST, descriptor, tables, threads};
use crate::files::reach::Reach;
use crate::memory::own::{allocate, place};
use crate::run::trace::Origin;
use crate::state::{run, server};
use crate::syscalls::dispatch::Current;
use crate::syscalls::handlers::AlternateStack;
use crate::syscalls::sys;
use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::FEW_THREADS;

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
            object: super::forked::key(object),
            origin: Origin::library(Builtin::thread, caller),
        }
    }
}

/// A step that was announced. Field by field: each has just been written by itself, and a load of two at once would have to wait for
/// both stores.
#[repr(C)]
pub(crate) struct StepCells {
    kind: Cell<u8>,
    object: Cell<usize>,
    origin: Cell<Origin>,
}

impl StepCells {
    #[inline(always)]
    pub(crate) fn get(&self) -> Step {
        Step {
            kind: self.kind.get(),
            object: self.object.get(),
            origin: self.origin.get(),
        }
    }

    #[inline(always)]
    pub(crate) fn set(&self, step: Step) {
        self.kind.set(step.kind);
        self.object.set(step.object);
        self.origin.set(step.origin);
    }
}

#[repr(C)]
pub(crate) struct Context {
    pub(crate) stack_pointer: Cell<usize>,
    pub(crate) thread_pointer: Cell<usize>,
    pub(crate) status: Cell<Status>,
    pub(crate) detached: Cell<bool>,
    /// The barrier that it has arrived at, and in which round; whether that has opened, and somebody of the round is the serial thread.
    pub(crate) meets: Cell<(usize, u32)>,
    pub(crate) released: Cell<bool>,
    pub(crate) told: Cell<bool>,
    /// Nobody looks at what its next call returns.
    pub(crate) unasked: Cell<bool>,
    /// It knows of others what no step of its own says yet: it has just begun, or joined.
    pub(crate) learned: Cell<bool>,
    /// There may be others: it was created, or has created one. Not a question of the schedule.
    pub(crate) among_others: Cell<bool>,
    /// The first of the numbers that it may give to threads it creates: those that it has joined had them. The next one after this
    /// thread's own number, where that is among them. Zero for none.
    pub(crate) spare: Cell<usize>,
    pub(crate) next_spare: Cell<usize>,
    /// How often it waited long enough for something that did not happen.
    pub(crate) timeouts: Cell<u32>,
    pub(super) wakes: Wakes,
    pub(super) given_stack: GivenStack,
    pub(super) said: ThreadSayings,
    pub(super) trusted: Trusted,
    pub(super) stepped: Stepped,
    pub(super) signals: ThreadSignals,
    pub(super) ids: ThreadIds,
    /// The process that it is, of those that the program forked; and whether any child will do that it waits for.
    pub(super) process: Cell<u8>,
    pub(super) takes_any: Cell<bool>,
    /// Its virtual time, while others run.
    pub(crate) clock: Cell<u64>,
    pub(crate) step: StepCells,
    pub(crate) start: Cell<usize>,
    pub(crate) argument: Cell<usize>,
    pub(crate) result: Cell<usize>,
    pub(super) cleanup: Cleanup,
    pub(crate) stack: Cell<(usize, usize)>,
    /// As far down it was in use when it last called us.
    pub(crate) entered: Cell<usize>,
    /// How much of its memory for a moment is in use, while others run; zero before the first.
    scratch: Cell<usize>,
    /// Signals that it blocks, while others run.
    mask: Cell<u64>,
    /// The stack that it has set aside for handlers, while others run.
    alternate: Cell<AlternateStack>,
    /// The system call in the middle of which others went on.
    interrupted: Cell<bool>,
    call: Cell<(Current, Reach)>,
    pub(super) questions: Questions,
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
pub(crate) fn map_stacks() -> bool {
    let (start, end) = all_stacks();
    if sys::map(start, end - start).is_none() {
        return false;
    }
    (0..FEW_THREADS).for_each(guard);
    true
}

/// Sees to it that nobody goes past the end of this stack unnoticed. Most programs have few threads, and a mapping for each guard has its
/// price.
fn guard(number: usize) {
    if !tables().guarded.contains(number) {
        tables().guarded.insert(number);
        let guard = stack_of(number).0 - GUARD;
        sys::call(libc::SYS_mprotect, [guard, GUARD, libc::PROT_NONE as usize]);
    }
}

/// What threads differ in when they begin.
struct Beginning {
    stack_pointer: usize,
    thread_pointer: usize,
    detached: bool,
    among_others: bool,
    start: usize,
    argument: usize,
    stack: (usize, usize),
}

impl Context {
    /// Makes the context anew. A field that is added does not compile before it is named here.
    fn begin(&self, with: Beginning) {
        let Context {
            stack_pointer,
            thread_pointer,
            status,
            detached,
            meets,
            released,
            told,
            unasked,
            learned,
            among_others,
            spare,
            next_spare,
            timeouts,
            wakes,
            given_stack,
            said,
            trusted,
            stepped,
            signals,
            questions,
            ids,
            process,
            takes_any,
            clock,
            step,
            start,
            argument,
            result,
            cleanup,
            stack,
            entered,
            scratch,
            mask,
            alternate,
            interrupted,
            call,
        } = self;
        stack_pointer.set(with.stack_pointer);
        thread_pointer.set(with.thread_pointer);
        status.set(Status::Ready);
        detached.set(with.detached);
        meets.set((0, 0));
        released.set(false);
        told.set(false);
        unasked.set(false);
        learned.set(false);
        among_others.set(with.among_others);
        spare.set(0);
        next_spare.set(0);
        timeouts.set(0);
        wakes.begin();
        given_stack.begin();
        said.begin();
        trusted.begin();
        stepped.begin();
        signals.begin();
        questions.begin();
        ids.begin();
        process.set(0);
        takes_any.set(false);
        clock.set(run().clock.get());
        step.set(Step::NONE);
        start.set(with.start);
        argument.set(with.argument);
        result.set(0);
        cleanup.begin();
        stack.set(with.stack);
        entered.set(0);
        scratch.set(0);
        mask.set(run().mask.get());
        alternate.set(AlternateStack::NONE);
        interrupted.set(false);
        call.set((Current::NONE, Reach::NONE));
    }

    /// The main thread's.
    pub(super) fn begin_main(&self) {
        self.begin(Beginning {
            stack_pointer: 0,
            thread_pointer: server().thread_pointer.get(),
            detached: true,
            among_others: false,
            start: 0,
            argument: 0,
            stack: run().stack.get(),
        });
    }

    /// That of a sender of signals ([`super::signals`]), which never runs.
    pub(super) fn begin_sender(&self) {
        self.begin(Beginning {
            stack_pointer: 0,
            thread_pointer: 0,
            detached: true,
            among_others: true,
            start: 0,
            argument: 0,
            stack: (0, 0),
        });
    }

    /// Signals that it blocks, while others run.
    pub(super) fn mask(&self) -> u64 {
        self.mask.get()
    }

    /// A thread's that will call `start(argument)`; its descriptor. `None` when libc has no room for its variables.
    ///
    /// # Safety
    /// `how.stack`, where there is one, is memory of the program's for this.
    pub(super) unsafe fn begin_thread(&self, number: usize, how: &How) -> Option<usize> {
        // SAFETY: what the caller promises.
        unsafe {
            let thread_pointer = descriptor::take(number, how.again)?;
            guard(number);
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
            self.begin(Beginning {
                stack_pointer: frame as usize,
                thread_pointer,
                detached: how.detached,
                among_others: true,
                start: how.start,
                argument: how.argument,
                stack,
            });
            Some(thread_pointer)
        }
    }
}

// rdi: where to keep the stack pointer of who asks; rsi: the stack to decide on; rdx: who asks. Who goes on is whatever stack pointer
// `decided` points to, or the asker where it says nothing.
global_asm!(
    ".globl __lf_decide",
    "__lf_decide:",
    crate::keep_registers!(),
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
    crate::take_registers!(),
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
pub(super) fn deciding_stack() -> usize {
    allocate(DECIDING_LEN) as usize + DECIDING_LEN
}

/// Lets whoever is chosen go on; returns when the running thread is.
#[inline]
pub(super) fn decide() {
    let me = threads().current.get();
    let asks = &tables().contexts[me];
    // SAFETY: stacks and descriptors are mapped before any run; who goes on is on a stack that was left as `decide` leaves it.
    unsafe { __lf_decide(asks.stack_pointer.as_ptr(), tables().deciding.get(), me) };
    if asks.interrupted.get() {
        asks.interrupted.set(false);
        crate::syscalls::dispatch::go_on(asks.call.get());
    }
}

/// Where a thread that asked came from, as its frames say.
pub(super) fn frame_of(thread: usize) -> usize {
    const REGISTERS: usize = 48;
    // SAFETY: a thread that asked has its registers on its stack, where `__lf_decide` has put them.
    unsafe { *((tables().contexts[thread].stack_pointer.get() + REGISTERS) as *const usize) }
}

/// Null where the asker itself goes on.
unsafe extern "C" fn decided(me: usize) -> *const usize {
    let next = super::steps::choose(me);
    if next == me {
        return core::ptr::null();
    }
    super::turns::switched();
    let leaving = &tables().contexts[me];
    if !run().call.get().is_none() {
        leaving.call.set(crate::syscalls::dispatch::leave());
        leaving.interrupted.set(true);
    }
    let to = &tables().contexts[next];
    leaving.clock.set(run().clock.get());
    run().clock.set(to.clock.get());
    leaving.mask.set(run().mask.get());
    run().mask.set(to.mask.get());
    leaving.alternate.set(run().alternate.get());
    run().alternate.set(to.alternate.get());
    leaving.scratch.set(run().scratch.get());
    run().scratch.set(to.scratch.get());
    super::forked::switched(me, next);
    threads().current.set(next);
    run().stack.set(to.stack.get());
    run().last_stack.set(0);
    // SAFETY: the descriptor of a thread that was created.
    unsafe { set_thread_pointer(to.thread_pointer.get()) };
    to.stack_pointer.as_ptr()
}

/// Whether the processor and the kernel let a program change FS itself: asked once.
static DIRECT: AtomicU8 = AtomicU8::new(0);

/// The descriptor of the running thread: its `pthread_t`.
pub(super) fn thread_pointer() -> usize {
    let found;
    // SAFETY: libc keeps the descriptor's own address there.
    unsafe {
        asm!("mov {}, fs:[0x10]", out(reg) found, options(nostack, preserves_flags, readonly))
    };
    found
}

/// # Safety
/// `to` is a thread descriptor as libc makes them.
pub(crate) unsafe fn set_thread_pointer(to: usize) {
    // SAFETY: what the caller promises.
    unsafe {
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
            sys::raw(libc::SYS_arch_prctl, [ARCH_SET_FS, to]);
        }
    }
}
