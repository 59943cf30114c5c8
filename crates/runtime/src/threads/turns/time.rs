//! Turns that look at the clock. A thread may be away for as long as it likes between two looks, so what comes after a turn that did nothing else comes
//! after any time: time jumps, further with each such turn, and then stands still, so that a loop which goes on whatever the time is waits like
//! others.

use super::super::{store_buffer, threads};
use super::{HEADS, Head, Turns, of};
use crate::run::shared::control;
use crate::syscalls::clock::{self, SECOND};
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;

/// What most programs wait for at most, one after the other.
const JUMPS: [u64; 3] = [SECOND, 3600 * SECOND, 10 * 365 * 24 * 3600 * SECOND];

/// The looks at the clock of one thread.
#[repr(C)]
pub(super) struct Time {
    looks: Cell<u64>,
    /// How often it had looked when it came to each of its heads.
    before: [Cell<u64>; HEADS],
    /// How often time has jumped, and had when it came to each of them.
    jumped: Cell<u64>,
    jumped_before: [Cell<u64>; HEADS],
    /// How often time has jumped since it did something.
    jumps: Cell<usize>,
}

impl Time {
    /// The thread did something, or something changed for it.
    pub(super) fn goes_on(&self) {
        self.jumps.set(0);
    }

    fn stands(&self) -> bool {
        self.jumps.get() > JUMPS.len()
    }

    /// The thread comes to a head.
    pub(super) fn comes(&self, at: usize) {
        self.before[at].set(self.looks.get());
        self.jumped_before[at].set(self.jumped.get());
    }
}

impl Turns {
    /// At a head that the thread comes back to: has it done nothing but look at the clock, and at what others may change? Then time jumps.
    pub(super) fn lets_time_pass(&self, at: usize, was: &Head, below: Range<usize>) -> bool {
        let time = &self.time;
        if time.before[at].get() == time.looks.get() || time.stands() {
            return false;
        }
        let me = threads().current.get();
        let idle = was.lasting == self.lasting.get()
            && was.balance == self.balance.get()
            && was.pushed == store_buffer::pushed(me);
        if !idle || was.seen || !self.only_knows(was, below) {
            time.goes_on();
            return false;
        }
        // In a loop inside of it, it did.
        if time.jumped_before[at].get() != time.jumped.get() {
            return false;
        }
        time.jumped.set(time.jumped.get() + 1);
        if let Some(&jump) = JUMPS.get(time.jumps.get()) {
            clock::jump(jump);
            control().time_jumped.store(1, Relaxed);
        }
        time.jumps.set(time.jumps.get() + 1);
        true
    }

    /// Since it was there, has it changed nothing but what others cannot tell of before it does something else?
    fn only_knows(&self, was: &Head, below: Range<usize>) -> bool {
        let changes = self.changes(was.changes).iter();
        let hidden = changes
            .map(|change| change.get())
            .all(|change| change.hidden);
        self.undone(was.changes, below) || hidden && was.locks == self.locks.get()
    }
}

/// A thread looks at the clock; false if time stands still for it.
pub(in crate::threads) fn looks_at_clock(thread: usize) -> bool {
    let time = &of(thread).time;
    if time.stands() {
        return false;
    }
    time.looks.set(time.looks.get() + 1);
    true
}
