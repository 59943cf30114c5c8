//! How recoveries ended, for the report: distinct behaviours by their end, and by the last store before the power failed.

use super::finding::{kind, what};
use super::timeline::place;
use crate::names::Names;
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
        let end = match behaviour.ended {
            Ended::Well => ("well".to_owned(), "ended well".to_owned()),
            Ended::Badly(number) => match failed.get(number as usize) {
                Some(failed) => {
                    let outcome = &failed.outcome;
                    (kind(outcome).to_owned(), what(outcome, after))
                }
                None => ("abort".to_owned(), "ended badly".to_owned()),
            },
        };
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
            for (&store, count) in &stores {
                let event = store.map(|store| &act.execution.events[store]);
                let here = event
                    .and_then(|event| names.place(event))
                    .as_ref()
                    .map(place);
                match at.iter_mut().find(|known| known.at == here) {
                    Some(known) => known.behaviours += count,
                    None => at.push(AtPlace {
                        at: here,
                        behaviours: *count,
                    }),
                }
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
    // What went wrong first, then what happened most.
    outcomes.sort_by_key(|end| (end.kind == "well", std::cmp::Reverse(end.behaviours)));
    outcomes
}

fn last_store(act: &Act, cut: Cut) -> Option<usize> {
    let entries = &act.log.entries()[..cut.0 as usize];
    let store = entries
        .iter()
        .rposition(|entry| matches!(entry, Entry::Store { .. }))?;
    Some(act.event_of(Cut(store as u32)))
}
