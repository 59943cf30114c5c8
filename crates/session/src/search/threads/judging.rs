//! Judges the recoveries of every schedule: robustness, persistency races, flushes and fences that do nothing.

use crate::diagnose::checkers::{LIMITS, checkers, enough, perf, tell_after, tell_briefly};
use crate::diagnose::diagnosis::Diagnosis;
use crate::error::{Error, ErrorKind};
use crate::options::{Asked, CheckKind};
use crate::programs::{Failure, LoggedRun};
use crate::report::SearchReport;
use crate::search::threads::power::Shown;
use landfall_check::finding::At;
use landfall_check::walk::Limits;
use landfall_check::{Checker, Finding, Kind, Robustness, Wasted};
use landfall_explore::schedule::judge::{Judge, Kept, Verdicts};
use landfall_explore::schedule::judged::Names;
use landfall_explore::schedule::power::{Crash, Power, Traced};
use landfall_explore::schedule::{Access, Explored, NOWHERE, Replayed, Step};
use landfall_finding::Limit;
use landfall_model::line::Line;
use landfall_model::log::{Cut, Entry};
use landfall_native::{Deadline, NativeThreads, Places, Ran, Watching};

#[derive(Debug)]
pub(crate) struct ScheduleJudging {
    judge: Judge,
    wasted: Option<Wasted>,
}

/// Lines and places of the program that runs first.
pub(crate) struct JudgedNames<'a, 's> {
    pub(crate) native: &'a NativeThreads<'s>,
    pub(crate) places: &'a mut Places,
}

impl Names for JudgedNames<'_, '_> {
    fn line(&self, object: u32) -> Line {
        self.native.line(object).unwrap_or(Line(0))
    }

    fn site(&mut self, site: u32) -> u32 {
        match site {
            NOWHERE => NOWHERE,
            site => self.places.number_in(Ran::First, self.native.origin(site)),
        }
    }
}

impl ScheduleJudging {
    pub(crate) fn new(options: &Asked, until: Deadline) -> ScheduleJudging {
        let (robustness, races) = (options.checks(CheckKind::Robustness), options.races());
        let begin = move || -> Vec<Box<dyn Checker>> {
            checkers(robustness.then(Robustness::across_schedules), races)
        };
        let limits = Limits {
            failures: options.failures as usize,
            enough: Some(enough(until)),
            ..LIMITS
        };
        ScheduleJudging {
            judge: Judge::new(Box::new(begin), limits),
            wasted: options.checks(CheckKind::Flushes).then(Wasted::default),
        }
    }

    /// Judges the last execution, of which `power` knows the recoveries.
    pub(crate) fn look(
        &mut self,
        power: &mut Power,
        traced: &Traced,
        search: &dyn Explored,
        native: &NativeThreads<'_>,
        watching: &mut Watching,
    ) {
        let places = &mut watching.places;
        let mut names = JudgedNames { native, places };
        let judged = self.judge.look(power, traced, search, &mut names);
        if let (Some(execution), Some(wasted)) = (judged, &mut self.wasted) {
            // The search has begun again, with more scheduling points.
            if execution.number() == 0 {
                *wasted = Wasted::default();
            }
            wasted.scheduled(&execution);
        }
    }

    /// The search is over; `complete` if nothing ended it early.
    pub(crate) fn report(
        self,
        complete: bool,
        power: &Power,
        watching: Watching,
        shown: &mut Shown<'_, '_>,
        bugs: &mut Diagnosis<'_>,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let Watching {
            mut places,
            wasted: of_recoveries,
            ..
        } = watching;
        let Verdicts {
            checkers,
            kept,
            walked,
        } = self.judge.finish();
        if complete && !walked.is_complete() {
            report.limit(bugs.late().unwrap_or(Limit::Judging));
        }
        for checker in checkers {
            for finding in checker.findings() {
                let kept = finding
                    .evidence
                    .as_ref()
                    .and_then(|e| kept.get(&e.execution));
                let Some(kept) = kept else {
                    continue;
                };
                if bugs.is_left_to_summary(&finding, Some(&places), report)? {
                    continue;
                }
                if is_known(&finding, &places, bugs, report)? {
                    if matches!(finding.kind, Kind::PersistencyRace { .. }) {
                        report.hide_race();
                    }
                    continue;
                }
                let finding = kept.whole(&finding);
                tell(&finding, kept, power, &mut places, shown, bugs, report)?;
            }
        }
        if let Some(mut wasted) = self.wasted {
            wasted.join(of_recoveries.unwrap_or_default());
            if complete {
                wasted.search_complete();
            }
            for finding in wasted.findings() {
                perf(&finding, &places, bugs, report)?;
            }
        }
        Ok(())
    }
}

