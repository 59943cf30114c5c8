//! Robustness of a program with many schedules: a recovery violates it if *no* schedule could have shown it the same under
//! strict persistency.
//!
//! Strict persistency is kept by an execution's own crash intervals or not at all: where they are not empty, the part of the
//! execution that happens before what was read is an execution of the program, too, and shows just that (definition 4.1.1 of seed
//! 000). Where one is empty another schedule may still show it. So recoveries are followed to their end whatever the
//! intervals say, and what each has read is remembered, store by store: it is a violation if every schedule in which a power
//! failure can leave it has an empty interval. That is the definition of `prove` as well (Han and He).

use super::{Violation, Violations};
use crate::beginning::StoreName;
use crate::finding::{Evidence, Finding, Fix, Kind};
use crate::fixes::fixes;
use crate::path::{Candidate, JudgedRead, RecoveryPath};
use landfall_model::line::Addr;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A number for one read: its bytes, their value, and the stores that they come from, as they are called in every schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ReadDigest(u128);

impl ReadDigest {
    pub(super) fn new(path: &RecoveryPath, read: &JudgedRead, candidate: &Candidate) -> ReadDigest {
        let mut seen = ReadDigest::default()
            .and(read.word.0.into())
            .and(read.mask.into())
            .and(candidate.value.into());
        let mut left = read.mask;
        for source in &candidate.sources {
            let name = path.execution(source.execution).name(source.store.event);
            seen = seen.and_store(source.mask, source.execution, name);
            left &= !source.mask;
        }
        let first = path.crashed().first();
        let before = first.and_then(|crashed| crashed.execution.before());
        for &(mask, name) in before.map_or(&[][..], |before| before.names(read.word)) {
            if mask & left != 0 {
                seen = seen.and_store(mask & left, 0, name);
            }
        }
        seen
    }

    fn and_store(self, mask: u8, execution: usize, (thread, site, number): StoreName) -> Self {
        self.and(mask.into())
            .and((execution as u128) << 16 | u128::from(thread))
            .and(u128::from(site) << 32 | u128::from(number))
    }

    fn and(self, other: u128) -> ReadDigest {
        const ODD: u128 = 0xD1B5_4A32_D192_ED03_9E37_79B9_7F4A_7C15;
        let mixed = (self.0.rotate_left(37) ^ other).wrapping_add(1);
        let mixed = mixed.wrapping_mul(ODD);
        ReadDigest(mixed ^ mixed >> 59)
    }
}

/// The first violation of a path; what follows from it is not another one.
#[derive(Clone, Debug)]
struct FirstViolation {
    step: usize,
    /// Power failures before the recovery that shows it.
    failures: usize,
    violations: Violations,
    reads: usize,
    word: Addr,
    mask: u8,
}

/// A recovery that no schedule has shown so far.
#[derive(Clone, Debug)]
struct UnshownRecovery {
    violations: SmallVec<[(Violation, Vec<Fix>); 1]>,
    evidence: Evidence,
    times: u64,
    /// Suspects are told in the order in which they came.
    order: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Across {
    /// What was read, up to and with each step.
    read: Vec<(usize, ReadDigest)>,
    /// What the candidate judged last violates.
    pub(super) judged: Violations,
    pending: Option<FirstViolation>,
    /// What recoveries read where strict persistency shows it.
    shown: FxHashSet<ReadDigest>,
    suspects: FxHashMap<ReadDigest, UnshownRecovery>,
    count: usize,
    /// The execution of the newest suspect.
    pub(super) newest: Option<u32>,
}

impl Across {
    pub(super) fn violated(&self) -> bool {
        self.pending.is_some()
    }

    fn so_far(&self) -> ReadDigest {
        self.read
            .last()
            .map_or(ReadDigest::default(), |(_, seen)| *seen)
    }

    pub(super) fn take(&mut self, step: usize, seen: ReadDigest) {
        let all = self.so_far().and(seen.0);
        self.read.push((step, all));
    }

    /// Is the path in violation, now that what was judged last is part of it?
    pub(super) fn violate(&mut self, path: &RecoveryPath, reads: usize, read: &JudgedRead) -> bool {
        let violations = std::mem::take(&mut self.judged);
        if self.pending.is_none() && !violations.is_empty() {
            self.pending = Some(FirstViolation {
                step: path.steps(),
                failures: path.crashed().len(),
                violations,
                reads,
                word: read.word,
                mask: read.mask,
            });
        }
        self.violated()
    }

    pub(super) fn back(&mut self, to: usize) {
        while self.read.pop_if(|(step, _)| *step >= to).is_some() {}
        self.pending.take_if(|pending| pending.step >= to);
    }

    pub(super) fn ended(&mut self, path: &RecoveryPath) {
        let all = self.so_far();
        let Some(pending) = &self.pending else {
            if self.shown.insert(all) {
                self.suspects.remove(&all);
            }
            return;
        };
        if self.shown.contains(&all) {
            return;
        }
        if let Some(known) = self.suspects.get_mut(&all) {
            known.times += 1;
            return;
        }
        let Some(first) = path.crashed().first() else {
            return;
        };
        self.count += 1;
        self.newest = Some(first.execution.number());
        let mended = |&violation: &Violation| {
            let Violation { lost, kept, .. } = violation;
            let execution = path.execution(lost.execution);
            let fixes = fixes(execution, lost.execution, lost.event, kept.event);
            (violation, fixes)
        };
        let mut crashes = path.crashes();
        crashes.truncate(pending.failures);
        let suspect = UnshownRecovery {
            violations: pending.violations.iter().map(mended).collect(),
            evidence: Evidence {
                crashes,
                execution: first.execution.number(),
                left: path.left(),
                reads: pending.reads,
                word: pending.word,
                mask: pending.mask,
            },
            times: 1,
            order: self.count,
        };
        self.suspects.insert(all, suspect);
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut suspects: Vec<&UnshownRecovery> = self.suspects.values().collect();
        suspects.sort_unstable_by_key(|suspect| suspect.order);
        let mut places: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut findings: Vec<Finding> = Vec::new();
        for suspect in suspects {
            for (violation, fixes) in &suspect.violations {
                let Violation {
                    lost,
                    kept,
                    reading,
                } = *violation;
                let next = findings.len();
                let at = *places.entry((lost.site, kept.site)).or_insert(next);
                if at < next {
                    findings[at].times += suspect.times;
                    continue;
                }
                findings.push(Finding {
                    kind: Kind::Robustness {
                        lost,
                        kept,
                        reading,
                    },
                    fixes: fixes.clone(),
                    evidence: Some(suspect.evidence.clone()),
                    times: suspect.times,
                });
            }
        }
        findings
    }
}
