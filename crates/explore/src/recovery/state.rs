//! Crash states as stacks: what one or several power failures may have left of each line, narrowed by what was read since.

use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Log, Version};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// One content of a line, and the chain of versions that gives it: one per crashed execution, as far as they stored to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StackCandidate {
    pub(super) bytes: LineBytes,
    pub(super) chain: SmallVec<[Version; 2]>,
    /// It was not possible at any cut of the first execution that was looked at before.
    pub(super) fresh: bool,
}

pub(super) type StackCandidates = Arc<Vec<StackCandidate>>;

/// An execution after the first that crashed.
#[derive(Clone, Debug)]
pub(super) struct CrashedLog {
    pub(super) log: Arc<Log>,
    pub(super) cut: Cut,
}

/// What is known beyond the first execution's log at its cut.
#[derive(Clone, Debug, Default)]
pub(super) struct CrashStack {
    lines: FxHashMap<Line, StackCandidates>,
    pub(super) crashed: Vec<CrashedLog>,
    /// Lines with a fresh candidate.
    pub(super) fresh: usize,
}

/// The first execution at a cut: every line it stored to so far, oldest version first.
#[derive(Debug, Default)]
pub(super) struct FirstCrash {
    pub(super) lines: FxHashMap<Line, StackCandidates>,
    /// Every line at its newest.
    pub(super) newest: Image,
    pub(super) cut: Cut,
}

fn is_fresh(candidates: &[StackCandidate]) -> bool {
    candidates.iter().any(|c| c.fresh)
}

impl FirstCrash {
    pub(super) fn store(&mut self, log: &Log, entry: u32, line: Line) {
        let unwritten = self.newest.line(line);
        let candidates = self.lines.entry(line).or_insert_with(|| {
            Arc::new(vec![StackCandidate {
                bytes: unwritten,
                chain: SmallVec::from_slice(&[Version(0)]),
                fresh: false,
            }])
        });
        let candidates = Arc::make_mut(candidates);
        for version in log.versions_since(entry, line) {
            let (base, pieces) = log.made_of(line, Version(version));
            let Some(base) = candidates.iter().find(|c| c.chain[0] == base) else {
                continue; // What a version is made of is feasible when it is made.
            };
            let mut bytes = base.bytes;
            pieces.iter().for_each(|piece| piece.write_to(&mut bytes));
            // A content that was possible before brings nothing.
            let fresh = candidates.iter().all(|c| c.fresh || c.bytes != bytes);
            candidates.push(StackCandidate {
                bytes,
                chain: SmallVec::from_slice(&[Version(version)]),
                fresh,
            });
            self.newest.set_line(line, bytes);
        }
    }

    pub(super) fn durable(&mut self, line: Line, version: Version) {
        if let Some(candidates) = self.lines.get_mut(&line) {
            Arc::make_mut(candidates).retain(|c| c.chain[0] >= version);
        }
    }

    /// What is fresh now will be old at the next cut.
    pub(super) fn settle(&mut self, grown: &[Line]) {
        for line in grown {
            if let Some(candidates) = self.lines.get_mut(line) {
                let candidates = Arc::make_mut(candidates);
                candidates.iter_mut().for_each(|c| c.fresh = false);
            }
        }
    }

    /// Nothing is known but the cut.
    pub(super) fn state(&self, grown: &[Line]) -> CrashStack {
        let fresh = grown.iter().filter(|line| is_fresh(&self.lines[line]));
        CrashStack {
            fresh: fresh.count(),
            ..CrashStack::default()
        }
    }
}

impl CrashStack {
    /// The line's candidates; `None` if nobody ever stored to it.
    pub(super) fn line<'a>(
        &'a self,
        first: &'a FirstCrash,
        line: Line,
    ) -> Option<&'a StackCandidates> {
        self.lines.get(&line).or_else(|| first.lines.get(&line))
    }

    /// Lines with more than one candidate, ascending.
    pub(super) fn open_lines(&self, first: &FirstCrash) -> Vec<Line> {
        let names = self.lines.keys().chain(first.lines.keys()).copied();
        let mut open: Vec<Line> = names
            .filter(|&line| self.line(first, line).is_some_and(|c| c.len() > 1))
            .collect();
        open.sort_unstable();
        open.dedup();
        open
    }

    pub(super) fn narrow(
        &mut self,
        first: &FirstCrash,
        line: Line,
        candidates: Vec<StackCandidate>,
    ) {
        let before = self.line(first, line).is_some_and(|c| is_fresh(c));
        let after = is_fresh(&candidates);
        self.fresh = self.fresh + usize::from(after) - usize::from(before);
        self.lines.insert(line, Arc::new(candidates));
    }

    /// The power fails again, in the recovery.
    pub(super) fn crash(&self, first: &FirstCrash, log: &Arc<Log>, cut: Cut) -> CrashStack {
        let mut next = self.clone();
        let depth = self.crashed.len() + 1;
        for line in log.lines() {
            let newest = log.newest(line, cut);
            if newest == Version(0) {
                continue;
            }
            let unknown = || {
                Arc::new(vec![StackCandidate {
                    bytes: first.newest.line(line),
                    chain: SmallVec::new(),
                    fresh: false,
                }])
            };
            let below = self.line(first, line).cloned().unwrap_or_else(unknown);
            let mut stacked: Vec<StackCandidate> = Vec::new();
            for candidate in below.iter() {
                for version in log.frontier(line, cut).0..=newest.0 {
                    let mut bytes = candidate.bytes;
                    log.apply(line, Version(version), &mut bytes);
                    let mut chain = candidate.chain.clone();
                    chain.resize(depth, Version(0));
                    chain.push(Version(version));
                    let mut fresh = candidate.fresh;
                    // One chain for each content is enough; the newest.
                    if let Some(same) = stacked.iter().position(|c| c.bytes == bytes) {
                        fresh &= stacked.remove(same).fresh;
                    }
                    stacked.push(StackCandidate {
                        bytes,
                        chain,
                        fresh,
                    });
                }
            }
            next.narrow(first, line, stacked);
        }
        next.crashed.push(CrashedLog {
            log: Arc::clone(log),
            cut,
        });
        next
    }

    /// Lines of the newest image allowed that differ from the first execution's newest.
    pub(super) fn overrides(&self, first: &FirstCrash) -> Vec<(Line, LineBytes)> {
        let mut lines: Vec<(Line, LineBytes)> = self
            .lines
            .iter()
            .filter_map(|(&line, candidates)| Some((line, candidates.last()?.bytes)))
            .filter(|&(line, bytes)| bytes != first.newest.line(line))
            .collect();
        lines.sort_unstable();
        lines
    }

    /// The power failures that leave the newest image allowed.
    pub(super) fn crashes(&self, first: &FirstCrash, log: &Log) -> Vec<PowerFailure> {
        let logs = std::iter::once((log, first.cut))
            .chain(self.crashed.iter().map(|c| (&*c.log, c.cut)))
            .enumerate();
        logs.map(|(level, (log, cut))| {
            let mut old: Vec<(Line, Version)> = self
                .lines
                .iter()
                .filter_map(|(&line, candidates)| {
                    let chain = &candidates.last()?.chain;
                    let version = chain.get(level).copied().unwrap_or_default();
                    (version != log.newest(line, cut)).then_some((line, version))
                })
                .collect();
            old.sort_unstable();
            PowerFailure { cut, old }
        })
        .collect()
    }
}
