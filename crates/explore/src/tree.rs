//! The recovery tree (docs/design/algorithms.md §2): what a program reads when it starts on unknown memory.
//!
//! A node is a first read, an edge the value it returned, a leaf the end of a run. The program is deterministic, so the tree
//! is a function of the program alone: it serves every cut of every execution that ever crashed.
//!
//! Most reads have returned one value so far. So the tree is kept as *segments*, runs of such reads in one piece, and a read is
//! named by the run that brought it and its depth: that name stays when a segment is split by a new branch.

use crate::subject::Ended;
use landfall_model::event::{FirstRead, Mark, Read};
use landfall_model::log::Log;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// One tree for each number of power failures so far: the one thing besides memory that a recovery is told.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    trees: Vec<RecoveryTree>,
}

impl Forest {
    /// The tree after so many power failures, if it was ever asked for.
    pub fn known(&self, failures: u32) -> Option<&RecoveryTree> {
        self.trees.get(failures.checked_sub(1)? as usize)
    }

    /// The tree of what runs after so many power failures, at least one.
    pub fn level(&mut self, failures: u32) -> &mut RecoveryTree {
        let index = failures.max(1) as usize - 1;
        if self.trees.len() <= index {
            self.trees.resize_with(index + 1, RecoveryTree::default);
        }
        &mut self.trees[index]
    }
}

/// A way to go on from a read: the `depth`-th read of the path of `run`, which brought it, returns `value`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Branch {
    pub run: u32,
    pub depth: u32,
    pub value: u64,
}

/// Somewhere in the tree; good until the next graft below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreePlace {
    segment: u32,
    /// An index of its reads; past the last one is its end.
    at: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum Here<'a> {
    /// A read, and what it returned to the run that brought it.
    Read(FirstRead, u64),
    Leaf(&'a Leaf),
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub ended: Ended,
    /// Its place in the order of runs.
    pub run: u32,
    /// What the run did to memory, where that is asked for.
    pub log: Option<Arc<Log>>,
}

/// A run read something else where the tree, built from earlier runs on the same values, says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diverged {
    /// Which of the first reads of the run.
    pub at: u32,
    pub expected: Option<Read>,
    pub found: Option<Read>,
}

#[derive(Clone, Debug, Default)]
pub struct RecoveryTree {
    segments: Vec<Segment>,
    free: Vec<u32>,
    /// By run: where it left the paths of those before it, and the lowest of the segments that it added.
    branches: Vec<Branch>,
    bottoms: Vec<u32>,
    reads: usize,
    /// What recoveries say about their reads, by the run that brought it: the depth of the read it comes before, ascending.
    marks: FxHashMap<u32, Vec<(u32, Mark)>>,
    /// Others stand for these.
    left_out: FxHashSet<Branch>,
    /// Recoveries that may crash themselves, by run, as the checkers see them.
    judged: FxHashMap<u32, Rc<landfall_check::Execution>>,
}

/// The bottom of a run that was pruned as a whole; and what the first run branched off.
const GONE: u32 = u32::MAX;
/// Above the root.
const NOWHERE: u32 = u32::MAX;

/// There may be two of them for each distinct recovery: they are kept small.
#[derive(Clone, Debug)]
struct Segment {
    /// The run that brought these reads.
    run: u32,
    /// Of the first of them.
    depth: u32,
    /// Reads before this index have become part of the segments above.
    skip: u32,
    above: u32,
    reads: FewReads,
    /// The value that leads here from above.
    entered: u64,
    end: SegmentEnd,
}

#[derive(Clone, Debug)]
enum SegmentEnd {
    /// A read with more than one known value, or fewer after pruning: the segments that they lead to, by ascending value.
    Fork {
        read: FirstRead,
        own: u64,
        children: Children,
    },
    Leaf(Leaf),
}

/// Most segments have none: every read is a fork.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::box_collection,
    reason = "one word where there are none, not three"
)]
struct FewReads(Option<Box<Vec<Read>>>);

impl FewReads {
    fn new(reads: Vec<Read>) -> FewReads {
        FewReads((!reads.is_empty()).then(|| Box::new(reads)))
    }

    fn into_vec(self) -> Vec<Read> {
        self.0.map_or_else(Vec::new, |reads| *reads)
    }
}

impl Deref for FewReads {
    type Target = [Read];

