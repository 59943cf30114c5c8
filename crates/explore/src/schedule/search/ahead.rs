//! Executions that are certain to be wanted are asked for before their time, so that the program need not wait for the search, nor
//! the search for it. A leaf of a wakeup tree is certain: what it begins with and who sleeps then does not change any more.

use super::{Process, Search};
use crate::schedule::step::Step;
use crate::schedule::threads::{Job, Threads};
use crate::schedule::wakeup::NIL;

/// So many of the executions that come next are asked for, as far as they are known. Some searches know nearly all of theirs
/// from the beginning on.
const SOON: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct AskedAhead {
    /// The nodes from the root of a wakeup tree to the one that is looked at.
    nodes: Vec<u32>,
    pub(super) asleep: Vec<Step>,
    ticks: Vec<u32>,
    /// The execution that comes next was asked for under this number.
    pub(super) number: Option<u32>,
}

impl Search {
    /// Asks for the executions that come next, in the order in which they will be wanted.
    pub(super) fn ask_ahead<T: Threads>(&mut self, threads: &mut T) {
        if threads.room_ahead() == 0 {
            return;
        }
        let mut ahead = std::mem::take(&mut self.ahead);
        let mut left = SOON;
        for depth in (0..self.frames.len()).rev() {
            let root = self.frames[depth].branch;
            if root == NIL {
                continue;
            }
            left = self.ask_for_leaves(threads, depth, root, left, &mut ahead);
            if left == 0 {
                break;
            }
        }
        self.ahead = ahead;
    }

    /// Asks for the first leaves of the tree at this depth, as long as some are `left` to be asked for; returns how many still are.
    fn ask_for_leaves<T: Threads>(
        &mut self,
        threads: &mut T,
        depth: usize,
        root: u32,
        mut left: usize,
        ahead: &mut AskedAhead,
    ) -> usize {
        ahead.nodes.clear();
        let mut next = root;
        // Nodes that the leaf shares with the one before it.
        let mut old = 0;
        loop {
            while next != NIL {
                ahead.nodes.push(next);
                next = self.wakeup.node(next).child;
            }
            let Some(&leaf) = ahead.nodes.last() else {
                return left;
            };
            if self.wakeup.node(leaf).asked_for().is_none() {
                if threads.room_ahead() == 0 {
                    return 0;
                }
                if let Some(number) = self.ask_for(threads, depth, old, ahead) {
                    self.wakeup.asked_for(leaf, number);
                }
            }
            left -= 1;
            if left == 0 {
                return 0;
            }
            while next == NIL
                && let Some(done) = ahead.nodes.pop()
            {
                next = self.wakeup.node(done).sibling;
            }
            old = ahead.nodes.len();
        }
    }

    /// Asks for one execution: the leaf at the end of `ahead.nodes`.
    fn ask_for<T: Threads>(
        &mut self,
        threads: &mut T,
        depth: usize,
        old: usize,
        ahead: &mut AskedAhead,
    ) -> Option<u32> {
        self.sleepers_of(depth, old, ahead);
        self.follow.clear();
        self.follow.extend_from_slice(&self.made_by[..depth]);
        let rest = ahead.nodes.iter().map(|&node| self.wakeup.step(node));
        self.follow.extend(rest.map(|step| step.process));
        let job = Job {
            follow: &self.follow,
            keep: depth + old,
            sleep: &ahead.asleep,
            order: self.order,
            limit: self.options.limit,
        };
        threads.ahead(&job, &self.trace)
    }

    /// Who will sleep once all branches are explored that there are at this depth.
    pub(super) fn sleepers_after_all(&self, depth: usize, ahead: &mut AskedAhead) {
        ahead.nodes.clear();
        ahead.nodes.push(NIL);
        self.sleepers_of(depth, 0, ahead);
    }

    /// Who will sleep where the leaf leaves what is explored before it, which is after `old` of its nodes.
    fn sleepers_of(&self, depth: usize, old: usize, ahead: &mut AskedAhead) {
        let AskedAhead {
            nodes,
            asleep,
            ticks,
            ..
        } = ahead;
        asleep.clear();
        let known = self.frames[depth].sleep as usize..self.frames[depth + 1].sleep as usize;
        asleep.extend_from_slice(&self.sleepers[known]);
        asleep.push(self.trace.steps[depth]);
        ticks.clear();
        ticks.extend_from_slice(self.happens.ticks_before(depth));
        let mut first = self.frames[depth].branch;
        for (level, &node) in nodes.iter().enumerate().take(old + 1) {
            while first != node {
                asleep.push(*self.wakeup.step(first));
                first = self.wakeup.node(first).sibling;
            }
            if level < old {
                let taken = self.wakeup.step(node);
                let sets = &self.trace.sets;
                asleep.retain_mut(|sleeper| {
                    let tick = |process: Process| ticks[usize::from(process)];
                    let stays = !self.order.wakes(sleeper, taken, sets, tick);
                    sleeper.sees(taken);
                    stays
                });
                ticks[usize::from(taken.process)] = taken.tick;
                first = self.wakeup.node(node).child;
            }
        }
    }
}
