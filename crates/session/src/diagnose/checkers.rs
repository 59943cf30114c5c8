//! What the checkers say of recoveries that did not fail: numbers of events become places in the source.

use crate::diagnose::cause::Overtaking;
use crate::diagnose::diagnosis::Diagnosis;
use crate::diagnose::finding::stored;
use crate::diagnose::provenance::first_reads;
use crate::diagnose::transactions::Transactions;
use crate::error::Error;
use crate::options::{Asked, CheckKind};
use crate::programs::{Failure, LoggedRun, Programs};
use crate::report::SearchReport;
use landfall_check::checker::Fate;
use landfall_check::finding::{At, Evidence, WastedFence, WastedFlush};
use landfall_check::races::Window;
use landfall_check::walk::{Enough, Limits};
use landfall_check::{
    Checker, Fix as Repair, Kind as Judged, Races, Robustness, Snapshots, Walked, Wasted,
};
use landfall_explore::judge::Judge;
use landfall_explore::tree::Forest;
use landfall_finding::Limit;
use landfall_finding::{Action, Finding, Fix, Kind, Severity, StoreRole};
use landfall_model::log::{Cut, Entry};
use landfall_native::{Deadline, Placed, Places, Ran, RecordKind, Watching, is_inside_pmdk};

use std::rc::Rc;

/// Candidates that are looked at before giving up: minutes.
pub(crate) const LIMITS: Limits = Limits {
    failures: 1,
    candidates: 1_000_000_000,
    enough: None,
};

/// Those that follow recoveries.
pub(crate) fn checkers(
    robustness: Option<Robustness>,
    races: Option<Window>,
) -> Vec<Box<dyn Checker>> {
    let mut checkers: Vec<Box<dyn Checker>> = Vec::new();
    if let Some(robustness) = robustness {
        checkers.push(Box::new(robustness));
    }
    if let Some(window) = races {
        checkers.push(Box::new(Races::new(window)));
    }
    checkers
}

/// The checkers of one search.
pub(crate) struct RecoveryJudging {
    pub(crate) judge: Option<Judge>,
    /// To be handed to whoever runs recoveries.
    pub(crate) watching: Option<Watching>,
    /// What the checkers say, once they were asked.
    verdicts: Option<(Vec<Box<dyn Checker>>, Walked)>,
}

impl std::fmt::Debug for RecoveryJudging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecoveryJudging")
            .field("judge", &self.judge)
            .field("watching", &self.watching)
            .finish_non_exhaustive()
    }
}

impl RecoveryJudging {
    pub(crate) fn new(
        options: &Asked,
        run: &LoggedRun,
        programs: &Programs,
        transactions: Option<&Transactions>,
    ) -> RecoveryJudging {
        let threads = run
            .execution
            .events
            .iter()
            .any(|e| e.kind == RecordKind::Step);
        if !options.judges() || threads {
            return RecoveryJudging {
                judge: None,
                watching: None,
                verdicts: None,
            };
        }
        let atomics = options.atomics();
        let mut places = Places::default();
        let events = &run.execution.events;
        let ready = landfall_native::judge(events, atomics, programs.platform, &mut places);
        if programs.recover.is_some() {
            places.of(Ran::Recovery);
        }
        let wasted = options.checks(CheckKind::Flushes).then(|| {
            let mut wasted = Wasted::default();
            wasted.logged(ready.events(), Fate::MayCrash);
            wasted
        });
        let robustness = options.checks(CheckKind::Robustness);
        let checkers = checkers(robustness.then(Robustness::default), options.races());
        let limits = Limits {
            failures: options.failures as usize,
            enough: Some(enough(programs.job.limits.until)),
            ..LIMITS
        };
        let snapshots = transactions.filter(|_| options.checks(CheckKind::Snapshots));
        let snapshots = snapshots.map(|of| Snapshots::new(&ready, &of.stores));
        let mut judge = Judge::new(run.found.clone(), ready, checkers, limits);
        if let Some(snapshots) = snapshots {
            judge.alone(Box::new(snapshots));
        }
        RecoveryJudging {
            verdicts: None,
            judge: Some(judge),
            watching: Some(Watching {
                places,
                wasted,
                atomics,
                platform: programs.platform,
            }),
        }
    }