    fn deref(&self) -> &[Read] {
        self.0.as_ref().map_or(&[], |reads| reads)
    }
}

/// Most forks have two.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "two words for both, not three")]
enum Children {
    Few(u8, [u32; 2]),
    Many(Box<Vec<u32>>),
}

impl Children {
    fn none() -> Children {
        Children::Few(0, [0; 2])
    }

    fn insert(&mut self, at: usize, child: u32) {
        let mut all = self.to_vec();
        all.insert(at, child);
        *self = Children::of(all);
    }

    fn remove(&mut self, at: usize) -> u32 {
        let mut all = self.to_vec();
        let child = all.remove(at);
        *self = Children::of(all);
        child
    }

    fn of(all: Vec<u32>) -> Children {
        match all[..] {
            [] => Children::none(),
            [a] => Children::Few(1, [a, 0]),
            [a, b] => Children::Few(2, [a, b]),
            _ => Children::Many(Box::new(all)),
        }
    }
}

impl Deref for Children {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Children::Few(count, few) => &few[..usize::from(*count)],
            Children::Many(many) => many,
        }
    }
}

impl Segment {
    fn len(&self) -> u32 {
        self.reads.len() as u32 - self.skip
    }

    fn depth_of(&self, at: u32) -> u32 {
        self.depth + at - self.skip
    }
}

/// Room for so many reads, in steps of an eighth: paths grow by a little from run to run, and holes of just any size would
/// never be filled again.
pub fn room_for(reads: usize) -> usize {
    let step = 1 << reads.max(16).ilog2().saturating_sub(3);
    reads.div_ceil(step) * step
}

/// Gives room back that is too large for what is in it.
fn tighten(reads: &mut Vec<Read>) {
    let room = room_for(reads.len());
    if room < reads.capacity() / 4 * 3 {
        let mut fitting = Vec::with_capacity(room);
        fitting.extend_from_slice(reads);
        *reads = fitting;
    }
}

impl RecoveryTree {
    /// Runs grafted so far.
    pub fn runs(&self) -> u32 {
        self.bottoms.len() as u32
    }

    /// Reads kept: what the tree costs in memory.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Keeps what a run says about the reads that it brought, and what else checkers must know of it.
    pub fn annotate(
        &mut self,
        run: u32,
        mut marks: Vec<(u32, Mark)>,
        judged: Option<Rc<landfall_check::Execution>>,
    ) {
        self.judged.extend(judged.map(|judged| (run, judged)));
        let first = self.branch_of(run).map_or(0, |branch| branch.depth + 1);
        marks.retain(|&(depth, _)| depth >= first);
        if !marks.is_empty() {
            self.marks.insert(run, marks);
        }
    }

    /// What the run that brought a read did.
    pub fn judged(&self, run: u32) -> Option<&Rc<landfall_check::Execution>> {
        self.judged.get(&run)
    }

    /// What was said right before a read, or the end.
    pub fn marks(&self, place: TreePlace) -> &[(u32, Mark)] {
        if self.marks.is_empty() {
            return &[];
        }
        let (run, depth) = self.name(place);
        let marks = self.marks.get(&run).map_or(&[][..], |marks| marks);
        let first = marks.partition_point(|&(at, _)| at < depth);
        let after = marks.partition_point(|&(at, _)| at <= depth);
        &marks[first..after]
    }

    /// This way is not taken for now: others stand for it.
    pub(crate) fn leave_out(&mut self, branch: Branch) {
        self.left_out.insert(branch);
    }

    /// Do others stand for this way, unless it was taken later?
    pub fn is_left_out(&self, branch: Branch) -> bool {
        self.left_out.contains(&branch)
    }

    /// Does any recovery say something about its reads?
    pub fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// What a run says about its reads, also those that runs before it brought.
    pub fn marks_of(&self, run: u32) -> Vec<(u32, Mark)> {
        let mut parts: SmallVec<[&[(u32, Mark)]; 8]> = SmallVec::new();
        let (mut at, mut last) = (run, u32::MAX);
        loop {
            if let Some(marks) = self.marks.get(&at) {
                parts.push(&marks[..marks.partition_point(|&(depth, _)| depth <= last)]);
            }
            let Some(branch) = self.branch_of(at) else {
                break;
            };
            (at, last) = (branch.run, branch.depth.min(last));
        }
        parts.into_iter().rev().flatten().copied().collect()
    }

