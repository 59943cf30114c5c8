//! Lets checkers judge what the search found: they follow by store the tree that it made by value.

use crate::recovery::TreeWatch;
use crate::tree::{Branch, Forest, Here, RecoveryTree, TreePlace};
use landfall_check::path::Span;
use landfall_check::walk::Limits;
use landfall_check::{Checker, Execution, Recoveries, RecoveryStep, Walked, walk};
use landfall_model::event::Mark;
use landfall_model::image::Image;
use landfall_model::log::Cut;
use smallvec::SmallVec;
use std::fmt;
use std::rc::Rc;

/// Candidates that one who walks alone looks at before giving up: no path of it ends early.
const MOST_ALONE: u64 = 4_000_000;

/// Judges the recoveries after power failures anywhere in an execution, and in the recoveries. What the first cuts lead to is
/// judged before the search forgets it, the rest in the end.
pub struct Judge {
    base: Image,
    first: Rc<Execution>,
    checkers: Vec<Box<dyn Checker>>,
    /// Those that walk by themselves.
    alone: Vec<Box<dyn Checker>>,
    limits: Limits,
    /// The first cut that is not judged yet.
    next: u32,
    walked: Walked,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge")
            .field("next", &self.next)
            .field("walked", &self.walked)
            .finish_non_exhaustive()
    }
}

impl Judge {
    /// `first` began on `base`.
    pub fn new(
        base: Image,
        first: Execution,
        checkers: Vec<Box<dyn Checker>>,
        limits: Limits,
    ) -> Judge {
        Judge {
            base,
            first: Rc::new(first),
            checkers,
            alone: Vec::new(),
            limits,
            next: 0,
            walked: Walked::default(),
        }
    }

    /// One more checker, which sees all reads of all paths.
    pub fn alone(&mut self, checker: Box<dyn Checker>) {
        self.alone.push(checker);
    }

    /// Judges the cuts up to this one, as far as that was not done.
    fn up_to(&mut self, trees: &[&RecoveryTree], last: u32) {
        if last < self.next || self.walked.stopped {
            return;
        }
        let trees = JudgedTrees { trees };
        let mut together: Vec<&mut dyn Checker> = Vec::new();
        for checker in &mut self.checkers {
            together.push(&mut **checker);
        }
        let mut walks = vec![together];
        for checker in &mut self.alone {
            walks.push(vec![&mut **checker]);
        }
        let cuts = (self.next, last);
        for (number, mut checkers) in walks.into_iter().enumerate() {
            if checkers.is_empty() {
                continue;
            }
            let left = (self.limits.candidates).saturating_sub(self.walked.candidates);
            let limits = Limits {
                candidates: match number {
                    0 => left,
                    _ => left.min(MOST_ALONE),
                },
                ..self.limits.clone()
            };
            let first = self.first.clone();
            self.walked += walk(&trees, &self.base, first, cuts, limits, &mut checkers);
        }
        self.next = last + 1;
    }

    /// The search came to its end. Returns the checkers with what they found, and how far they came.
    pub fn finish(mut self, forest: &Forest) -> (Vec<Box<dyn Checker>>, Walked) {
        let known = (1..).map_while(|failures| forest.known(failures));
        let trees: Vec<&RecoveryTree> = known.take(self.limits.failures).collect();
        self.up_to(&trees, self.first.end());
        // What explains others is told before them.
        self.alone.append(&mut self.checkers);
        (self.alone, self.walked)
    }
}

impl TreeWatch for Judge {
    fn forgetting(&mut self, tree: &RecoveryTree, cut: Cut) {
        self.up_to(&[tree], cut.0);
    }
}

/// What is known of recoveries, by the number of power failures before them.
pub(crate) struct JudgedTrees<'a> {
    pub(crate) trees: &'a [&'a RecoveryTree],
}

/// Somewhere in one of the trees; nowhere, if nothing ran after so many power failures.
#[derive(Clone, Copy)]
pub(crate) struct TreeNode {
    tree: u32,
    place: Option<TreePlace>,
}

impl JudgedTrees<'_> {
    fn at(&self, node: TreeNode) -> Option<(&RecoveryTree, TreePlace)> {
        Some((self.trees.get(node.tree as usize)?, node.place?))
    }
}

impl Recoveries for JudgedTrees<'_> {
    type Node = TreeNode;

    fn root(&self, failures: usize) -> TreeNode {
        let tree = failures - 1;
        TreeNode {
            tree: tree as u32,
            place: self.trees.get(tree).and_then(|tree| tree.root()),
        }
    }

    fn step(&self, node: TreeNode) -> RecoveryStep {
        let Some((tree, place)) = self.at(node) else {
            return RecoveryStep::Unknown;
        };
        match tree.here(place) {
            Here::Read(read, _) => RecoveryStep::Read {
                word: read.word,
                mask: read.mask,
            },
            Here::Leaf(_) => RecoveryStep::End,
        }
    }

    fn child(&self, node: TreeNode, value: u64) -> Option<TreeNode> {
        let (tree, place) = self.at(node)?;
        let place = Some(tree.step(place, value)?);
        Some(TreeNode { place, ..node })
    }

    fn is_left_out(&self, node: TreeNode, value: u64) -> bool {
        self.at(node).is_some_and(|(tree, place)| {
            let (run, depth) = tree.name(place);
            tree.is_left_out(Branch { run, depth, value })
        })
    }

    fn marks(&self, node: TreeNode) -> SmallVec<[Mark; 2]> {
        let marks = self.at(node).map_or(&[][..], |(tree, at)| tree.marks(at));
        marks.iter().map(|(_, mark)| *mark).collect()
    }

    fn ran(&self, node: TreeNode) -> Option<(Rc<Execution>, Span)> {
        let (tree, place) = self.at(node)?;
        let (run, depth) = tree.name(place);
        let execution = tree.judged(run)?;
        let cuts = execution.cuts_before(depth as usize)?;
        Some((execution.clone(), cuts))
    }
}
