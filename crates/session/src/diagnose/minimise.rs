//! The plainest crash that shows a bug: as few lines as possible older than the cut allows, then the latest cut at which the
//! same stores tell the story. Every candidate is run from scratch.

use crate::diagnose::cause::story;
use crate::diagnose::finding::kind;
use crate::programs::{Failure, LoggedRun, Replayer, RunRole};
use landfall_model::log::{Cut, Entry};
use landfall_native::{Execution, Outcome, SubjectError};

/// Candidates tried per failure and question.
const MOST_TRIES: usize = 48;
/// Candidates tried where each takes as long as a run that never ends, or reads a whole pool.
const FEW_TRIES: usize = 2;
const MANY_EVENTS: usize = 200_000;

/// Whether a plainer crash must be explained by the same stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OvertakenStore {
    Stays,
    MayChange,
}

/// A failure that was run from scratch and happened again.
#[derive(Debug)]
pub(crate) struct Confirmed {
    pub(crate) failures: Vec<Failure>,
    pub(crate) runs: Vec<LoggedRun>,
    tries: usize,
    /// It was made as plain as it can be.
    pub(crate) plain: bool,
}

/// Runs a failure from scratch; none if it does not happen again.
pub(crate) fn confirm(
    replayer: &mut Replayer,
    failures: &[Failure],
    failed: &Execution,
) -> Result<Option<Confirmed>, SubjectError> {
    let runs = replayer.play(failures, false)?;
    let same = runs
        .last()
        .is_some_and(|run| run.execution.outcome == failed.outcome);
    Ok(same.then(|| Confirmed {
        failures: failures.to_vec(),
        runs,
        tries: MOST_TRIES,
        plain: true,
    }))
}

impl Confirmed {
    /// Makes it as plain as possible. Stops early when `enough` says so: what is found then stands all the same.
    pub(crate) fn minimise(
        &mut self,
        replayer: &mut Replayer,
        enough: &dyn Fn() -> bool,
    ) -> Result<(), SubjectError> {
        let last = self.runs.last().map(|run| &run.execution.outcome);
        if matches!(last, Some(Outcome::Hang { .. })) || self.is_long() {
            self.tries = FEW_TRIES;
        }
        for index in (0..self.failures.len()).rev() {
            let tried = self
                .fewer_lines(replayer, index, enough)
                .and_then(|()| self.later_cut(replayer, index, enough));
            match tried {
                Err(SubjectError::Stopped) => break,
                tried => tried?,
            }
        }
        self.plain = !enough();
        Ok(())
    }

    fn is_long(&self) -> bool {
        let events = self.runs.iter().map(|run| run.execution.events.len());
        events.sum::<usize>() > MANY_EVENTS
    }

    fn fewer_lines(
        &mut self,
        replayer: &mut Replayer,
        index: usize,
        enough: &dyn Fn() -> bool,
    ) -> Result<(), SubjectError> {
        let old = self.failures[index].old.clone();
        if old.is_empty() {
            return Ok(());
        }
        // Does it fail with everything persisted, here or a little earlier? Then no flush is missing.
        for cut in self.after_stores(index) {
            let nothing_old = |failure: &mut Failure| {
                *failure = Failure {
                    cut,
                    old: Vec::new(),
                };
            };
            if enough() || self.attempt(replayer, index, OvertakenStore::MayChange, nothing_old)? {
                return Ok(());
            }
        }
        let alone = old.iter().map(|&line| vec![line]);
        for candidate in alone.filter(|_| old.len() > 1).take(self.tries / 2) {
            if enough()
                || self.attempt(replayer, index, OvertakenStore::MayChange, |failure| {
                    failure.old = candidate
                })?
            {
                return Ok(());
            }
        }
        for &(line, _) in old.iter().take(self.tries).filter(|_| old.len() > 2) {
            if enough() {
                return Ok(());
            }
            self.attempt(replayer, index, OvertakenStore::MayChange, |failure| {
                failure.old.retain(|&(l, _)| l != line);
            })?;
        }
        Ok(())
    }

    /// The cut of a failure and those after each of the last stores before it, latest first.
    fn after_stores(&self, index: usize) -> Vec<Cut> {
        let now = self.failures[index].cut;
        let log = &self.runs[index].log;
        // A run that did less than the first one is told as that elsewhere.
        let before = (now.0 as usize).min(log.entries().len());
        let entries = &log.entries()[..before];
        let stored = entries
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, entry)| matches!(entry, Entry::Store { .. }))
            .map(|(at, _)| Cut(at as u32))
            .filter(|&cut| !log.is_within_moment(cut));
        std::iter::once(now)
            .chain(stored)
            .take(self.tries / 2)
            .collect()
    }

    fn later_cut(
        &mut self,
        replayer: &mut Replayer,
        index: usize,
        enough: &dyn Fn() -> bool,
    ) -> Result<(), SubjectError> {
        let now = self.failures[index].cut;
        let cuts = self.runs[index].log.sufficient_cuts();
        let later = cuts.into_iter().rev().take_while(|&cut| cut > now);
        let feasible: Vec<_> = later
            .filter(|&cut| {
                let later = Failure {
                    cut,
                    ..self.failures[index].clone()
                };
                self.runs[index].can_suffer(&later)
            })
            .take(self.tries)
            .collect();
        for cut in feasible {
            if enough()
                || self.attempt(replayer, index, OvertakenStore::Stays, |failure| {
                    failure.cut = cut
                })?
            {
                break;
            }
        }
        Ok(())
    }

    /// Takes a changed failure if the bug is still there.
    fn attempt(
        &mut self,
        replayer: &mut Replayer,
        index: usize,
        story: OvertakenStore,
        change: impl FnOnce(&mut Failure),
    ) -> Result<bool, SubjectError> {
        let mut failures = self.failures.clone();
        change(&mut failures[index]);
        if !self.runs[index].can_suffer(&failures[index]) {
            return Ok(false);
        }
        let told = stores(&self.runs, &self.failures);
        // What happened before the changed failure happens again; the rest is played anew.
        let before = self.runs.split_off(index + 1);
        let played = self.play_on(replayer, &failures);
        let same = matches!(played, Ok(true))
            && match (self.runs.last(), before.last()) {
                (Some(new), Some(old)) => same_failure(&new.execution, &old.execution),
                _ => false,
            }
            && (story == OvertakenStore::MayChange || told == stores(&self.runs, &failures));
        if same {
            self.failures = failures;
        } else {
            self.runs.truncate(index + 1);
            self.runs.extend(before);
        }
        played.map(|_| same)
    }

    /// Plays the failures that have no execution after them yet; false if one of them is not possible.
    fn play_on(
        &mut self,
        replayer: &mut Replayer,
        failures: &[Failure],
    ) -> Result<bool, SubjectError> {
        for (count, failure) in failures.iter().enumerate().skip(self.runs.len() - 1) {
            if !self.runs[count].can_suffer(failure) {
                return Ok(false);
            }
            let left = self.runs[count].left(failure);
            let part = RunRole::of(count + 1, failures.len());
            self.runs.push(replayer.run(left, count + 1, false, part)?);
        }
        Ok(true)
    }
}

fn same_failure(new: &Execution, old: &Execution) -> bool {
    !new.outcome.is_ok() && kind(&new.outcome) == kind(&old.outcome) && new.stack == old.stack
}

/// The stores that tell the story.
fn stores(runs: &[LoggedRun], failures: &[Failure]) -> Option<(Option<Cut>, Option<Cut>)> {
    story(runs, failures).map(|story| (story.kept, story.lost))
}
