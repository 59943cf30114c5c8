//! Turns of loops that look once and differ from the one before in nothing but their number (`pass/counts`): whoever gives up after so many looks. If
//! a later look finds something else, then so does the first one, if it comes as late, and nobody knows the number behind the loop. So the
//! first look is a step, and if it is in vain all others happen with it (docs/design/algorithms.md §3).

use super::super::{store_buffer, tables, threads, visible};
use super::changes::Leaves;
use super::{Head, Turns, of};
use crate::run::trace::Origin;
use crate::state::watching;
use core::cell::Cell;
use core::ops::Range;

/// Turns until the next one looks for itself again.
const MOST: u64 = 1 << 20;

/// A look that was a step.
#[derive(Clone, Copy, PartialEq)]
#[repr(C)]
struct Look {
    place: u64,
    length: usize,
    origin: u64,
}

/// The turns of one thread.
#[repr(C)]
pub(super) struct Rounds {
    /// The newest look, and which step of the thread's it was.
    look: Cell<Look>,
    step: Cell<u64>,
    /// It is looked again, at the same time.
    on: Cell<bool>,
    turns: Cell<u64>,
    /// What the thread had done when that began.
    lasting: Cell<u64>,
    changes: Cell<usize>,
    balance: Cell<u64>,
    pushed: Cell<u32>,
    /// What lies below are frames of functions that the loop calls.
    floor: Cell<usize>,
}

impl Rounds {
    pub(super) fn end(&self) {
        self.on.set(false);
    }
}

impl Turns {
    /// At the head of a loop; its last turn changed nothing but its number. Are the next looks part of the last one?
    pub(super) fn goes_round(&self, known: &Cell<Head>, now: Head, below: Range<usize>) -> bool {
        let was = known.get();
        let floor = below.end;
        let rounds = &self.rounds;
        if !rounds.on.get() {
            let looked_once = was.begun
                && self.own.get() == was.before.own + 1
                && rounds.step.get() == self.own.get()
                && was.pushed == now.pushed
                && was.locks == self.locks.get();
            if !looked_once || was.seen || self.leaves(&was, below) != Leaves::Nothing {
                return false;
            }
            rounds.on.set(true);
            rounds.turns.set(0);
            rounds.lasting.set(self.lasting.get());
            rounds.changes.set(self.change_count.get());
            rounds.balance.set(self.balance.get());
            rounds.pushed.set(now.pushed);
            rounds.floor.set(floor);
        } else if !self.is_idle() {
            return false;
        }
        self.change_count.set(rounds.changes.get());
        rounds.turns.set(rounds.turns.get() + 1);
        if rounds.turns.get() > MOST {
            return false;
        }
        // Numbers that begin anew are found out: the newest power of two is compared with.
        if rounds.turns.get().is_power_of_two() {
            known.set(Head {
                reads: was.reads,
                changes: rounds.changes.get(),
                ..now
            });
        }
        true
    }

    /// Has the thread done nothing since it looks again?
    fn is_idle(&self) -> bool {
        let rounds = &self.rounds;
        let me = threads().current.get();
        let (low, _) = tables().contexts[me].stack.get();
        rounds.lasting.get() == self.lasting.get()
            && rounds.balance.get() == self.balance.get()
            && rounds.pushed.get() == store_buffer::pushed(me)
            && self.undone(rounds.changes.get(), low..rounds.floor.get())
    }
}

/// The running thread is behind a loop that counts its turns.
///
/// # Safety
/// Instrumented code calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_leaves_loop() {
    if super::super::on() {
        of(threads().current.get()).rounds.end();
    }
}

/// The running thread has looked, and that was a step.
pub(in crate::threads) fn looks_once(address: usize, length: usize, origin: Origin) {
    if !watching() {
        return;
    }
    let turns = of(threads().current.get());
    turns.rounds.look.set(look(address, length, origin));
    turns.rounds.step.set(turns.own.get());
}

/// Is the look that the running thread is about to take part of its last one?
pub(in crate::threads) fn looks_again(address: usize, length: usize, origin: Origin) -> bool {
    let turns = of(threads().current.get());
    turns.rounds.on.get()
        && turns.rounds.look.get() == look(address, length, origin)
        && turns.is_idle()
}

fn look(address: usize, length: usize, origin: Origin) -> Look {
    Look {
        place: visible::pack(address, length),
        length,
        origin: origin.number(),
    }
}