    /// The search is over, and came to its end or not: the checkers see the rest of it. Of stores that transactions do not answer for, those stay that matter.
    pub(crate) fn finish(
        &mut self,
        forest: &Forest,
        ended: bool,
        transactions: &mut Option<Transactions>,
    ) {
        let Some(judge) = self.judge.take() else {
            return;
        };
        let (checkers, walked) = judge.finish(forest);
        let findings = checkers.iter().flat_map(|checker| checker.findings());
        let seen = findings.filter_map(|finding| match finding.kind {
            Judged::MissingSnapshot { store, .. } => Some(Cut(store.entry)),
            _ => None,
        });
        let seen: Vec<Cut> = seen.collect();
        if let Some(of) = transactions
            && ended
            && !walked.stopped
            && !seen.is_empty()
        {
            of.keep(&seen);
        }
        self.verdicts = Some((checkers, walked));
    }

    /// Tells what the checkers found; `complete` if nothing ended the search early.
    pub(crate) fn report(
        self,
        complete: bool,
        bugs: &mut Diagnosis<'_>,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        if let Some((checkers, walked)) = self.verdicts {
            if complete && !walked.is_complete() {
                report.limit(bugs.late().unwrap_or(Limit::Judging));
            }
            let places = self.watching.as_ref().map(|watching| &watching.places);
            for checker in checkers {
                for finding in checker.findings() {
                    if bugs.is_left_to_summary(&finding, places, report)? {
                        continue;
                    }
                    tell(&finding, places, bugs, report)?;
                }
            }
        }
        if let Some(Watching {
            places,
            wasted: Some(mut wasted),
            ..
        }) = self.watching
        {
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

/// Judging ends with the search.
pub(crate) fn enough(until: Deadline) -> Enough {
    Enough(Rc::new(move || until.reached().is_some()))
}

fn failures(evidence: &Evidence) -> Vec<Failure> {
    let crashes = evidence.crashes.iter().map(|crash| Failure {
        cut: crash.cut,
        old: crash.old.clone(),
    });
    crashes.collect()
}

/// Tells a finding of a search whose logs are those of the executions run from scratch.
fn tell(
    finding: &landfall_check::Finding,
    places: Option<&Places>,
    bugs: &mut Diagnosis<'_>,
    report: &mut SearchReport,
) -> Result<(), Error> {
    let Some(evidence) = &finding.evidence else {
        return Ok(());
    };
    let entry = |_: &[LoggedRun], at: At| Some(Cut(at.entry));
    tell_after(finding, &failures(evidence), entry, places, bugs, report)
}

/// Tells a finding that these power failures show. `entry` finds a store in the log of its execution, run from scratch.
pub(crate) fn tell_after(
    finding: &landfall_check::Finding,
    failures: &[Failure],
    entry: impl Fn(&[LoggedRun], At) -> Option<Cut>,
    places: Option<&Places>,
    bugs: &mut Diagnosis<'_>,
    report: &mut SearchReport,
) -> Result<(), Error> {
    let Some(evidence) = &finding.evidence else {
        return Ok(());
    };
    let (at, lost, kept, store) = match finding.kind {
        Judged::Robustness { lost, kept, .. } => (lost, Some(lost), Some(kept), None),
        Judged::PersistencyRace { store, .. } => (store, None, None, Some(store)),
        Judged::MissingSnapshot { store, why } => {
            let seen = (evidence.reads, finding.times);
            return bugs.unadded(Cut(store.entry), why, seen, failures, report);
        }
        Judged::RedundantFlush { .. } | Judged::RedundantFence { .. } => return Ok(()),
    };
    let run = at.execution;
    // Nothing is run for a store whose loss is known already.
    if let Some(placed) = places.and_then(|places| places.place(at.site))
        && bugs.is_lost(placed, report)?
    {
        if store.is_some() {
            report.hide_race();
        }
        return Ok(());
    }
    let story = |runs: &[LoggedRun]| {
        let before = failures.get(run)?.cut.0 as usize;
        let mut entries = runs.get(run)?.log.entries().get(..before)?.iter();
        let last = entries.rposition(|entry| matches!(entry, Entry::Store { .. }));
        Some(Overtaking {
            run,
            last: last.map(|entry| Cut(entry as u32)),
            kept: kept.and_then(|kept| entry(runs, kept)),
            lost: lost.and_then(|lost| entry(runs, lost)),
        })
    };
    let brief = || brief(finding, places);
    bugs.judged(failures, story, report, brief, |told, runs, replayer| {
        told.severity = Severity::Warning;
        told.executions = finding.times;
        let recovery = runs.last().map(|run| &run.execution);
        let names = replayer.names(failures.len());
        let read = recovery.and_then(|recovery| {
            let (event, ..) = first_reads(recovery).nth(evidence.reads)?;
            Some(&recovery.events[event])
        });
        told.inside = read.is_some_and(|event| is_inside_pmdk(event.origin));
        told.at = read.and_then(|event| names.place(event));
        match finding.kind {
            Judged::Robustness { .. } => robustness(told, &finding.fixes),
            Judged::PersistencyRace { .. } => {
                let store = store.and_then(|store| entry(runs, store));
                race(told, run, store, runs, replayer);
            }
            Judged::MissingSnapshot { .. }
            | Judged::RedundantFlush { .. }
            | Judged::RedundantFence { .. } => {}
        }
    })
}

/// Tells a finding though there is no time to show it.
pub(crate) fn tell_briefly(
    finding: &landfall_check::Finding,
    places: Option<&Places>,
    bugs: &mut Diagnosis<'_>,
    report: &mut SearchReport,
) -> Result<(), Error> {
    bugs.judged_briefly(brief(finding, places), report)
}

/// A finding as far as nothing needs to be run for it, and the place of the store it is about.
fn brief(finding: &landfall_check::Finding, places: Option<&Places>) -> (Finding, Option<Placed>) {
    let mut told = Finding::new(Kind::Robustness, Severity::Warning, String::new());
    told.executions = finding.times;
    let site = match finding.kind {
        Judged::PersistencyRace { store, .. } => {
            race_message(&mut told);
            store.site
        }
        Judged::Robustness { lost, .. } => {
            robustness(&mut told, &finding.fixes);
            lost.site
        }
        Judged::MissingSnapshot { .. }
        | Judged::RedundantFlush { .. }
        | Judged::RedundantFence { .. } => return (told, None),
    };
    (told, places.and_then(|places| places.place(site)))
}

fn robustness(told: &mut Finding, fixes: &[Repair]) {
    told.kind = Kind::Robustness;
    told.message =
        "recovery may read a store without an earlier one: no order of persists that follows the program shows this"
            .to_owned();
    for fix in fixes {
        match *fix {
            Repair::Align { apart, .. } => {
                told.notes.push(format!(
                    "the two are {apart} bytes apart, with the end of a cache line between them: aligned to 64 bytes they would persist in order by themselves"
                ));
                told.fix.push(Fix {
                    apart: Some(apart),
                    ..Fix::new(Action::Align, false)
                });
            }
            Repair::CoLocate { apart, .. } => told.fix.push(Fix {
                apart: Some(apart),
                ..Fix::new(Action::CoLocate, false)
            }),
            Repair::FlushFence { .. } | Repair::Fence { .. } | Repair::MakeAtomic { .. } => {}
        }
    }
}

fn race(
    told: &mut Finding,
    run: usize,
    store: Option<Cut>,
    runs: &[LoggedRun],
    replayer: &crate::programs::Replayer,
) {
    race_message(told);
    let store = store.and_then(|entry| stored(StoreRole::Racing, runs, run, entry, replayer));
    told.stores.extend(store);
}

fn race_message(told: &mut Finding) {
    told.kind = Kind::PersistencyRace;
    told.message =
        "recovery may read a store that is only half done: the compiler may split it".to_owned();
}

pub(crate) fn perf(
    finding: &landfall_check::Finding,
    places: &Places,
    bugs: &mut Diagnosis<'_>,
    report: &mut SearchReport,
) -> Result<(), Error> {
    let times = match finding.times {
        1 => "once".to_owned(),
        n => format!("{n} times, every time"),
    };
    let (kind, site, message) = match finding.kind {
        Judged::RedundantFlush { site, why } => {
            let why = match why {
                WastedFlush::Clean => "nothing was stored to the line",
                WastedFlush::Repeated => "nothing was stored to the line since it was flushed",
                WastedFlush::Streamed => "what was stored to the line went past the cache",
                WastedFlush::NeverRead => "no recovery reads the line",
            };
            let message = format!("this flush does nothing: {why} ({times})");
            (Kind::RedundantFlush, site, message)
        }
        Judged::RedundantFence { site, why } => {
            let why = match why {
                WastedFence::NothingPending => "there is no flush to wait for",
                WastedFence::AfterClflush => "clflush needs no fence",
            };
            let message = format!("this fence does nothing: {why} ({times})");
            (Kind::RedundantFence, site, message)
        }
        Judged::Robustness { .. }
        | Judged::PersistencyRace { .. }
        | Judged::MissingSnapshot { .. } => return Ok(()),
    };
    let Some(placed) = places.place(site) else {
        return Ok(());
    };
    bugs.wasted(kind, message, finding.times, placed, report)
}
