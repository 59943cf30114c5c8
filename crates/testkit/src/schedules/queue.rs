//! The queue of a condition by POSIX's words: a signal unblocks one of the threads that are blocked at that moment, a broadcast all of them. Which
//! one is a choice, and whoever tries everything makes each.

use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Queue {
    blocked: BTreeSet<usize>,
    /// No longer blocked, and not back from the call yet.
    unblocked: BTreeSet<usize>,
}

impl Queue {
    /// Whom a signal may choose; nobody, if nobody is blocked.
    pub(super) fn choices(&self) -> Vec<Option<usize>> {
        match self.blocked.is_empty() {
            true => vec![None],
            false => self.blocked.iter().copied().map(Some).collect(),
        }
    }

    pub(super) fn block(&mut self, thread: usize) {
        self.blocked.insert(thread);
    }

    pub(super) fn unblock(&mut self, choice: Option<usize>) {
        if let Some(thread) = choice
            && self.blocked.remove(&thread)
        {
            self.unblocked.insert(thread);
        }
    }

    pub(super) fn unblock_all(&mut self) {
        self.unblocked.append(&mut self.blocked);
    }

    /// May it come back from its call?
    pub(super) fn is_unblocked(&self, thread: usize) -> bool {
        self.unblocked.contains(&thread)
    }

    /// It comes back: was it unblocked, or has it waited too long?
    pub(super) fn leave(&mut self, thread: usize) -> bool {
        self.blocked.remove(&thread);
        self.unblocked.remove(&thread)
    }
}
