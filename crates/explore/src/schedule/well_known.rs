//! Recoveries of schedules that need not be run: what they have read tells of a mistake that many others have shown
//! ([`crate::recovery::mistakes`]). With threads a mistake is the place of a store that a recovery misses though it was made before something
//! that it finds.

use super::chain::ChainState;
use super::power::Walker;
use crate::subject::Read;
use crate::tree::{Branch, Here, Leaf};

impl Walker<'_> {
    /// A recovery that nobody has shown before ends.
    pub(super) fn show(&mut self, state: &ChainState, leaf: &Leaf) {
        let count = self.power.behaviours.len();
        let Some(mistakes) = &mut self.power.mistakes else {
            return;
        };
        if !mistakes.shows(leaf.ended, count) {
            return;
        }
        let reads = self.power.forest.level(state.level()).path_of(leaf.run);
        let shown = self.overtaken(state, &reads);
        if let Some(mistakes) = &mut self.power.mistakes {
            mistakes.show(shown.as_slice());
        }
    }

    /// Is what a walk needs run in vain? Counted once.
    pub(super) fn is_left_out(&mut self, at: Option<Branch>, state: &ChainState) -> bool {
        let any = self.power.mistakes.as_ref().is_some_and(|of| of.any);
        let Some(branch) = at.filter(|_| any) else {
            return false;
        };
        let level = state.level();
        let tree = self.power.forest.level(level);
        let place = tree.place(branch.run, branch.depth);
        let mut reads = tree.reads_to(place);
        if let Here::Read(read, _) = tree.here(place) {
            let value = branch.value;
            reads.push(Read { read, value });
        }
        let shown = self.overtaken(state, &reads);
        let Some(mistakes) = &mut self.power.mistakes else {
            return false;
        };
        if !mistakes.is_known(shown.as_slice()) {
            return false;
        }
        self.power.skipped += u32::from(mistakes.skip(level, branch));
        true
    }

    /// The place of the first store to bytes that were read which has happened, where as little has as can have, and is not there. Of
    /// lines that a recovery has stored to since, nothing is known.
    fn overtaken(&self, state: &ChainState, reads: &[Read]) -> Option<u64> {
        let steps = &self.search.trace().steps;
        let lost = reads.iter().filter_map(|read| {
            let line = read.read.line();
            let number = self.traced.number(line)?;
            let left = state.pick(&self.on(), line)?;
            if left.later.iter().any(|&version| version != 0) {
                return None;
            }
            let bytes = u64::from(read.read.mask) << read.read.word.offset();
            let stores = &self.traced.crashes.stores(number)[left.first as usize..];
            let missed = |&&at: &&u32| {
                let step = &steps[at as usize];
                let happened = state.chosen.clock[usize::from(step.process)] >= step.tick;
                happened && step.mask & bytes != 0
            };
            stores.iter().find(missed).copied()
        });
        let first = lost.min()?;
        Some(steps[first as usize].site.into())
    }
}
