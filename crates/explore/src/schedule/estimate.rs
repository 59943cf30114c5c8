//! How large the whole search will be: the weighted backtrack estimator for the number of executions and the recursive
//! estimator for the work (seed 002 §3.4.3; Kilby et al. 2006, Simsa et al. 2012).

use super::wakeup::Wakeup;

#[derive(Clone, Copy, Debug, Default)]
struct EstimateLevel {
    /// Branches of this state that are explored, being explored, or wait.
    marked: u32,
    /// Explored to the end.
    done: u32,
    /// The share of this state's subtree that the finished branches make up.
    share: f64,
    /// Work below the finished branches.
    work: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Estimate {
    levels: Vec<EstimateLevel>,
    started: bool,
    executions: u64,
    /// Work of one transition, in whatever unit the caller measures; 1 counts transitions.
    executed: f64,
}

impl Estimate {
    pub(super) fn started(&self) -> bool {
        self.started
    }

    /// A new execution shares its first `keep` transitions with the one before.
    pub(super) fn begin(
        &mut self,
        keep: usize,
        length: usize,
        branch: impl Fn(usize) -> u32,
        wakeup: &Wakeup,
    ) {
        self.started = true;
        self.executions += 1;
        self.executed += (length - keep) as f64;
        if self.levels.len() <= keep {
            self.levels.resize(keep + 1, EstimateLevel::default());
        }
        self.levels.truncate(keep + 1);
        self.levels.resize(length + 1, EstimateLevel::default());
        if keep == 0 && self.executions == 1 {
            self.levels[0].marked = 1;
        }
        for depth in keep + 1..length {
            // The branch taken, and those that came along with the wakeup tree.
            let mut marked = 1;
            let mut node = branch(depth);
            while node != super::wakeup::NIL {
                marked += 1;
                node = wakeup.node(node).sibling;
            }
            self.levels[depth].marked = marked;
        }
    }

    /// A branch was added at a state of the path.
    pub(super) fn mark(&mut self, depth: usize) {
        self.levels[depth].marked += 1;
    }

    /// The execution is done: its last state is a leaf.
    pub(super) fn end(&mut self) {
        if let Some(leaf) = self.levels.last_mut() {
            *leaf = EstimateLevel {
                marked: 1,
                done: 1,
                share: 1.0,
                work: 0.0,
            };
        }
    }

    /// Every branch of a state on the path is explored: its parent takes note.
    pub(super) fn leave(&mut self, depth: usize) {
        let Some(level) = self.levels.get(depth).copied() else {
            return;
        };
        let Some(parent) = depth
            .checked_sub(1)
            .and_then(|above| self.levels.get_mut(above))
        else {
            return;
        };
        parent.done += 1;
        parent.share += 1.0;
        parent.work += level.work + 1.0;
        self.levels.truncate(depth);
    }

    /// Executions so far.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// The share of the search that is done, between 0 and 1.
    pub fn share(&self) -> f64 {
        // From the leaf up: a state's share is the mean over its marked branches, the current one counting as far as
        // it is done.
        let mut current = 0.0;
        for (index, level) in self.levels.iter().enumerate().rev() {
            current = match index + 1 == self.levels.len() {
                true => 1.0,
                false => (level.share + current) / f64::from(level.marked.max(1)),
            };
        }
        f64::min(current, 1.0)
    }

    /// Executions in all, as far as can be told now.
    pub fn size(&self) -> f64 {
        match self.share() {
            share if share > 0.0 => self.executions as f64 / share,
            _ => f64::INFINITY,
        }
    }

    /// Transitions in all that have to be executed anew (the tree's edges), as far as can be told now: a branch that was
    /// not visited is taken to cost the mean of its visited siblings.
    pub fn work(&self) -> f64 {
        let mut current = 0.0;
        for (index, level) in self.levels.iter().enumerate().rev() {
            if index + 1 == self.levels.len() {
                continue;
            }
            let visited = f64::from(level.done) + 1.0;
            current = (level.work + current + 1.0) * f64::from(level.marked.max(1)) / visited;
        }
        current
    }

    /// Transitions executed so far, each shared beginning once.
    pub fn executed(&self) -> f64 {
        self.executed
    }
}
