//! The machine's state and its one kind of step: a thread performs one of its instructions.

use super::compile::{Compiled, CompiledAction, CompiledOp, Mask, bit};
use super::durable::{Durable, DurableLines};
use crate::Model;
use crate::program::{Observe, Place, Program, Reg, Value};
use landfall_model::order::{OpKind, Platform};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct MachineThread {
    pub(super) performed: Mask,
    /// Instructions before this one may be performed: every `if` before it was decided and held.
    pub(super) fetched: u8,
    /// Nothing more will be fetched: the body ended, or an `if` did not hold.
    pub(super) closed: bool,
}

/// Everything that decides what can still happen, in a normal form: two states with the same future compare equal as
/// often as is cheap to see (dead registers and dead variables are zero).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MachineState {
    pub(super) volatile: Volatile,
    pub(super) durable: Durable,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Volatile {
    pub(super) threads: SmallVec<[MachineThread; 4]>,
    /// What each read returned, by slot.
    pub(super) results: SmallVec<[Value; 8]>,
    pub(super) memory: SmallVec<[Value; 4]>,
}

/// One instruction of one thread takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct MachineStep {
    pub(super) thread: usize,
    pub(super) instr: usize,
}

/// What is decided about a line when a store makes a version of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum SurvivorFate {
    /// Nothing: the version passes.
    Passes,
    /// The version survives the power failure.
    Survives,
    /// The content that the line began with, here replaced, is what survives.
    InitialSurvives,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merging {
    /// States are normalised, so that more of them are equal.
    Normal,
    /// As they come.
    Raw,
}

