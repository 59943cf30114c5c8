//! Turns that leave stores in the store buffer. Whether others see what such a turn had changed, before these stores undo it, shows when they have
//! left the buffer. So the thread goes on, and when it waits for its stores it is known whether the turn was in vain: all that it did since
//! it could have done without that turn.

use super::super::context::{Step, decide};
use super::super::steps::announce;
use super::super::{store_buffer, threads};
use super::{Head, Turns, Waits, of};
use crate::run::trace::Origin;
use core::cell::Cell;
use landfall_vocab::record::step;

/// Such a turn.
#[repr(C)]
pub(super) struct Unsettled {
    some: Cell<bool>,
    seen: Cell<bool>,
    /// Of the thread's reads and changes those that belong to it, and of what went into the store buffer.
    reads: Cell<(usize, usize)>,
    changes: Cell<(usize, usize)>,
    entries: Cell<(u32, u32)>,
    origin: Cell<Origin>,
}

impl Unsettled {
    pub(super) fn is_some(&self) -> bool {
        self.some.get()
    }

    /// There is none, or none of which it could be told any more.
    pub(super) fn is_none(&self) {
        self.some.set(false);
    }

    /// The thread is back at the head, where it `was`.
    pub(super) fn begins(&self, turns: &Turns, was: &Head, origin: Origin) {
        if self.some.replace(true) {
            return;
        }
        self.seen.set(false);
        self.reads.set((was.reads, turns.read_count.get()));
        self.changes.set((was.changes, turns.change_count.get()));
        self.entries.set((was.entries, turns.entries.get()));
        self.origin.set(origin);
    }

    /// Which of the thread's reads belong to it.
    pub(super) fn reads(&self) -> (usize, usize) {
        self.reads.get()
    }

    /// They are elsewhere: those that were read before are not kept again.
    pub(super) fn have_moved(&self, to: (usize, usize)) {
        self.reads.set(to);
    }

    /// The thread forgets what it did since it was at that head.
    pub(super) fn is_cut_off(&self, was: &Head) {
        if was.changes < self.changes.get().1 || was.reads < self.reads.get().1 {
            self.is_none();
        }
    }

    /// Others see a change of the thread, and what was there before is another.
    pub(super) fn is_touched(&self, turns: &Turns, at: usize) {
        if !self.some.get() {
            return;
        }
        let ((from, to), entries) = (self.changes.get(), self.entries.get());
        let entry = turns.changes[at].get().entry;
        // What it did since is none of it, but for stores that were on their way.
        let belongs = match entry {
            0 => at < to,
            entry => entry <= entries.1,
        };
        if belongs && turns.is_first(from, entries.0, at) {
            self.seen.set(true);
        }
    }
}

/// A thread has waited for its stores.
pub(in super::super) fn drained(thread: usize) {
    let turns = of(thread);
    for head in turns.heads() {
        let was = head.get();
        if was.undrained {
            head.set(Head {
                undrained: false,
                ..was
            });
        }
    }
}

/// The running thread is about to wait for its stores.
pub(in super::super) fn settle(me: usize, origin: Origin) {
    let turns = of(me);
    let unsettled = &turns.unsettled;
    if !unsettled.is_some() {
        return;
    }
    if !store_buffer::is_empty(me) {
        announce(
            me,
            Step {
                kind: step::FENCE,
                object: 0,
                origin,
            },
        );
        decide();
    }
    store_buffer::fenced(me);
    let in_vain = unsettled.some.replace(false) && !unsettled.seen.get();
    turns.last.set(false);
    if !in_vain || threads().turns_happen.get() {
        return;
    }
    let (from, to) = unsettled.reads.get();
    let (first, last) = unsettled.changes.get();
    turns.watch_reads(from..to, first..last);
    turns.origin.set(unsettled.origin.get());
    turns.waits.set(match threads().policy.get().is_random() {
        true => Waits::ForChange,
        false => Waits::Left,
    });
    turns.awaits(me, unsettled.origin.get());
}
