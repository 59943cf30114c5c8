//! What the checkers say of recoveries that did not fail: numbers of events become places in the source.

use super::Refusal;
use super::bugs::Bugs;
use super::finding::{Finding, Severity};
use super::options::{Check, Judged as Asked};
use super::report::Report;
use super::story::Story;
use crate::names::Place;
use crate::provenance::first_reads;
use crate::scene::{Act, Failure, Scene};
use landfall_check::checker::Fate;
use landfall_check::finding::{At, Evidence, WastedFence, WastedFlush};
use landfall_check::races::Window;
use landfall_check::walk::Limits;
use landfall_check::{Checker, Fix, Kind, Races, Robustness, Wasted};
use landfall_explore::judge::Judge;
use landfall_explore::tree::Forest;
use landfall_model::log::{Cut, Entry};
use landfall_native::{Atomics, Op, Places, Ran, Watching};
use serde_json::json;

/// Candidates that are looked at before giving up: minutes.
const MOST: u64 = 1_000_000_000;
/// Findings of one kind that are shown.
const MOST_SHOWN: usize = 100;

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
        let atomics = match options.volatile_atomic {
            true => Atomics::AtomicOrVolatile,
            false => Atomics::Atomic,
        };
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
        let limits = Limits {
            failures: options.failures as usize,
            candidates: MOST,
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
                report.limits.push("judging");
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

fn failures(evidence: &Evidence) -> Vec<Failure> {
    let crashes = evidence.crashes.iter().map(|crash| Failure {
        cut: crash.cut,
        old: crash.old.clone(),
    });
    crashes.collect()
}

fn tell(
    finding: &landfall_check::Finding,
    places: Option<&Places>,
    bugs: &mut Bugs<'_>,
    report: &mut Report,
) -> Result<(), Refusal> {
    let Some(evidence) = &finding.evidence else {
        return Ok(());
    };
    let failures = failures(evidence);
    let entry = |at: At| Some(Cut(at.entry));
    let (at, lost, kept, store) = match finding.kind {
        Kind::Robustness { lost, kept, .. } => (lost, entry(lost), entry(kept), None),
        Kind::PersistencyRace { store } => (store, None, None, entry(store)),
        _ => return Ok(()),
    };
    let act = at.execution;
    // Nothing is run for a store whose loss is known already.
    if let Some(placed) = places.and_then(|places| places.place(at.site))
        && bugs.is_lost(placed, report)?
    {
        return Ok(());
    }
    let story = |acts: &[Act]| {
        let before = failures.get(act)?.cut.0 as usize;
        let mut entries = acts.get(act)?.log.entries().get(..before)?.iter();
        let last = entries.rposition(|entry| matches!(entry, Entry::Store { .. }));
        Some(Story {
            act,
            last: last.map(|entry| Cut(entry as u32)),
            kept,
            lost,
        })
    };
    let elsewhere = elsewhere(&finding.fixes, places, bugs)?;
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
            Kind::Robustness { .. } => {
                robustness(told, &finding.fixes);
                elsewhere.iter().for_each(|other| other.tell(told));
            }
            _ => race(told, act, store, acts, stage),
        }
    })
}

/// A way to mend it in a thread that only saw the lost store.
struct Elsewhere {
    action: &'static str,
    thread: u16,
    after: Option<Place>,
    before: Option<Place>,
}

impl Elsewhere {
    fn tell(&self, told: &mut Finding) {
        let colons = |at: &Option<Place>| at.as_ref().map_or("?".to_owned(), Place::colons);
        let json = |at: &Option<Place>| at.as_ref().map(Place::json);
        told.notes.push(format!(
            "or {} in thread {}, which has seen the store: after {}, before {}",
            self.action.replace('+', " and "),
            self.thread,
            colons(&self.after),
            colons(&self.before)
        ));
        told.alternatives.push(json!({
            "action": self.action, "thread": self.thread, "after": json(&self.after),
            "before": json(&self.before), "primary": false,
        }));
    }
}

fn elsewhere(
    fixes: &[Fix],
    places: Option<&Places>,
    bugs: &mut Bugs<'_>,
) -> Result<Vec<Elsewhere>, Refusal> {
    let mut found = Vec::new();
    for fix in fixes {
        let (action, window) = match fix {
            Fix::FlushFence { window, .. } => ("flush+fence", window),
            Fix::Fence { window } => ("fence", window),
            _ => continue,
        };
        if window.primary {
            continue;
        }
        let mut place = |site| match places.and_then(|places| places.place(site)) {
            Some(placed) => bugs.place(placed),
            None => Ok(None),
        };
        found.push(Elsewhere {
            action,
            thread: window.thread,
            after: place(window.sites.0)?,
            before: place(window.sites.1)?,
        });
    }
    Ok(found)
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
    told.kind = "persistency-race";
    told.message =
        "recovery may read a store that is only half done: the compiler may split it".to_owned();
    told.racing = store.and_then(|entry| super::finding::stored(acts, act, entry, stage));
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
    let Some(placed) = places.place(site) else {
        return Ok(());
    };
    bugs.wasted(kind, message, finding.times, placed, report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_may_flush_too() {
        let at = |line| {
            Some(Place {
                file: "a.c".to_owned(),
                line,
                column: 3,
                function: "f".to_owned(),
            })
        };
        let mut told = Finding::of("robustness", Severity::Warning, String::new());
        let other = Elsewhere {
            action: "flush+fence",
            thread: 1,
            after: at(7),
            before: at(9),
        };
        other.tell(&mut told);
        let note = "or flush and fence in thread 1, which has seen the store: after a.c:7:3, before a.c:9:3";
        assert_eq!(told.notes, [note]);
        assert_eq!(told.alternatives[0]["primary"], false);
        assert_eq!(told.alternatives[0]["after"]["line"], 7);
    }
}
