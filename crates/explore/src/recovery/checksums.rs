//! Records behind a checksum: of torn ones, a few stand for all.
//!
//! What a recovery reads between `lf_checksum_begin` and `lf_checksum_end` is a record, which it accepts or rejects. Two things are
//! assumed (docs/design/algorithms.md §2): an accepted record is one that memory holds at some moment of the run; and
//! what is done after a record was rejected depends on what is read from then on, not on what was rejected. So these are run: what
//! memory held at each moment; of everything else, what is as new as possible but for one line, which shows parts that no checksum
//! covers; and where several are rejected, only one of them is followed further. If a record is accepted that memory never held,
//! nothing is assumed any more.

use super::lines::ReadLines;
use crate::subject::Read;
use crate::tree::{Branch, Here, RecoveryTree};
use landfall_model::event::Mark;
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Entry, Log};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// A read by its name in the tree.
type Name = (u32, u32);

#[derive(Debug)]
pub(super) struct Checksums<'a> {
    log: &'a Log,
    base: &'a Image,
    /// It is asked for.
    assumed: bool,
    /// A record was accepted that memory never held.
    refuted: bool,
    /// Some recovery looks at records at all.
    pub(super) any: bool,
    /// By the number of a line: what it held, from which cut on.
    held: FxHashMap<u32, Vec<(u32, LineBytes)>>,
    /// Lines of rejected records that were read again afterwards: they are no part of what was rejected.
    again: FxHashSet<Line>,
    /// By where a record begins: how it was read so far.
    seen: FxHashMap<Name, Vec<SeenRecord>>,
    /// Where a record begins and what lines hold that are read again: of the rejected ones, the one that is followed.
    followed: FxHashMap<(Name, u64), Name>,
    /// Where nothing was rejected so far: to be run if that stays so.
    waiting: Vec<Branch>,
    /// What others stand for.
    put_off: FxHashSet<Branch>,
    /// The moment that the next run of a branch is to find.
    moments: FxHashMap<Branch, Cut>,
    path: RecordPath,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MustRun {
    Now,
    IfNoneIsRejected,
    /// Others stand for it.
    Not,
}

/// What the runs on the way to a read saw, of the run that was asked about last.
#[derive(Debug, Default)]
struct RecordPath {
    of: Option<u32>,
    reads: Vec<Read>,
    marks: Vec<(u32, Mark)>,
    /// Before each read of the record that begins here.
    begin: u32,
    states: Vec<RecordState>,
}

/// What the reads of a record so far have in common.
#[derive(Clone, Debug)]
struct RecordState {
    /// Cuts at which memory holds all of it, also later ones: a checksum knows values, not times. From, to and without.
    moments: SmallVec<[(u32, u32); 2]>,
    /// Lines, by number, that are not as new as they could be.
    old: SmallVec<[u32; 2]>,
}

/// A record that was read to its end: reads from `first` to before `end`.
#[derive(Clone, Copy, Debug)]
struct ReadRecord {
    first: u32,
    end: u32,
    accepted: bool,
}

/// One that was read, and what of it is read again after others were rejected.
#[derive(Clone, Debug)]
struct SeenRecord {
    record: ReadRecord,
    /// What follows it.
    after: Name,
    again: Vec<Read>,
}

/// The records that were read to their end, and where one begins that was not.
fn records(marks: &[(u32, Mark)]) -> (SmallVec<[ReadRecord; 2]>, Option<u32>) {
    let mut done = SmallVec::new();
    let mut open = None;
    for &(at, mark) in marks {
        match (mark, open) {
            (Mark::ChecksumBegin, _) => open = Some(at),
            (Mark::ChecksumAccepted | Mark::ChecksumRejected, Some(first)) => {
                open = None;
                if at == first {
                    continue; // Nothing new was read.
                }
                done.push(ReadRecord {
                    first,
                    end: at,
                    accepted: mark == Mark::ChecksumAccepted,
                });
            }
            _ => {}
        }
    }
    (done, open)
}

impl<'a> Checksums<'a> {
    pub(super) fn new(log: &'a Log, base: &'a Image, assumed: bool, tree: &RecoveryTree) -> Self {
        Checksums {
            log,
            base,
            assumed,
            refuted: false,
            any: assumed && tree.has_marks(),
            held: FxHashMap::default(),
            again: FxHashSet::default(),
            seen: FxHashMap::default(),
            followed: FxHashMap::default(),
            waiting: Vec::new(),
            put_off: FxHashSet::default(),
            moments: FxHashMap::default(),
            path: RecordPath::default(),
        }
    }

    /// Nothing has spoken against what is assumed.
    pub(super) fn holds(&self) -> bool {
        !self.refuted
    }

    /// What was put off, to be looked at anew.
    pub(super) fn take_put_off(&mut self) -> Vec<Branch> {
        let mut all: Vec<Branch> = self.put_off.drain().collect();
        all.sort_unstable();
        all
    }

