//! The operational definition: run the program in every way the ordering table allows.
//!
//! The machine is x86-TSO seen from memory. An instruction is *performed* when it takes effect: a store when it leaves
//! its store buffer for the cache, a load when it reads, `clflush` when it writes its line back, `clflushopt` when it
//! takes its stamp, a fence when what is before it is done. A thread may perform an instruction before an earlier one
//! exactly if the table lets the two change places; a load finds the buffered stores of its own thread (bypass). The
//! store buffer, the flush buffer and the non-temporal buffer are the stores and flushes that were overtaken.
//! [`crate::buffers`] has the same buffers as queues, and a test that both agree.
//!
//! Two things are kept whatever the table says, so that it can be mutated freely: one variable is coherent, and a value
//! is read before it is used.
//!
//! The power may fail between any two steps. Since stores only add versions and flushes only remove them, it is enough
//! to look right before each step that raises a frontier, and at the end (MODEL.md §4).

mod compile;
mod durable;
mod reduce;
mod state;
mod witness;

pub use witness::{Crash, Event, Narrated, Witness, witness};

use crate::Model;
use crate::program::{Observe, Outcome, Program};
use rustc_hash::FxHashSet;
use state::{Frontier, Machine, Merging, State, Step};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Eager steps are taken alone, and states are normalised.
    On,
    /// Every step from every state: the yardstick the reduction is tested and measured against.
    Off,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub reduction: Reduction,
    /// Give up beyond this many states.
    pub max_states: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            reduction: Reduction::On,
            max_states: 20_000_000,
        }
    }
}

/// All outcomes, and what it took.
#[derive(Clone, Debug)]
pub struct Explored {
    pub outcomes: BTreeSet<Outcome>,
    pub states: usize,
    pub steps: usize,
}

/// The search gave up: its outcomes would not have been all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more than {limit} states")]
pub struct StateLimit {
    pub limit: usize,
}

pub fn explore(
    program: &Program,
    observe: &Observe,
    model: &Model,
    options: &Options,
) -> Result<Explored, StateLimit> {
    let merging = match options.reduction {
        Reduction::On => Merging::Normal,
        Reduction::Off => Merging::Raw,
    };
    let machine = Machine::new(program, observe, model, merging);
    let places = observe.places();
    let mut outcomes: FxHashSet<Outcome> = FxHashSet::default();
    let mut recorded = FxHashSet::default();
    let mut seen: FxHashSet<State> = FxHashSet::default();
    let mut steps = 0;
    let initial = machine.initial();
    seen.insert(initial.clone());
    let mut stack = vec![initial];
    let mut enabled: Vec<Step> = Vec::new();
    while let Some(state) = stack.pop() {
        machine.enabled(&state, &mut enabled);
        let eager = match options.reduction {
            Reduction::On => machine.eager(&state, &enabled),
            Reduction::Off => None,
        };
        if let Some(step) = eager {
            enabled.clear();
            enabled.push(step);
        }
        let mut a_cut = enabled.is_empty();
        for &step in &enabled {
            steps += 1;
            let mut next = state.clone();
            a_cut |= machine.perform(&mut next, step) == Frontier::Raised;
            if !seen.contains(&next) {
                if seen.len() >= options.max_states {
                    return Err(StateLimit {
                        limit: options.max_states,
                    });
                }
                seen.insert(next.clone());
                stack.push(next);
            }
        }
        if observe.is_recovery() {
            if a_cut && recorded.insert(state.durable.feasible()) {
                state.durable.outcomes(&machine.lines, |outcome| {
                    outcomes.insert(outcome);
                });
            }
        } else if enabled.is_empty() && machine.finished(&state) {
            outcomes.insert(machine.final_outcome(&state, &places));
        }
    }
    Ok(Explored {
        outcomes: outcomes.into_iter().collect(),
        states: seen.len(),
        steps,
    })
}
