//! Syscall User Dispatch: while a run is on, every system call not made by the runtime's own stub arrives here as SIGSYS,
//! before the kernel does anything (docs/design/runtime.md). Works for libc's internal calls and for inline assembly alike.

use crate::memory::own::is_scratch;
use crate::run::outcome::{self, Report};
use crate::run::trace::Origin;
use crate::state::{Mode, budget, run, server};
use crate::syscalls::handlers;
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::End;

const PR_SET_SYSCALL_USER_DISPATCH: usize = 59;
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// A system call of the program.
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) arguments: [usize; 6],
    pub(crate) context: *mut libc::ucontext_t,
}

impl Call {
    /// The one that a program was about to make there.
    ///
    /// # Safety
    /// `context` is what the kernel gave to the handler that runs.
    pub(crate) unsafe fn of(context: *mut libc::ucontext_t) -> Call {
        // SAFETY: what the caller promises.
        unsafe {
            let registers = &raw const (*context).uc_mcontext.gregs;
            let at = |index: i32| (*registers)[index as usize] as usize;
            Call {
                number: (*registers)[libc::REG_RAX as usize],
                arguments: [
                    at(libc::REG_RDI),
                    at(libc::REG_RSI),
                    at(libc::REG_RDX),
                    at(libc::REG_R10),
                    at(libc::REG_R8),
                    at(libc::REG_R9),
                ],
                context,
            }
        }
    }
}

/// Switches dispatching on for this process; false when the kernel cannot.
pub(crate) fn enable() -> bool {
    let (start, length) = sys::stub_range();
    server().selector.set(ALLOW);
    let selector = server().selector.as_ptr() as usize;
    // SAFETY: the selector is the server's, which stays where it is.
    unsafe {
        sys::raw(
            libc::SYS_prctl,
            [PR_SET_SYSCALL_USER_DISPATCH, 1, start, length, selector],
        ) == 0
    }
}

pub(crate) fn start() {
    server().selector.set(BLOCK);
}

pub(crate) fn stop() {
    server().selector.set(ALLOW);
}

/// Steps a system call costs: a loop of them is a loop.
const STEPS: i64 = 32;
/// Where no loop's end comes, this ends it.
const IDLE: i64 = -1_000_000;

pub(crate) unsafe extern "C" fn on_syscall(
    _: i32,
    _: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    // SAFETY: the context is the kernel's record of the program at this call, until the handler returns.
    unsafe {
        let registers = &raw mut (*context).uc_mcontext.gregs;
        let call = Call::of(context);
        if server().mode.get() != Mode::Running {
            (*registers)[libc::REG_RAX as usize] = sys::raw(call.number, call.arguments) as i64;
            return;
        }
        if crate::threads::transactions::takes_fault(context) {
            return;
        }
        if crate::syscalls::deferred::is_for(&call) {
            return crate::syscalls::deferred::go(context);
        }
        let outer = run().call.get();
        run().answer_to.set(0);
        let result = perform(&call, false);
        run().call.set(outer);
        handlers::answer(context, result);
    }
}

/// May it be made in a turn of a loop that did not happen?
fn changes_nothing(call: &Call) -> bool {
    let [_, asked, told, ..] = call.arguments;
    match call.number {
        libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep => true,
        // What the clock shows is the thread's own business, and where it is told, hooks see that.
        libc::SYS_clock_gettime | libc::SYS_gettimeofday | libc::SYS_time => true,
        // Loops know what is masked; what the program keeps of it has been lent (`outside::crossing`).
        libc::SYS_rt_sigprocmask => {
            crate::threads::masks();
            [asked, told]
                .into_iter()
                .all(|set| set == 0 || is_scratch(set))
        }
        _ => false,
    }
}

/// Performs a call; `deferred` from the signal handler to the stack of its thread, others may go on in between.
pub(crate) fn perform(call: &Call, deferred: bool) -> isize {
    run().call.set(Current {
        context: call.context,
        scratch: run().scratch.get(),
        number: call.number as i32,
        deferred,
    });
    if !changes_nothing(call) {
        crate::threads::acted();
        crate::threads::leftovers::anything_is_read();
    }
    // Those on pool files are steps.
    if !deferred {
        crate::threads::unseen_files::look(call);
    }
    budget().set(budget().get() - STEPS);
    // A look whether anyone else wants to go on changes nothing: whoever loops around it may be found to hang at the loop's end.
    let idle = call.number == libc::SYS_sched_yield && budget().get() > IDLE;
    if budget().get() < 0 && !idle {
        out_of_steps();
    }
    crate::memory::kernel_pointers::lending(call, || crate::syscalls::calls::perform(call))
}

