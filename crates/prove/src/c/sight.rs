//! What a thread knows of memory without looking: cells that nobody else can have changed.

use super::knowledge::{GONE, LOCKS, is_persistent};
use super::machine::{CMachine, CPhase, CState};
use crate::program::*;
use crate::term::Term;
use std::rc::Rc;

impl CMachine<'_> {
    pub(super) fn me(&self) -> u64 {
        1 << self.thread
    }

    pub(super) fn sight(&self, cell: u64) -> Sight {
        if self.phase == CPhase::After {
            return Sight::Known;
        }
        let Some(known) = self.knowledge.cells.get(&cell) else {
            return Sight::Known;
        };
        let others = known.writers & !self.me();
        if others == 0 {
            return Sight::Known;
        }
        let one = known.writers.is_power_of_two();
        match one && !known.late && self.descends(self.thread, known.writers) {
            true => Sight::Known,
            false => Sight::Shared,
        }
    }

    /// Was the thread started, directly or not, by the one of this set?
    pub(super) fn descends(&self, thread: usize, of: u64) -> bool {
        let mut at = thread;
        while let Some(&parent) = self.parents.get(&at) {
            if of == 1 << parent {
                return true;
            }
            at = parent;
        }
        false
    }

    /// Is it volatile, and known to everybody who looks at it? Then nothing about it is an event.
    pub(super) fn is_quiet(&self, cell: u64) -> bool {
        if self.phase == CPhase::After {
            return true;
        }
        if is_persistent(cell) {
            return false;
        }
        let Some(known) = self.knowledge.cells.get(&cell) else {
            return true;
        };
        if known.writers & (known.writers.wrapping_sub(1)) != 0 {
            return false;
        }
        let others = known.readers & !known.writers & !self.me();
        let threads = (0..64).filter(|t| others >> t & 1 == 1);
        let writer = known.writers | self.me();
        others == 0 || !known.late && threads.into_iter().all(|t| self.descends(t, writer))
    }

    pub(super) fn location(&mut self, cell: u64) -> LocId {
        if let Some(&known) = self.locations.get(&cell) {
            return known;
        }
        let size = self.knowledge.cells.get(&cell).map_or(8, |c| c.size);
        let name = self.name(cell);
        let home = if cell & LOCKS != 0 {
            Home::Lock
        } else if cell & GONE != 0 {
            Home::Lifetime
        } else if is_persistent(cell) {
            Home::Persistent(self.line(cell))
        } else {
            Home::Volatile
        };
        let initial = self.knowledge.initial(cell, size);
        let loc = self.program.add_location(&name, size * 8, home, initial);
        if self.knowledge.begins_as_garbage(cell) {
            self.program.locations[loc.index()].init = self.garbage(cell, size * 8);
        }
        let is_memory = cell & GONE == 0;
        self.program.locations[loc.index()].at = is_memory.then_some(cell & !LOCKS);
        self.locations.insert(cell, loc);
        self.cell_of.push(cell);
        loc
    }

    pub(super) fn name(&self, cell: u64) -> String {
        if cell & GONE != 0 {
            return format!("gone({})", self.name(cell & !GONE));
        }
        let address = cell & !LOCKS;
        match self.knowledge.object(address, 1) {
            Some((base, object)) if base == address => object.name.clone(),
            Some((base, object)) => format!("{}+{}", object.name, address - base),
            None => format!("{address:#x}"),
        }
    }

    /// What a cell holds that this thread has not written.
    pub(super) fn untouched(&mut self, cell: u64) -> Term {
        let (size, writers) = match self.knowledge.cells.get(&cell) {
            Some(known) => (known.size, known.writers),
            None => (1, 0),
        };
        if self.phase == CPhase::After && is_persistent(cell) && writers != 0 {
            let loc = self.location(cell);
            return self.program.terms.recovered(loc, size * 8);
        }
        if self.knowledge.begins_as_garbage(cell) {
            return self.garbage(cell, size * 8);
        }
        let initial = self.knowledge.initial(cell, size);
        self.program.terms.constant(size * 8, initial)
    }

    pub(super) fn known(&mut self, state: &CState, cell: u64) -> Term {
        match state.memory.get(&cell) {
            Some(&value) => value,
            None => self.untouched(cell),
        }
    }

    pub(super) fn set(&mut self, state: &mut CState, cell: u64, value: Term, when: Term) {
        let old = self.known(state, cell);
        let value = self.program.terms.choose(when, value, old);
        Rc::make_mut(&mut state.memory).insert(cell, value);
    }
}

/// How a thread sees a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sight {
    /// It knows the content: nobody else can have changed it.
    Known,
    /// Only a read tells.
    Shared,
}
