//! Executions that are certain to be wanted are asked for before their time, so that the program need not wait for the search, nor
//! the search for it. A leaf of a wakeup tree is certain: what it begins with and who sleeps then does not change any more.

use super::Search;
use crate::schedule::step::Step;
use crate::schedule::threads::{Job, Threads};
use std::cmp::Reverse;

/// A leaf that an insertion made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// The state whose wakeup tree it is in.
    depth: usize,
    /// Its nodes, from the root on: a range of [`Ahead::nodes`].
    nodes: (usize, usize),
    /// How many of them were there before.
    old: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    leaves: Vec<Leaf>,
    nodes: Vec<u32>,
    asleep: Vec<Step>,
    ticks: Vec<u32>,
    /// The execution that comes next was asked for under this number.
    pub(super) number: Option<u32>,
}

impl Search {
    /// The last insertion, at this depth, may have made a leaf.
    pub(super) fn note_leaf(&mut self, depth: usize) {
        let (path, old) = self.wakeup.inserted();
        if path.is_empty() {
            return;
        }
        let from = self.ahead.nodes.len();
        self.ahead.nodes.extend_from_slice(path);
        self.ahead.leaves.push(Leaf {
            depth,
            nodes: (from, self.ahead.nodes.len()),
            old,
        });
    }

    /// Asks for what the last execution made known, in the order in which it will be wanted.
    pub(super) fn ask_ahead<T: Threads>(&mut self, threads: &mut T) {
        let mut ahead = std::mem::take(&mut self.ahead);
        if threads.room_ahead() > 0 {
            ahead.leaves.sort_by_key(|leaf| Reverse(leaf.depth));
            for leaf in &ahead.leaves {
                if threads.room_ahead() == 0 {
                    break;
                }
                let nodes = &ahead.nodes[leaf.nodes.0..leaf.nodes.1];
                let keep = self.sleepers_of(leaf, nodes, &mut ahead.asleep, &mut ahead.ticks);
                self.follow.clear();
                let kept = self.trace.steps[..leaf.depth].iter();
                self.follow.extend(kept.map(|step| step.process));
                let rest = nodes.iter().map(|&node| self.wakeup.node(node));
                self.follow.extend(rest.map(|node| node.step.process));
                let job = Job {
                    follow: &self.follow,
                    keep,
                    sleep: &ahead.asleep,
                    order: self.order,
                    limit: self.options.limit,
                };
                if let (Some(number), Some(&last)) =
                    (threads.ahead(&job, &self.trace), nodes.last())
                {
                    self.wakeup.asked_for(last, number);
                }
            }
        }
        ahead.leaves.clear();
        ahead.nodes.clear();
        self.ahead = ahead;
    }

    /// Who will sleep where the leaf leaves what is explored before it; returns how deep that is.
    fn sleepers_of(
        &self,
        leaf: &Leaf,
        nodes: &[u32],
        asleep: &mut Vec<Step>,
        ticks: &mut Vec<u32>,
    ) -> usize {
        let depth = leaf.depth;
        asleep.clear();
        let known = self.frames[depth].sleep as usize..self.frames[depth + 1].sleep as usize;
        asleep.extend_from_slice(&self.sleepers[known]);
        asleep.push(self.trace.steps[depth]);
        ticks.clear();
        ticks.extend_from_slice(self.happens.ticks_before(depth));
        let mut first = self.frames[depth].branch;
        for (level, &node) in nodes.iter().enumerate().take(leaf.old + 1) {
            while first != node {
                let before = self.wakeup.node(first);
                asleep.push(before.step);
                first = before.sibling;
            }
            if level < leaf.old {
                let taken = self.wakeup.node(node);
                let sets = &self.trace.sets;
                asleep.retain(|sleeper| {
                    let tick = |process: u8| ticks[usize::from(process)];
                    !self.order.depends(sleeper, &taken.step, sets, tick)
                });
                ticks[usize::from(taken.step.process)] = taken.step.tick;
                first = taken.child;
            }
        }
        depth + leaf.old
    }
}
