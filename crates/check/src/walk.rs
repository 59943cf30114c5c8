//! The walk over everything that recoveries may read, store by store (docs/design/algorithms.md §2).
//!
//! The tree of recoveries branches by value; here a path branches by store, and follows the value's edge. Paths that a
//! checker objects to end there, so that one execution yields all its violations and none of their consequences.

use crate::checker::{Checker, PathVerdict};
use crate::execution::Execution;
use crate::path::{Candidate, JudgedRead, RecoveryPath, Span};
use crate::region::Region;
use landfall_model::event::Mark;
use landfall_model::image::Image;
use landfall_model::line::Addr;
use smallvec::SmallVec;
use std::rc::Rc;

/// What a recovery does at some point of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryStep {
    Read {
        word: Addr,
        mask: u8,
    },
    End,
    /// Not known: no run has come here.
    Unknown,
}

/// What recoveries read: a function of what they have read before.
pub trait Recoveries {
    type Node: Copy;
    /// Where the recovery after this many power failures begins.
    fn root(&self, failures: usize) -> Self::Node;
    fn step(&self, node: Self::Node) -> RecoveryStep;
    fn child(&self, node: Self::Node, value: u64) -> Option<Self::Node>;
    /// No run has gone this way, on purpose: others stand for it.
    fn is_left_out(&self, _node: Self::Node, _value: u64) -> bool {
        false
    }
    /// Promises made between the read before the node and the node.
    fn marks(&self, _node: Self::Node) -> SmallVec<[Mark; 2]> {
        SmallVec::new()
    }
    /// Can a power failure leave what the path has read, and this candidate of its next read, together? The cuts of the path's
    /// executions do not rule it out; who knows more (schedules: [`Execution::of_schedule`]) may.
    fn leaves(&self, _path: &RecoveryPath, _read: &JudgedRead, _candidate: &Candidate) -> bool {
        true
    }
    /// What the recovery has done on its way to the node, and the cuts of it from the read before the node to the node. None
    /// if the power does not fail there.
    fn ran(&self, _node: Self::Node) -> Option<(Rc<Execution>, Span)> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct Limits {
    /// Power failures in a row.
    pub failures: usize,
    /// Candidates to look at before giving up.
    pub candidates: u64,
    /// Asked every now and then: is it time to stop?
    pub enough: Option<Enough>,
}

/// Says when to stop.
#[derive(Clone)]
pub struct Enough(pub Rc<dyn Fn() -> bool>);

impl std::fmt::Debug for Enough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Enough")
    }
}

/// So many candidates are looked at before someone is asked whether it is enough.
const ASK_EVERY: u64 = 1024;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            failures: 1,
            candidates: u64::MAX,
            enough: None,
        }
    }
}

/// How far the walk came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    pub candidates: u64,
    /// Recoveries followed to their end.
    pub paths: u64,
    /// Places of the tree where a path could not be followed.
    pub unknown: u64,
    /// The limit was reached.
    pub stopped: bool,
}

impl std::ops::AddAssign for Walked {
    fn add_assign(&mut self, more: Walked) {
        self.candidates += more.candidates;
        self.paths += more.paths;
        self.unknown += more.unknown;
        self.stopped |= more.stopped;
    }
}

impl Walked {
    /// Was everything judged?
    pub fn is_complete(&self) -> bool {
        self.unknown == 0 && !self.stopped
    }
}

/// Judges every recovery after a power failure at some of the cuts of `first`, which began on `base`.
pub fn walk<R: Recoveries>(
    recoveries: &R,
    base: &Image,
    first: Rc<Execution>,
    cuts: Span,
    limits: Limits,
    checkers: &mut [&mut dyn Checker],
) -> Walked {
    let mut walk = RecoveryWalk {
        recoveries,
        path: RecoveryPath::new(base.clone()),
        limits,
        checkers,
        walked: Walked::default(),
    };
    walk.failure(first, cuts);
    walk.walked
}

struct RecoveryWalk<'a, 'c, R: Recoveries> {
    recoveries: &'a R,
    path: RecoveryPath,
    limits: Limits,
    checkers: &'a mut [&'c mut dyn Checker],
    walked: Walked,
}

/// A read with the candidates that are still to be followed.
struct OpenRead<N> {
    node: N,
    read: JudgedRead,
    candidates: SmallVec<[Candidate; 2]>,
    steps: usize,
    reads: usize,
}

