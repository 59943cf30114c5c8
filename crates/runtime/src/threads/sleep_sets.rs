//! Who sleeps: threads and store buffers whose next step was explored from the same state. A step that touches the same bytes
//! wakes them. The checker has the last word; here it only has to be right most of the time, so that no run is in vain.

use super::sets::{ProcessSet, words};
use super::{tables, threads};
use crate::run::shared;
use core::cell::Cell;
use landfall_vocab::shared::{LOCK, MOST_PROCESSES};
use landfall_vocab::window::LINE;

#[repr(C)]
pub(crate) struct Asleep {
    set: ProcessSet,
    count: Cell<usize>,
    /// Those that were woken, in that order: a turn that did not happen woke nobody.
    woken: [Cell<u16>; MOST_PROCESSES],
    woken_count: Cell<usize>,
}

impl Asleep {
    pub(super) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    pub(super) fn contains(&self, process: usize) -> bool {
        self.count.get() != 0 && self.set.contains(process)
    }

    pub(super) fn word(&self, at: usize) -> u64 {
        self.set.word(at)
    }

    fn forget(&self) {
        if self.count.get() != 0 {
            self.set.clear(words(MOST_PROCESSES));
            self.count.set(0);
        }
        self.woken_count.set(0);
    }

    fn lie_down(&self, process: usize) {
        if process < MOST_PROCESSES && !self.set.contains(process) {
            self.set.insert(process);
            self.count.set(self.count.get() + 1);
        }
    }

    fn wake(&self, process: usize) {
        if self.contains(process) {
            self.set.remove(process);
            self.count.set(self.count.get() - 1);
            self.woken[self.woken_count.get()].set(process as u16);
            self.woken_count.set(self.woken_count.get() + 1);
        }
    }

    /// How many were woken so far.
    pub(super) fn woken(&self) -> usize {
        self.woken_count.get()
    }

    /// Those who were woken after so many sleep again.
    pub(super) fn sleep_again(&self, after: usize) {
        while self.woken_count.get() > after {
            let last = self.woken_count.get() - 1;
            self.woken_count.set(last);
            self.lie_down(self.woken[last].get().into());
        }
    }
}

/// At the start of a run.
pub(super) fn begin() {
    tables().asleep.forget();
    for sleeper in shared::sleepers() {
        tables().asleep.lie_down(sleeper.process as usize);
    }
}

/// The step that was chosen last touches these bytes, or, with `LOCK` in the place, a lock.
pub(super) fn executed(place: u64, length: usize, writes: bool) {
    if tables().asleep.is_empty() || threads().steps.get() as u64 <= shared::job().keep {
        return;
    }
    let (line, mask) = if place & LOCK != 0 {
        (place, u64::MAX)
    } else {
        let at = place % LINE;
        let bytes = u64::MAX >> (64 - length.clamp(1, 64));
        (place - at, bytes << at)
    };
    for sleeper in shared::sleepers() {
        let concerns = sleeper.place == line && sleeper.mask & mask != 0;
        if concerns && (writes || sleeper.writes != 0) {
            tables().asleep.wake(sleeper.process as usize);
        }
    }
}
