//! Robustness (MODEL.md §7; seed 000 figure 4.8): could a crash under strict persistency have shown the same?
//!
//! For each crashed execution and thread there is an interval of crash points: after everything that was read, or
//! happens before it; before everything that would have been read instead. When one is empty, the store at its end was lost
//! although one that happens after it was kept.

use crate::checker::{Checker, Verdict};
use crate::event::{Mark, Region};
use crate::finding::{At, Finding, Kind, Reading};
use crate::fixes::fixes;
use crate::path::{Candidate, Later, Path, Read};
use crate::trail::Trail;
use landfall_model::line::Addr;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// One end of an interval: a clock, and the store that put it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bound {
    clock: u32,
    event: u32,
}

/// What one read says of the intervals of an execution and thread.
#[derive(Clone, Copy, Debug)]
struct Change {
    execution: usize,
    thread: u16,
    bound: Bound,
}

#[derive(Clone, Debug, Default)]
struct Constraint {
    low: SmallVec<[Change; 1]>,
    high: SmallVec<[Change; 1]>,
}

/// A read of a checksum region, judged when the checksum is accepted.
#[derive(Clone, Debug)]
struct Held {
    step: usize,
    read: Read,
    constraint: Constraint,
}

#[derive(Clone, Debug, Default)]
pub struct Robustness {
    low: Trail<Option<Bound>>,
    high: Trail<Option<Bound>>,
    held: Vec<Held>,
    /// Steps at which checksum regions began.
    begun: Vec<usize>,
    /// What the candidate judged last says.
    judged: Constraint,
    /// By the places of the lost and the kept store.
    found: FxHashMap<(u32, u32), usize>,
    findings: Vec<Finding>,
}

impl Robustness {
    fn report(
        &mut self,
        path: &Path,
        read: &Read,
        candidate: Option<&Candidate>,
        (lost, kept): (At, At),
        reading: Reading,
    ) {
        let execution = path.execution(lost.execution);
        let place = |at: At| execution.event(at.event).site;
        match self.found.get(&(place(lost), place(kept))) {
            Some(&known) => self.findings[known].times += 1,
            None => {
                self.found
                    .insert((place(lost), place(kept)), self.findings.len());
                self.findings.push(Finding {
                    kind: Kind::Robustness {
                        lost,
                        kept,
                        reading,
                    },
                    fixes: fixes(execution, lost.execution, lost.event, kept.event),
                    evidence: Some(path.evidence(read, candidate)),
                    times: 1,
                });
            }
        }
    }

    /// Reports what an interval would become empty by. `candidate` is none if the path has taken it already.
    fn violations(
        &mut self,
        path: &Path,
        read: &Read,
        candidate: Option<&Candidate>,
        constraint: &Constraint,
    ) -> Verdict {
        let now = |table: &Trail<Option<Bound>>, c: &Change| {
            table.get(c.execution, c.thread).copied().flatten()
        };
        let mut empty: SmallVec<[(usize, Bound, Bound, Reading); 1]> = SmallVec::new();
        for change in &constraint.high {
            let of_it = |c: &&Change| c.execution == change.execution && c.thread == change.thread;
            let new = constraint.low.iter().filter(of_it).map(|c| c.bound);
            let low = new
                .chain(now(&self.low, change))
                .max_by_key(|bound| bound.clock);
            if let Some(low) = low.filter(|low| low.clock >= change.bound.clock) {
                empty.push((change.execution, change.bound, low, Reading::TooOld));
            }
        }
        for change in &constraint.low {
            if let Some(high) = now(&self.high, change).filter(|h| h.clock <= change.bound.clock) {
                empty.push((change.execution, high, change.bound, Reading::TooNew));
            }
        }
        for &(execution, lost, kept, reading) in &empty {
            let at = |bound: Bound| path.execution(execution).at(execution, bound.event);
            self.report(path, read, candidate, (at(lost), at(kept)), reading);
        }
        if empty.is_empty() {
            Verdict::Fits
        } else {
            Verdict::Violates
        }
    }

