//! What a data race does: both orders of it are run, each to the end of the program, and compared.

use crate::diagnose::finding::what;
use crate::error::{Error, ErrorKind};
use crate::names::ProgramNames;
use crate::view::schedule::column;
use landfall_explore::schedule::data_races::DataRace;
use landfall_explore::schedule::swap::{Swap, swap};
use landfall_explore::schedule::{Explored, Order, Process};
use landfall_finding::{Finding, RaceEffect};
use landfall_native::{Execution, Job, NativeThreads, Outcome, RecordKind, SubjectError};
use std::collections::BTreeMap;

/// Places of one race in executions that are compared, and executions that are looked through for them.
const MOST: usize = 8;
const MOST_LOOKED_AT: u32 = 500;

/// Where both orders of one race begin, with the accesses that were steps then.
#[derive(Clone, Debug, Default)]
pub(super) struct Swaps {
    found: Vec<(Swap, Job)>,
    looked_at: u32,
}

/// How a race ends in one order.
struct RaceEnd {
    outcome: Outcome,
    output: (Vec<u8>, Vec<u8>),
    state: u64,
    persistent: BTreeMap<u64, u8>,
}

impl Swaps {
    /// Looks for a race in the last execution.
    pub(super) fn look(
        &mut self,
        native: &NativeThreads<'_>,
        search: &dyn Explored,
        race: &DataRace,
    ) {
        if self.found.len() == MOST || self.looked_at == MOST_LOOKED_AT {
            return;
        }
        self.looked_at += 1;
        if let Some(swap) = swap(search, race)
            && self.found.iter().all(|(known, _)| *known != swap)
        {
            self.found.push((swap, native.replay(&[])));
        }
    }

    /// Runs both orders, and puts what comes of it into the finding. What there is no time for is not known. Of a function that takes memory
    /// away, or makes it something else, the other access is no step once that has come first.
    pub(super) fn tell(
        &self,
        native: &mut NativeThreads<'_>,
        names: &ProgramNames,
        (order, remapping): (Order, Option<&str>),
        finding: &mut Finding,
    ) -> Result<(), Error> {
        let mut worst: Option<(RaceEffect, String)> = None;
        for (swap, job) in &self.found {
            native.adopt(job);
            let ends = [false, true].map(|swapped| end(native, swap, order, swapped));
            let [Ok(Some(one)), Ok(Some(other))] = ends else {
                if let Some(Err(error)) = ends.into_iter().find(Result::is_err) {
                    return stopped(error);
                }
                continue;
            };
            let who = [swap.first, swap.second].map(|process| column(order.thread(process)));
            let (effect, text) = compare(&one, &other, &who, names);
            if worst.as_ref().is_none_or(|(known, _)| effect > *known) {
                worst = Some((effect, text));
            }
        }
        if let Some((effect, text)) = worst {
            finding.effect = Some(effect);
            finding.notes.push(text);
        } else if self.found.is_empty() && self.looked_at > 0 {
            let text = match remapping {
                Some(function) => format!("what comes of it: who comes after `{function}` finds what that made of the memory, which may be nothing"),
                None => "what comes of it is not known: the two accesses never came right after each other, so something orders them that is no synchronisation".to_owned(),
            };
            finding.notes.push(text);
        }
        Ok(())
    }
}

/// There is no more time, or something is wrong.
fn stopped(error: SubjectError) -> Result<(), Error> {
    match error {
        SubjectError::Stopped => Ok(()),
        error => Err(Error::new(ErrorKind::Internal, error.to_string())),
    }
}

/// The execution in which the two come in this order; none if there is none that ends by itself.
fn end(
    native: &mut NativeThreads<'_>,
    swap: &Swap,
    order: Order,
    swapped: bool,
) -> Result<Option<RaceEnd>, SubjectError> {
    let mut schedule = swap.schedule(swapped);
    // In both of them the same thread goes on.
    schedule.push(order.thread(swap.second) as Process);
    let mut execution = native.to_the_end(&schedule)?;
    if execution.outcome == Outcome::Strayed {
        schedule.pop();
        execution = native.to_the_end(&schedule)?;
    }
    let ends = execution.outcome.limit().is_none()
        && !matches!(
            execution.outcome,
            Outcome::Strayed
                | Outcome::Asleep
                | Outcome::InVain
                | Outcome::Assumed
                | Outcome::Internal { .. }
                | Outcome::Forbidden { .. }
                | Outcome::Thread { .. }
                | Outcome::Died { .. }
        );
    Ok(ends.then(|| RaceEnd {
        persistent: persistent(&execution),
        outcome: execution.outcome,
        output: (execution.stdout, execution.stderr),
        state: execution.final_state,
    }))
}

/// What was stored to persistent memory, byte by byte.
fn persistent(execution: &Execution) -> BTreeMap<u64, u8> {
    let mut bytes = BTreeMap::new();
    let stores = execution.events.iter();
    for event in stores.filter(|event| event.kind == RecordKind::Store) {
        let stored = (0..8).filter(|at| event.mask >> at & 1 != 0);
        bytes.extend(stored.map(|at| (event.offset + at, (event.value >> (8 * at)) as u8)));
    }
    bytes
}

/// `who` comes first in the one, and in the other.
fn compare(
    one: &RaceEnd,
    other: &RaceEnd,
    who: &[String; 2],
    names: &ProgramNames,
) -> (RaceEffect, String) {
    let fails = |end: &RaceEnd| !end.outcome.is_ok();
    let say = |end: &RaceEnd| what(&end.outcome, names);
    match (fails(one), fails(other)) {
        (true, true) => {
            let text = format!("what comes of it: it fails in either order: {}", say(one));
            return (RaceEffect::Fails, text);
        }
        (true, false) | (false, true) => {
            let (failing, first) = match fails(one) {
                true => (one, &who[0]),
                false => (other, &who[1]),
            };
            let text = format!(
                "what comes of it: it fails if {first} comes first: {}",
                say(failing)
            );
            return (RaceEffect::Fails, text);
        }
        (false, false) => {}
    }
    if one.output != other.output {
        let text = "what comes of it: what the program prints depends on the order";
        return (RaceEffect::Output, text.to_owned());
    }
    if one.state != other.state || one.persistent != other.persistent {
        let text = "what comes of it: what is in memory at the end depends on the order";
        return (RaceEffect::State, text.to_owned());
    }
    let text = "what comes of it: no difference was seen; in either order the program prints the same and leaves the same in memory";
    (RaceEffect::Nothing, text.to_owned())
}
