//! What a thread does between two of its steps, again and again, is recorded once: who goes round a loop touches the same bytes from
//! the same places, and others can tell the first time from the second no more than landfall can.

use super::{MOST, tables};
use crate::run::trace::Origin;

/// Accesses of a thread that are remembered.
const PLACES: usize = 64;

#[derive(Clone, Copy)]
#[repr(C)]
struct Access {
    object: u64,
    origin: u64,
    flags: u8,
    turn: u32,
}

#[repr(C)]
pub(super) struct Repeated {
    /// Turns from one step of a thread to its next, of all runs.
    turns: u32,
    turn: [u32; MOST],
    /// Where each thread was last.
    last: [Origin; MOST],
    accesses: [[Access; PLACES]; MOST],
}

/// A run begins with main; others begin with a step.
pub(super) unsafe fn begin() {
    moved(0, Origin::NONE);
}

/// The thread does something that is always recorded.
pub(super) unsafe fn moved(thread: usize, origin: Origin) {
    let repeated = tables().repeated.get();
    (*repeated).turns = (*repeated).turns.wrapping_add(1);
    (*repeated).turn[thread] = (*repeated).turns;
    (*repeated).last[thread] = origin;
}

/// An access that may be no step: was it recorded before, in this turn?
pub(super) unsafe fn again(thread: usize, object: u64, flags: u8, origin: Origin) -> bool {
    let repeated = tables().repeated.get();
    (*repeated).last[thread] = origin;
    let this = Access {
        object,
        origin: origin.number(),
        flags,
        turn: (*repeated).turn[thread],
    };
    let place = (object >> 2 ^ this.origin ^ u64::from(flags >> 4)) as usize % PLACES;
    let known = &raw mut (*repeated).accesses[thread][place];
    let Access {
        object,
        origin,
        flags,
        turn,
    } = *known;
    *known = this;
    (object, origin, flags, turn) == (this.object, this.origin, this.flags, this.turn)
}

pub(super) unsafe fn last(thread: usize) -> Origin {
    (*tables().repeated.get()).last[thread]
}
