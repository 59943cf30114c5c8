//! What recoveries read, as the checkers ask for it: they judge by store what the search followed by value.

use crate::subject::Mark;
use crate::tree::{Here, Place, RecoveryTree};
use landfall_check::{Recoveries, Step, event};
use smallvec::SmallVec;

/// The recoveries after one power failure. The tree must have a root: something was run.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    tree: &'a RecoveryTree,
    root: Place,
}

impl<'a> Judged<'a> {
    pub fn new(tree: &'a RecoveryTree) -> Option<Judged<'a>> {
        let root = tree.root()?;
        Some(Judged { tree, root })
    }
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
        Mark::CopyBegin | Mark::CopyEnd => return None,
    })
}
