//! What a thread does between two of its steps, again and again, is recorded once: who goes round a loop touches the same bytes from
//! the same places, and others can tell the first time from the second no more than landfall can.

use super::{MOST, tables};
use crate::run::trace::{self, Origin};
use core::cell::Cell;
use landfall_vocab::record::access::NOTHING;
use landfall_vocab::shared::UNSAID;

/// Accesses of a thread that are remembered.
const PLACES: usize = 64;
/// Stores to what was stored to before, in one turn, that are recorded all the same: what is there then may matter to others.
const STORES: u32 = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
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
    turns: Cell<u32>,
    turn: [Cell<u32>; MOST],
    /// Where each thread was last.
    last: [Cell<Origin>; MOST],
    /// The turn in which each thread stored again last, and how often it has since.
    stored: [Cell<(u32, u32)>; MOST],
    accesses: [[Cell<Access>; PLACES]; MOST],
}

fn repeated() -> &'static Repeated {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().repeated.get() }
}

/// A run begins with main; others begin with a step.
pub(super) fn begin() {
    moved(0, Origin::NONE);
}

/// The thread does something that is always recorded.
pub(super) fn moved(thread: usize, origin: Origin) {
    let repeated = repeated();
    repeated.turns.set(repeated.turns.get().wrapping_add(1));
    repeated.turn[thread].set(repeated.turns.get());
    repeated.last[thread].set(origin);
}

/// An access that may be no step: was it recorded before, in this turn? What it stores is, so often.
pub(super) fn again(thread: usize, object: u64, flags: u8, changes: bool, origin: Origin) -> bool {
    let repeated = repeated();
    repeated.last[thread].set(origin);
    let turn = repeated.turn[thread].get();
    let this = Access {
        object,
        origin: origin.number(),
        flags,
        turn,
    };
    let place = (object >> 2 ^ this.origin ^ u64::from(flags >> 4)) as usize % PLACES;
    let again = repeated.accesses[thread][place].replace(this) == this;
    if !again || !changes {
        return again;
    }
    let (stored_in, times) = repeated.stored[thread].get();
    let times = if stored_in == turn { times + 1 } else { 1 };
    if times > STORES + 1 {
        return true;
    }
    repeated.stored[thread].set((turn, times));
    if times > STORES {
        trace::access(thread, UNSAID, NOTHING, origin, [0, 0, 0]);
    }
    times > STORES
}

pub(super) fn last(thread: usize) -> Origin {
    repeated().last[thread].get()
}
