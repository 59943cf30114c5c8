//! One recovery, store by store: where each of its reads came from, and which power failures agree with that.
//!
//! Each crashed execution left one version of every line (docs/design/model.md §5). A read of a line narrows the versions it may be in,
//! and with them the cuts: a version exists from its store until a write-back covers a later one. All of these are
//! intervals, so a path is a handful of intervals, and every candidate of a read is again a path.

use crate::execution::{Execution, WordStore, wide};
use crate::finding::Evidence;
use crate::region::Region;
use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, PIECE_BYTES};
use landfall_model::log::{Cut, Version};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// First and last, inclusive.
pub type Span = (u32, u32);

/// An execution that crashed at one of some cuts.
#[derive(Clone, Debug)]
pub struct CrashedExecution {
    pub execution: Rc<Execution>,
    pub cuts: Span,
}

/// Bytes of one aligned word that a recovery reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JudgedRead {
    pub word: Addr,
    pub mask: u8,
    pub region: Region,
}

/// The store that some bytes of a read come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteSource {
    pub execution: usize,
    pub mask: u8,
    pub store: WordStore,
}

/// Stores to bytes of the read that would have been seen, had they persisted: those of an execution from an index of
/// [`Execution::stores_to`] on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Later {
    pub execution: usize,
    pub from: u32,
    pub mask: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Narrowed {
    execution: usize,
    versions: Span,
    cuts: Span,
}

/// One combination of stores that a read may come from; bytes of no source come from before the first execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub value: u64,
    pub sources: SmallVec<[ByteSource; 1]>,
    pub later: SmallVec<[Later; 1]>,
    narrowed: SmallVec<[Narrowed; 1]>,
}

impl Candidate {
    /// The versions of the line in the first execution that this candidate asks for.
    pub fn versions(&self) -> Option<Span> {
        let narrowed = self.narrowed.iter().find(|n| n.execution == 0);
        narrowed.map(|n| n.versions)
    }

    /// The cuts of an execution that agree with the path and this candidate.
    pub fn cuts(&self, path: &RecoveryPath, execution: usize) -> Span {
        let narrowed = self.narrowed.iter().find(|n| n.execution == execution);
        narrowed.map_or(path.crashed[execution].cuts, |n| n.cuts)
    }

    /// The first cut of an execution that agrees with the path and this candidate.
    pub fn first_cut(&self, path: &RecoveryPath, execution: usize) -> u32 {
        self.cuts(path, execution).0
    }
}

#[derive(Clone, Debug)]
struct Undo {
    step: usize,
    line: Line,
    versions: Option<SmallVec<[Span; 1]>>,
    cuts: SmallVec<[(usize, Span); 1]>,
}

#[derive(Clone, Debug)]
pub struct RecoveryPath {
    /// What was there before the first execution, as far as it is not zero.
    base: FxHashMap<Line, LineBytes>,
    crashed: Vec<CrashedExecution>,
    /// Versions that reads left possible, by execution; executions not mentioned may have left any.
    lines: FxHashMap<Line, SmallVec<[Span; 1]>>,
    undo: Vec<Undo>,
    known: KnownClocks,
    known_before: Vec<(usize, KnownClocks)>,
    steps: usize,
    reads: usize,
}

/// With one sequential execution: the clock of the newest store that was read and judged, and of the oldest that was
/// found missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KnownClocks {
    seen: u32,
    missing: u32,
}

const ANY: Span = (0, u32::MAX);

impl RecoveryPath {
    pub fn new(base: Image) -> RecoveryPath {
        RecoveryPath {
            base: base.lines().collect(),
            crashed: Vec::new(),
            lines: FxHashMap::default(),
            undo: Vec::new(),
            known: KnownClocks {
                seen: 0,
                missing: u32::MAX,
            },
            known_before: Vec::new(),
            steps: 0,
            reads: 0,
        }
    }

    /// Oldest first.
    pub fn crashed(&self) -> &[CrashedExecution] {
        &self.crashed
    }

