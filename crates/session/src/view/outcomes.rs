//! How recoveries ended, for the report: distinct behaviours by their end, and by the last store before the power failed.

use crate::diagnose::finding::{kind, what};
use crate::names::ProgramNames;
use crate::programs::LoggedRun;
use landfall_explore::recovery::Behaviour;
use landfall_explore::subject::Ended;
use landfall_finding::{OutcomePlace, Place, RecoveryOutcome};
use landfall_model::log::{Cut, Entry};
use landfall_native::Execution;
use std::collections::{BTreeMap, HashMap};

/// Places listed of one end.
const MOST_PLACES: usize = 200;

/// `names` for the execution that crashed, `after` for recoveries; `failed` are the executions that ended badly, by their number.
pub(crate) fn outcomes(
    run: &LoggedRun,
    names: &ProgramNames,
    after: &ProgramNames,
    behaviours: &[Behaviour],
    failed: &[Execution],
) -> Vec<RecoveryOutcome> {
    let mut ends: BTreeMap<(String, String), BTreeMap<Option<usize>, u64>> = BTreeMap::new();
    let mut last: HashMap<Cut, Option<usize>> = HashMap::new();
    for behaviour in behaviours {
        let end = end(behaviour.ended, after, |number| failed.get(number as usize));
        let store = behaviour.crashes.first_cut().and_then(|cut| {
            let find = || last_store(run, cut);
            *last.entry(cut).or_insert_with(find)
        });
        *ends.entry(end).or_default().entry(store).or_default() += 1;
    }
    let mut outcomes: Vec<RecoveryOutcome> = ends
        .into_iter()
        .map(|((kind, text), stores)| {
            let mut at: Vec<OutcomePlace> = Vec::new();
            let mut known: HashMap<Option<Place>, usize> = HashMap::new();
            for (&store, count) in &stores {
                let event = store.map(|store| &run.execution.events[store]);
                let here = event.and_then(|event| names.place(event));
                let number = *known.entry(here).or_insert_with_key(|here| {
                    at.push(OutcomePlace {
                        at: here.clone(),
                        behaviours: 0,
                    });
                    at.len() - 1
                });
                at[number].behaviours += count;
            }
            at.sort_by_key(|at| std::cmp::Reverse(at.behaviours));
            at.truncate(MOST_PLACES);
            RecoveryOutcome {
                kind,
                text,
                behaviours: stores.values().sum(),
                at,
            }
        })
        .collect();
    sort(&mut outcomes);
    outcomes
}

/// Of recoveries after every schedule: there the power fails after a set of steps, not behind one store.
pub(crate) fn after_schedules<'a>(
    after: &ProgramNames,
    ends: impl Iterator<Item = Ended>,
    failed: impl Fn(u32) -> Option<&'a Execution>,
) -> Vec<RecoveryOutcome> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for ended in ends {
        *counts.entry(end(ended, after, &failed)).or_default() += 1;
    }
    let mut outcomes: Vec<RecoveryOutcome> = counts
        .into_iter()
        .map(|((kind, text), behaviours)| RecoveryOutcome {
            kind,
            text,
            behaviours,
            at: Vec::new(),
        })
        .collect();
    sort(&mut outcomes);
    outcomes
}

/// The kind of an end, and a few words.
fn end<'a>(
    ended: Ended,
    after: &ProgramNames,
    failed: impl Fn(u32) -> Option<&'a Execution>,
) -> (String, String) {
    match ended {
        Ended::Well => ("well".to_owned(), "ended well".to_owned()),
        Ended::Badly(number) => match failed(number) {
            Some(failed) => {
                let outcome = &failed.outcome;
                (kind(outcome).to_string(), what(outcome, after))
            }
            None => ("abort".to_owned(), "ended badly".to_owned()),
        },
    }
}

/// What went wrong first, then what happened most.
fn sort(outcomes: &mut [RecoveryOutcome]) {
    outcomes.sort_by_key(|end| (end.kind == "well", std::cmp::Reverse(end.behaviours)));
}

fn last_store(run: &LoggedRun, cut: Cut) -> Option<usize> {
    let entries = &run.log.entries()[..cut.0 as usize];
    let store = entries
        .iter()
        .rposition(|entry| matches!(entry, Entry::Store { .. }))?;
    Some(run.event_of(Cut(store as u32)))
}
