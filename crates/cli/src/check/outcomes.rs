//! How recoveries ended, for the report: distinct behaviours by their end, and by the last store before the power failed.

use super::finding::{kind, what};
use super::timeline::place;
use crate::names::{Names, Place};
use crate::scene::Act;
use landfall_explore::recovery::Behaviour;
use landfall_explore::subject::Ended;
use landfall_model::log::{Cut, Entry};
use landfall_native::Execution;
use landfall_report::{AtPlace, Outcome};
use std::collections::{BTreeMap, HashMap};

/// Places listed of one end.
const MOST_PLACES: usize = 200;

/// `names` for the execution that crashed, `after` for recoveries; `failed` are the executions that ended badly, by their number.
pub(super) fn outcomes(
    act: &Act,
    names: &Names,
    after: &Names,
    behaviours: &[Behaviour],
    failed: &[Execution],
) -> Vec<Outcome> {
    let mut ends: BTreeMap<(String, String), BTreeMap<Option<usize>, u64>> = BTreeMap::new();
    let mut last: HashMap<Cut, Option<usize>> = HashMap::new();
    for behaviour in behaviours {
        let end = end(behaviour.ended, after, |number| failed.get(number as usize));
        let store = behaviour.crashes.first().and_then(|crash| {
            let find = || last_store(act, crash.cut);
            *last.entry(crash.cut).or_insert_with(find)
        });
        *ends.entry(end).or_default().entry(store).or_default() += 1;
    }
    let mut outcomes: Vec<Outcome> = ends
        .into_iter()
        .map(|((kind, text), stores)| {
            let mut at: Vec<AtPlace> = Vec::new();
            let mut known: HashMap<Option<Place>, usize> = HashMap::new();
            for (&store, count) in &stores {
                let event = store.map(|store| &act.execution.events[store]);
                let here = event.and_then(|event| names.place(event));
                let number = *known.entry(here).or_insert_with_key(|here| {
                    at.push(AtPlace {
                        at: here.as_ref().map(place),
                        behaviours: 0,
                    });
                    at.len() - 1
                });
                at[number].behaviours += count;
            }
            at.sort_by_key(|at| std::cmp::Reverse(at.behaviours));
            at.truncate(MOST_PLACES);
            Outcome {
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
pub(super) fn after_schedules<'a>(
    after: &Names,
    ends: impl Iterator<Item = Ended>,
    failed: impl Fn(u32) -> Option<&'a Execution>,
) -> Vec<Outcome> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for ended in ends {
        *counts.entry(end(ended, after, &failed)).or_default() += 1;
    }
    let mut outcomes: Vec<Outcome> = counts
        .into_iter()
        .map(|((kind, text), behaviours)| Outcome {
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
    after: &Names,
    failed: impl Fn(u32) -> Option<&'a Execution>,
) -> (String, String) {
    match ended {
        Ended::Well => ("well".to_owned(), "ended well".to_owned()),
        Ended::Badly(number) => match failed(number) {
            Some(failed) => {
                let outcome = &failed.outcome;
                (kind(outcome).to_owned(), what(outcome, after))
            }
            None => ("abort".to_owned(), "ended badly".to_owned()),
        },
    }
}

/// What went wrong first, then what happened most.
fn sort(outcomes: &mut [Outcome]) {
    outcomes.sort_by_key(|end| (end.kind == "well", std::cmp::Reverse(end.behaviours)));
}

fn last_store(act: &Act, cut: Cut) -> Option<usize> {
    let entries = &act.log.entries()[..cut.0 as usize];
    let store = entries
        .iter()
        .rposition(|entry| matches!(entry, Entry::Store { .. }))?;
    Some(act.event_of(Cut(store as u32)))
}
