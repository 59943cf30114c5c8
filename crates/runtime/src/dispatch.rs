//! Syscall User Dispatch: while a run is on, every system call not made by the runtime's own stub arrives here as SIGSYS,
//! before the kernel does anything (RUNTIME.md). Works for libc's internal calls and for inline assembly alike.

use crate::log::Origin;
use crate::outcome::{self, Report};
use crate::state::{Mode, budget, state};
use crate::sys;
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

/// Switches dispatching on for this process; false when the kernel cannot.
pub(crate) unsafe fn enable() -> bool {
    let (start, length) = sys::stub_range();
    (*state()).selector = ALLOW;
    let selector = &raw const (*state()).selector as usize;
    sys::call(
        libc::SYS_prctl,
        [PR_SET_SYSCALL_USER_DISPATCH, 1, start, length, selector],
    ) == 0
}

pub(crate) unsafe fn start() {
    (*state()).selector = BLOCK;
}

pub(crate) unsafe fn stop() {
    (*state()).selector = ALLOW;
}

/// Steps a system call costs: a loop of them is a loop.
const STEPS: i64 = 32;

pub(crate) unsafe extern "C" fn on_syscall(
    _: i32,
    _: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    let state = state();
    let registers = &raw mut (*context).uc_mcontext.gregs;
    let at = |index: i32| (*registers)[index as usize] as usize;
    let arguments = [
        at(libc::REG_RDI),
        at(libc::REG_RSI),
        at(libc::REG_RDX),
        at(libc::REG_R10),
        at(libc::REG_R8),
        at(libc::REG_R9),
    ];
    let number = (*registers)[libc::REG_RAX as usize];
    if (*state).mode != Mode::Running {
        (*registers)[libc::REG_RAX as usize] = sys::call(number, arguments) as i64;
        return;
    }
    let outer = (*state).call;
    (*state).call = Current {
        context,
        scratch: (*state).scratch,
        number: number as i32,
    };
    crate::threads::acted();
    *budget() -= STEPS;
    if *budget() < 0 {
        out_of_steps();
    }
    let call = Call {
        number,
        arguments,
        context,
    };
    let result = crate::lend::lending(&call, || crate::syscalls::perform(&call));
    (*state).call = outer;
    (*registers)[libc::REG_RAX as usize] = result as i64;
}

/// The system call being performed; a null context between calls.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Current {
    context: *mut libc::ucontext_t,
    /// Where scratch memory was when it began.
    scratch: usize,
    number: i32,
}

impl Current {
    pub(crate) const NONE: Current = Current {
        context: core::ptr::null_mut(),
        scratch: 0,
        number: 0,
    };
}

pub(crate) unsafe fn context() -> *mut libc::ucontext_t {
    (*state()).call.context
}

/// Memory that a system call was given cannot be accessed: the call fails, as the kernel's would. `fault` continues there.
/// False when no call is being performed.
pub(crate) unsafe fn fail_with_fault(fault: *mut libc::ucontext_t) -> bool {
    let state = state();
    let call = (*state).call;
    if call.context.is_null() {
        return false;
    }
    (*call.context).uc_mcontext.gregs[libc::REG_RAX as usize] = -(libc::EFAULT as i64);
    (*state).scratch = call.scratch;
    crate::watch::take_back(Origin::library(Builtin::system_call, caller()));
    (*state).call = Current::NONE;
    // Straight to the end of the call's own signal frame: `rt_sigreturn` wants the stack where the context is.
    let registers = &raw mut (*fault).uc_mcontext.gregs;
    (*registers)[libc::REG_RSP as usize] = call.context as i64;
    (*registers)[libc::REG_RIP as usize] = sys::__lf_restorer as *const () as i64;
    true
}

/// Ends the run: it asks for something that cannot be controlled.
pub(crate) unsafe fn refuse(text: &[&[u8]]) -> ! {
    outcome::end(End::Forbidden, report(text))
}

unsafe fn out_of_steps() -> ! {
    outcome::end(End::Budget, report(&[b"the event budget is used up"]))
}

/// A report of the system call being performed.
pub(crate) unsafe fn report<'a>(text: &'a [&'a [u8]]) -> Report<'a> {
    let context = context();
    if context.is_null() {
        return Report {
            frame: crate::stack::frame_pointer(),
            text,
            ..Default::default()
        };
    }
    let registers = &(*context).uc_mcontext.gregs;
    Report {
        code: (*state()).call.number,
        pc: registers[libc::REG_RIP as usize] as u64,
        frame: registers[libc::REG_RBP as usize] as usize,
        caller: caller(),
        text,
        ..Default::default()
    }
}

/// A system call as the origin of an event: with the place in the program that made it.
pub(crate) unsafe fn origin(function: Builtin) -> Origin {
    Origin::library(function, caller())
}

/// Where the program made the system call; zero if that cannot be told.
pub(crate) unsafe fn caller() -> usize {
    let context = context();
    if context.is_null() {
        return 0;
    }
    crate::watch::call_before((*context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
}
