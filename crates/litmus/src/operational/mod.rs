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
//! The power may fail between any two steps; [`durable`] says how its outcome is found.

mod compile;
mod durable;
mod reduce;
mod state;
mod transaction;
mod witness;

pub use witness::{LitmusWitness, Narrated, WitnessCrash, WitnessEvent, witness};

use crate::Model;
use crate::program::{LitmusOutcome, LitmusProgram, Location, Observe};
use rustc_hash::FxHashSet;
use state::{Machine, MachineState, MachineStep, Merging};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Eager steps are taken alone, and states forget what no longer matters.
    On,
    /// Every step from every state: the yardstick the reduction is tested and measured against.
    Off,
}

#[derive(Clone, Debug)]
pub struct ExploreOptions {
    pub reduction: Reduction,
    /// Give up beyond this many states.
    pub max_states: usize,
}

impl Default for ExploreOptions {
    fn default() -> ExploreOptions {
        ExploreOptions {
            reduction: Reduction::On,
            max_states: 20_000_000,
        }
    }
}

/// All outcomes, and what it took.
#[derive(Clone, Debug)]
pub struct Explored {
    pub outcomes: BTreeSet<LitmusOutcome>,
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
    program: &LitmusProgram,
    observe: &Observe,
    model: &Model,
    options: &ExploreOptions,
) -> Result<Explored, StateLimit> {
    let merging = match options.reduction {
        Reduction::On => Merging::Normal,
        Reduction::Off => Merging::Raw,
    };
    let machine = Machine::new(program, observe, model, merging);
    let places = observe.places();
    let mut outcomes: FxHashSet<LitmusOutcome> = FxHashSet::default();
    let (mut states, mut steps) = (0, 0);
    let mut enabled: Vec<MachineStep> = Vec::new();
    // Each step performs an instruction, an abort several: in order of how many were performed, no state is met twice.
    let most: usize = program.threads.iter().map(|t| t.body.len()).sum();
    let mut layers: Vec<FxHashSet<MachineState>> = vec![FxHashSet::default(); most + 1];
    let initial = machine.initial();
    layers[initial.performed()].insert(initial);
    let mut waiting = 1;
    for at in 0..layers.len() {
        let layer = std::mem::take(&mut layers[at]);
        states += layer.len();
        waiting -= layer.len();
        for state in layer {
            machine.steps(&state, options.reduction, &mut enabled);
            if let Some(outcome) = machine.outcome(&state, &enabled, &places) {
                outcomes.insert(outcome);
            }
            for &step in &enabled {
                for fates in machine.fates(&state, step) {
                    if let Some(next) = machine.perform(&state, step, &fates) {
                        steps += 1;
                        waiting += usize::from(layers[next.performed()].insert(next));
                    }
                }
            }
            if states + waiting > options.max_states {
                return Err(StateLimit {
                    limit: options.max_states,
                });
            }
        }
    }
    Ok(Explored {
        outcomes: outcomes.into_iter().collect(),
        states,
        steps,
    })
}

impl Machine<'_> {
    /// The steps to try from a state.
    fn steps(&self, state: &MachineState, reduction: Reduction, out: &mut Vec<MachineStep>) {
        if self.observe.is_recovery() && state.durable.all_decided() {
            out.clear(); // The power fails here: nothing is gained by waiting.
            return;
        }
        self.enabled(state, out);
        out.retain(|&step| !self.too_late(state, step));
        if reduction == Reduction::On
            && let Some(step) = self.eager(state, out)
        {
            out.clear();
            out.push(step);
        }
    }

    /// The outcome of an execution that ends in this state, if it may.
    fn outcome(
        &self,
        state: &MachineState,
        steps: &[MachineStep],
        places: &[Location],
    ) -> Option<LitmusOutcome> {
        if self.observe.is_recovery() {
            let may_fail = state.durable.may_fail();
            may_fail.then(|| state.durable.outcome(&self.lines, &state.volatile.memory))
        } else {
            let over = steps.is_empty() && self.finished(state);
            over.then(|| self.final_outcome(state, places))
        }
    }
}
