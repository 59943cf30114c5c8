//! Who has seen what a turn had not undone yet. Such a turn happened; but where it was seen only by threads that did nothing since but go round in vain,
//! at the same place of the same turn as one before, the next one shows nothing new: two threads that try each other's locks, and give up and try again,
//! would go on for ever (docs/design/algorithms.md §3).

use super::super::threads;
use super::{Head, Turns, of};
use crate::run::endless::Digest;
use core::cell::Cell;

/// Observers of one turn, and of earlier ones from the same head. If there are more, each is a new one.
const SEEN: usize = 8;
const KNOWN: usize = 24;

/// Of one head of a loop.
#[repr(C)]
pub(super) struct TurnsSeen {
    /// What its thread found since it was there, as a number.
    path: Cell<u64>,
    /// Turns from there that left something changed.
    generation: Cell<u64>,
    seen: [Cell<u64>; SEEN],
    seen_count: Cell<usize>,
    known: [Cell<u64>; KNOWN],
    known_count: Cell<usize>,
}

impl TurnsSeen {
    /// Its thread comes there for the first time.
    pub(super) fn begins(&self) {
        self.path.set(0);
        self.generation.set(0);
        self.seen_count.set(0);
        self.known_count.set(0);
    }

    /// Its thread is back after a turn that left nothing changed, and that others may have seen.
    pub(super) fn went_round(&self) {
        for id in &self.seen[..self.seen_count.get()] {
            let count = self.known_count.get();
            if count < KNOWN {
                self.known[count].set(id.get());
                self.known_count.set(count + 1);
            }
        }
        self.path.set(0);
        self.seen_count.set(0);
    }

    /// Its thread is back after any other turn.
    pub(super) fn went_on(&self) {
        self.path.set(0);
        self.generation.set(self.generation.get() + 1);
        self.seen_count.set(0);
        self.known_count.set(0);
    }

    /// What was done since is not known any more.
    pub(super) fn is_lost(&self, arrivals: u64) {
        self.went_on();
        self.path.set(mixed(!arrivals, arrivals, 0));
    }

    pub(super) fn becomes(&self, other: &TurnsSeen) {
        self.path.set(other.path.get());
        self.generation.set(other.generation.get());
        self.seen_count.set(other.seen_count.get());
        self.known_count.set(other.known_count.get());
        for (to, from) in self.seen.iter().zip(&other.seen) {
            to.set(from.get());
        }
        for (to, from) in self.known.iter().zip(&other.known) {
            to.set(from.get());
        }
    }

    /// A thread sees what is to be undone: is it a new observer?
    pub(super) fn is_seen_by(&self, by: usize) -> bool {
        let mut new = true;
        let known = &self.known[..self.known_count.get()];
        each_place(by, |id| new &= known.iter().all(|known| known.get() != id));
        if new {
            each_place(by, |id| {
                let count = self.seen_count.get();
                if count < SEEN {
                    self.seen[count].set(id);
                    self.seen_count.set(count + 1);
                }
            });
        }
        new
    }
}

impl Turns {
    /// The thread has found something.
    #[inline]
    pub(super) fn finds(&self, place: u64, value: u64) {
        for observed in &self.observed[..self.count.get()] {
            observed.path.set(mixed(observed.path.get(), place, value));
        }
    }
}

/// Where a thread is, seen from each loop that it is in: the same number if it is there again with nothing changed by it.
fn each_place(thread: usize, mut each: impl FnMut(u64)) {
    let turns = of(thread);
    for (head, observed) in turns.heads().iter().zip(&turns.observed) {
        let Head {
            activation,
            number,
            kept,
            ..
        } = head.get();
        let mut place = Digest::NEW;
        for word in [thread as u64, activation, number, observed.generation.get()] {
            place.word(word);
        }
        for word in kept.words() {
            place.word(word);
        }
        place.word(observed.path.get());
        each(place.first());
    }
    if turns.heads().is_empty() {
        // Each of its steps is another place.
        let mut place = Digest::NEW;
        place.word(!(thread as u64));
        place.word(turns.own.get());
        place.word(threads().steps.get() as u64);
        each(place.first());
    }
}

fn mixed(path: u64, place: u64, value: u64) -> u64 {
    let mut digest = Digest::NEW;
    for word in [path, place, value] {
        digest.word(word);
    }
    digest.first()
}
