//! Syscall User Dispatch: while a run is on, every system call not made by the runtime's own stub arrives here as SIGSYS,
//! before the kernel does anything (RUNTIME.md). Works for libc's internal calls and for inline assembly alike.

use crate::state::{Mode, state};
use crate::sys;

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

pub(crate) unsafe extern "C" fn on_syscall(
    _: i32,
    _: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
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
    let result = if (*state()).mode == Mode::Running {
        let call = Call {
            number,
            arguments,
            context,
        };
        crate::lend::lending(&call, || crate::syscalls::perform(&call))
    } else {
        sys::call(number, arguments)
    };
    (*registers)[libc::REG_RAX as usize] = result as i64;
}
