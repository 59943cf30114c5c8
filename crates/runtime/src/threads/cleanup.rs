//! The end of a thread by `pthread_exit`: what `pthread_cleanup_push` has pushed and the destructors of its frames, innermost first.
//!
//! In C a handler is a buffer of `setjmp` in its function's frame; code with exceptions has landing pads. So the stack is unwound by
//! force, as libc does it, and at the first frame above a handler's buffer control jumps there; its handler comes back by
//! `__pthread_unwind_next`. Where no code has exceptions, nobody has linked an unwinder, and there are buffers only.

use super::{lifecycle, on, tables, threads};
use crate::libc::real::real;
use crate::run::outcome;
use core::arch::{asm, global_asm};
use core::cell::Cell;

/// A thread's own part of it.
#[repr(C, align(16))]
pub(crate) struct Cleanup {
    /// The exception that unwinds it: of no class, and what happens when it is deleted.
    exception: Cell<[usize; 4]>,
    /// Its newest buffer, or zero.
    innermost: Cell<usize>,
}

impl Cleanup {
    pub(super) fn begin(&self) {
        self.exception
            .set([0, swallowed as *const () as usize, 0, 0]);
        self.innermost.set(0);
    }
}

/// `__pthread_unwind_buf_t`: registers as `setjmp` keeps them, and room for whoever links the buffers.
#[repr(C)]
struct Buffer {
    registers: [usize; 8],
    mask_was_saved: i32,
    outer: usize,
}

impl Buffer {
    /// The stack pointer of the frame that it is for. libc keeps it scrambled.
    fn stack_pointer(&self) -> usize {
        const AT: usize = 6;
        const ROTATED: u32 = 17;
        let guard: usize;
        // SAFETY: a word of the thread descriptor.
        unsafe { asm!("mov {}, fs:[0x30]", out(reg) guard, options(nostack, readonly)) };
        self.registers[AT].rotate_right(ROTATED) ^ guard
    }
}

fn mine() -> &'static Cleanup {
    &tables().contexts[threads().current.get()].cleanup
}

type Stop = unsafe extern "C" fn(i32, i32, u64, usize, usize, usize) -> i32;

unsafe extern "C" {
    fn _longjmp(buffer: *const Buffer, value: i32) -> !;
}

// An unwinder, if something else needs one: a weak name is found or zero, and brings in no library.
global_asm!(
    ".weak _Unwind_ForcedUnwind",
    ".weak _Unwind_GetCFA",
    ".pushsection .data.rel.ro.lf_unwinder,\"aw\"",
    ".balign 8",
    "__lf_unwinder:",
    ".quad _Unwind_ForcedUnwind",
    ".quad _Unwind_GetCFA",
    ".popsection",
);

#[repr(C)]
struct Unwinder {
    force: Option<unsafe extern "C" fn(usize, Stop, usize) -> i32>,
    frame_of: Option<unsafe extern "C" fn(usize) -> usize>,
}

unsafe extern "C" {
    static __lf_unwinder: Unwinder;
}

/// Unwinds the running thread as far as its newest handler, or to its end.
pub(super) fn unwind() -> ! {
    // SAFETY: the linker has filled it in, or left it zero; the exception lives as long as the thread.
    unsafe {
        if let Some(force) = __lf_unwinder.force {
            force(mine().exception.as_ptr() as usize, stop, 0);
        }
        jump()
    }
}

/// Called at every frame: is it beyond the newest handler's?
unsafe extern "C" fn stop(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: usize,
    context: usize,
    _: usize,
) -> i32 {
    const END_OF_STACK: i32 = 16;
    const GO_ON: i32 = 0;
    // SAFETY: the unwinder says where it is; a buffer lies in a frame that is still there.
    unsafe {
        let frame = __lf_unwinder.frame_of.map_or(0, |of| of(context));
        let innermost = mine().innermost.get() as *const Buffer;
        let beyond = !innermost.is_null() && frame > (*innermost).stack_pointer();
        if beyond || actions & END_OF_STACK != 0 {
            jump()
        }
    }
    GO_ON
}

/// Somebody caught it all and let the thread go on: libc does not allow that either.
unsafe extern "C" fn swallowed() -> ! {
    // SAFETY: it only ends the run.
    unsafe { libc::abort() }
}

/// To the newest handler; without one the thread ends.
///
/// # Safety
/// Buffers lie in frames that are still there.
unsafe fn jump() -> ! {
    match mine().innermost.get() as *const Buffer {
        none if none.is_null() => lifecycle::ended(),
        // SAFETY: what the caller promises.
        handler => unsafe { _longjmp(handler, 1) },
    }
}

crate::weak!(
    "__pthread_register_cancel" => register_cancel, "__pthread_register_cancel_defer" => register_cancel,
    "__pthread_unregister_cancel" => unregister_cancel, "__pthread_unregister_cancel_restore" => unregister_cancel,
    "__pthread_unwind_next" => unwind_next,
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_register_cancel(buffer: *mut Buffer) {
    // SAFETY: the program's buffer, in the frame that calls.
    unsafe {
        if on() {
            (*buffer).outer = mine().innermost.replace(buffer as usize);
        } else if let Some(register) = real().__pthread_register_cancel() {
            register(buffer as usize);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_unregister_cancel(buffer: *const Buffer) {
    // SAFETY: the program's buffer, in the frame that calls.
    unsafe {
        if on() {
            mine().innermost.set((*buffer).outer);
        } else if let Some(unregister) = real().__pthread_unregister_cancel() {
            unregister(buffer as usize);
        }
    }
}

/// A handler has run.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_unwind_next(buffer: *const Buffer) -> ! {
    // SAFETY: the program's buffer, in the frame that calls.
    unsafe {
        if on() {
            mine().innermost.set((*buffer).outer);
            unwind()
        }
        if let Some(next) = real().__pthread_unwind_next() {
            next(buffer as usize);
        }
    }
    outcome::internal(b"a cleanup handler came back", 0)
}
