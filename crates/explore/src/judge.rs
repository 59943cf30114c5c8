//! Lets checkers judge what the search found: they follow by store the tree that it made by value.

use crate::recovery::Watch;
use crate::subject::Mark;
use crate::tree::{Here, Place, RecoveryTree};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Execution, Recoveries, Step, Walked, event, walk};
use landfall_model::image::Image;
use landfall_model::log::Cut;
use smallvec::SmallVec;
use std::fmt;
use std::rc::Rc;

/// Judges the recoveries after one power failure, anywhere in an execution. What the first cuts lead to is judged before the
/// search forgets it, the rest in the end.
pub struct Judge {
    base: Image,
    first: Rc<Execution>,
    checkers: Vec<Box<dyn Checker>>,
    /// Candidates to look at before giving up.
    most: u64,
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
    pub fn new(base: Image, first: Execution, checkers: Vec<Box<dyn Checker>>, most: u64) -> Judge {
        Judge {
            base,
            first: Rc::new(first),
            checkers,
            most,
            next: 0,
            walked: Walked::default(),
        }
    }

    /// Judges the cuts up to this one, as far as that was not done.
    fn up_to(&mut self, tree: &RecoveryTree, last: u32) {
        let Some(root) = tree.root() else { return };
        if last < self.next || self.walked.stopped {
            return;
        }
        let limits = Limits {
            candidates: self.most.saturating_sub(self.walked.candidates),
            ..Limits::default()
        };
        let mut checkers: Vec<&mut dyn Checker> = Vec::new();
        for checker in &mut self.checkers {
            checkers.push(&mut **checker);
        }
        let cuts = (self.next, last);
        let (tree, first) = (Judged { tree, root }, self.first.clone());
        self.walked += walk(&tree, &self.base, first, cuts, limits, &mut checkers);
        self.next = last + 1;
    }

    /// The search came to its end. Returns the checkers with what they found, and how far they came.
    pub fn finish(mut self, tree: &RecoveryTree) -> (Vec<Box<dyn Checker>>, Walked) {
        self.up_to(tree, self.first.end());
        (self.checkers, self.walked)
    }
}

impl Watch for Judge {
    fn forgetting(&mut self, tree: &RecoveryTree, cut: Cut) {
        self.up_to(tree, cut.0);
    }
}

/// A tree that has a root.
struct Judged<'a> {
    tree: &'a RecoveryTree,
    root: Place,
}

impl Recoveries for Judged<'_> {
    type Node = Place;

    fn root(&self, _failures: usize) -> Place {
        self.root
    }

    fn step(&self, place: Place) -> Step {
        match self.tree.here(place) {
            Here::Read(read, _) => Step::Read {
                word: read.word,
                mask: read.mask,
            },
            Here::Leaf(_) => Step::End,
        }
    }

    fn child(&self, place: Place, value: u64) -> Option<Place> {
        self.tree.step(place, value)
    }

    fn marks(&self, place: Place) -> SmallVec<[event::Mark; 2]> {
        let marks = self.tree.marks(place).iter();
        marks.filter_map(|(_, mark)| judged(*mark)).collect()
    }
}

fn judged(mark: Mark) -> Option<event::Mark> {
    Some(match mark {
        Mark::IgnoreBegin => event::Mark::IgnoreBegin,
        Mark::IgnoreEnd => event::Mark::IgnoreEnd,
        Mark::ChecksumBegin => event::Mark::ChecksumBegin,
        Mark::ChecksumAccepted => event::Mark::ChecksumAccepted,
        Mark::ChecksumRejected => event::Mark::ChecksumRejected,
        Mark::CopyBegin | Mark::CopyEnd | Mark::Thread(_) => return None,
    })
}