    /// Forgets those that the present crash state has left behind. Did they stand for others?
    pub(super) fn lost_some(&mut self, alive: impl Fn(Name) -> bool) -> bool {
        if !self.any {
            return false;
        }
        let followed = self.followed.len();
        self.followed.retain(|_, &mut name| alive(name));
        let mut lost = self.followed.len() < followed;
        for seen in self.seen.values_mut() {
            let before = seen.len();
            seen.retain(|seen| alive(seen.after));
            lost |= seen.len() < before;
        }
        lost
    }

    /// The moment that a run of this branch is to find, where that is possible.
    pub(super) fn moment(&self, branch: Branch) -> Option<Cut> {
        self.moments.get(&branch).copied()
    }

    /// The next cut: other values are the newest now.
    pub(super) fn at_cut(&mut self) {
        self.path.of = None;
        self.moments.clear();
    }

    /// Must this branch be run, or do others stand for it?
    pub(super) fn must_run(
        &mut self,
        branch: Branch,
        tree: &RecoveryTree,
        lines: &ReadLines,
        alive: impl Fn(Name) -> bool,
    ) -> MustRun {
        if !self.any {
            return MustRun::Now;
        }
        let must = self.judge(branch, tree, lines, alive);
        match must {
            MustRun::Now => {}
            MustRun::IfNoneIsRejected => self.waiting.push(branch),
            MustRun::Not => {
                self.put_off.insert(branch);
            }
        }
        must
    }

    /// What waits for others to be rejected, to be asked again.
    pub(super) fn take_waiting(&mut self) -> Vec<Option<Branch>> {
        self.waiting.drain(..).map(Some).collect()
    }

    /// Still none was rejected: one of them is run.
    pub(super) fn one_waiting(&mut self) -> Option<Branch> {
        self.waiting.pop()
    }

    fn judge(
        &mut self,
        branch: Branch,
        tree: &RecoveryTree,
        lines: &ReadLines,
        alive: impl Fn(Name) -> bool,
    ) -> MustRun {
        let Here::Read(read, _) = tree.here(tree.place(branch.run, branch.depth)) else {
            return MustRun::Now;
        };
        if self.path.of != Some(branch.run) {
            self.path = RecordPath {
                of: Some(branch.run),
                reads: tree.path_of(branch.run),
                marks: tree.marks_of(branch.run),
                ..RecordPath::default()
            };
        }
        let upto = self.path.marks.partition_point(|m| m.0 <= branch.depth);
        let (done, open) = records(&self.path.marks[..upto]);
        for record in done.iter().filter(|record| !record.accepted) {
            let key = self.key(*record, branch.run, tree);
            let name = (tree.brought_by(branch.run, record.end), record.end);
            match self.followed.get(&key) {
                Some(&other) if other != name && alive(other) => return MustRun::Not,
                Some(&other) if other == name => {}
                _ => {
                    self.followed.insert(key, name);
                }
            }
        }
        let Some(first) = open else {
            return MustRun::Now;
        };
        if self.path.begin != first || self.path.states.is_empty() {
            self.path.begin = first;
            self.path.states = vec![RecordState {
                moments: SmallVec::from_slice(&[(0, u32::MAX)]),
                old: SmallVec::new(),
            }];
        }
        while self.path.states.len() <= (branch.depth - first) as usize {
            let at = first as usize + self.path.states.len() - 1;
            let before = self.path.states[at - first as usize].clone();
            let next = self.with(before, self.path.reads[at], lines);
            self.path.states.push(next);
        }
        let state = self.path.states[(branch.depth - first) as usize].clone();
        let last = Read {
            read,
            value: branch.value,
        };
        let state = self.with(state, last, lines);
        if let Some(&(_, to)) = state.moments.last() {
            self.moments.insert(branch, Cut(to - 1));
            return MustRun::Now;
        }
        let one_old = match state.old[..] {
            [] => true,
            [line] => {
                let walk = lines.at(line);
                walk.line != read.line() || branch.value == read.value(walk.content(walk.first))
            }
            _ => false,
        };
        let begin = (tree.brought_by(branch.run, first), first);
        if one_old {
            return MustRun::Now;
        }
        let record = &self.path.reads[first as usize..branch.depth as usize];
        let said = record.iter().chain([&last]);
        let said = said.filter(|read| self.again.contains(&read.read.line()));
        match self.is_rejected(begin, &said.copied().collect::<Vec<_>>(), alive) {
            true => MustRun::Not,
            false => MustRun::IfNoneIsRejected,
        }
    }

    /// Whatever lines hold that are read again: was a record rejected that agrees with this?
    fn is_rejected(&self, begin: Name, said: &[Read], alive: impl Fn(Name) -> bool) -> bool {
        let seen = self.seen.get(&begin).map_or(&[][..], |seen| seen);
        let agrees = |seen: &&SeenRecord| {
            let differs =
                |r: &Read| (seen.again.iter()).any(|s| s.read == r.read && s.value != r.value);
            alive(seen.after) && !said.iter().any(differs)
        };
        let rejected: FxHashSet<&[Read]> = seen
            .iter()
            .filter(|seen| !seen.record.accepted)
            .filter(agrees)
            .map(|seen| &seen.again[..])
            .collect();
        let mut all = seen.iter().filter(agrees);
        !rejected.is_empty() && all.all(|seen| rejected.contains(&seen.again[..]))
    }

