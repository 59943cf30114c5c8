//! What a thread has changed since it was at the head of a loop, and what of that is left.

use super::super::{leftovers, visible};
use super::noted::overlap;
use super::{Change, FORGOTTEN, Head, Turns, View, of};
use crate::memory::bytes;
use crate::run::trace::Origin;
use core::cell::Cell;
use core::ops::Range;

/// What a turn leaves different.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Leaves {
    Nothing,
    /// Bytes that nobody but its thread may ever read.
    Leftovers,
    Changes,
}

impl Turns {
    /// Is all as it was, that the thread changed from there on? Frames that it has left are nobody's.
    pub(super) fn undone(&self, from: usize, left: Range<usize>) -> bool {
        let changes = self.changes(from);
        (0..changes.len()).all(|at| is_undone(changes, at, &left))
    }

    /// A turn did not happen, so the thread was not at the heads inside of it: to come there is no turn.
    pub(super) fn forget_since(&self, arrival: u64) {
        for (head, arrived) in self.heads().iter().zip(&self.arrived) {
            if arrived.get() > arrival {
                let was = head.get();
                head.set(Head {
                    reads: was.reads.min(self.read_count.get()),
                    changes: was.changes.min(self.change_count.get()),
                    lasting: FORGOTTEN,
                    ..was
                });
            }
        }
    }

    /// What a turn leaves, in which the thread did only what could be undone.
    pub(super) fn leaves(&self, was: &Head, left: Range<usize>) -> Leaves {
        let changes = self.changes(was.changes);
        if self.undone(was.changes, left.clone()) {
            return Leaves::Nothing;
        }
        let outside =
            |change: &Change| !left.contains(&change.address) && change.view != View::Others;
        let mut all = changes.iter().map(Cell::get).filter(outside);
        // Who gives a lock back, or stores what others wait for, may tell them of the rest.
        let plain = all.all(|change| change.hidden && change.length <= 8);
        let reads_first = |at: usize| {
            let change = changes[at].get();
            let (place, length) = (change.address as u64, change.length);
            let mut reads = self.reads(was.reads).iter().map(Cell::get);
            reads.any(|read| {
                read.after <= was.changes + at && overlap(read.place, read.length, place, length)
            })
        };
        let mut remain = (0..changes.len()).filter(|&at| !is_undone(changes, at, &left));
        match plain
            && !was.undrained
            && was.locks == self.locks.get()
            && was.begun
            && !self.many.get()
        {
            true if !remain.any(reads_first) => Leaves::Leftovers,
            _ => Leaves::Changes,
        }
    }

    /// Says what a turn of this loop leaves.
    pub(super) fn tell_leftovers(&self, was: &Head, loop_of: (usize, Origin), left: &Range<usize>) {
        let changes = self.changes(was.changes);
        for at in (0..changes.len()).filter(|&at| !is_undone(changes, at, left)) {
            let Change {
                address, length, ..
            } = changes[at].get();
            leftovers::leaves(loop_of.0, loop_of.1, address, length);
        }
    }

    /// Undoes what a turn leaves.
    pub(super) fn take_leftovers_back(&self, was: &Head, left: &Range<usize>) {
        for change in self.changes(was.changes).iter().rev() {
            let change = change.get();
            if !left.contains(&change.address) && change.view != View::Others {
                let from = (&raw const change.before).cast();
                // SAFETY: the thread has written there, no more than a word at once.
                unsafe { bytes::copy(change.address as *mut u8, from, change.length) };
            }
        }
    }
}

/// Do bytes hold what they did before one of these changes, as its thread sees them, or were they told of before, or are they nobody's?
fn is_undone(changes: &[Cell<Change>], at: usize, left: &Range<usize>) -> bool {
    let Change {
        address,
        length,
        before,
        hidden,
        view,
        ..
    } = changes[at].get();
    let own = |other: &Change| other.view != View::Others;
    let same = |other: &Cell<Change>| {
        let other = other.get();
        own(&other) && (other.address, other.length) == (address, length)
    };
    if view == View::Others || left.contains(&address) || changes[..at].iter().any(same) {
        return true;
    }
    let in_part = |other: &Cell<Change>| {
        let other = other.get();
        own(&other)
            && (other.hidden || (other.address, other.length) != (address, length))
            && overlap(other.address as u64, other.length, address as u64, length)
    };
    // What it wrote last: others may have stored there since, which is no part of the turn.
    match changes.iter().rfind(|other| same(other)) {
        Some(last) if !hidden && !changes.iter().any(in_part) => last.get().left == before,
        // SAFETY: the thread has just written there.
        _ => unsafe { visible::found(address, length) == before },
    }
}

/// The heads at which a thread was, and when it was there last.
pub(in super::super) fn each_head(thread: usize, mut each: impl FnMut(Origin, u64)) {
    let turns = of(thread);
    for place in &turns.places[..turns.count.get()] {
        let (head, arrived) = place.get();
        each(head, arrived);
    }
}

/// A step of no thread counts as one of this one's.
pub(in super::super) fn counts_as_own(thread: usize) {
    let turns = of(thread);
    turns.own.set(turns.own.get() + 1);
}
