//! What the checkers say of recoveries that did not fail: numbers of events become places in the source.

use super::Refusal;
use super::bugs::Bugs;
use super::finding::{Finding, Severity};
use super::options::{Check, Judged as Asked};
use super::report::Report;
use super::story::Story;
use crate::provenance::first_reads;
use crate::scene::{Act, Failure, Scene};
use landfall_check::checker::Fate;
use landfall_check::finding::{At, Evidence, WastedFence, WastedFlush};
use landfall_check::races::Window;
use landfall_check::walk::{Enough, Limits};
use landfall_check::{Checker, Fix, Kind, Races, Robustness, Wasted};
use landfall_explore::judge::Judge;
use landfall_explore::limit::Limit;
use landfall_explore::tree::Forest;
use landfall_model::log::{Cut, Entry};
use landfall_native::{Deadline, Op, Placed, Places, Ran, Watching};
use serde_json::json;
use std::rc::Rc;

/// Candidates that are looked at before giving up: minutes.
pub(super) const LIMITS: Limits = Limits {
    failures: 1,
    candidates: 1_000_000_000,
    enough: None,
};
/// Findings of one kind that are shown.
pub(super) const MOST_SHOWN: usize = 100;

/// Those that follow recoveries.
pub(super) fn checkers(
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
#[derive(Debug)]
pub(super) struct Judging {
    pub(super) judge: Option<Judge>,
    /// To be handed to whoever runs recoveries.
    pub(super) watching: Option<Watching>,
}

impl Judging {
    pub(super) fn new(options: &Check, act: &Act, scene: &Scene) -> Judging {
        let threads = act.execution.events.iter().any(|e| e.op == Op::Step);
        if !options.judges() || threads {
            return Judging {
                judge: None,
                watching: None,
            };
        }
        let atomics = options.atomics();
        let mut places = Places::default();
        let events = &act.execution.events;
        let ready = landfall_native::judge(events, atomics, scene.platform, &mut places);
        if scene.recover.is_some() {
            places.of(Ran::Recovery);
        }
        let wasted = options.checks(Asked::Flushes).then(|| {
            let mut wasted = Wasted::default();
            wasted.logged(ready.execution.events(), Fate::MayCrash);
            wasted
        });
        let robustness = options.checks(Asked::Robustness);
        let checkers = checkers(robustness.then(Robustness::default), options.races());
        let limits = Limits {
            failures: options.failures as usize,
            enough: Some(enough(scene.job.limits.until)),
            ..LIMITS
        };
        let judge = Judge::new(act.found.clone(), ready.execution, checkers, limits);
        Judging {
            judge: Some(judge),
            watching: Some(Watching {
                places,
                wasted,
                atomics,
                platform: scene.platform,
            }),
        }
    }

    /// The search is over; `complete` if nothing ended it early.
    pub(super) fn report(
        self,
        forest: &Forest,
        complete: bool,
        bugs: &mut Bugs<'_>,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        if let Some(judge) = self.judge {
            let (checkers, walked) = judge.finish(forest);
            if complete && !walked.is_complete() {
                report.limit(bugs.late().unwrap_or(Limit::Judging));
            }
            let places = self.watching.as_ref().map(|watching| &watching.places);
            for checker in checkers {
                for finding in checker.findings().into_iter().take(MOST_SHOWN) {
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
            for finding in wasted.findings().into_iter().take(MOST_SHOWN) {
                perf(&finding, &places, bugs, report)?;
            }
        }
        Ok(())
    }
}

/// Judging ends with the search.
pub(super) fn enough(until: Deadline) -> Enough {
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
    bugs: &mut Bugs<'_>,
    report: &mut Report,
) -> Result<(), Refusal> {
    let Some(evidence) = &finding.evidence else {
        return Ok(());
    };
    let entry = |_: &[Act], at: At| Some(Cut(at.entry));
    tell_after(finding, &failures(evidence), entry, places, bugs, report)
}

/// Tells a finding that these power failures show. `entry` finds a store in the log of its execution, run from scratch.
pub(super) fn tell_after(
    finding: &landfall_check::Finding,
    failures: &[Failure],
    entry: impl Fn(&[Act], At) -> Option<Cut>,
    places: Option<&Places>,
    bugs: &mut Bugs<'_>,
    report: &mut Report,
) -> Result<(), Refusal> {
    let Some(evidence) = &finding.evidence else {
        return Ok(());
    };
    let (at, lost, kept, store) = match finding.kind {
        Kind::Robustness { lost, kept, .. } => (lost, Some(lost), Some(kept), None),
        Kind::PersistencyRace { store } => (store, None, None, Some(store)),
        _ => return Ok(()),
    };
    let act = at.execution;
    // Nothing is run for a store whose loss is known already.
    if let Some(placed) = places.and_then(|places| places.place(at.site))
        && bugs.is_lost(placed, report)?
    {
        if store.is_some() {
            report.hide_race();
        }
        return Ok(());
    }
    let story = |acts: &[Act]| {
        let before = failures.get(act)?.cut.0 as usize;
        let mut entries = acts.get(act)?.log.entries().get(..before)?.iter();
        let last = entries.rposition(|entry| matches!(entry, Entry::Store { .. }));
        Some(Story {
            act,
            last: last.map(|entry| Cut(entry as u32)),
            kept: kept.and_then(|kept| entry(acts, kept)),
            lost: lost.and_then(|lost| entry(acts, lost)),
        })
    };
    let brief = || brief(finding, places);
    bugs.judged(failures, story, report, brief, |told, acts, stage| {
        told.severity = Severity::Warning;
        told.executions = finding.times;
        let recovery = acts.last().map(|act| &act.execution);
        let names = stage.names(failures.len());
        told.at = recovery.and_then(|recovery| {
            let (event, ..) = first_reads(recovery).nth(evidence.reads)?;
            names.place(&recovery.events[event])
        });
        match finding.kind {
            Kind::Robustness { .. } => robustness(told, &finding.fixes),
            _ => {
                let store = store.and_then(|store| entry(acts, store));
                race(told, act, store, acts, stage);
            }
        }
    })
}

/// Tells a finding though there is no time to show it.
pub(super) fn tell_briefly(
    finding: &landfall_check::Finding,
    places: Option<&Places>,
    bugs: &mut Bugs<'_>,
    report: &mut Report,
) -> Result<(), Refusal> {
    bugs.judged_briefly(brief(finding, places), report)
}

/// The same, in as far as nothing needs to be run for it: the finding, and the place of the store it is about.
fn brief(finding: &landfall_check::Finding, places: Option<&Places>) -> (Finding, Option<Placed>) {
    let mut told = Finding::of("robustness", Severity::Warning, String::new());
    told.executions = finding.times;
    let site = match finding.kind {
        Kind::PersistencyRace { store } => {
            race_message(&mut told);
            store.site
        }
        Kind::Robustness { lost, .. } => {
            robustness(&mut told, &finding.fixes);
            lost.site
        }
        _ => return (told, None),
    };
    (told, places.and_then(|places| places.place(site)))
}

fn robustness(told: &mut Finding, fixes: &[Fix]) {
    told.kind = "robustness";
    told.message =
        "recovery may read a store without an earlier one: no order of persists that follows the program shows this"
            .to_owned();
    for fix in fixes {
        match *fix {
            Fix::Align { apart, .. } => {
                told.notes.push(format!(
                    "the two are {apart} bytes apart, with the end of a cache line between them: aligned to 64 bytes they would persist in order by themselves"
                ));
                told.alternatives
                    .push(json!({"action": "align", "apart": apart, "primary": false}));
            }
            Fix::CoLocate { apart, .. } => told
                .alternatives
                .push(json!({"action": "co-locate", "apart": apart, "primary": false})),
            Fix::FlushFence { .. } | Fix::Fence { .. } | Fix::MakeAtomic { .. } => {}
        }
    }
}

fn race(
    told: &mut Finding,
    act: usize,
    store: Option<Cut>,
    acts: &[Act],
    stage: &crate::scene::Stage,
) {
    race_message(told);
    told.racing = store.and_then(|entry| super::finding::stored(acts, act, entry, stage));
}

fn race_message(told: &mut Finding) {
    told.kind = "persistency-race";
    told.message =
        "recovery may read a store that is only half done: the compiler may split it".to_owned();
}

pub(super) fn perf(
    finding: &landfall_check::Finding,
    places: &Places,
    bugs: &mut Bugs<'_>,
    report: &mut Report,
) -> Result<(), Refusal> {
    let times = match finding.times {
        1 => "once".to_owned(),
        n => format!("{n} times, every time"),
    };
    let (kind, site, message) = match finding.kind {
        Kind::RedundantFlush { site, why } => {
            let why = match why {
                WastedFlush::Clean => "nothing was stored to the line",
                WastedFlush::Repeated => "nothing was stored to the line since it was flushed",
                WastedFlush::Streamed => "what was stored to the line went past the cache",
                WastedFlush::NeverRead => "no recovery reads the line",
            };
            let message = format!("this flush does nothing: {why} ({times})");
            ("redundant-flush", site, message)
        }
        Kind::RedundantFence { site, why } => {
            let why = match why {
                WastedFence::NothingPending => "there is no flush to wait for",
                WastedFence::AfterClflush => "clflush needs no fence",
            };
            let message = format!("this fence does nothing: {why} ({times})");
            ("redundant-fence", site, message)
        }
        _ => return Ok(()),
    };
    let Some(placed) = places.place(site) else {
        return Ok(());
    };
    bugs.wasted(kind, message, finding.times, placed, report)
}
