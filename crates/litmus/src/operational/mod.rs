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
use durable::Durable;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use state::{Frontier, Machine, Merging, State, Step, Volatile};
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
    let (mut states, mut steps) = (1, 0);
    let mut enabled: Vec<Step> = Vec::new();
    // A step performs exactly one instruction, so equal states have performed equally many: two layers are enough.
    let mut layer = Layer::new(options.reduction);
    layer.insert(machine.initial());
    while !layer.is_empty() {
        let mut next_layer = Layer::new(options.reduction);
        for state in layer.into_states() {
            machine.enabled(&state, &mut enabled);
            if options.reduction == Reduction::On
                && let Some(step) = machine.eager(&state, &enabled)
            {
                enabled.clear();
                enabled.push(step);
            }
            let mut a_cut = enabled.is_empty();
            for &step in &enabled {
                steps += 1;
                let mut next = state.clone();
                a_cut |= machine.perform(&mut next, step) == Frontier::Raised;
                if next_layer.insert(next) {
                    states += 1;
                    if states > options.max_states {
                        return Err(StateLimit {
                            limit: options.max_states,
                        });
                    }
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
        layer = next_layer;
    }
    Ok(Explored {
        outcomes: outcomes.into_iter().collect(),
        states,
        steps,
    })
}

/// The states after so many steps. With reduction, one that leaves no more than another with the same threads and memory
/// is dropped.
struct Layer {
    reduction: Reduction,
    states: FxHashMap<Volatile, SmallVec<[Durable; 1]>>,
}

impl Layer {
    fn new(reduction: Reduction) -> Layer {
        Layer {
            reduction,
            states: FxHashMap::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Was it new?
    fn insert(&mut self, state: State) -> bool {
        let known = self.states.entry(state.volatile).or_default();
        let durable = state.durable;
        match self.reduction {
            Reduction::On => {
                if known.iter().any(|k| k.covers(&durable)) {
                    return false;
                }
                known.retain(|k| !durable.covers(k));
            }
            Reduction::Off => {
                if known.contains(&durable) {
                    return false;
                }
            }
        }
        known.push(durable);
        true
    }

    fn into_states(self) -> impl Iterator<Item = State> {
        self.states.into_iter().flat_map(|(volatile, durables)| {
            durables.into_iter().map(move |durable| State {
                volatile: volatile.clone(),
                durable,
            })
        })
    }
}