    pub fn execution(&self, index: usize) -> &Execution {
        &self.crashed[index].execution
    }

    /// Reads and marks so far, of all recoveries on the path.
    pub fn steps(&self) -> usize {
        self.steps
    }

    pub(crate) fn push(&mut self, execution: Rc<Execution>, cuts: Span) {
        self.crashed.push(CrashedExecution { execution, cuts });
    }

    pub(crate) fn pop(&mut self) {
        self.crashed.pop();
    }

    /// First reads of the recovery that runs now.
    pub(crate) fn reads(&self) -> usize {
        self.reads
    }

    pub(crate) fn set_reads(&mut self, reads: usize) {
        self.reads = reads;
    }

    fn versions(&self, execution: usize, line: Line) -> Span {
        let narrowed = self.lines.get(&line).and_then(|spans| spans.get(execution));
        let (oldest, newest) = narrowed.copied().unwrap_or(ANY);
        let CrashedExecution {
            execution,
            cuts: (from, to),
        } = &self.crashed[execution];
        (
            oldest.max(execution.frontier(line, *from)),
            newest.min(execution.newest(line, *to)),
        )
    }

    /// What the word held before the first execution.
    pub(crate) fn base_value(&self, word: Addr, mask: u8) -> u64 {
        if mask == 0 {
            return 0;
        }
        let first = self.crashed.first();
        let before = first.and_then(|crashed| crashed.execution.before());
        let before = before.and_then(|before| before.bytes(word.line()));
        let Some(line) = before.or_else(|| self.base.get(&word.line())) else {
            return 0;
        };
        let mut bytes = [0; PIECE_BYTES];
        bytes.copy_from_slice(&line[word.offset()..word.offset() + PIECE_BYTES]);
        u64::from_le_bytes(bytes) & wide(mask)
    }

    /// The value of a read that says nothing new: every cut agrees on its stores, they are written back within what has been
    /// read already, and of what it misses something older was missed before.
    pub(crate) fn quiet(&self, word: Addr, mask: u8) -> Option<u64> {
        let [crashed] = &self.crashed[..] else {
            return None;
        };
        if !crashed.execution.is_sequential() {
            return None;
        }
        let Some(all) = crashed.execution.word(word) else {
            return Some(self.base_value(word, mask));
        };
        // Most words were written back long before.
        if all.certain_after < crashed.cuts.0
            && all.flushed <= self.known.seen
            && mask & !all.mask == 0
        {
            return Some(all.value & wide(mask));
        }
        let stores = crashed.execution.stores_to(word);
        let mut certain = stores.len();
        while certain > 0 && stores[certain - 1].certain_after >= crashed.cuts.0 {
            certain -= 1;
            let stored = &stores[certain];
            let touched = stored.mask & mask != 0;
            if touched && (stored.born <= crashed.cuts.1 || stored.clock < self.known.missing) {
                return None;
            }
        }
        let (mut left, mut value) = (mask, 0);
        for stored in stores[..certain].iter().rev() {
            let mask = stored.mask & left;
            if mask == 0 {
                continue;
            }
            // Written back after it was stored: the flush is the later of the two.
            if stored.flushed > self.known.seen {
                return None;
            }
            value |= stored.value & wide(mask);
            left &= !mask;
            if left == 0 {
                break;
            }
        }
        Some(value | self.base_value(word, left))
    }

    fn learn(&mut self, read: &JudgedRead, candidate: &Candidate) {
        let [crashed] = &self.crashed[..] else { return };
        if read.region != Region::Judged || !crashed.execution.is_sequential() {
            return;
        }
        let mut known = self.known;
        for source in candidate.sources.iter().filter(|s| !s.store.at_once) {
            known.seen = known.seen.max(source.store.clock);
        }
        for later in &candidate.later {
            let stores = &crashed.execution.stores_to(read.word)[later.from as usize..];
            if let Some(missing) = stores.iter().find(|s| s.mask & later.mask != 0) {
                known.missing = known.missing.min(missing.clock);
            }
        }
        if known != self.known {
            self.known_before.push((self.steps, self.known));
            self.known = known;
        }
    }

