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
use landfall_check::{Checker, Execution, Fix, Kind, Races, Robustness, Wasted};
use landfall_explore::judge::Judge;
use landfall_explore::tree::Forest;
use landfall_model::log::Cut;
use landfall_native::{Atomics, Event, Op, Origin, Places};
use serde_json::json;

/// Candidates that are looked at before giving up: minutes.
const MOST: u64 = 1_000_000_000;
/// Findings of one kind that are shown.
const MOST_SHOWN: usize = 100;

/// The checkers of one search.
#[derive(Debug)]
pub(super) struct Judging {
    first: Option<Execution>,
    pub(super) judge: Option<Judge>,
    /// To be handed to whoever runs recoveries.
    pub(super) wasted: Option<(Wasted, Places)>,
    /// Do recoveries run the same program?
    same_program: bool,
}

impl Judging {
    pub(super) fn new(options: &Check, act: &Act, scene: &Scene) -> Judging {
        let mut judging = Judging {
            first: None,
            judge: None,
            wasted: None,
            same_program: scene.recover.is_none(),
        };
        let threads = act.execution.events.iter().any(|e| e.op == Op::Step);
        if !options.judges() || threads {
            return judging;
        }
        let atomics = match options.volatile_atomic {
            true => Atomics::AtomicOrVolatile,
            false => Atomics::Atomic,
        };
        let mut places = Places::default();
        let events = &act.execution.events;
        let ready = landfall_native::judge(events, atomics, scene.platform, &mut places);
        if options.checks(Asked::Flushes) {
            let mut wasted = Wasted::default();
            wasted.logged(ready.execution.events(), Fate::MayCrash);
            judging.wasted = Some((wasted, places));
        }
        let mut checkers: Vec<Box<dyn Checker>> = Vec::new();
        if options.checks(Asked::Robustness) {
            checkers.push(Box::<Robustness>::default());
        }
        if options.checks(Asked::Races) {
            checkers.push(Box::new(Races::new(match options.no_prefix {
                true => Window::Cut,
                false => Window::Prefix,
            })));
        }
        if !checkers.is_empty() {
            let first = ready.execution.clone();
            judging.first = Some(first);
            judging.judge = Some(Judge::new(
                act.found.clone(),
                ready.execution,
                checkers,
                MOST,
            ));
        }
        judging
    }

    /// Sites of another program mean something else.
    pub(super) fn watches_recoveries(&self) -> bool {
        self.same_program && self.wasted.is_some()
    }

    /// The search is over; `complete` if nothing ended it early.
    pub(super) fn report(
        self,
        forest: &Forest,
        complete: bool,
        bugs: &mut Bugs<'_>,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        if let (Some(judge), Some(first), Some(tree)) = (self.judge, &self.first, forest.known(1)) {
            let (checkers, walked) = judge.finish(tree);
            if complete && !walked.is_complete() {
                report.limits.push("judging");
            }
            for checker in checkers {
                for finding in checker.findings().into_iter().take(MOST_SHOWN) {
                    tell(first, &finding, bugs, report)?;
                }
            }
        }
        if let Some((mut wasted, places)) = self.wasted {
            if complete && self.same_program {
                wasted.search_complete();
            }
            for finding in wasted.findings().into_iter().take(MOST_SHOWN) {
                perf(&finding, &places, bugs, report)?;
            }
        }
        Ok(())
    }
}

/// The entry of the log that a store made.
fn entry(first: &Execution, at: At) -> Option<Cut> {
    let piece = first.event(at.event).piece()?;
    let stored = first.stores_to(piece.addr);
    let stored = stored.iter().find(|s| s.event == at.event)?;
    Some(Cut(stored.born - 1))
}

fn failures(evidence: &Evidence) -> Vec<Failure> {
    let crashes = evidence.crashes.iter().map(|crash| Failure {
        cut: crash.cut,
        old: crash.old.clone(),
    });
    crashes.collect()
}

fn tell(
    first: &Execution,
    finding: &landfall_check::Finding,
    bugs: &mut Bugs<'_>,
    report: &mut Report,
) -> Result<(), Refusal> {
    let Some(evidence) = &finding.evidence else {
        return Ok(());
    };
    let failures = failures(evidence);
    let (lost, kept, store) = match finding.kind {
        Kind::Robustness { lost, kept, .. } => (entry(first, lost), entry(first, kept), None),
        Kind::PersistencyRace { store } => (None, None, entry(first, store)),
        _ => return Ok(()),
    };
    let story = |acts: &[Act]| {
        let cut = failures.first()?.cut;
        let before = cut.0.checked_sub(1)?;
        let stores = (0..=before).rev().map(Cut);
        let last = stores.into_iter().find(|&at| {
            let entries = acts[0].log.entries();
            matches!(
                entries[at.0 as usize],
                landfall_model::log::Entry::Store { .. }
            )
        });
        Some(Story {
            act: 0,
            last,
            kept,
            lost,
        })
    };
    bugs.judged(&failures, story, report, |told, acts, stage| {
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
            _ => race(told, store, acts, stage),
        }
    })
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

fn race(told: &mut Finding, store: Option<Cut>, acts: &[Act], stage: &crate::scene::Stage) {
    told.kind = "persistency-race";
    told.message =
        "recovery may read a store that is only half done: the compiler may split it".to_owned();
    told.racing = store.and_then(|entry| super::finding::stored(acts, 0, entry, stage));
}

fn perf(
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
    let Some(origin) = places.origin(site) else {
        return Ok(());
    };
    bugs.wasted(kind, message, finding.times, &at(origin), report)
}

/// Some event of a place: its place is all that is asked of it.
fn at(origin: Origin) -> Event {
    Event {
        op: Op::Sfence,
        mask: 0,
        flags: 0,
        origin,
        offset: 0,
        value: 0,
    }
}
