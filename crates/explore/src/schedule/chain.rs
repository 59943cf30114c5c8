//! What is known of a chain of power failures on the way down the recovery tree: the first in a trace, those after it in recoveries.
//!
//! A line that was read may hold the content of one of its *candidates*: a version of the trace, and of each recovery that
//! crashed since, a version of that recovery's (docs/design/model.md §5). A read takes candidates away. Which versions of the trace go together
//! is for [`Crashes`] to say; in a recovery, whose cut is known, lines are independent.

use super::crash::{Crashes, VersionChoice};
use super::power::Traced;
use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Log, Version};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;

/// A trace whose power failures are looked at, and what the program began on.
#[derive(Clone, Copy, Debug)]
pub(super) struct On<'a> {
    pub(super) first: &'a Image,
    pub(super) traced: &'a Traced,
}

impl On<'_> {
    /// What a line holds where nothing of the trace is left.
    pub(super) fn line(&self, line: Line) -> LineBytes {
        self.traced.base(self.first).line(line)
    }
}

/// What a line may hold.
#[derive(Clone, Debug)]
pub(super) struct ChainCandidate {
    /// The version of the trace.
    pub(super) first: u32,
    /// Of each recovery that crashed since.
    pub(super) later: SmallVec<[u32; 2]>,
    pub(super) bytes: LineBytes,
}

#[derive(Clone, Debug)]
pub(super) struct ChainState {
    /// Lines that were read.
    read: FxHashMap<Line, Rc<[ChainCandidate]>>,
    /// Recoveries that crashed, oldest first.
    crashed: Vec<(Arc<Log>, Cut)>,
    /// Whatever the first power failure is, it leaves at least this.
    least: VersionChoice,
    /// And this is one.
    pub(super) chosen: VersionChoice,
}

impl ChainState {
    pub(super) fn new(crashes: &Crashes) -> ChainState {
        let nothing = crashes.nothing();
        ChainState {
            read: FxHashMap::default(),
            crashed: Vec::new(),
            least: nothing.clone(),
            chosen: nothing,
        }
    }

    /// Power failures so far.
    pub(super) fn level(&self) -> u32 {
        self.crashed.len() as u32 + 1
    }

    /// What a line may hold; `None` where nobody stored to it.
    pub(super) fn candidates(&self, of: &On<'_>, line: Line) -> Option<Rc<[ChainCandidate]>> {
        if let Some(known) = self.read.get(&line) {
            return Some(known.clone());
        }
        let number = of.traced.number(line);
        let stored = |(log, cut): &(Arc<Log>, Cut)| log.newest(line, *cut).0 > 0;
        if number.is_none() && !self.crashed.iter().any(stored) {
            return None;
        }
        let mut candidates: Vec<ChainCandidate> = match number {
            Some(number) => (0..)
                .zip(&of.traced.contents[number])
                .map(|(first, &bytes)| ChainCandidate {
                    first,
                    later: SmallVec::new(),
                    bytes,
                })
                .collect(),
            None => vec![ChainCandidate {
                first: 0,
                later: SmallVec::new(),
                bytes: of.line(line),
            }],
        };
        for (log, cut) in &self.crashed {
            candidates = extended(&candidates, log, *cut, line);
        }
        Some(candidates.into())
    }

    fn admits<'s>(&'s self, of: &'s On<'_>) -> impl Fn(usize, u32) -> bool + 's {
        |number, version| {
            let read = self.read.get(&of.traced.lines[number]);
            read.is_none_or(|candidates| candidates.iter().any(|c| c.first == version))
        }
    }

    /// This state with a line narrowed; `None` if no power failure leaves that.
    pub(super) fn narrowed(
        &self,
        of: &On<'_>,
        line: Line,
        to: Vec<ChainCandidate>,
    ) -> Option<ChainState> {
        let mut next = self.clone();
        let holds = |version: u32| to.iter().any(|candidate| candidate.first == version);
        let number = of.traced.number(line);
        let (least, chosen) = match number {
            Some(number) => (
                holds(self.least.versions[number]),
                holds(self.chosen.versions[number]),
            ),
            None => (true, true),
        };
        next.read.insert(line, to.into());
        if let (Some(number), false) = (number, least) {
            let least = of
                .traced
                .crashes
                .narrow(&self.least, number, &next.admits(of))?;
            next.least = least;
        }
        if !chosen {
            let least = next.least.clone();
            let chosen = of.traced.crashes.complete(least, &next.admits(of))?;
            next.chosen = chosen;
        }
        Some(next)
    }

    /// The power fails again, in a recovery.
    pub(super) fn crash(&self, log: &Arc<Log>, cut: Cut) -> ChainState {
        let mut next = self.clone();
        for (&line, candidates) in &mut next.read {
            *candidates = extended(candidates, log, cut, line).into();
        }
        next.crashed.push((log.clone(), cut));
        next
    }

    /// What a line holds where nothing is older than it must be.
    pub(super) fn pick(&self, of: &On<'_>, line: Line) -> Option<ChainCandidate> {
        let candidates = self.candidates(of, line)?;
        let number = of.traced.number(line);
        let first = number.map_or(0, |number| self.chosen.versions[number]);
        let possible = candidates
            .iter()
            .filter(|candidate| candidate.first == first);
        possible.max_by(|a, b| a.later.cmp(&b.later)).cloned()
    }

    /// Lines that anyone stored to, ascending.
    pub(super) fn lines(&self, of: &On<'_>) -> Vec<Line> {
        let mut lines: Vec<Line> = of.traced.lines.to_vec();
        lines.extend(self.crashed.iter().flat_map(|(log, _)| log.lines()));
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Lines that are not as they were at first, after the last power failure.
    pub(super) fn image(&self, of: &On<'_>) -> Vec<(Line, LineBytes)> {
        let lines = self.lines(of);
        let bytes = |line| Some((line, self.pick(of, line)?.bytes));
        let found: Vec<(Line, LineBytes)> = lines.into_iter().filter_map(bytes).collect();
        of.traced.with_beginning(of.first, &found)
    }

    /// The power failures after the first.
    pub(super) fn later(&self, of: &On<'_>) -> Vec<PowerFailure> {
        let mut read: Vec<Line> = self.read.keys().copied().collect();
        read.sort_unstable();
        let crash = |(number, (log, cut)): (usize, &(Arc<Log>, Cut))| PowerFailure {
            cut: *cut,
            old: (read.iter())
                .filter_map(|&line| Some((line, Version(self.pick(of, line)?.later[number]))))
                .filter(|&(line, version)| version != log.newest(line, *cut))
                .collect(),
        };
        self.crashed.iter().enumerate().map(crash).collect()
    }
}

/// Candidates after one more power failure.
fn extended(candidates: &[ChainCandidate], log: &Log, cut: Cut, line: Line) -> Vec<ChainCandidate> {
    let (from, to) = (log.frontier(line, cut).0, log.newest(line, cut).0);
    let mut extended = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        for version in from..=to {
            let mut next = candidate.clone();
            next.later.push(version);
            log.apply(line, Version(version), &mut next.bytes);
            extended.push(next);
        }
    }
    extended
}
