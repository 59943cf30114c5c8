//! Call stacks by frame pointers (`landfall cc` keeps them). Only addresses inside the run's own stack are followed.

use crate::memory::own::Scratch;
use crate::run::{activations, trace};
use crate::state::run;
use core::arch::{asm, global_asm};
use core::ffi::c_void;
use landfall_vocab::digest;
use landfall_vocab::shared::FRAMES;

/// Return addresses from `frame` outwards; returns how many.
pub(crate) fn walk(mut frame: usize, into: &mut [u64]) -> usize {
    let mut count = 0;
    // SAFETY: frames are followed inside the stack only, which is mapped.
    unsafe {
        while count < into.len() {
            if !is_inside(frame) || !frame.is_multiple_of(8) {
                break;
            }
            let outer = *(frame as *const usize);
            let back = *((frame + 8) as *const usize);
            if back == 0 {
                break;
            }
            into[count] = back as u64;
            count += 1;
            // From a stack for handlers to the one that was interrupted, it may go either way.
            let aside = run().alternate.get();
            let crosses = aside.has(frame) && !aside.has(outer);
            if outer <= frame && !crosses {
                break;
            }
            frame = outer;
        }
    }
    count
}

// Weak references: only programs that throw have an unwinder.
global_asm!(
    ".weak _Unwind_Backtrace",
    ".weak _Unwind_GetIP",
    ".globl __lf_backtrace",
    "__lf_backtrace:",
    "mov rax, [rip + _Unwind_Backtrace@GOTPCREL]",
    "ret",
    ".globl __lf_address_of_frame",
    "__lf_address_of_frame:",
    "mov rax, [rip + _Unwind_GetIP@GOTPCREL]",
    "ret",
);

type FrameAddress = unsafe extern "C" fn(*mut c_void) -> usize;
type FrameSeen = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;

unsafe extern "C" {
    fn __lf_backtrace() -> Option<unsafe extern "C" fn(FrameSeen, *mut c_void) -> i32>;
    fn __lf_address_of_frame() -> Option<FrameAddress>;
}

struct Unwound<'a> {
    address: FrameAddress,
    into: &'a mut [u64],
    count: usize,
}

/// Return addresses through libraries that keep no frame pointers, as the program's own unwinder finds them; returns how many.
///
/// # Safety
/// The stack is one of the program's, as calls have left it.
pub(crate) unsafe fn unwind(into: &mut [u64]) -> usize {
    // SAFETY: libgcc's own functions; it calls back only while we are here.
    unsafe {
        let (Some(unwinder), Some(address)) = (__lf_backtrace(), __lf_address_of_frame()) else {
            return 0;
        };
        let mut unwound = Unwound {
            address,
            into,
            count: 0,
        };
        unwinder(frame_seen, (&raw mut unwound).cast());
        unwound.count
    }
}

unsafe extern "C" fn frame_seen(frame: *mut c_void, unwound: *mut c_void) -> i32 {
    const GO_ON: i32 = 0;
    const ENOUGH: i32 = 5; // _URC_END_OF_STACK
    // SAFETY: what `unwind` handed over, to be called back with.
    let (unwound, at) = unsafe {
        let unwound = &mut *unwound.cast::<Unwound>();
        let at = (unwound.address)(frame) as u64;
        (unwound, at)
    };
    let Some(place) = unwound.into.get_mut(unwound.count).filter(|_| at != 0) else {
        return ENOUGH;
    };
    *place = at;
    unwound.count += 1;
    GO_ON
}

/// Is it on the stack of the running thread, or on the one for its handlers?
pub(crate) fn is_inside(frame: usize) -> bool {
    let (low, high) = run().stack.get();
    let aside = run().alternate.get();
    (low..=high.saturating_sub(16)).contains(&frame) || aside.has(frame) && aside.has(frame + 15)
}

#[inline(always)]
pub(crate) fn frame_pointer() -> usize {
    let frame;
    // SAFETY: a register is looked at.
    unsafe { asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    frame
}

/// The place in the program behind a library that has called us, by the address that we return to; zero if that cannot be told.
#[cold]
pub(crate) fn program_behind(return_address: usize) -> usize {
    const OURS: usize = 16;
    let mut frame = frame_pointer();
    for _ in 0..OURS {
        if !is_inside(frame) {
            return 0;
        }
        // SAFETY: functions of ours keep frame pointers, and this is on the stack.
        let [next, back] = unsafe { *(frame as *const [usize; 2]) };
        if back == return_address {
            return crate::memory::unannounced::call_before(frame + 16);
        }
        frame = next;
    }
    0
}

/// The program calls us here: what is below is not its own any more. Returns the frame of whoever asks.
#[inline(always)]
pub(crate) fn enter() -> usize {
    let frame = frame_pointer();
    // Above that are the outer frame's address and the return address.
    run().entered.set(frame + 16);
    frame
}

/// Writes the current stack before an event unless the last one written was the same.
#[inline(never)]
pub(crate) fn log_if_changed() {
    let scratch = Scratch::new(FRAMES * 8);
    // SAFETY: there is room for so many frames.
    let frames = unsafe { core::slice::from_raw_parts_mut(scratch.start() as *mut u64, FRAMES) };
    let count = walk(frame_pointer(), frames);
    let frames = &frames[..count];
    let digest = (frames.iter()).fold(digest::NOTHING, |all, frame| digest::with(all, *frame));
    if digest != run().last_stack.get() {
        run().last_stack.set(digest);
        trace::stack(frames, None);
    }
}

/// Writes the current stack, of the step that a thread takes next.
#[inline(never)]
pub(crate) fn log_of(thread: usize) {
    let scratch = Scratch::new(FRAMES * 8);
    // SAFETY: there is room for so many frames.
    let frames = unsafe { core::slice::from_raw_parts_mut(scratch.start() as *mut u64, FRAMES) };
    let count = walk(frame_pointer(), frames);
    trace::stack(&frames[..count], Some(thread));
    if crate::threads::names_variables() {
        activations::log_of(thread);
    }
}