    /// The candidate of a read, if every cut of the one execution agrees on it: most reads are of this kind.
    pub(crate) fn decided(&self, word: Addr, mask: u8) -> Option<Candidate> {
        let [crashed] = &self.crashed[..] else {
            return None;
        };
        let (from, to) = crashed.cuts;
        let stores = crashed.execution.stores_to(word);
        let mut certain = stores.len();
        while certain > 0 && stores[certain - 1].certain_after >= from {
            certain -= 1;
            // One that some cut has and another may lack.
            if stores[certain].mask & mask != 0 && stores[certain].born <= to {
                return None;
            }
        }
        let mut candidate = Candidate {
            value: 0,
            sources: SmallVec::new(),
            later: SmallVec::new(),
            narrowed: SmallVec::new(),
        };
        if certain < stores.len() {
            candidate.later.push(Later {
                execution: 0,
                from: certain as u32,
                mask,
            });
        }
        let stores = &stores[..certain];
        let left = take_newest(0, stores, mask, &mut candidate);
        candidate.value |= self.base_value(word, left);
        Some(candidate)
    }

    /// Every candidate of a read.
    pub fn candidates(&self, word: Addr, mask: u8) -> SmallVec<[Candidate; 2]> {
        let mut found = SmallVec::new();
        let begun = Candidate {
            value: 0,
            sources: SmallVec::new(),
            later: SmallVec::new(),
            narrowed: SmallVec::new(),
        };
        self.descend(self.crashed.len(), word, mask, begun, &mut found);
        found
    }

    /// `left` are the bytes that no execution after the one before `depth` has left.
    fn descend(
        &self,
        depth: usize,
        word: Addr,
        left: u8,
        begun: Candidate,
        found: &mut SmallVec<[Candidate; 2]>,
    ) {
        let Some(index) = depth.checked_sub(1).filter(|_| left != 0) else {
            let mut done = begun;
            done.value |= self.base_value(word, left);
            found.push(done);
            return;
        };
        let CrashedExecution { execution, cuts } = &self.crashed[index];
        let stores = execution.stores_to(word);
        if stores.is_empty() {
            return self.descend(index, word, left, begun, found);
        }
        let line = word.line();
        let (oldest, newest) = self.versions(index, line);
        let touches = |stored: &WordStore| stored.mask & left != 0;
        let mut next = stores.partition_point(|s| s.version <= oldest);
        let mut first = oldest;
        loop {
            // Versions in which the same stores to these bytes are there.
            let here = next;
            while stores
                .get(next)
                .is_some_and(|s| s.version <= newest && !touches(s))
            {
                next += 1;
            }
            let follower = stores.get(next).filter(|s| s.version <= newest);
            let last = follower.map_or(newest, |s| s.version - 1);
            if first <= last {
                let lifetime = execution.cuts_of(line, (first, last));
                let cuts = (cuts.0.max(lifetime.0), cuts.1.min(lifetime.1));
                if cuts.0 <= cuts.1 {
                    let mut candidate = begun.clone();
                    candidate.narrowed.push(Narrowed {
                        execution: index,
                        versions: (first, last),
                        cuts,
                    });
                    candidate.later.push(Later {
                        execution: index,
                        from: next as u32,
                        mask: left,
                    });
                    let rest = take_newest(index, &stores[..here], left, &mut candidate);
                    self.descend(index, word, rest, candidate, found);
                }
            }
            let Some(follower) = follower else { break };
            first = follower.version;
            next += 1;
        }
    }

    /// The path goes on with a candidate.
    pub(crate) fn take(&mut self, read: &JudgedRead, candidate: &Candidate) {
        self.learn(read, candidate);
        let step = self.steps;
        self.steps += 1;
        self.reads += 1;
        if candidate.narrowed.is_empty() {
            return;
        }
        let line = read.word.line();
        let was = self.lines.get(&line).cloned();
        let mut spans = was.clone().unwrap_or_default();
        let mut cuts = SmallVec::new();
        for narrowed in &candidate.narrowed {
            if spans.len() <= narrowed.execution {
                spans.resize(narrowed.execution + 1, ANY);
            }
            spans[narrowed.execution] = narrowed.versions;
            let crashed = &mut self.crashed[narrowed.execution];
            cuts.push((narrowed.execution, crashed.cuts));
            crashed.cuts = narrowed.cuts;
        }
        self.lines.insert(line, spans);
        self.undo.push(Undo {
            step,
            line,
            versions: was,
            cuts,
        });
    }

