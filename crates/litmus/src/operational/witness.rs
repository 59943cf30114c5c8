//! One execution that ends in a given outcome, told step by step.

use super::compile::{CompiledAction, bit};
use super::state::{Fates, Machine, MachineState, MachineStep, Merging, SurvivorFate};
use super::{ExploreOptions, Reduction, StateLimit};
use crate::Model;
use crate::program::{LitmusOutcome, LitmusProgram, Observe, ShowInstr, Value, Var};
use crate::transaction::{CONFLICT, EXPLICIT, MAY_RETRY, NESTED};
use landfall_model::order::OpKind;
use rustc_hash::FxHashSet;
use std::fmt;

/// What an instruction did when it was performed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WitnessEvent {
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
    /// A transaction began, was carried out as a whole, or did not happen after all.
    Began,
    Committed,
    Aborted {
        status: Value,
    },
    /// Done inside a transaction: nobody else sees it before the commit. What was read, if anything.
    Inside(Option<Value>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Narrated {
    pub thread: usize,
    pub instr: usize,
    /// The instruction as `.lit` writes it.
    pub text: String,
    pub event: WitnessEvent,
    /// Earlier instructions of the thread that were still waiting: it overtook them.
    pub overtaken: Vec<String>,
    /// Threads whose transactions it meets: they can only abort.
    pub met: Vec<usize>,
    /// The version of the line that this store makes is what the power failure leaves.
    pub survives: bool,
}

/// What the power failure left of an observed variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WitnessCrash {
    pub var: String,
    pub cached: Value,
    pub recovered: Value,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LitmusWitness {
    pub steps: Vec<Narrated>,
    /// Empty for a test that looks at the end of the execution.
    pub crash: Vec<WitnessCrash>,
}

/// A shortest execution (among those the reduced search visits) with this outcome; `None` if there is none.
pub fn witness(
    program: &LitmusProgram,
    observe: &Observe,
    model: &Model,
    outcome: &LitmusOutcome,
    options: &ExploreOptions,
) -> Result<Option<LitmusWitness>, StateLimit> {
    let machine = Machine::new(program, observe, model, Merging::Normal);
    let Some(path) = find(&machine, observe, outcome, options)? else {
        return Ok(None);
    };
    // Told on a machine that forgets nothing.
    let teller = Machine::new(program, observe, model, Merging::Raw);
    let mut state = teller.initial();
    let mut steps = Vec::new();
    for (step, fates) in &path {
        steps.push(narrate(&teller, &mut state, *step, fates));
    }
    let crash = match observe {
        Observe::Final(_) => Vec::new(),
        Observe::Recover(vars) => vars
            .iter()
            .zip(outcome)
            .map(|(&Var(v), &recovered)| WitnessCrash {
                var: program.var_name(Var(v)).to_owned(),
                cached: state.volatile.memory[v as usize],
                recovered,
            })
            .collect(),
    };
    Ok(Some(LitmusWitness { steps, crash }))
}

type WitnessPath = Vec<(MachineStep, Fates)>;
/// From which state, by which step.
type Arrival = (usize, MachineStep, Fates);

/// Breadth first, so that the story is short.
fn find(
    machine: &Machine<'_>,
    observe: &Observe,
    outcome: &LitmusOutcome,
    options: &ExploreOptions,
) -> Result<Option<WitnessPath>, StateLimit> {
    let places = observe.places();
    let mut states: Vec<(MachineState, Option<Arrival>)> = Vec::new();
    let mut seen: FxHashSet<MachineState> = FxHashSet::default();
    seen.insert(machine.initial());
    states.push((machine.initial(), None));
    let mut at = 0;
    let mut enabled = Vec::new();
    while at < states.len() {
        let state = states[at].0.clone();
        machine.steps(&state, Reduction::On, &mut enabled);
        if machine.outcome(&state, &enabled, &places).as_ref() == Some(outcome) {
            let mut path = Vec::new();
            let mut here = at;
            while let Some((parent, step, fates)) = &states[here].1 {
                path.push((*step, fates.clone()));
                here = *parent;
            }
            path.reverse();
            return Ok(Some(path));
        }
        for &step in &enabled {
            for fates in machine.fates(&state, step) {
                let Some(next) = machine.perform(&state, step, &fates) else {
                    continue;
                };
                if !seen.insert(next.clone()) {
                    continue;
                }
                if states.len() >= options.max_states {
                    return Err(StateLimit {
                        limit: options.max_states,
                    });
                }
                states.push((next, Some((at, step, fates))));
            }
        }
        at += 1;
    }
    Ok(None)
}

fn narrate(
    machine: &Machine<'_>,
    state: &mut MachineState,
    step: MachineStep,
    fates: &Fates,
) -> Narrated {
    let MachineStep {
        thread,
        instr,
        aborts,
    } = step;
    let code = &machine.code.threads[thread];
    let op = &code.ops[instr];
    let show = |i: usize| {
        ShowInstr {
            program: machine.program,
            thread,
            instr: &machine.program.threads[thread].body[i],
        }
        .to_string()
    };
    let waiting = machine.waiting(&state.volatile.threads[thread], thread);
    let overtaken = (0..instr).filter(|&j| waiting & bit(j) != 0).map(show);
    let overtaken: Vec<String> = overtaken.collect();
    let forwarded = machine.forwarded_from(state, step).is_some();
    let old = machine.memory_of(state, step);
    let before = state.clone();
    if let Some(next) = machine.perform(state, step, fates) {
        *state = next;
    }
    let new = machine.memory_of(state, step);
    let doomed = |state: &MachineState, t: usize| state.volatile.threads[t].doomed;
    let met = (0..machine.code.threads.len())
        .filter(|&t| doomed(state, t) && !doomed(&before, t))
        .collect();
    let performed = || match &op.action {
        CompiledAction::Store(_) if op.inside.is_some() => WitnessEvent::Inside(None),
        CompiledAction::Load | CompiledAction::Rmw(..) | CompiledAction::Cas { .. }
            if op.inside.is_some() =>
        {
            WitnessEvent::Inside(Some(state.volatile.results[op.slot]))
        }
        CompiledAction::Load if forwarded => {
            WitnessEvent::Forwarded(state.volatile.results[op.slot])
        }
        CompiledAction::Load => WitnessEvent::Read(state.volatile.results[op.slot]),
        CompiledAction::Store(_) if op.kind == Some(OpKind::NtWrite) => WitnessEvent::Streamed(new),
        CompiledAction::Store(_) => WitnessEvent::Stored(new),
        CompiledAction::Cas { expected, .. }
            if code.eval(*expected, &state.volatile.results) != old =>
        {
            WitnessEvent::Refused(old)
        }
        CompiledAction::Rmw(..) | CompiledAction::Cas { .. } => WitnessEvent::Swapped { old, new },
        CompiledAction::Flush => WitnessEvent::Flushed,
        CompiledAction::FlushOpt => WitnessEvent::FlushStarted,
        CompiledAction::Begin => WitnessEvent::Began,
        CompiledAction::Commit(_) => WitnessEvent::Committed,
        CompiledAction::Nest | CompiledAction::Abort { .. } | CompiledAction::Forbidden => {
            WitnessEvent::Inside(None)
        }
        CompiledAction::Fence | CompiledAction::If { .. } | CompiledAction::Local => {
            WitnessEvent::Fenced
        }
    };
    let event = match aborts {
        Some(status) => WitnessEvent::Aborted { status },
        None => performed(),
    };
    Narrated {
        thread,
        instr,
        text: show(instr),
        event,
        overtaken,
        met,
        survives: fates.contains(&SurvivorFate::Survives),
    }
}

impl fmt::Display for Narrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}: {:<18} ", self.thread, self.text)?;
        match &self.event {
            WitnessEvent::Read(value) => write!(f, "reads {value}")?,
            WitnessEvent::Forwarded(value) => write!(f, "reads {value} from its own store buffer")?,
            WitnessEvent::Stored(_) => f.write_str("reaches the cache")?,
            WitnessEvent::Streamed(_) => f.write_str("leaves the write-combining buffer")?,
            WitnessEvent::Swapped { old, new } => write!(f, "swaps {old} for {new}, and fences")?,
            WitnessEvent::Refused(old) => write!(f, "finds {old}, writes nothing, and fences")?,
            WitnessEvent::Flushed => f.write_str("writes the line back")?,
            WitnessEvent::FlushStarted => f.write_str("begins to write the line back")?,
            WitnessEvent::Fenced => f.write_str("done")?,
            WitnessEvent::Began => f.write_str("the transaction begins")?,
            WitnessEvent::Committed => f.write_str("the transaction is seen, all of it at once")?,
            WitnessEvent::Aborted { status } => {
                write!(
                    f,
                    "the transaction aborts with status {status}: {}",
                    why(*status)
                )?;
            }
            WitnessEvent::Inside(Some(value)) => write!(f, "reads {value}, in the transaction")?,
            WitnessEvent::Inside(None) => f.write_str("done, in the transaction")?,
        }
        if !self.overtaken.is_empty() {
            write!(f, " (overtakes {})", self.overtaken.join(", "))?;
        }
        if !self.met.is_empty() {
            let met: Vec<String> = self.met.iter().map(|t| format!("T{t}")).collect();
            write!(f, ", and meets the transaction of {}", met.join(" and of "))?;
        }
        if self.survives {
            f.write_str(", and its line is written back")?;
        }
        Ok(())
    }
}

/// A status in words.
fn why(status: Value) -> String {
    let mut words = Vec::new();
    if status & EXPLICIT != 0 {
        words.push(format!("`xabort {}`", status >> 24));
    }
    if status & CONFLICT != 0 {
        words.push("conflict".to_owned());
    }
    if words.is_empty() {
        words.push("no cause given".to_owned());
    }
    if status & MAY_RETRY != 0 {
        words.push("may succeed on retry".to_owned());
    }
    if status & NESTED != 0 {
        words.push("in a nested transaction".to_owned());
    }
    words.join(", ")
}

impl fmt::Display for LitmusWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        if !self.crash.is_empty() {
            writeln!(f, "the power fails")?;
            for crash in &self.crash {
                let WitnessCrash {
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
