//! One execution that ends in a given outcome, told step by step.

use super::compile::{Action, bit};
use super::state::{Machine, Merging, State, Step};
use super::{Options, StateLimit};
use crate::Model;
use crate::program::{Instr, Observe, Outcome, Program, ShowInstr, Value, Var};
use landfall_model::order::OpKind;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt;

/// What an instruction did when it was performed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Read from the cache.
    Read(Value),
    /// Read from a store that its own thread still buffers.
    Forwarded(Value),
    /// Reached the cache.
    Stored(Value),
    /// Left its write-combining buffer, durable at the next fence.
    Streamed(Value),
    Swapped {
        old: Value,
        new: Value,
    },
    /// A compare-and-swap found another value.
    Refused(Value),
    /// The line was written back.
    Flushed,
    /// The write-back of the line as it is now was asked for; a fence will wait for it.
    FlushStarted,
    Fenced,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Narrated {
    pub thread: usize,
    pub instr: usize,
    /// The instruction as `.lit` writes it.
    pub text: String,
    pub event: Event,
    /// Earlier instructions of the thread that were still waiting: it overtook them.
    pub overtaken: Vec<String>,
}

/// What the power failure left of an observed variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crash {
    pub var: String,
    pub cached: Value,
    pub recovered: Value,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    pub steps: Vec<Narrated>,
    /// Empty for a test that looks at the end of the execution.
    pub crash: Vec<Crash>,
}

/// A shortest execution (among those the reduced search visits) with this outcome; `None` if there is none.
pub fn witness(
    program: &Program,
    observe: &Observe,
    model: &Model,
    outcome: &Outcome,
    options: &Options,
) -> Result<Option<Witness>, StateLimit> {
    let machine = Machine::new(program, observe, model, Merging::Normal);
    let Some(path) = find(&machine, observe, outcome, options)? else {
        return Ok(None);
    };
    // Told on a machine that forgets nothing.
    let teller = Machine::new(program, observe, model, Merging::Raw);
    let mut state = teller.initial();
    let mut steps = Vec::new();
    for step in path {
        steps.push(narrate(&teller, &mut state, step));
    }
    let crash = match observe {
        Observe::Final(_) => Vec::new(),
        Observe::Recover(vars) => vars
            .iter()
            .zip(outcome)
            .map(|(&Var(v), &recovered)| Crash {
                var: program.var_name(Var(v)).to_owned(),
                cached: state.memory[v as usize],
                recovered,
            })
            .collect(),
    };
    Ok(Some(Witness { steps, crash }))
}

/// Breadth first, so that the story is short.
fn find(
    machine: &Machine<'_>,
    observe: &Observe,
    outcome: &Outcome,
    options: &Options,
) -> Result<Option<Vec<Step>>, StateLimit> {
    let places = observe.places();
    let initial = machine.initial();
    let mut states: Vec<(State, Option<(usize, Step)>)> = vec![(initial.clone(), None)];
    let mut index: FxHashMap<State, usize> = FxHashMap::default();
    index.insert(initial, 0);
    let mut queue = VecDeque::from([0]);
    let mut enabled = Vec::new();
    while let Some(at) = queue.pop_front() {
        let state = states[at].0.clone();
        machine.enabled(&state, &mut enabled);
        let mut found = false;
        match observe {
            Observe::Recover(_) => state
                .durable
                .outcomes(&machine.lines, |o| found |= o == *outcome),
            Observe::Final(_) => {
                found = enabled.is_empty()
                    && machine.finished(&state)
                    && machine.final_outcome(&state, &places) == *outcome;
            }
        }
        if found {
            let mut path = Vec::new();
            let mut here = at;
            while let Some((parent, step)) = states[here].1 {
                path.push(step);
                here = parent;
            }
            path.reverse();
            return Ok(Some(path));
        }
        if let Some(step) = machine.eager(&state, &enabled) {
            enabled.clear();
            enabled.push(step);
        }
        for &step in &enabled {
            let mut next = state.clone();
            machine.perform(&mut next, step);
            if index.contains_key(&next) {
                continue;
            }
            if states.len() >= options.max_states {
                return Err(StateLimit {
                    limit: options.max_states,
                });
            }
            index.insert(next.clone(), states.len());
            queue.push_back(states.len());
            states.push((next, Some((at, step))));
        }
    }
    Ok(None)
}

fn narrate(machine: &Machine<'_>, state: &mut State, step: Step) -> Narrated {
    let Step { thread, instr } = step;
    let op = &machine.code.threads[thread].ops[instr];
    let show = |i: usize| {
        ShowInstr {
            program: machine.program,
            thread,
            instr: &machine.program.threads[thread].body[i],
        }
        .to_string()
    };
    let waiting = machine.waiting(&state.threads[thread], thread);
    let overtaken = (0..instr).filter(|&j| waiting & bit(j) != 0).map(show);
    let overtaken: Vec<String> = overtaken.collect();
    let forwarded = machine.forwarded_from(state, step).is_some();
    let old = machine.memory_of(state, step);
    machine.perform(state, step);
    let new = machine.memory_of(state, step);
    let body = &machine.program.threads[thread].body[instr];
    let event = match &op.action {
        Action::Load if forwarded => Event::Forwarded(state.results[op.slot]),
        Action::Load => Event::Read(state.results[op.slot]),
        Action::Store(_) if op.kind == Some(OpKind::NtWrite) => Event::Streamed(new),
        Action::Store(_) => Event::Stored(new),
        Action::Cas { expected, .. } if expected.eval(&state.results) != old => Event::Refused(old),
        Action::Rmw(..) | Action::Cas { .. } => Event::Swapped { old, new },
        Action::Flush => Event::Flushed,
        Action::FlushOpt => Event::FlushStarted,
        Action::Fence | Action::If { .. } | Action::Local => Event::Fenced,
    };
    debug_assert!(!matches!(body, Instr::If { .. }));
    Narrated {
        thread,
        instr,
        text: show(instr),
        event,
        overtaken,
    }
}

impl fmt::Display for Narrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}: {:<18} ", self.thread, self.text)?;
        match &self.event {
            Event::Read(value) => write!(f, "reads {value}")?,
            Event::Forwarded(value) => write!(f, "reads {value} from its own store buffer")?,
            Event::Stored(_) => f.write_str("reaches the cache")?,
            Event::Streamed(_) => f.write_str("leaves the write-combining buffer")?,
            Event::Swapped { old, new } => write!(f, "swaps {old} for {new}, and fences")?,
            Event::Refused(old) => write!(f, "finds {old}, writes nothing, and fences")?,
            Event::Flushed => f.write_str("writes the line back")?,
            Event::FlushStarted => f.write_str("begins to write the line back")?,
            Event::Fenced => f.write_str("done")?,
        }
        if !self.overtaken.is_empty() {
            write!(f, " (overtakes {})", self.overtaken.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        if !self.crash.is_empty() {
            writeln!(f, "the power fails")?;
            for crash in &self.crash {
                let Crash {
                    var,
                    cached,
                    recovered,
                } = crash;
                if cached == recovered {
                    writeln!(f, "recovery reads {var} = {recovered}")?;
                } else {
                    writeln!(
                        f,
                        "recovery reads {var} = {recovered} (the cache held {cached})"
                    )?;
                }
            }
        }
        Ok(())
    }
}
