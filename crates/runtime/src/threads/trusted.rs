//! Functions that the program trusts (`lf_trusted`): what they access, and what those access that they call, is no step, in conflict with nothing
//! and part of no data race. Locks and the like are what they are everywhere, and so is persistent memory.
//!
//! A function may be left by a jump or an exception: then its frame is not among those of whoever is looked at. Another one may be at the same
//! place, and returns to another one.

use super::{on, store_buffer, tables, threads};
use crate::caller;
use crate::memory::shadow::is_persistent;
use crate::run::call_stack;
use core::cell::Cell;

/// Of one thread.
#[repr(C)]
pub(crate) struct Trusted {
    /// Such functions that it is in, one inside of the other; and where on its stack the outermost one is, and where it
    /// returns to.
    depth: Cell<u32>,
    frame: Cell<usize>,
    returns_to: Cell<usize>,
}

impl Trusted {
    pub(super) fn begin(&self) {
        self.depth.set(0);
    }
}

fn own() -> &'static Trusted {
    &tables().contexts[threads().current.get()].trusted
}

#[unsafe(no_mangle)]
extern "C" fn __lf_trusted_begin() {
    let _ = caller!();
    if on() {
        let own = own();
        if !is_inside() {
            // SAFETY: functions of ours keep frame pointers, and so does who calls them.
            unsafe {
                let frame = *(call_stack::frame_pointer() as *const usize);
                own.frame.set(frame);
                own.returns_to.set(returns_to(frame));
            }
        }
        own.depth.set(own.depth.get() + 1);
        threads().trusting.set(true);
        // What it finds, and does, nobody knows.
        super::acted();
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_trusted_end() {
    if on() {
        own().depth.set(own().depth.get().saturating_sub(1));
    }
}

/// Is the running thread in one?
#[inline(always)]
pub(crate) fn is_inside() -> bool {
    threads().trusting.get() && own().depth.get() != 0 && has_not_left()
}

#[inline(never)]
fn has_not_left() -> bool {
    let own = own();
    let (low, high) = tables().contexts[threads().current.get()].stack.get();
    let (outermost, mut frame) = (own.frame.get(), call_stack::frame_pointer());
    while (low..high).contains(&frame) && frame < outermost {
        // SAFETY: it is on the thread's stack, and frames begin with the address of the next one.
        let next = unsafe { *(frame as *const usize) };
        if next <= frame {
            break;
        }
        frame = next;
    }
    // SAFETY: it is a frame on the thread's stack.
    let inside = frame == outermost && unsafe { returns_to(frame) } == own.returns_to.get();
    if frame >= outermost && !inside {
        own.depth.set(0);
    }
    inside
}

/// # Safety
/// It is a frame.
unsafe fn returns_to(frame: usize) -> usize {
    // SAFETY: what the caller promises: the address is behind that of the outer frame.
    unsafe { *((frame + 8) as *const usize) }
}

/// Is this access one that nobody looks at? What its thread has stored to the same bytes, and is not in memory yet, must keep its order.
#[inline(always)]
pub(super) fn hides(address: usize, length: usize) -> bool {
    is_inside() && is_hidden(address, length)
}

#[inline(never)]
fn is_hidden(address: usize, length: usize) -> bool {
    let me = threads().current.get();
    let waits = || (address..address + length).any(|byte| store_buffer::holds(me, byte));
    !is_persistent(address) && (store_buffer::is_empty(me) || !waits())
}
