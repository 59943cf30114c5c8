//! Reversing a race where threads are alike: what a renaming shows already is not explored again.

use super::{Search, Settled};
use crate::schedule::step::Step;
use crate::schedule::wakeup::{MOVED, NIL, Sequence, SequencePlace, place};

impl Search {
    /// Puts the reversal of a race, which is in `sequence`, where it belongs: it follows the path, renamed in whatever way agrees with it,
    /// as long as it can. If it agrees with something that was explored from there before, it is superfluous; otherwise it goes into
    /// the wakeup tree.
    pub(super) fn reverse_renamed(&mut self, depth: usize, shared: usize, moved: &Step) -> Settled {
        let sequence = (depth, &self.sequence[..]);
        self.symmetry
            .reverse(&self.trace, &self.happens, sequence, (moved, MOVED));
        let Some(at) = self.where_it_leaves(depth) else {
            return Settled::ForNow;
        };
        let width = self.symmetry.width();
        let mut parent = NIL;
        let mut last = NIL;
        let mut branch = self.frames[at].branch;
        let mut settled = Settled::ForNow;
        let mut rest = self.symmetry.rest(&mut self.trace);
        while branch != NIL {
            let node = *self.wakeup.node(branch);
            let step = *self.wakeup.step(branch);
            self.symmetry.explore(&step, self.wakeup.row(branch, width));
            if !self.symmetry.agrees(&self.trace) {
                self.symmetry.take_back();
                (last, branch) = (branch, node.sibling);
                continue;
            }
            rest = self.symmetry.rest(&mut self.trace);
            if at == depth && parent == NIL && self.symmetry.renames_nobody() {
                let of = Sequence {
                    steps: &self.trace.steps,
                    moved,
                    from: depth,
                };
                let sets = &self.trace.sets;
                let ticks = &mut self.ticks;
                let found = place(&step, &self.sequence, of, &self.order, sets, ticks);
                if let SequencePlace::At(index) = found
                    && index < shared
                    && !self.varies
                    && self.is_alone(depth, Some(branch))
                {
                    settled = Settled::ForGood;
                }
            }
            if node.child == NIL || rest.is_empty() {
                return settled;
            }
            (parent, last, branch) = (branch, NIL, node.child);
        }
        if parent == NIL {
            self.estimate.mark(at);
        }
        let at_root = parent == NIL && at == depth && !self.varies;
        let mut root = self.frames[at].branch;
        for (step, row) in rest {
            parent = self.wakeup.add(&mut root, (parent, last), step, &row);
            last = NIL;
        }
        self.frames[at].branch = root;
        if at_root && self.is_alone(depth, None) {
            settled = Settled::ForGood;
        }
        settled
    }

    /// The depth at which the reversal leaves the path, in whatever way it is renamed; none if it agrees with something that was explored
    /// from a state before, or with all of the path.
    fn where_it_leaves(&mut self, depth: usize) -> Option<usize> {
        let width = self.symmetry.width();
        self.symmetry.explored_from(&self.trace.steps, 0);
        for at in 0..self.trace.steps.len() {
            let frame = self.frames[at];
            let next = self.frames[at + 1].sleep;
            for (number, asleep) in (frame.own..next).enumerate() {
                let past = (frame.pasts as usize + number) * width;
                let step = self.sleepers[asleep as usize];
                self.symmetry.explore(&step, &self.pasts[past..][..width]);
                let agrees = self.symmetry.agrees(&self.trace);
                self.symmetry.take_back();
                if agrees {
                    return None;
                }
            }
            self.symmetry.explore_executed(&self.trace.steps, at);
            if at >= depth && !self.symmetry.agrees(&self.trace) {
                self.symmetry.take_back();
                // The renaming with which it got here.
                self.symmetry.agrees(&self.trace);
                return Some(at);
            }
        }
        None
    }
}
