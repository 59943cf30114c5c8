//! Robustness (docs/design/model.md §7; Gorjiara 2022, figure 4.8): could a crash under strict persistency have shown the same?
//!
//! For each crashed execution and thread there is an interval of crash points: after everything that was read, or
//! happens before it; before everything that would have been read instead. When one is empty, the store at its end was lost
//! although one that happens after it was kept.
//!
//! Where there are many schedules, another one may show the recovery the same ([`across`]).

mod across;

use crate::checker::{Checker, PathVerdict};
use crate::finding::{At, Finding, Kind, RevealedBy};
use crate::fixes::fixes;
use crate::path::{Candidate, JudgedRead, Later, RecoveryPath};
use crate::region::Region;
use crate::trail::Trail;
use across::{Across, ReadDigest};
use landfall_model::event::{EventId, Mark};
use landfall_model::line::Addr;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// One end of an interval: a clock, and the store that put it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct IntervalEnd {
    clock: u32,
    event: EventId,
}

/// What one read says of the intervals of an execution and thread.
#[derive(Clone, Copy, Debug)]
struct BoundChange {
    execution: usize,
    thread: u16,
    bound: IntervalEnd,
}

#[derive(Clone, Debug, Default)]
struct Constraint {
    low: SmallVec<[BoundChange; 1]>,
    high: SmallVec<[BoundChange; 1]>,
}

/// A read of a checksum region, judged when the checksum is accepted.
#[derive(Clone, Debug)]
struct HeldRead {
    step: usize,
    read: JudgedRead,
    /// First reads before it.
    reads: usize,
    constraint: Constraint,
    seen: ReadDigest,
}

/// An interval that became empty: `kept` was read although `lost`, which happens before it, was not there.
#[derive(Clone, Copy, Debug)]
struct Violation {
    lost: At,
    kept: At,
    reading: RevealedBy,
}

type Violations = SmallVec<[Violation; 1]>;

#[derive(Clone, Debug, Default)]
pub struct Robustness {
    low: Trail<Option<IntervalEnd>>,
    high: Trail<Option<IntervalEnd>>,
    held: Vec<HeldRead>,
    /// Steps at which checksum regions began.
    begun: Vec<usize>,
    /// What the candidate judged last says.
    judged: Constraint,
    /// By the places of the lost and the kept store.
    found: FxHashMap<(u32, u32), usize>,
    findings: Vec<Finding>,
    /// Executions are schedules of one program.
    across: Option<Across>,
}

impl Robustness {
    /// All executions to come are schedules of one program, numbered ([`crate::Execution::number`]): what one of them shows under
    /// strict persistency is no violation in another.
    pub fn across_schedules() -> Robustness {
        Robustness {
            across: Some(Across::default()),
            ..Robustness::default()
        }
    }

