//! Threads whose last turn was in vain: who waits for what, and who goes on all the same.

use super::super::sets::ProcessSet;
use super::super::{tables, threads};
use super::{Read, Waits, all, of};
use crate::run::trace::{self, Origin};

/// Can a thread go on that waits at the head of a loop?
pub(in crate::threads) fn may_go_on(thread: usize) -> bool {
    let turns = of(thread);
    match turns.waits.get() {
        Waits::No => true,
        Waits::ForChange => turns.last.get() || turns.changed(),
        Waits::Left => false,
    }
}

/// Nobody else can go on: lets a thread, whose last turn was in vain, go through another one that stays; false if there is none.
pub(in crate::threads) fn make_last() -> bool {
    let waits = |thread: &usize| {
        of(*thread).waits.get() == Waits::ForChange
            && !of(*thread).last.get()
            && !tables().asleep.contains(*thread)
    };
    match (0..threads().count.get()).find(waits) {
        Some(thread) => {
            of(thread).last.set(true);
            true
        }
        None => false,
    }
}

/// The job wants a thread to go on that waits after a turn in vain, as who proves something by its turns does; false if it does not wait.
pub(in crate::threads) fn release(thread: usize) -> bool {
    let Some(turns) = all().all.get(thread) else {
        return false;
    };
    if thread >= threads().count.get() || turns.waits.get() == Waits::No || turns.last.get() {
        return false;
    }
    turns.waits.set(Waits::ForChange);
    turns.last.set(true);
    true
}

/// Adds the threads that wait for a change, and sleep, to a set; are there any?
pub(in crate::threads) fn add_asleep(to: &ProcessSet) -> bool {
    let waits = |thread: &usize| {
        of(*thread).waits.get() == Waits::ForChange && tables().asleep.contains(*thread)
    };
    let mut any = false;
    for thread in (0..threads().count.get()).filter(waits) {
        to.insert(thread);
        any = true;
    }
    any
}

/// Was a thread left in a turn in vain, though what it read has changed since?
pub(in crate::threads) fn in_vain() -> bool {
    (0..threads().count.get()).any(|thread| {
        let turns = of(thread);
        turns.waits.get() == Waits::Left && turns.changed()
    })
}

/// What a thread that waits in vain waits for: a place, and all of them in the trace.
pub(in crate::threads) fn log_wait(thread: usize) -> (u64, Origin) {
    let turns = of(thread);
    let reads = turns.watch();
    let packed = |read: Read| read.place | (read.length as u64) << 56;
    for read in reads {
        trace::watched(thread, packed(read.get()));
    }
    let first = reads.first().map_or(0, |read| packed(read.get()));
    (first, turns.origin.get())
}
