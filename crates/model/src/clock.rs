//! Clock vectors: what a thread, or a store, knows to have happened before it (docs/design/model.md §7).

use smallvec::SmallVec;
use std::cmp::Ordering;

/// How many stores of each thread are known. Threads not mentioned stand at 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ClockVector(SmallVec<[u32; 4]>);

impl ClockVector {
    pub fn get(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// The thread takes its next step; returns its clock.
    pub fn advance(&mut self, thread: usize) -> u32 {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] += 1;
        self.0[thread]
    }

    /// Learns that the thread has come at least this far.
    pub fn raise(&mut self, thread: usize, clock: u32) {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] = self.0[thread].max(clock);
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &ClockVector) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Does `other` know everything this one does?
    pub fn happens_before(&self, other: &ClockVector) -> bool {
        (0..self.0.len()).all(|t| self.get(t) <= other.get(t))
    }
}

impl PartialOrd for ClockVector {
    fn partial_cmp(&self, other: &ClockVector) -> Option<Ordering> {
        match (self.happens_before(other), other.happens_before(self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_knowledge_orders() {
        let (mut a, mut b) = (ClockVector::default(), ClockVector::default());
        a.advance(0);
        b.advance(2);
        assert_eq!(a.partial_cmp(&b), None);
        b.join(&a);
        assert!(a < b);
        assert_eq!((b.get(0), b.get(1), b.get(2)), (1, 0, 1));
    }
}
