//! System calls about threads that the program makes itself, without libc: `clone`, which returns in both threads, futexes, the end of a thread, own
//! thread-local storage. They are moved to the stack of their thread (`syscalls/deferred`), like others in which threads may go on.

use super::clone::{self, Cloned};
use super::context::stack_of;
use super::lifecycle::{self, How};
use super::{forked, futex, on};
use crate::memory::bytes;
use crate::run::start::in_executable;
use crate::syscalls::deferred::{CONTEXT, TRAP, vector_length};
use crate::syscalls::dispatch::{self, Call};
use core::arch::asm;
use libc::{REG_EFL, REG_RAX, REG_RIP, REG_RSP, ucontext_t};

/// Is it one of these?
pub(crate) fn is_for(call: &Call) -> bool {
    // SAFETY: the context is the kernel's record of the program at this call.
    let pc = unsafe { (*call.context).uc_mcontext.gregs[REG_RIP as usize] as usize };
    let known = match call.number {
        libc::SYS_arch_prctl => clone::sets_storage(call.arguments[0]),
        libc::SYS_clone
        | libc::SYS_clone3
        | libc::SYS_futex
        | libc::SYS_exit
        | libc::SYS_gettid
        | libc::SYS_set_tid_address => in_executable(pc),
        _ => false,
    };
    on() && (known || forked::is_for(call))
}

/// Makes the call: its result.
///
/// # Safety
/// The program made it, and `context` is what the kernel kept of it.
pub(crate) unsafe fn perform(call: &Call, context: *mut ucontext_t, caller: usize) -> isize {
    let [a, b, c, d, e, f] = call.arguments;
    // SAFETY: what the caller promises.
    unsafe {
        match call.number {
            _ if forked::is_for(call) => {
                forked::perform(call, context, dispatch::caller_in(context))
            }
            libc::SYS_clone => begin(
                Cloned {
                    flags: a as i32,
                    stack: b,
                    parent: c,
                    child: d,
                    storage: e,
                },
                context,
                caller,
            ),
            libc::SYS_clone3 => {
                // Flags, where to tell of the process, the child, the parent, a signal, stack, its length, storage.
                let asked = *(a as *const [usize; 8]);
                let cloned = Cloned {
                    flags: asked[0] as i32,
                    stack: if asked[5] == 0 {
                        0
                    } else {
                        asked[5] + asked[6]
                    },
                    parent: asked[3],
                    child: asked[2],
                    storage: asked[7],
                };
                begin(cloned, context, caller)
            }
            libc::SYS_futex => {
                futex::futex(a, b as i32, c as u32, d, f as u32, caller).unwrap_or(0)
            }
            number => clone::system_call(number, [a, b, c, d, e]).map_or(0, |told| told as isize),
        }
    }
}

/// # Safety
/// As above.
unsafe fn begin(cloned: Cloned, context: *mut ucontext_t, caller: usize) -> isize {
    cloned.check();
    if cloned.stack == 0 {
        return -(libc::EINVAL as isize);
    }
    let how = How {
        detached: true,
        stack: Some((clone::lowest(cloned.stack), cloned.stack)),
        ..How::new(returns as *const () as usize, 0)
    };
    // SAFETY: what the caller promises; the thread's other stack is nobody's.
    unsafe {
        match lifecycle::bear(core::ptr::null_mut(), how, caller) {
            Ok(number) => {
                let at = copy(context, stack_of(number).1);
                let registers = &raw mut (*at).uc_mcontext.gregs;
                (*registers)[REG_RAX as usize] = 0;
                (*registers)[REG_RSP as usize] = cloned.stack as i64;
                (*registers)[REG_EFL as usize] &= !TRAP;
                clone::begin(number, &cloned, at as usize, caller) as isize
            }
            Err(error) => -(error as isize),
        }
    }
}

/// What the kernel kept of a thread, once more, below `top`.
///
/// # Safety
/// `context` is one of the kernel's, and below `top` there is room.
unsafe fn copy(context: *const ucontext_t, top: usize) -> *mut ucontext_t {
    // SAFETY: what the caller promises.
    unsafe {
        let vector = (*context).uc_mcontext.fpregs as *const u8;
        let length = vector_length(vector);
        let vector_at = (top - length) & !63;
        let at = ((vector_at - CONTEXT) & !63) as *mut ucontext_t;
        bytes::copy(vector_at as *mut u8, vector, length);
        bytes::copy(at.cast(), context.cast(), CONTEXT);
        (*at).uc_mcontext.fpregs = vector_at as *mut _;
        at
    }
}

/// What the kernel kept of a process that forks, for the child, which returns from the call, too. It is where the child does not come by
/// before that.
///
/// # Safety
/// `context` is one of the kernel's, and the thread has not begun.
pub(super) unsafe fn kept_for(context: *const ucontext_t, thread: usize) -> usize {
    const ROOM: usize = 64 << 10;
    // SAFETY: what the caller promises.
    unsafe {
        let at = copy(context, stack_of(thread).0 + ROOM);
        let registers = &raw mut (*at).uc_mcontext.gregs;
        (*registers)[REG_RAX as usize] = 0;
        (*registers)[REG_EFL as usize] &= !TRAP;
        at as usize
    }
}

/// The new thread returns from the call, too.
pub(super) unsafe extern "C" fn returns(context: usize) -> usize {
    // SAFETY: `rt_sigreturn` wants the stack where the context is; nothing comes back.
    unsafe { asm!("mov rsp, {}", "jmp __lf_restorer", in(reg) context, options(noreturn)) }
}