/// The system call being performed; a null context between calls.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Current {
    context: *mut libc::ucontext_t,
    /// Where scratch memory was when it began.
    scratch: usize,
    number: i32,
    /// On the stack of its thread ([`crate::syscalls::deferred`]).
    deferred: bool,
}

impl Current {
    pub(crate) const NONE: Current = Current {
        context: core::ptr::null_mut(),
        scratch: 0,
        number: 0,
        deferred: false,
    };
}

impl Current {
    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.context.is_null()
    }
}

/// Another thread goes on in the middle of a call, which reaches further than the program does.
pub(crate) fn leave() -> (Current, crate::files::reach::Reach) {
    let call = run().call.replace(Current::NONE);
    (call, crate::files::reach::withdraw())
}

pub(crate) fn go_on((call, reach): (Current, crate::files::reach::Reach)) {
    run().call.set(call);
    crate::files::reach::reach(reach);
}

/// Is a call being performed that nobody interrupts?
#[inline(always)]
pub(crate) fn uninterrupted() -> bool {
    let call = run().call.get();
    !call.context.is_null() && !call.deferred
}

/// Is one being performed that others may interrupt?
pub(crate) fn is_deferred() -> bool {
    run().call.get().deferred
}

pub(crate) fn context() -> *mut libc::ucontext_t {
    run().call.get().context
}

/// Memory that a system call was given cannot be accessed: the call fails, as the kernel's would. `fault` continues there.
/// False when no call is being performed.
///
/// # Safety
/// `fault` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn fail_with_fault(fault: *mut libc::ucontext_t) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let call = run().call.get();
        if call.context.is_null() {
            return false;
        }
        (*call.context).uc_mcontext.gregs[libc::REG_RAX as usize] = -(libc::EFAULT as i64);
        run().scratch.set(call.scratch);
        crate::files::reach::withdraw();
        crate::memory::unannounced::take_back(Origin::library(Builtin::system_call, caller()));
        run().call.set(Current::NONE);
        // Straight to the end of the call's own signal frame: `rt_sigreturn` wants the stack where the context is.
        let registers = &raw mut (*fault).uc_mcontext.gregs;
        (*registers)[libc::REG_RSP as usize] = call.context as i64;
        let then = if call.deferred {
            crate::syscalls::deferred::after_fault()
        } else {
            sys::__lf_restorer as *const ()
        };
        (*registers)[libc::REG_RIP as usize] = then as i64;
        true
    }
}

/// Ends the run: it asks for something that cannot be controlled.
pub(crate) fn refuse(text: &[&[u8]]) -> ! {
    outcome::end(End::Forbidden, report(text))
}

fn out_of_steps() -> ! {
    outcome::end(End::Budget, report(&[b"the event budget is used up"]))
}

/// A report of the system call being performed.
pub(crate) fn report<'a>(text: &'a [&'a [u8]]) -> Report<'a> {
    let context = context();
    if context.is_null() {
        return Report {
            frame: crate::run::call_stack::frame_pointer(),
            text,
            ..Default::default()
        };
    }
    // SAFETY: the context is the kernel's record of the program at this call, until the handler returns.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    Report {
        code: run().call.get().number,
        pc: registers[libc::REG_RIP as usize] as u64,
        frame: registers[libc::REG_RBP as usize] as usize,
        caller: caller(),
        text,
        ..Default::default()
    }
}

/// A system call as the origin of an event: with the place in the program that made it.
pub(crate) fn origin(function: Builtin) -> Origin {
    Origin::library(function, caller())
}

/// Where the program made the system call; zero if that cannot be told.
pub(crate) fn caller() -> usize {
    // SAFETY: the context is the kernel's record of the program at this call, until the handler returns.
    unsafe { caller_in(context()) }
}

/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn caller_in(context: *mut libc::ucontext_t) -> usize {
    if context.is_null() {
        return 0;
    }
    // SAFETY: what the caller promises.
    unsafe {
        crate::memory::unannounced::call_before(
            (*context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize,
        )
    }
}