    fn apply(&mut self, step: usize, constraint: &Constraint) {
        let (low, high) = (&mut self.low, &mut self.high);
        for c in &constraint.low {
            let now = low.get(c.execution, c.thread).copied().flatten();
            if now.is_none_or(|now| c.bound.clock > now.clock) {
                low.set(step, c.execution, c.thread, Some(c.bound));
            }
        }
        for c in &constraint.high {
            let now = high.get(c.execution, c.thread).copied().flatten();
            if now.is_none_or(|now| c.bound.clock < now.clock) {
                high.set(step, c.execution, c.thread, Some(c.bound));
            }
        }
    }
}

/// [LOAD-PREV] of figure 4.8.
fn constraint(path: &Path, word: Addr, candidate: &Candidate) -> Constraint {
    let mut constraint = Constraint::default();
    for source in &candidate.sources {
        let execution = path.execution(source.execution);
        // What is durable at once by decree says nothing about the order in which the program made things durable.
        if source.store.at_once {
            continue;
        }
        let event = source.store.event;
        let change = |thread, clock| Change {
            execution: source.execution,
            thread,
            bound: Bound { clock, event },
        };
        if execution.threads() == 1 {
            constraint.low.push(change(0, source.store.clock));
            continue;
        }
        for thread in 0..execution.threads() as u16 {
            let clock = execution.known(event, thread);
            if clock > 0 {
                constraint.low.push(change(thread, clock));
            }
        }
    }
    for later in &candidate.later {
        first_later(path, word, later, &mut constraint.high);
    }
    constraint
}

/// `next` of figure 4.8: each thread's first store that would have been read instead.
fn first_later(path: &Path, word: Addr, later: &Later, high: &mut SmallVec<[Change; 1]>) {
    let execution = path.execution(later.execution);
    let begin = high.len();
    for stored in &execution.stores_to(word)[later.from as usize..] {
        if stored.mask & later.mask == 0 {
            continue;
        }
        let bound = Bound {
            clock: stored.clock,
            event: stored.event,
        };
        if execution.is_sequential() {
            high.push(Change {
                execution: later.execution,
                thread: 0,
                bound,
            });
            break;
        }
        let thread = execution.event(stored.event).thread;
        match high[begin..].iter_mut().find(|c| c.thread == thread) {
            // Non-temporal stores may reach memory out of order.
            Some(known) if bound.clock < known.bound.clock => known.bound = bound,
            Some(_) => {}
            None => high.push(Change {
                execution: later.execution,
                thread,
                bound,
            }),
        }
    }
}

impl Checker for Robustness {
    fn judge(&mut self, path: &Path, read: &Read, candidate: &Candidate) -> Verdict {
        match read.region {
            Region::Judged => {
                let constraint = constraint(path, read.word, candidate);
                let verdict = self.violations(path, read, Some(candidate), &constraint);
                self.judged = constraint;
                verdict
            }
            Region::Checksum | Region::Ignored => Verdict::Fits,
        }
    }

    fn take(&mut self, path: &Path, read: &Read, candidate: &Candidate) {
        let step = path.steps();
        match read.region {
            Region::Judged => {
                let constraint = std::mem::take(&mut self.judged);
                self.apply(step, &constraint);
            }
            Region::Checksum => self.held.push(Held {
                step,
                read: *read,
                constraint: constraint(path, read.word, candidate),
            }),
            Region::Ignored => {}
        }
    }

    fn mark(&mut self, path: &Path, mark: Mark) -> Verdict {
        let step = path.steps();
        match mark {
            Mark::ChecksumBegin => self.begun.push(step),
            Mark::ChecksumAccepted => {
                let from = self.begun.last().copied().unwrap_or(0);
                let first = self.held.partition_point(|held| held.step < from);
                let held: Vec<Held> = self.held[first..].to_vec();
                for held in held {
                    let verdict = self.violations(path, &held.read, None, &held.constraint);
                    if verdict == Verdict::Violates {
                        return verdict;
                    }
                    self.apply(step, &held.constraint);
                }
            }
            Mark::ChecksumRejected | Mark::IgnoreBegin | Mark::IgnoreEnd => {}
        }
        Verdict::Fits
    }

    fn back(&mut self, to: usize) {
        self.low.back(to);
        self.high.back(to);
        while self.held.pop_if(|held| held.step >= to).is_some() {}
        while self.begun.pop_if(|step| *step >= to).is_some() {}
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }
}
