//! The machine's state and its one kind of step: a thread performs one of its instructions.

use super::compile::{Compiled, CompiledAction, CompiledOp, FlushGroups, Mask, below, bit};
use super::durable::{Durable, DurableLines};
use crate::Model;
use crate::program::{LineId, LitmusProgram, Location, Observe, Reg, Value, Var};
use crate::transaction::{STARTED, TxRegion};
use landfall_model::order::{OpKind, Platform};
use smallvec::{SmallVec, smallvec};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct MachineThread {
    pub(super) performed: Mask,
    /// Instructions before this one may be performed: every `if` before it was decided and held.
    pub(super) fetched: u8,
    /// Nothing more will be fetched: the body ended, or an `if` did not hold.
    pub(super) closed: bool,
    /// Somebody's access met its open transaction, which can only abort.
    pub(super) doomed: bool,
}

/// Everything that decides what can still happen, in a normal form: two states with the same future compare equal as
/// often as is cheap to see (dead registers and dead variables are zero).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MachineState {
    pub(super) volatile: Volatile,
    pub(super) durable: Durable,
}

impl MachineState {
    /// How many instructions were performed, or skipped with a transaction.
    pub(super) fn performed(&self) -> usize {
        let threads = self.volatile.threads.iter();
        threads.map(|ts| ts.performed.count_ones() as usize).sum()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Volatile {
    pub(super) threads: SmallVec<[MachineThread; 4]>,
    /// What each read returned, by slot.
    pub(super) results: SmallVec<[Value; 8]>,
    pub(super) memory: SmallVec<[Value; 4]>,
}

/// One instruction of one thread takes effect, or a transaction aborts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct MachineStep {
    pub(super) thread: usize,
    pub(super) instr: usize,
    /// The transaction that this instruction began aborts, with this status.
    pub(super) aborts: Option<Value>,
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

/// One for each line of which the step may make a version.
pub(super) type Fates = SmallVec<[SurvivorFate; 2]>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merging {
    /// States are normalised, so that more of them are equal.
    Normal,
    /// As they come.
    Raw,
}

/// How a version of a line was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteKind {
    /// Past the caches, by a store of this group.
    pub(super) streamed: Option<FlushGroups>,
}

#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) program: &'a LitmusProgram,
    pub(super) observe: &'a Observe,
    pub(super) model: &'a Model,
    pub(super) code: Compiled,
    pub(super) lines: DurableLines,
    /// Reads whose register the outcome shows.
    pub(super) observed_slots: Vec<bool>,
    /// The program has transactions: any access may end one.
    pub(super) transactional: bool,
    merging: Merging,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        program: &'a LitmusProgram,
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
            transactional: program.has_transactions(),
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
                if op.before & !ts.performed != 0 || self.is_for_transaction(op) {
                    continue;
                }
                // A forwarded value must be known.
                if let Some(store) = op.forward
                    && ts.performed & bit(store) == 0
                    && ops.ops[store].data & !ts.performed != 0
                {
                    continue;
                }
                out.push(MachineStep {
                    thread,
                    instr,
                    aborts: None,
                });
            }
            if let Some(region) = self.open_region(ts, thread) {
                self.in_transaction(state, thread, region, out);
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
    pub(super) fn fates(
        &self,
        state: &MachineState,
        step: MachineStep,
    ) -> impl Iterator<Item = Fates> + use<> {
        let op = &self.code.threads[step.thread].ops[step.instr];
        let commit = match op.action {
            CompiledAction::Commit(region) => Some(self.commit_fates(state, step.thread, region)),
            _ => None,
        };
        // All but a commit make one version at most.
        let one: &'static [SurvivorFate] = match op.action {
            CompiledAction::Commit(_) => &[],
            CompiledAction::Store(_) | CompiledAction::Rmw(..) | CompiledAction::Cas { .. }
                if op.inside.is_none() =>
            {
                op.line
                    .map_or(&[SurvivorFate::Passes], |line| self.line_fates(state, line))
            }
            _ => &[SurvivorFate::Passes],
        };
        let one = one.iter().map(|&fate| smallvec![fate]);
        one.chain(commit.into_iter().flatten())
    }

    /// Every choice of a fate for each line that the transaction may write.
    fn commit_fates(
        &self,
        state: &MachineState,
        thread: usize,
        region: TxRegion,
    ) -> impl Iterator<Item = Fates> + use<> {
        let lines = self.code.threads[thread].lines_written(region);
        let choices: SmallVec<[_; 2]> = lines
            .into_iter()
            .map(|line| self.line_fates(state, line))
            .collect();
        let count = choices.iter().map(|fates| fates.len()).product();
        (0..count).map(move |mut number: usize| {
            let digit = |fates: &&'static [SurvivorFate]| {
                let fate = fates[number % fates.len()];
                number /= fates.len();
                fate
            };
            choices.iter().map(digit).collect()
        })
    }

    fn line_fates(&self, state: &MachineState, line: LineId) -> &'static [SurvivorFate] {
        match self.lines.observed_line(line) {
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
        fates: &Fates,
    ) -> Option<MachineState> {
        let MachineStep {
            thread,
            instr,
            aborts,
        } = step;
        let code = &self.code.threads[thread];
        let op = &code.ops[instr];
        let mut next = state.clone();
        if let Some(status) = aborts {
            self.abort(&mut next, thread, instr, status);
            return self.settled(next, thread);
        }
        if op.inside.is_some() {
            self.perform_inside(&mut next, step);
            next.volatile.threads[thread].performed |= bit(instr);
            return self.settled(next, thread);
        }
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
            CompiledAction::Begin => {
                results[op.slot] = STARTED;
                None
            }
            CompiledAction::Commit(region) => {
                self.commit(&mut next, thread, region, fates)?;
                next.volatile.threads[thread].performed |= bit(instr);
                return self.settled(next, thread);
            }
            CompiledAction::Flush
            | CompiledAction::Fence
            | CompiledAction::If { .. }
            | CompiledAction::Local
            | CompiledAction::Nest
            | CompiledAction::Abort { .. }
            | CompiledAction::Forbidden => None,
        };
        if self.transactional {
            self.meet_others(&mut next, step, written.is_some());
        }
        let fate = fates.first().copied().unwrap_or(SurvivorFate::Passes);
        match (op.var.zip(op.line), written) {
            (Some((var, line)), Some(value)) => {
                let how = WriteKind {
                    streamed: (op.kind == Some(OpKind::NtWrite)).then_some(op.group),
                };
                self.write(&mut next, line, &[(var, value)], fate, how)?;
            }
            _ if fate != SurvivorFate::Passes => return None,
            _ => {}
        }
        next.volatile.threads[thread].performed |= bit(instr);
        self.settled(next, thread)
    }

    /// The state in its normal form, unless a line awaits a survivor in vain.
    fn settled(&self, mut next: MachineState, thread: usize) -> Option<MachineState> {
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

    /// A version of the line appears.
    pub(super) fn write(
        &self,
        state: &mut MachineState,
        line: LineId,
        values: &[(Var, Value)],
        fate: SurvivorFate,
        how: WriteKind,
    ) -> Option<()> {
        let line = self.lines.observed_line(line);
        if let Some(line) = line
            && fate == SurvivorFate::InitialSurvives
        {
            state
                .durable
                .decide(&self.lines, line, &state.volatile.memory);
        }
        for &(var, value) in values {
            state.volatile.memory[var.0 as usize] = value;
        }
        let Some(line) = line else { return Some(()) };
        if fate == SurvivorFate::Survives {
            state
                .durable
                .decide(&self.lines, line, &state.volatile.memory);
            return Some(());
        }
        let durable_at_once = self.model.platform == Platform::Eadr && how.streamed.is_none();
        if state.durable.decided(line) && durable_at_once {
            return None; // A newer version than the survivor.
        }
        state.durable.store(line);
        if let Some(group) = how.streamed {
            state.durable.pend(line, group);
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
    pub(super) fn final_outcome(&self, state: &MachineState, places: &[Location]) -> Vec<Value> {
        places
            .iter()
            .map(|place| match *place {
                Location::Var(var) => state.volatile.memory[var.0 as usize],
                Location::Reg { thread, reg } => self.register(state, thread as usize, reg),
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

/// The reads whose values an outcome shows, wherever the thread may end.
fn observed_slots(observe: &Observe, code: &Compiled) -> Vec<bool> {
    let mut slots = vec![false; code.slots];
    for place in observe.places() {
        if let Location::Reg { thread, reg } = place {
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
