//! What turns of loops leave behind, and what is read before it is written again: known of all executions together.

use super::Interpreter;
use landfall_explore::schedule::Leftovers;
use std::collections::HashSet;

/// A thread, or the first one that it is like, and a loop of its.
pub(super) type LoopOf = (usize, u32);

#[derive(Clone, Debug, Default)]
pub(super) struct LeftoverFacts {
    on: bool,
    some: bool,
    wrong: bool,
    left: HashSet<(LoopOf, u32)>,
    read: HashSet<(LoopOf, u32)>,
    overlooked: HashSet<LoopOf>,
    /// Loops whose turns count whatever they leave.
    counted: HashSet<LoopOf>,
}

impl LeftoverFacts {
    pub(super) fn begin(&mut self, on: bool) {
        *self = LeftoverFacts {
            on,
            counted: std::mem::take(&mut self.counted),
            ..LeftoverFacts::default()
        };
    }

    pub(super) fn news(&self) -> Option<Leftovers> {
        match (self.wrong, self.some) {
            (true, _) => Some(Leftovers::Wrong),
            (false, true) => Some(Leftovers::Some),
            (false, false) => None,
        }
    }

    /// A turn leaves these cells: may it be in vain?
    pub(super) fn overlooks(&mut self, of: LoopOf, cells: &[u32]) -> bool {
        self.some |= !self.on;
        if !self.on || self.counted.contains(&of) {
            return false;
        }
        self.overlooked.insert(of);
        self.left.extend(cells.iter().map(|&cell| (of, cell)));
        if cells.iter().any(|&cell| self.read.contains(&(of, cell))) {
            self.count(of);
        }
        true
    }

    fn count(&mut self, of: LoopOf) {
        self.counted.insert(of);
        self.wrong |= self.overlooked.contains(&of);
    }

    fn read(&mut self, of: LoopOf, cell: u32) {
        self.read.insert((of, cell));
        if self.left.contains(&(of, cell)) {
            self.count(of);
        }
    }
}

impl Interpreter<'_> {
    pub(super) fn loop_of(&self, thread: usize, pc: u32) -> LoopOf {
        let like = self.alike.get(thread).map_or(thread, |&like| like.into());
        (like, pc)
    }

    /// Somebody reads a cell: who was at the head of a loop, and has not written it since?
    pub(super) fn note_looked_at(&self, cell: u32) {
        if !self.loops || !self.facts.borrow().on {
            return;
        }
        for (thread, state) in self.threads.iter().enumerate() {
            for pc in state.turns.heads_before_writing(cell) {
                self.facts.borrow_mut().read(self.loop_of(thread, pc), cell);
            }
        }
    }

    /// Whoever asks for the outcome reads everything.
    pub(super) fn note_all_looked_at(&self) {
        for cell in 0..self.memory.len() as u32 {
            self.note_looked_at(cell);
        }
    }
}