#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) program: &'a Program,
    pub(super) observe: &'a Observe,
    pub(super) model: &'a Model,
    pub(super) code: Compiled,
    pub(super) lines: DurableLines,
    /// Reads whose register the outcome shows.
    pub(super) observed_slots: Vec<bool>,
    merging: Merging,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        program: &'a Program,
        observe: &'a Observe,
        model: &'a Model,
        merging: Merging,
    ) -> Machine<'a> {
        let code = Compiled::new(program, &model.table);
        Machine {
            program,
            observe,
            model,
            observed_slots: observed_slots(observe, &code),
            code,
            lines: DurableLines::new(program, observe),
            merging,
        }
    }

    pub(super) fn initial(&self) -> MachineState {
        let mut state = MachineState {
            durable: Durable::new(&self.lines),
            volatile: Volatile {
                threads: SmallVec::from_elem(MachineThread::default(), self.code.threads.len()),
                results: SmallVec::from_elem(0, self.code.slots),
                memory: self.program.vars.iter().map(|v| v.init).collect(),
            },
        };
        for thread in 0..self.code.threads.len() {
            self.fetch(&mut state, thread);
        }
        self.normalise(&mut state);
        state
    }

    /// Steps the model allows here.
    pub(super) fn enabled(&self, state: &MachineState, out: &mut Vec<MachineStep>) {
        out.clear();
        for (thread, ts) in state.volatile.threads.iter().enumerate() {
            let ops = &self.code.threads[thread];
            let mut waiting = self.waiting(ts, thread);
            while waiting != 0 {
                let instr = waiting.trailing_zeros() as usize;
                waiting &= waiting - 1;
                let op = &ops.ops[instr];
                if op.before & !ts.performed != 0 {
                    continue;
                }
                // A forwarded value must be known.
                if let Some(store) = op.forward
                    && ts.performed & bit(store) == 0
                    && ops.ops[store].data & !ts.performed != 0
                {
                    continue;
                }
                out.push(MachineStep { thread, instr });
            }
        }
    }

    /// Fetched and not yet performed.
    pub(super) fn waiting(&self, ts: &MachineThread, thread: usize) -> Mask {
        self.code.threads[thread].performable & !ts.performed & below(ts.fetched)
    }

    /// What the thread may still perform, now or once more is fetched.
    pub(super) fn remaining(&self, ts: &MachineThread, thread: usize) -> Mask {
        let window = if ts.closed { below(ts.fetched) } else { !0 };
        self.code.threads[thread].performable & !ts.performed & window
    }

    /// Would the step guarantee more of a line than its survivor? Then the power failed before it.
    pub(super) fn too_late(&self, state: &MachineState, step: MachineStep) -> bool {
        let op = &self.code.threads[step.thread].ops[step.instr];
        let stale = || {
            op.line
                .and_then(|line| self.lines.observed_line(line))
                .is_some_and(|line| state.durable.stale(line))
        };
        (op.drains != 0 && state.durable.outdated_by(op.drains))
            || (matches!(op.action, CompiledAction::Flush) && stale())
    }

    /// What may be decided when the step is performed.
    pub(super) fn fates(&self, state: &MachineState, step: MachineStep) -> &'static [SurvivorFate] {
        let op = &self.code.threads[step.thread].ops[step.instr];
        let stores = matches!(
            op.action,
            CompiledAction::Store(_) | CompiledAction::Rmw(..) | CompiledAction::Cas { .. }
        );
        let line = op.line.and_then(|line| self.lines.observed_line(line));
        match line.filter(|_| stores) {
            Some(line) if state.durable.untouched(line) => &[
                SurvivorFate::Passes,
                SurvivorFate::Survives,
                SurvivorFate::InitialSurvives,
            ],
            Some(line) if state.durable.open(line) => {
                &[SurvivorFate::Passes, SurvivorFate::Survives]
            }
            _ => &[SurvivorFate::Passes],
        }
    }

    /// Performs `step`, which must be enabled and not too late, with one of its fates. `None` if nothing is stored whose fate
    /// it could be, if no later version could survive where one must, or if a survivor would be lost.
    pub(super) fn perform(
        &self,
        state: &MachineState,
        step: MachineStep,
        fate: SurvivorFate,
    ) -> Option<MachineState> {
        let MachineStep { thread, instr } = step;
        let code = &self.code.threads[thread];
        let op = &code.ops[instr];
        let mut next = state.clone();
        let results = &mut next.volatile.results;
        let old = self.memory_of(state, step);
        let written = match op.action {
            CompiledAction::Load => {
                results[op.slot] = self.load_value(state, step);
                None
            }
            CompiledAction::Store(value) => Some(code.eval(value, results)),
            CompiledAction::Rmw(rmw, operand) => {
                let new = rmw.apply(old, code.eval(operand, results));
                results[op.slot] = old;
                Some(new)
            }
            CompiledAction::Cas { expected, desired } => {
                let (expected, desired) =
                    (code.eval(expected, results), code.eval(desired, results));
                results[op.slot] = old;
                (old == expected).then_some(desired)
            }
            CompiledAction::FlushOpt => {
                self.pend(&mut next, op);
                None
            }
            CompiledAction::Flush
            | CompiledAction::Fence
            | CompiledAction::If { .. }
            | CompiledAction::Local => None,
        };
        match (written, fate) {
            (Some(value), _) => self.write(&mut next, op, value, fate)?,
            (None, SurvivorFate::Passes) => {}
            (None, SurvivorFate::Survives | SurvivorFate::InitialSurvives) => return None,
        }
        next.volatile.threads[thread].performed |= bit(instr);
        self.fetch(&mut next, thread);
        self.normalise(&mut next);
        self.can_decide(&next).then_some(next)
    }

    /// Every line that awaits a survivor may still get one.
    fn can_decide(&self, state: &MachineState) -> bool {
        (0..self.lines.count()).all(|observed| {
            !state.durable.open(observed)
                || self.lines.line_at(observed).is_some_and(|line| {
                    state.volatile.threads.iter().enumerate().any(|(t, ts)| {
                        let shapers = self.code.threads[t].shapers[line.0 as usize];
                        self.remaining(ts, t) & shapers != 0
                    })
                })
        })
    }

    /// What a load returns: its own thread's newest buffered store first (bypass), then the cache.
    pub(super) fn load_value(&self, state: &MachineState, step: MachineStep) -> Value {
        match self.forwarded_from(state, step) {
            Some(store) => {
                let code = &self.code.threads[step.thread];
                match code.ops[store].action {
                    CompiledAction::Store(value) => code.eval(value, &state.volatile.results),
                    // Locked instructions are never forwarded from: reads wait for them.
                    _ => self.memory_of(state, step),
                }
            }
            None => self.memory_of(state, step),
        }
    }

    /// The buffered store of its own thread that the load reads.
    pub(super) fn forwarded_from(&self, state: &MachineState, step: MachineStep) -> Option<usize> {
        self.code.threads[step.thread].ops[step.instr]
            .forward
            .filter(|&store| state.volatile.threads[step.thread].performed & bit(store) == 0)
    }

    pub(super) fn memory_of(&self, state: &MachineState, step: MachineStep) -> Value {
        self.code.threads[step.thread].ops[step.instr]
            .var
            .map_or(0, |v| state.volatile.memory[v.0 as usize])
    }

    fn write(
        &self,
        state: &mut MachineState,
        op: &CompiledOp,
        value: Value,
        fate: SurvivorFate,
    ) -> Option<()> {
        let (var, line) = (op.var?, op.line?);
        let line = self.lines.observed_line(line);
        if let Some(line) = line
            && fate == SurvivorFate::InitialSurvives
        {
            state
                .durable
                .decide(&self.lines, line, &state.volatile.memory);
        }
        state.volatile.memory[var.0 as usize] = value;
        let Some(line) = line else { return Some(()) };
        if fate == SurvivorFate::Survives {
            state
                .durable
                .decide(&self.lines, line, &state.volatile.memory);
            return Some(());
        }
        let non_temporal = op.kind == Some(OpKind::NtWrite);
        let durable_at_once = self.model.platform == Platform::Eadr && !non_temporal;
        if state.durable.decided(line) && durable_at_once {
            return None; // A newer version than the survivor.
        }
        state.durable.store(line);
        if non_temporal {
            state.durable.pend(line, op.group);
        }
        Some(())
    }

    fn pend(&self, state: &mut MachineState, op: &CompiledOp) {
        if let Some(line) = op.line.and_then(|line| self.lines.observed_line(line)) {
            state.durable.pend(line, op.group);
        }
    }

    /// Decides every `if` whose value is known and lets the window grow past it.
    fn fetch(&self, state: &mut MachineState, thread: usize) {
        let code = &self.code.threads[thread];
        let ops = &code.ops;
        let ts = &mut state.volatile.threads[thread];
        while !ts.closed {
            match ops.get(ts.fetched as usize) {
                None => ts.closed = true,
                Some(op) => {
                    if let CompiledAction::If { value, equals } = op.action {
                        if op.before & !ts.performed != 0 {
                            return;
                        }
                        if code.eval(value, &state.volatile.results) != equals {
                            ts.closed = true;
                            return;
                        }
                    }
                    ts.fetched += 1;
                }
            }
        }
    }

    /// Forgets what nobody will ask for again.
    fn normalise(&self, state: &mut MachineState) {
        if self.merging == Merging::Raw {
            return;
        }
        let volatile = &mut state.volatile;
        let mut read_again: u32 = 0;
        let mut alive = 0;
        for (thread, ts) in volatile.threads.iter().enumerate() {
            let code = &self.code.threads[thread];
            let remaining = self.remaining(ts, thread);
            for (v, &readers) in code.readers.iter().enumerate() {
                if remaining & readers != 0 {
                    read_again |= 1 << v;
                }
            }
            for &(group, fences) in &code.groups {
                if remaining & fences != 0 {
                    alive |= group;
                }
            }
            let undecided = if ts.closed { 0 } else { !below(ts.fetched) };
            for &(slot, users) in &code.uses {
                if users & (remaining | undecided) == 0 && !self.observed_slots[slot] {
                    volatile.results[slot] = 0;
                }
            }
        }
        if self.observe.is_recovery() {
            for (v, value) in volatile.memory.iter_mut().enumerate() {
                if read_again & (1 << v) == 0 && !self.lines.observes(v) {
                    *value = 0;
                }
            }
            let threads = &volatile.threads;
            state.durable.forget(alive, |observed| {
                self.lines.line_at(observed).is_some_and(|line| {
                    threads.iter().enumerate().any(|(t, ts)| {
                        let flushers = self.code.threads[t].flushers[line.0 as usize];
                        self.remaining(ts, t) & flushers != 0
                    })
                })
            });
        }
    }

    /// All threads have ended and every buffer is empty.
    pub(super) fn finished(&self, state: &MachineState) -> bool {
        state
            .volatile
            .threads
            .iter()
            .enumerate()
            .all(|(t, ts)| ts.closed && self.waiting(ts, t) == 0)
    }

    /// The values of the observed places at the end of an execution.
    pub(super) fn final_outcome(&self, state: &MachineState, places: &[Place]) -> Vec<Value> {
        places
            .iter()
            .map(|place| match *place {
                Place::Var(var) => state.volatile.memory[var.0 as usize],
                Place::Reg { thread, reg } => self.register(state, thread as usize, reg),
            })
            .collect()
    }

    fn register(&self, state: &MachineState, thread: usize, reg: Reg) -> Value {
        let code = &self.code.threads[thread];
        let end = state.volatile.threads[thread].fetched as usize;
        let registers = code.registers.iter().find(|(at, _)| *at == end);
        registers.map_or(0, |(_, regs)| {
            code.eval(regs[reg.0 as usize], &state.volatile.results)
        })
    }
}

pub(super) fn below(n: u8) -> Mask {
    if n as u32 >= Mask::BITS {
        !0
    } else {
        (1 << n) - 1
    }
}

/// The reads whose values an outcome shows, wherever the thread may end.
fn observed_slots(observe: &Observe, code: &Compiled) -> Vec<bool> {
    let mut slots = vec![false; code.slots];
    for place in observe.places() {
        if let Place::Reg { thread, reg } = place {
            let code = &code.threads[thread as usize];
            for (_, registers) in &code.registers {
                for slot in code.slots(registers[reg.0 as usize]) {
                    slots[slot] = true;
                }
            }
        }
    }
    slots
}
