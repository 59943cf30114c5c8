//! Where handlers run: on the stack of whoever is interrupted, or on the one that the program has set aside (`sigaltstack`, `SA_ONSTACK`). A
//! fault, and a signal that a system call brings, move from our signal handler there, as the kernel would have put them: what the kernel
//! kept of the program is copied, and returning from the handler goes on with the copy.

use crate::memory::own::place;
use crate::memory::{bytes, probe};
use crate::state::run;
use crate::syscalls::deferred::{CONTEXT, RED_ZONE, vector_length};
use crate::syscalls::error;
use crate::syscalls::signals::{Action, blocked, handled, signal_stack};
use core::arch::{asm, global_asm};
use libc::{REG_RAX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP, ucontext_t};

/// A stack that is set aside for handlers; all zero for none.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct AlternateStack {
    pub(crate) start: usize,
    length: usize,
    /// With `SS_AUTODISARM`: while a handler runs on it, there is none.
    disarms: bool,
}

impl AlternateStack {
    pub(crate) const NONE: AlternateStack = AlternateStack {
        start: 0,
        length: 0,
        disarms: false,
    };

    pub(crate) fn has(self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.length
    }

    fn told(self, stack_pointer: usize) -> libc::stack_t {
        let flags = match self.length {
            0 => libc::SS_DISABLE,
            _ if self.has(stack_pointer) && !self.disarms => libc::SS_ONSTACK,
            _ => 0,
        };
        libc::stack_t {
            ss_sp: self.start as *mut _,
            ss_flags: flags | if self.disarms { SS_AUTODISARM } else { 0 },
            ss_size: self.length,
        }
    }
}

const SS_AUTODISARM: i32 = i32::MIN;
const LEAST: usize = 2048;

/// The program's `sigaltstack`, at that stack pointer.
///
/// # Safety
/// The program may write to `old` and read `new`, as far as it asks for.
pub(crate) unsafe fn set_aside(
    new: *const libc::stack_t,
    old: *mut libc::stack_t,
    stack_pointer: usize,
) -> isize {
    let before = run().alternate.get();
    // SAFETY: what the caller promises.
    unsafe {
        let asked = (!new.is_null()).then(|| new.read());
        if !old.is_null() {
            old.write(before.told(stack_pointer));
        }
        let Some(asked) = asked else {
            return 0;
        };
        if before.has(stack_pointer) && !before.disarms {
            return error(libc::EPERM);
        }
        let kind = asked.ss_flags & !SS_AUTODISARM;
        run().alternate.set(match kind {
            libc::SS_DISABLE => AlternateStack::NONE,
            0 | libc::SS_ONSTACK if asked.ss_size < LEAST => return error(libc::ENOMEM),
            0 | libc::SS_ONSTACK => AlternateStack {
                start: asked.ss_sp as usize,
                length: asked.ss_size,
                disarms: asked.ss_flags & SS_AUTODISARM != 0,
            },
            _ => return error(libc::EINVAL),
        });
    }
    0
}

/// The top of the stack that a handler runs on instead of the one that is at this stack pointer.
pub(crate) fn other_stack(action: &Action, stack_pointer: usize) -> Option<usize> {
    let alternate = run().alternate.get();
    let wanted = action.flags & libc::SA_ONSTACK as u64 != 0 && alternate.length != 0;
    (wanted && !alternate.has(stack_pointer)).then_some(alternate.start + alternate.length)
}

/// Memory of ours on which code runs.
fn is_ours(stack_pointer: usize) -> bool {
    (place::SIGNAL_STACK..place::SHARED).contains(&stack_pointer)
}

/// What the kernel says of a signal.
const INFO: usize = 128;

/// On the stack of a handler, as the kernel leaves it: where the handler returns to, what was interrupted, the signal.
#[repr(C)]
struct HandlerFrame {
    back: usize,
    context: [u8; CONTEXT],
    info: [u8; INFO],
}

global_asm!(
    ".globl __lf_handled",
    "__lf_handled:",
    "mov rbx, rsp",
    "mov rdi, rsp",
    "and rsp, -16",
    "call {returned}",
    "mov rsp, rbx",
    "jmp __lf_restorer",
    returned = sym returned,
);

unsafe extern "C" {
    fn __lf_handled();
}

/// Where a handler goes.
pub(crate) enum Going {
    /// It runs when our handler returns.
    Goes,
    /// There is no room for it: the kernel would end the program.
    NoRoom,
    /// It runs as a call: it interrupts code of ours.
    Stays,
}