    /// All first reads of a run that are still there.
    pub fn path_of(&self, run: u32) -> Vec<Read> {
        match self.bottoms.get(run as usize).copied().unwrap_or(GONE) {
            GONE => Vec::new(),
            bottom => self.reads_to(self.end(self.top_of(bottom))),
        }
    }

    /// The reads above a place with the values that lead there.
    pub fn reads_to(&self, place: TreePlace) -> Vec<Read> {
        let mut reads: Vec<Read> = self.above(place).collect();
        reads.reverse();
        reads
    }

    /// The run that brought a read on the path of another.
    pub fn brought_by(&self, run: u32, depth: u32) -> u32 {
        let mut at = run;
        while let Some(branch) = self.branch_of(at).filter(|branch| depth <= branch.depth) {
            at = branch.run;
        }
        at
    }

    /// Where every run begins, once there was one.
    pub fn root(&self) -> Option<TreePlace> {
        (!self.segments.is_empty()).then_some(TreePlace { segment: 0, at: 0 })
    }

    pub fn here(&self, place: TreePlace) -> Here<'_> {
        let segment = &self.segments[place.segment as usize];
        if let Some(read) = segment.reads.get(place.at as usize) {
            return Here::Read(read.read, read.value);
        }
        match &segment.end {
            SegmentEnd::Fork { read, own, .. } => Here::Read(*read, *own),
            SegmentEnd::Leaf(leaf) => Here::Leaf(leaf),
        }
    }

    /// The reads from here to the next fork or leaf, all with one known value.
    pub fn straight(&self, place: TreePlace) -> &[Read] {
        &self.segments[place.segment as usize].reads[place.at as usize..]
    }

    /// Run and depth of a place.
    pub fn name(&self, place: TreePlace) -> (u32, u32) {
        let segment = &self.segments[place.segment as usize];
        (segment.run, segment.depth_of(place.at))
    }

    /// Where a value leads, if a run has been there.
    pub fn step(&self, place: TreePlace, value: u64) -> Option<TreePlace> {
        let segment = &self.segments[place.segment as usize];
        if let Some(read) = segment.reads.get(place.at as usize) {
            let next = TreePlace {
                at: place.at + 1,
                ..place
            };
            return (read.value == value).then_some(next);
        }
        let (children, at) = self.among(segment, value);
        Some(self.top_of(children[at.ok()?]))
    }

    /// What a segment ends with, and where the one is, or would be, that a value leads to.
    fn among<'a>(&self, segment: &'a Segment, value: u64) -> (&'a [u32], Result<usize, usize>) {
        let SegmentEnd::Fork { children, .. } = &segment.end else {
            return (&[], Err(0));
        };
        let at = children.binary_search_by_key(&value, |&child| self.entered(child));
        (children, at)
    }

    /// The value that leads to a segment.
    fn entered(&self, segment: u32) -> u64 {
        self.segments[segment as usize].entered
    }

    fn top_of(&self, segment: u32) -> TreePlace {
        TreePlace {
            segment,
            at: self.segments[segment as usize].skip,
        }
    }

    /// A read by its name. It must not have been pruned.
    pub fn place(&self, run: u32, depth: u32) -> TreePlace {
        let mut id = self.bottoms[run as usize];
        loop {
            let segment = &self.segments[id as usize];
            if segment.above == NOWHERE || depth >= segment.depth {
                return TreePlace {
                    segment: id,
                    at: depth - segment.depth + segment.skip,
                };
            }
            id = segment.above;
        }
    }

    /// Is the read of this name still there?
    pub fn holds(&self, run: u32, depth: u32) -> bool {
        let bottom = self.bottoms[run as usize];
        bottom != GONE
            && depth <= self.segments[bottom as usize].depth + self.segments[bottom as usize].len()
    }

    /// How many reads the path of a run has. It must not have been pruned.
    pub fn depth(&self, run: u32) -> u32 {
        let segment = &self.segments[self.bottoms[run as usize] as usize];
        segment.depth + segment.len()
    }

    pub fn child(&self, branch: Branch) -> Option<TreePlace> {
        self.step(self.place(branch.run, branch.depth), branch.value)
    }

    /// Where a run left the paths of those before it; `None` for the first.
    pub fn branch_of(&self, run: u32) -> Option<Branch> {
        let branch = self.branches[run as usize];
        (branch.run != GONE).then_some(branch)
    }

    /// The reads above a place with the values that lead there, upwards.
    pub fn above(&self, place: TreePlace) -> impl Iterator<Item = Read> + '_ {
        let mut id = place.segment;
        let mut at = place.at;
        std::iter::from_fn(move || {
            let segment = &self.segments[id as usize];
            if at > segment.skip {
                at -= 1;
                return Some(segment.reads[at as usize]);
            }
            if segment.above == NOWHERE {
                return None;
            }
            let value = segment.entered;
            id = segment.above;
            let segment = &self.segments[id as usize];
            at = segment.reads.len() as u32;
            match segment.end {
                SegmentEnd::Fork { read, .. } => Some(Read { read, value }),
                SegmentEnd::Leaf(_) => None,
            }
        })
    }

    /// Children of a fork, by value; none for other places.
    pub fn children(&self, place: TreePlace) -> impl Iterator<Item = (u64, TreePlace)> + '_ {
        let segment = &self.segments[place.segment as usize];
        let children = match &segment.end {
            SegmentEnd::Fork { children, .. } if place.at as usize == segment.reads.len() => {
                &children[..]
            }
            _ => &[],
        };
        children
            .iter()
            .map(|&id| (self.entered(id), self.top_of(id)))
    }

    /// The end of the segment that a place is in.
    pub fn end(&self, place: TreePlace) -> TreePlace {
        TreePlace {
            at: self.segments[place.segment as usize].reads.len() as u32,
            ..place
        }
    }

    /// Adds what a run read below a branch that is not known yet (`None`: the first run of all). The run must have come
    /// there. Returns the run's number.
    pub fn graft(
        &mut self,
        branch: Option<Branch>,
        mut reads: Vec<Read>,
        ended: Ended,
        log: Option<Arc<Log>>,
    ) -> Result<u32, Diverged> {
        let run = self.runs();
        let mut segment = Segment {
            run,
            depth: 0,
            skip: 0,
            reads: FewReads::default(),
            above: NOWHERE,
            entered: 0,
            end: SegmentEnd::Leaf(Leaf { ended, run, log }),
        };
        let Some(branch) = branch else {
            self.reads += reads.len();
            segment.reads = FewReads::new(reads);
            self.segments.push(segment);
            self.branches.push(Branch {
                run: GONE,
                depth: 0,
                value: 0,
            });
            self.bottoms.push(0);
            return Ok(run);
        };
        let place = self.place(branch.run, branch.depth);
        self.verify(place, branch, &reads)?;
        let fork = self.fork(place);
        segment.depth = branch.depth + 1;
        segment.above = fork;
        segment.entered = branch.value;
        // The reads above are there already.
        reads.drain(..=branch.depth as usize);
        tighten(&mut reads);
        self.reads += reads.len();
        segment.reads = FewReads::new(reads);
        let id = self.fresh(segment);
        let (_, at) = self.among(&self.segments[fork as usize], branch.value);
        let at = at.unwrap_or_else(|at| at);
        if let SegmentEnd::Fork { children, .. } = &mut self.segments[fork as usize].end {
            children.insert(at, id);
        }
        self.branches.push(branch);
        self.bottoms.push(id);
        Ok(run)
    }

    /// Adds a run wherever it leaves the paths that are known; `None` if it leaves none.
    pub fn add(
        &mut self,
        reads: Vec<Read>,
        ended: Ended,
        log: Option<Arc<Log>>,
    ) -> Result<Option<u32>, Diverged> {
        let Some(mut place) = self.root() else {
            return self.graft(None, reads, ended, log).map(Some);
        };
        for (at, read) in reads.iter().enumerate() {
            let expected = match self.here(place) {
                Here::Read(expected, value) => Some((expected, value)),
                Here::Leaf(_) => None,
            };
            if expected.is_none_or(|(expected, _)| expected != read.read) {
                return Err(Diverged {
                    at: at as u32,
                    expected: expected.map(|(read, value)| Read { read, value }),
                    found: Some(*read),
                });
            }
            match self.step(place, read.value) {
                Some(next) => place = next,
                None => {
                    let (run, depth) = self.name(place);
                    let value = read.value;
                    let branch = Branch { run, depth, value };
                    return self.graft(Some(branch), reads, ended, log).map(Some);
                }
            }
        }
        match self.here(place) {
            Here::Leaf(_) => Ok(None),
            Here::Read(read, value) => Err(Diverged {
                at: reads.len() as u32,
                expected: Some(Read { read, value }),
                found: None,
            }),
        }
    }

    fn fresh(&mut self, segment: Segment) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.segments[id as usize] = segment;
                id
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        }
    }

    /// Did the run come to the branch by the way the tree says?
    fn verify(&self, place: TreePlace, branch: Branch, reads: &[Read]) -> Result<(), Diverged> {
        let depth = branch.depth as usize;
        let here = match self.here(place) {
            Here::Read(read, _) => Some(Read {
                read,
                value: branch.value,
            }),
            Here::Leaf(_) => None,
        };
        let arrived = here.is_some() && reads.get(depth) == here.as_ref();
        let found = reads.get(..depth).unwrap_or(reads);
        if arrived && self.above(place).eq(found.iter().rev().copied()) {
            return Ok(());
        }
        let mut expected: Vec<Read> = self.above(place).collect();
        expected.reverse();
        expected.extend(here);
        let at = (0..)
            .find(|&i| i >= expected.len() || expected.get(i) != reads.get(i))
            .unwrap_or(0);
        Err(Diverged {
            at: at as u32,
            expected: expected.get(at).copied(),
            found: reads.get(at).copied(),
        })
    }

    /// Makes the read a fork: the end of a segment. Everything above keeps its segment.
    fn fork(&mut self, place: TreePlace) -> u32 {
        let upper = &mut self.segments[place.segment as usize];
        if place.at as usize == upper.reads.len() {
            return place.segment;
        }
        let split = upper.reads[place.at as usize];
        let kept: Vec<Read> = upper.reads[upper.skip as usize..place.at as usize].to_vec();
        let mut below = std::mem::take(&mut upper.reads).into_vec();
        let mut skip = place.at + 1;
        let depth = upper.depth_of(skip);
        // What the upper part took is freed once it is most of it.
        if skip as usize > below.len() / 2 {
            below.drain(..skip as usize);
            tighten(&mut below);
            skip = 0;
        }
        let lower = Segment {
            run: upper.run,
            depth,
            skip,
            reads: FewReads::new(below),
            above: place.segment,
            entered: split.value,
            end: std::mem::replace(
                &mut upper.end,
                SegmentEnd::Fork {
                    read: split.read,
                    own: split.value,
                    children: Children::none(),
                },
            ),
        };
        upper.reads = FewReads::new(kept);
        upper.skip = 0;
        self.reads -= 1; // The fork holds it now.
        let run = upper.run;
        let id = self.fresh(lower);
        if let SegmentEnd::Fork { children, .. } = &self.segments[id as usize].end {
            let below: SmallVec<[u32; 4]> = children.iter().copied().collect();
            for child in below {
                self.segments[child as usize].above = id;
            }
        }
        if let SegmentEnd::Fork { children, .. } = &mut self.segments[place.segment as usize].end {
            children.insert(0, id);
        }
        let bottom = &mut self.bottoms[run as usize];
        if *bottom == place.segment {
            *bottom = id;
        }
        place.segment
    }

    /// Forgets everything below a branch.
    pub fn prune(&mut self, branch: Branch) {
        let place = self.place(branch.run, branch.depth);
        if self.step(place, branch.value).is_none() {
            return;
        }
        let fork = self.fork(place);
        let mut doomed: Vec<u32> = Vec::new();
        let (_, at) = self.among(&self.segments[fork as usize], branch.value);
        let segment = &mut self.segments[fork as usize];
        let stays = segment.run;
        if let SegmentEnd::Fork { own, children, .. } = &mut segment.end {
            doomed.extend(at.ok().map(|at| children.remove(at)));
            if *own == branch.value {
                self.bottoms[stays as usize] = fork;
            }
        }
        while let Some(id) = doomed.pop() {
            let segment = &mut self.segments[id as usize];
            self.reads -= segment.len() as usize;
            if segment.run != stays {
                self.bottoms[segment.run as usize] = GONE;
            }
            segment.reads = FewReads::default();
            segment.skip = 0;
            if let SegmentEnd::Fork { children, .. } = &mut segment.end {
                doomed.extend(children.iter());
            }
            self.free.push(id);
        }
    }
}