impl<R: Recoveries> RecoveryWalk<'_, '_, R> {
    /// The power fails in an execution: everything the next one may read.
    fn failure(&mut self, execution: Rc<Execution>, cuts: Span) {
        let reads = self.path.reads();
        self.path.push(execution, cuts);
        self.path.set_reads(0);
        for checker in self.checkers.iter_mut() {
            checker.cut(&self.path);
        }
        let steps = self.path.steps();
        let root = self.recoveries.root(self.path.crashed().len());
        self.recovery(root);
        self.back(steps, reads);
        self.path.pop();
    }

    fn recovery(&mut self, root: R::Node) {
        let mut frames: Vec<OpenRead<R::Node>> = Vec::new();
        frames.extend(self.arrive(root, Region::Judged));
        while let Some(frame) = frames.last_mut() {
            let (steps, reads) = (frame.steps, frame.reads);
            let Some(candidate) = frame.candidates.pop() else {
                frames.pop();
                continue;
            };
            let (node, read) = (frame.node, frame.read);
            self.back(steps, reads);
            if self.walked.candidates >= self.limits.candidates || self.is_enough() {
                self.walked.stopped = true;
                return;
            }
            if !self.takes(&read, &candidate) {
                continue;
            }
            if let Some(child) = self.child(node, candidate.value) {
                frames.extend(self.arrive(child, read.region));
            }
        }
    }

    /// Where a value leads; counted if nobody knows.
    fn child(&mut self, node: R::Node, value: u64) -> Option<R::Node> {
        let child = self.recoveries.child(node, value);
        if child.is_none() && !self.recoveries.is_left_out(node, value) {
            self.walked.unknown += 1;
        }
        child
    }

    fn is_enough(&self) -> bool {
        let ask = self.walked.candidates % ASK_EVERY == ASK_EVERY - 1;
        ask && (self.limits.enough.as_ref()).is_some_and(|Enough(enough)| enough())
    }

    /// Lets everyone judge a candidate, and goes on with it unless someone objects.
    fn takes(&mut self, read: &JudgedRead, candidate: &Candidate) -> bool {
        self.walked.candidates += 1;
        let mut fits = true;
        for checker in self.checkers.iter_mut() {
            fits &= checker.judge(&self.path, read, candidate) == PathVerdict::Fits;
        }
        if fits {
            for checker in self.checkers.iter_mut() {
                checker.take(&self.path, read, candidate);
            }
            self.path.take(read, candidate);
        }
        fits
    }

    /// Follows the recovery from a node to its next read that is not decided from the start.
    fn arrive(&mut self, mut node: R::Node, mut region: Region) -> Option<OpenRead<R::Node>> {
        loop {
            for mark in self.recoveries.marks(node) {
                region = region.after(mark);
                let mut fits = true;
                for checker in self.checkers.iter_mut() {
                    fits &= checker.mark(&self.path, mark) == PathVerdict::Fits;
                }
                self.path.pass();
                if !fits {
                    return None;
                }
            }
            if self.path.crashed().len() < self.limits.failures
                && let Some((execution, cuts)) = self.recoveries.ran(node)
            {
                self.failure(execution, cuts);
            }
            let (word, mask) = match self.recoveries.step(node) {
                RecoveryStep::Read { word, mask } => (word, mask),
                RecoveryStep::End => {
                    self.walked.paths += 1;
                    for checker in self.checkers.iter_mut() {
                        checker.ended(&self.path);
                    }
                    return None;
                }
                RecoveryStep::Unknown => {
                    self.walked.unknown += 1;
                    return None;
                }
            };
            let quiet = match region {
                Region::Checksum => None,
                Region::Judged | Region::Ignored => {
                    let watched = self.checkers.iter().any(|checker| checker.watches(word));
                    self.path.quiet(word, mask).filter(|_| !watched)
                }
            };
            if let Some(value) = quiet {
                self.path.set_reads(self.path.reads() + 1);
                node = self.child(node, value)?;
                continue;
            }
            let read = JudgedRead { word, mask, region };
            if let Some(candidate) = self.path.decided(word, mask) {
                if !self.takes(&read, &candidate) {
                    return None;
                }
                node = self.child(node, candidate.value)?;
                continue;
            }
            let mut candidates = self.path.candidates(word, mask);
            candidates.retain(|candidate| self.recoveries.leaves(&self.path, &read, candidate));
            return Some(OpenRead {
                node,
                read,
                candidates,
                steps: self.path.steps(),
                reads: self.path.reads(),
            });
        }
    }

    fn back(&mut self, steps: usize, reads: usize) {
        self.path.set_reads(reads);
        if self.path.steps() != steps {
            self.path.back(steps);
            for checker in self.checkers.iter_mut() {
                checker.back(steps);
            }
        }
    }
}
