//! Everything that a thread put into its store buffer, oldest first. What came long ago is shared by all states of the reader that are
//! kept, so that going back to one costs what came since.

use landfall_explore::schedule::Queued;
use std::sync::Arc;

/// So many are copied rather than shared.
const FEW: usize = 256;

#[derive(Debug, Default)]
pub(super) struct EnteredStores {
    old: Arc<[Queued]>,
    new: Vec<Queued>,
}

impl Clone for EnteredStores {
    fn clone(&self) -> EnteredStores {
        EnteredStores {
            old: self.old.clone(),
            new: self.new.clone(),
        }
    }

    fn clone_from(&mut self, from: &EnteredStores) {
        if !Arc::ptr_eq(&self.old, &from.old) {
            self.old = from.old.clone();
        }
        self.new.clone_from(&from.new);
    }
}

impl EnteredStores {
    pub(super) fn clear(&mut self) {
        if !self.old.is_empty() {
            self.old = Arc::default();
        }
        self.new.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.old.len() + self.new.len()
    }

    pub(super) fn push(&mut self, entry: Queued) {
        self.new.push(entry);
    }

    pub(super) fn last(&self) -> Option<&Queued> {
        self.new.last().or(self.old.last())
    }

    /// Those from a number on.
    pub(super) fn from(&self, first: usize) -> impl DoubleEndedIterator<Item = &Queued> + Clone {
        let old = self.old.get(first..).unwrap_or_default();
        let first = first.saturating_sub(self.old.len());
        old.iter().chain(self.new.get(first..).unwrap_or_default())
    }

    /// It is about to be copied.
    pub(super) fn share(&mut self) {
        if self.new.len() > FEW.max(self.old.len() / 16) {
            self.old = self.from(0).copied().collect();
            self.new.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_what_was_put_in() {
        let entry = |number: usize| Queued {
            commit: (1, number as u32),
            line: Some(number as u32 % 7),
            visible: false,
        };
        let (mut entered, mut plain) = (EnteredStores::default(), Vec::new());
        let mut kept = Vec::new();
        for number in 0..2000 {
            entered.push(entry(number));
            plain.push(entry(number));
            if number % 300 == 299 {
                entered.share();
                let mut copy = EnteredStores::default();
                copy.clone_from(&entered);
                kept.push((copy, plain.clone()));
            }
        }
        kept.push((entered, plain));
        for (entered, plain) in kept {
            assert_eq!((entered.len(), entered.last()), (plain.len(), plain.last()));
            for first in [0, 1, 255, 299, 300, 301, 1799, 1800, 1999, 2000, 2001] {
                let from: Vec<Queued> = entered.from(first).copied().collect();
                assert_eq!(from, plain.get(first..).unwrap_or_default(), "{first}");
                let back: Vec<&Queued> = entered.from(first).rev().collect();
                assert!(back.into_iter().rev().eq(&from), "{first}");
            }
        }
    }
}
