//! Sets of threads, a bit each.

use super::super::step::Process;

/// No execution has more threads than there are bits.
const WORDS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ThreadSet([u64; WORDS]);

impl ThreadSet {
    pub(super) fn insert(&mut self, thread: Process) {
        let thread = usize::from(thread);
        if let Some(word) = self.0.get_mut(thread / 64) {
            *word |= 1 << (thread % 64);
        }
    }

    pub(super) fn contains(&self, thread: Process) -> bool {
        let thread = usize::from(thread);
        let word = self.0.get(thread / 64);
        word.is_some_and(|word| word >> (thread % 64) & 1 != 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    pub(super) fn or(mut self, other: ThreadSet) -> ThreadSet {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
        self
    }

    pub(super) fn and(mut self, other: ThreadSet) -> ThreadSet {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
        self
    }
}

impl FromIterator<Process> for ThreadSet {
    fn from_iter<I: IntoIterator<Item = Process>>(threads: I) -> ThreadSet {
        let mut set = ThreadSet::default();
        for thread in threads {
            set.insert(thread);
        }
        set
    }
}