/// Is a worse finding about the store that this one is about?
fn is_known(
    finding: &Finding,
    places: &Places,
    bugs: &mut Diagnosis<'_>,
    report: &SearchReport,
) -> Result<bool, Error> {
    let site = match finding.kind {
        Kind::Robustness { lost, .. } => lost.site,
        Kind::PersistencyRace { store, .. } => store.site,
        Kind::MissingSnapshot { .. }
        | Kind::RedundantFlush { .. }
        | Kind::RedundantFence { .. } => return Ok(false),
    };
    match places.place(site) {
        Some(placed) => bugs.is_lost(placed, report),
        None => Ok(false),
    }
}

/// Runs the schedule that a finding rests on once more, with a power failure that shows it.
fn tell(
    finding: &Finding,
    kept: &Kept,
    power: &Power,
    places: &mut Places,
    shown: &mut Shown<'_, '_>,
    bugs: &mut Diagnosis<'_>,
    report: &mut SearchReport,
) -> Result<(), Error> {
    let Some(again) = shown.again(&kept.schedule, &kept.points)? else {
        return tell_briefly(finding, Some(places), bugs, report);
    };
    let crash = crash(finding, power, &again, shown).ok_or_else(|| {
        let why = "a power failure that was judged is not one of its schedule";
        Error::new(ErrorKind::Internal, why)
    })?;
    let stores: Vec<usize> = (again.trace().steps.iter())
        .filter(|step| is_store(step))
        .map(|step| again.order().thread(step.process))
        .collect();
    // A thread's stores reach memory in the order in which it makes them, under every schedule.
    let entry = |runs: &[LoggedRun], at: At| {
        if at.execution > 0 {
            return Some(Cut(at.entry));
        }
        let (before, from) = stores.split_at_checked(at.entry as usize)?;
        let thread = *from.first()?;
        let number = before.iter().filter(|&&of| of == thread).count();
        let entries = runs.first()?.log.entries().iter().enumerate();
        let mut mine = entries.filter(
            |(_, entry)| matches!(entry, Entry::Store { thread: of, .. } if usize::from(*of) == thread),
        );
        Some(Cut(mine.nth(number)?.0 as u32))
    };
    let suffered = match shown.scheduled(&crash)? {
        Some((job, scheduled)) => bugs.suffered(job, &crash)?.map(|of| (of, scheduled)),
        None => None,
    };
    let Some(((_, failure), scheduled)) = suffered else {
        return tell_briefly(finding, Some(places), bugs, report);
    };
    bugs.under(Some(scheduled));
    let later = crash.later.iter().cloned();
    let failures: Vec<Failure> = std::iter::once(failure).chain(later).collect();
    let told = tell_after(finding, &failures, entry, Some(places), bugs, report);
    bugs.under(None);
    told
}

fn is_store(step: &Step) -> bool {
    step.persistent && step.access == Access::Write
}

/// A power failure that leaves what the recovery reads.
fn crash(
    finding: &Finding,
    power: &Power,
    again: &Replayed,
    shown: &Shown<'_, '_>,
) -> Option<Crash> {
    let evidence = finding.evidence.as_ref()?;
    let line = |object| shown.native.line(object).unwrap_or(Line(0));
    let traced = Traced::new(power.base(), power.platform(), again, line);
    let crash = traced.crash(power.base(), again, &|line, version| {
        let left = evidence.left.iter().find(|(of, _)| *of == line);
        left.is_none_or(|&(_, (first, last))| first <= version && version <= last)
    })?;
    // Of the schedule, cuts say nothing; recoveries crash where they are cut.
    let later = evidence.crashes.iter().skip(1).map(|crash| Failure {
        cut: crash.cut,
        old: crash.old.clone(),
    });
    Some(Crash {
        later: later.collect(),
        ..crash
    })
}