    /// One more read of a record.
    fn with(&mut self, mut state: RecordState, last: Read, lines: &ReadLines) -> RecordState {
        let line = last.read.line();
        let Some(number) = lines.number(line) else {
            return state;
        };
        if self.again.contains(&line) {
            return state;
        }
        let walk = lines.at(number);
        let before = self.path.reads[..self.path.begin as usize].iter();
        if last.read.value(walk.newest_bytes()) != last.value
            && !state.old.contains(&number)
            && !before.clone().any(|read| read.read.line() == line)
        {
            state.old.push(number);
        }
        if state.moments.is_empty() {
            return state;
        }
        let (log, base) = (self.log, self.base);
        let held = (self.held.entry(number)).or_insert_with(|| held(log, base, line));
        let mut moments = SmallVec::new();
        for &(from, to) in &state.moments {
            let first = held.partition_point(|&(since, _)| since <= from) - 1;
            for at in first..held.len() {
                let (since, bytes) = &held[at];
                if *since >= to {
                    break;
                }
                let until = held.get(at + 1).map_or(u32::MAX, |next| next.0);
                if last.read.value(bytes) == last.value {
                    let part = (from.max(*since), to.min(until));
                    match moments.last_mut() {
                        Some((_, end)) if *end == part.0 => *end = part.1,
                        _ => moments.push(part),
                    }
                }
            }
        }
        state.moments = moments;
        state
    }

    /// Where a record begins, and what it says of lines that are read again later.
    fn key(&self, record: ReadRecord, run: u32, tree: &RecoveryTree) -> (Name, u64) {
        let mut hasher = FxHasher::default();
        for read in &self.path.reads[record.first as usize..record.end as usize] {
            if self.again.contains(&read.read.line()) {
                read.hash(&mut hasher);
            }
        }
        let begin = (tree.brought_by(run, record.first), record.first);
        (begin, hasher.finish())
    }

    /// What a run did with its records. Must what was put off be looked at anew?
    pub(super) fn learn(&mut self, run: u32, tree: &RecoveryTree, lines: &ReadLines) -> bool {
        if !self.assumed || !tree.has_marks() {
            return false;
        }
        self.any = true;
        let marks = tree.marks_of(run);
        let (done, _) = records(&marks);
        if done.is_empty() {
            return false;
        }
        self.path = RecordPath {
            reads: tree.path_of(run),
            ..RecordPath::default()
        };
        let mut anew = false;
        for &record in &done {
            let (first, end) = (record.first as usize, record.end as usize);
            if record.accepted {
                self.refuted |= !self.was_held(first, end, lines);
                continue;
            }
            let (record, later) = (&self.path.reads[first..end], &self.path.reads[end..]);
            let lines: FxHashSet<Line> = record.iter().map(|read| read.read.line()).collect();
            for read in later {
                let line = read.read.line();
                anew |= lines.contains(&line) && self.again.insert(line);
            }
        }
        for record in done {
            let begin = (tree.brought_by(run, record.first), record.first);
            let after = (tree.brought_by(run, record.end), record.end);
            let again = self.read_again(&self.path.reads, record);
            let seen = self.seen.entry(begin).or_default();
            if seen.iter().all(|seen| seen.after != after) {
                seen.push(SeenRecord {
                    record,
                    after,
                    again,
                });
            }
        }
        if anew {
            self.recall(tree);
        }
        anew
    }

    fn read_again(&self, path: &[Read], record: ReadRecord) -> Vec<Read> {
        let reads = path[record.first as usize..record.end as usize].iter();
        let again = reads.filter(|read| self.again.contains(&read.read.line()));
        again.copied().collect()
    }

    /// More lines are read again: what was seen is to be seen in that light.
    fn recall(&mut self, tree: &RecoveryTree) {
        self.followed.clear();
        let mut all = std::mem::take(&mut self.seen);
        for seen in all.values_mut().flatten() {
            let (run, depth) = seen.after;
            if tree.holds(run, depth) {
                let path = tree.reads_to(tree.place(run, depth));
                seen.again = self.read_again(&path, seen.record);
            }
        }
        self.seen = all;
    }

    /// Did memory hold what was accepted?
    fn was_held(&mut self, first: usize, end: usize, lines: &ReadLines) -> bool {
        let mut state = RecordState {
            moments: SmallVec::from_slice(&[(0, u32::MAX)]),
            old: SmallVec::new(),
        };
        let again = std::mem::take(&mut self.again);
        for at in first..end {
            state = self.with(state, self.path.reads[at], lines);
        }
        self.again = again;
        !state.moments.is_empty()
    }
}

/// What a line held, from which cut on.
fn held(log: &Log, base: &Image, line: Line) -> Vec<(u32, LineBytes)> {
    let mut bytes = base.line(line);
    let mut held = vec![(0, bytes)];
    for store in log.stores_in(line, log.newest(line, log.end())) {
        if let Some(Entry::Store { piece, .. }) = log.entries().get(store.0 as usize) {
            piece.write_to(&mut bytes);
            held.push((store.0 + 1, bytes));
        }
    }
    held
}