/// Lets the signal handler that runs return into the program's.
///
/// # Safety
/// `info` and `context` are what the kernel gave to the handler that runs, and the program set `action`.
pub(crate) unsafe fn go(
    signal: i32,
    action: &Action,
    info: *const libc::siginfo_t,
    context: *mut ucontext_t,
) -> Going {
    // SAFETY: what the caller promises; there is room for the frame, or nothing is written.
    unsafe {
        let registers = &raw mut (*context).uc_mcontext.gregs;
        let here = (*registers)[REG_RSP as usize] as usize;
        let other = other_stack(action, here);
        // A call that was moved to the stack of its thread is in the way, and may as well call.
        if !is_ours(context as usize) || other.is_none() && is_ours(here) {
            return Going::Stays;
        }
        let top = other.unwrap_or(here.wrapping_sub(RED_ZONE));
        let vector = (*context).uc_mcontext.fpregs as *const u8;
        let length = vector_length(vector);
        let vector_at = top.wrapping_sub(length) & !63;
        // Entered as by a call.
        let at = (vector_at.wrapping_sub(size_of::<HandlerFrame>()) & !15).wrapping_sub(8);
        let (low, high) = run().stack.get();
        let below = (low - place::GUARD..low).contains(&at) && (low..high).contains(&top);
        if below || !probe::is_writable(at) || !probe::is_writable(top - 1) {
            return Going::NoRoom;
        }
        let frame = at as *mut HandlerFrame;
        bytes::copy(vector_at as *mut u8, vector, length);
        let copy = (&raw mut (*frame).context) as *mut ucontext_t;
        bytes::copy(copy.cast(), context.cast(), CONTEXT);
        bytes::copy((&raw mut (*frame).info).cast(), info.cast(), INFO);
        (*frame).back = __lf_handled as *const () as usize;
        (*copy).uc_mcontext.fpregs = vector_at as *mut _;
        let alternate = run().alternate.get();
        (*copy).uc_stack = alternate.told(here);
        if alternate.disarms && other.is_some() {
            run().alternate.set(AlternateStack::NONE);
        }
        *mask_of(copy) = run().mask.get();
        if run().answer_to.get() == 0 {
            run().answer_to.set(copy as usize);
        }
        (*registers)[REG_RSP as usize] = at as i64;
        (*registers)[REG_RIP as usize] = action.handler as i64;
        (*registers)[REG_RDI as usize] = signal.into();
        (*registers)[REG_RSI as usize] = (&raw const (*frame).info) as i64;
        (*registers)[REG_RDX as usize] = copy as i64;
        (*registers)[REG_RAX as usize] = 0;
        Going::Goes
    }
}

/// # Safety
/// `context` is one of the kernel's.
unsafe fn mask_of(context: *mut ucontext_t) -> *mut u64 {
    // SAFETY: what the caller promises: the mask is the last of it.
    unsafe { &raw mut (*context).uc_sigmask }.cast()
}

/// A handler has returned.
unsafe extern "C" fn returned(context: *mut ucontext_t) {
    // SAFETY: it is where the handler's frame has it; what the handler changed there counts.
    unsafe {
        let stack = (*context).uc_stack;
        if stack.ss_flags & SS_AUTODISARM != 0 {
            run().alternate.set(AlternateStack {
                start: stack.ss_sp as usize,
                length: stack.ss_size,
                disarms: true,
            });
        }
        run().mask.set(*mask_of(context));
        *mask_of(context) = blocked();
        // What the kernel finds there is what it uses from now on.
        (*context).uc_stack = signal_stack();
        handled();
    }
}

/// A system call has come to its end: its result goes to whom it interrupts, be it that a handler runs before.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn answer(context: *mut ucontext_t, result: isize) {
    let to = match run().answer_to.replace(0) {
        0 => context,
        copy => copy as *mut ucontext_t,
    };
    // SAFETY: what the caller promises; or what `go` has just written.
    unsafe { (*to).uc_mcontext.gregs[REG_RAX as usize] = result as i64 };
}

/// Calls a handler on another stack.
///
/// # Safety
/// The program has set this handler, and that stack aside for it.
pub(crate) unsafe fn call_on(
    top: usize,
    handler: usize,
    signal: usize,
    info: *mut libc::siginfo_t,
    context: *mut ucontext_t,
) {
    // SAFETY: what the caller promises.
    unsafe {
        asm!(
            "push rbp",
            "mov rbp, rsp",
            "mov rsp, {top}",
            // As a frame that others may walk past.
            "push qword ptr [rbp+8]",
            "push rbp",
            "push rbp",
            "push rbp",
            "call {handler}",
            "mov rsp, rbp",
            "pop rbp",
            top = in(reg) top & !15,
            handler = in(reg) handler,
            in("rdi") signal,
            in("rsi") info,
            in("rdx") context,
            clobber_abi("C"),
        );
    }
}
