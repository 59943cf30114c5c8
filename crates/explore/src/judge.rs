//! Lets checkers judge what the search found: they follow by store the tree that it made by value.

use crate::recovery::Watch;
use crate::subject::Mark;
use crate::tree::{Branch, Here, Place, RecoveryTree};
use landfall_check::walk::Limits;
use landfall_check::{Checker, Execution, Recoveries, Step, Walked, event, walk};
use landfall_model::image::Image;
use landfall_model::log::Cut;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::fmt;
use std::rc::Rc;

/// Judges the recoveries after one power failure, anywhere in an execution. Parts of the tree that the search forgets on its
/// way are judged before, the rest in the end.
pub struct Judge {
    base: Image,
    first: Rc<Execution>,
    checkers: Vec<Box<dyn Checker>>,
    /// Candidates to look at before giving up.
    most: u64,
    /// By a digest of the values that lead there: the last cut that was judged.
    forgotten: FxHashMap<u64, Cut>,
    walked: Walked,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge")
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
            forgotten: FxHashMap::default(),
            walked: Walked::default(),
        }
    }

    /// The execution that crashed.
    pub fn first(&self) -> &Execution {
        &self.first
    }

    fn walk(&mut self, tree: &RecoveryTree, way: Option<&[u64]>) {
        let Some(root) = tree.root().filter(|_| !self.walked.stopped) else {
            return;
        };
        let judged = Judged {
            tree,
            root,
            way,
            forgotten: &self.forgotten,
        };
        let limits = Limits {
            candidates: self.most.saturating_sub(self.walked.candidates),
            ..Limits::default()
        };
        let mut checkers: Vec<&mut dyn Checker> = Vec::new();
        for checker in &mut self.checkers {
            checkers.push(&mut **checker);
        }
        let cuts = (0, self.first.end());
        let first = self.first.clone();
        self.walked += walk(&judged, &self.base, first, cuts, limits, &mut checkers);
    }

    /// The search came to its end. Returns the checkers with what they found, and how far they came.
    pub fn finish(mut self, tree: &RecoveryTree) -> (Vec<Box<dyn Checker>>, Walked) {
        self.walk(tree, None);
        (self.checkers, self.walked)
    }
}

impl Watch for Judge {
    fn forgetting(&mut self, tree: &RecoveryTree, branch: Branch, cut: Cut) {
        let mut way: Vec<u64> = tree
            .above(tree.place(branch.run, branch.depth))
            .map(|read| read.value)
            .collect();
        way.reverse();
        way.push(branch.value);
        self.walk(tree, Some(&way));
        let digest = way.iter().fold(0, |above, &value| digest(above, value));
        self.forgotten.insert(digest, cut);
    }
}

/// A tree, or what is below one branch of it.
struct Judged<'a> {
    tree: &'a RecoveryTree,
    root: Place,
    /// The values that lead to the part that is asked for.
    way: Option<&'a [u64]>,
    forgotten: &'a FxHashMap<u64, Cut>,
}

/// Somewhere in the tree; or somewhere that is not asked for.
#[derive(Clone, Copy)]
struct Node {
    place: Option<Place>,
    /// Reads above it, and a digest of what they returned.
    depth: u32,
    digest: u64,
}

/// The program is deterministic: what was read says where it is. (A step of splitmix64, so that zeros count.)
fn digest(above: u64, value: u64) -> u64 {
    let mut z = (above.rotate_left(23) ^ value).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Recoveries for Judged<'_> {
    type Node = Node;

    fn root(&self, _failures: usize) -> Node {
        Node {
            place: Some(self.root),
            depth: 0,
            digest: 0,
        }
    }

    fn step(&self, node: Node) -> Step {
        let Some(place) = node.place else {
            return Step::Elsewhere;
        };
        match self.tree.here(place) {
            Here::Read(read, _) => Step::Read {
                word: read.word,
                mask: read.mask,
            },
            Here::Leaf(_) => Step::End,
        }
    }

    fn child(&self, node: Node, value: u64) -> Option<Node> {
        let mut child = Node {
            place: None,
            depth: node.depth + 1,
            digest: node.digest,
        };
        if !self.forgotten.is_empty() {
            child.digest = digest(node.digest, value);
        }
        let wanted = self.way.and_then(|way| way.get(node.depth as usize));
        if wanted.is_some_and(|&wanted| wanted != value) {
            return Some(child);
        }
        child.place = self.tree.step(node.place?, value);
        // A part is judged before it is forgotten; what it lacks then has no run yet, or was forgotten before.
        let known = child.place.is_some() || self.way.is_some();
        (known || self.forgotten.contains_key(&child.digest)).then_some(child)
    }

    fn cuts_from(&self, node: Node) -> u32 {
        if self.way.is_some() || self.forgotten.is_empty() {
            return 0;
        }
        let judged = self.forgotten.get(&node.digest);
        judged.map_or(0, |cut| cut.0 + 1)
    }

    fn marks(&self, node: Node) -> SmallVec<[event::Mark; 2]> {
        let marks = node.place.map_or(&[][..], |place| self.tree.marks(place));
        marks.iter().filter_map(|(_, mark)| judged(*mark)).collect()
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