    pub(crate) fn pass(&mut self) {
        self.steps += 1;
    }

    /// Turns back to where the path had this many steps.
    pub(crate) fn back(&mut self, to: usize) {
        while let Some(undo) = self.undo.pop_if(|undo| undo.step >= to) {
            for (execution, cuts) in undo.cuts {
                self.crashed[execution].cuts = cuts;
            }
            match undo.versions {
                Some(versions) => self.lines.insert(undo.line, versions),
                None => self.lines.remove(&undo.line),
            };
        }
        while let Some((_, known)) = self.known_before.pop_if(|(step, _)| *step >= to) {
            self.known = known;
        }
        self.steps = to;
    }

    /// Lines of the first execution that were read, with the versions that agree with it; ascending.
    pub fn left(&self) -> Vec<(Line, Span)> {
        let mut left: Vec<(Line, Span)> = self.versions_by_line().collect();
        left.sort_unstable();
        left
    }

    /// Lines of the first execution of which something was read, with the versions that agree with everything read so far.
    pub fn versions_by_line(&self) -> impl Iterator<Item = (Line, Span)> + '_ {
        let spans = self.lines.iter();
        spans.filter_map(|(&line, spans)| Some((line, *spans.first()?)))
    }

    /// Power failures that lead through everything read so far, oldest first.
    pub fn crashes(&self) -> Vec<PowerFailure> {
        let crashes = self.crashed.iter().enumerate().map(|(index, crashed)| {
            // The first cut that agrees: every line read is at least as new as it must be there.
            let cut = crashed.cuts.0;
            let survivors = self.lines.iter().filter_map(|(&line, spans)| {
                let newest = crashed.execution.newest(line, cut);
                let version = spans.get(index)?.1.min(newest);
                (version < newest).then_some((line, Version(version)))
            });
            let mut old: Vec<(Line, Version)> = survivors.collect();
            old.sort_unstable();
            PowerFailure { cut: Cut(cut), old }
        });
        crashes.collect()
    }

    /// A crash that leads through everything read so far, and on to a candidate.
    pub fn evidence(&self, read: &JudgedRead, candidate: Option<&Candidate>) -> Evidence {
        self.evidence_from(read, candidate, 0)
    }

    /// The same, with no earlier cut of the first execution.
    pub fn evidence_from(
        &self,
        read: &JudgedRead,
        candidate: Option<&Candidate>,
        cut: u32,
    ) -> Evidence {
        let mut path = RecoveryPath {
            undo: Vec::new(),
            ..self.clone()
        };
        let reads = path.reads;
        if let Some(candidate) = candidate {
            path.take(read, candidate);
        }
        if let Some(first) = path.crashed.first_mut() {
            first.cuts.0 = first.cuts.0.max(cut);
        }
        Evidence {
            crashes: path.crashes(),
            execution: (path.crashed.first()).map_or(0, |first| first.execution.number()),
            left: path.left(),
            reads,
            word: read.word,
            mask: read.mask,
        }
    }
}

/// The newest of these stores for each byte; returns the bytes that none of them wrote.
fn take_newest(index: usize, stores: &[WordStore], mut left: u8, candidate: &mut Candidate) -> u8 {
    for stored in stores.iter().rev() {
        if left == 0 {
            break;
        }
        let mask = stored.mask & left;
        if mask == 0 {
            continue;
        }
        left &= !mask;
        candidate.sources.push(ByteSource {
            execution: index,
            mask,
            store: *stored,
        });
        candidate.value |= stored.value & wide(mask);
    }
    left
}