    fn report(
        &mut self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: Option<&Candidate>,
        violation: Violation,
    ) {
        let Violation {
            lost,
            kept,
            reading,
        } = violation;
        let execution = path.execution(lost.execution);
        let pair = (lost.site, kept.site);
        match self.found.get(&pair) {
            Some(&known) => self.findings[known].times += 1,
            None => {
                self.found.insert(pair, self.findings.len());
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

    /// Which intervals would become empty.
    fn violations(&self, path: &RecoveryPath, constraint: &Constraint) -> Violations {
        let now = |table: &Trail<Option<IntervalEnd>>, c: &BoundChange| {
            table.get(c.execution, c.thread).copied().flatten()
        };
        let mut empty = Violations::new();
        let mut found = |execution: usize, lost: IntervalEnd, kept: IntervalEnd, reading| {
            let at = |bound: IntervalEnd| path.execution(execution).at(execution, bound.event);
            empty.push(Violation {
                lost: at(lost),
                kept: at(kept),
                reading,
            });
        };
        for change in &constraint.high {
            let of_it =
                |c: &&BoundChange| c.execution == change.execution && c.thread == change.thread;
            let new = constraint.low.iter().filter(of_it).map(|c| c.bound);
            let low = new
                .chain(now(&self.low, change))
                .max_by_key(|bound| bound.clock);
            if let Some(low) = low.filter(|low| low.clock >= change.bound.clock) {
                found(change.execution, change.bound, low, RevealedBy::TooOld);
            }
        }
        for change in &constraint.low {
            if let Some(high) = now(&self.high, change).filter(|h| h.clock <= change.bound.clock) {
                found(change.execution, high, change.bound, RevealedBy::TooNew);
            }
        }
        empty
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
fn constraint(path: &RecoveryPath, word: Addr, candidate: &Candidate) -> Constraint {
    let mut constraint = Constraint::default();
    for source in &candidate.sources {
        let execution = path.execution(source.execution);
        // What is durable at once by decree says nothing about the order in which the program made things durable.
        if source.store.at_once {
            continue;
        }
        let event = source.store.event;
        let change = |thread, clock| BoundChange {
            execution: source.execution,
            thread,
            bound: IntervalEnd { clock, event },
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
fn first_later(
    path: &RecoveryPath,
    word: Addr,
    later: &Later,
    high: &mut SmallVec<[BoundChange; 1]>,
) {
    let execution = path.execution(later.execution);
    let begin = high.len();
    for stored in &execution.stores_to(word)[later.from as usize..] {
        if stored.mask & later.mask == 0 {
            continue;
        }
        let bound = IntervalEnd {
            clock: stored.clock,
            event: stored.event,
        };
        if execution.is_sequential() {
            high.push(BoundChange {
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
            None => high.push(BoundChange {
                execution: later.execution,
                thread,
                bound,
            }),
        }
    }
}

impl Checker for Robustness {
    fn judge(
        &mut self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: &Candidate,
    ) -> PathVerdict {
        if read.region != Region::Judged || self.across.as_ref().is_some_and(Across::violated) {
            return PathVerdict::Fits;
        }
        let constraint = constraint(path, read.word, candidate);
        let violations = self.violations(path, &constraint);
        self.judged = constraint;
        if let Some(across) = &mut self.across {
            across.judged = violations;
            return PathVerdict::Fits;
        }
        for &violation in &violations {
            self.report(path, read, Some(candidate), violation);
        }
        match violations.is_empty() {
            true => PathVerdict::Fits,
            false => PathVerdict::Violates,
        }
    }

    fn take(&mut self, path: &RecoveryPath, read: &JudgedRead, candidate: &Candidate) {
        let step = path.steps();
        match read.region {
            Region::Judged => {
                let constraint = std::mem::take(&mut self.judged);
                let violated = self.across.as_mut().is_some_and(|across| {
                    across.take(step, ReadDigest::new(path, read, candidate));
                    across.violate(path, path.reads(), read)
                });
                if !violated {
                    self.apply(step, &constraint);
                }
            }
            Region::Checksum => self.held.push(HeldRead {
                step,
                read: *read,
                reads: path.reads(),
                constraint: constraint(path, read.word, candidate),
                seen: match &self.across {
                    Some(_) => ReadDigest::new(path, read, candidate),
                    None => ReadDigest::default(),
                },
            }),
            Region::Ignored => {}
        }
    }

    fn mark(&mut self, path: &RecoveryPath, mark: Mark) -> PathVerdict {
        let step = path.steps();
        match mark {
            Mark::ChecksumBegin => self.begun.push(step),
            Mark::ChecksumAccepted => {
                let from = self.begun.last().copied().unwrap_or(0);
                let first = self.held.partition_point(|held| held.step < from);
                let held: Vec<HeldRead> = self.held[first..].to_vec();
                for held in held {
                    let violations = match self.across.as_ref().is_some_and(Across::violated) {
                        true => Violations::new(),
                        false => self.violations(path, &held.constraint),
                    };
                    if let Some(across) = &mut self.across {
                        across.take(step, held.seen);
                        across.judged = violations;
                        if across.violate(path, held.reads, &held.read) {
                            continue;
                        }
                    } else if !violations.is_empty() {
                        for &violation in &violations {
                            self.report(path, &held.read, None, violation);
                        }
                        return PathVerdict::Violates;
                    }
                    self.apply(step, &held.constraint);
                }
            }
            Mark::ChecksumRejected
            | Mark::IgnoreBegin
            | Mark::IgnoreEnd
            | Mark::CopyBegin
            | Mark::CopyEnd
            | Mark::TogetherBegin
            | Mark::TogetherEnd
            | Mark::Step
            | Mark::TxBegin
            | Mark::TxEnd
            | Mark::TxAdd { .. } => {}
        }
        PathVerdict::Fits
    }

    fn back(&mut self, to: usize) {
        self.low.back(to);
        self.high.back(to);
        while self.held.pop_if(|held| held.step >= to).is_some() {}
        while self.begun.pop_if(|step| *step >= to).is_some() {}
        if let Some(across) = &mut self.across {
            across.back(to);
        }
    }

    fn ended(&mut self, path: &RecoveryPath) {
        if let Some(across) = &mut self.across {
            across.ended(path);
        }
    }

    fn rests_on(&self, execution: u32) -> bool {
        (self.across.as_ref()).is_some_and(|across| across.newest == Some(execution))
    }

    fn findings(&self) -> Vec<Finding> {
        match &self.across {
            Some(across) => across.findings(),
            None => self.findings.clone(),
        }
    }
}
