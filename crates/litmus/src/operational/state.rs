//! The machine's state and its one kind of step: a thread performs one of its instructions.

use super::compile::{Action, Compiled, Mask, bit};
use super::durable::{Durable, Flusher, Lines};
use crate::Model;
use crate::program::{Observe, Place, Program, Reg, Value};
use landfall_model::order::OpKind;
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ThreadState {
    pub(super) performed: Mask,
    /// Instructions before this one may be performed: every `if` before it was decided and held.
    pub(super) fetched: u8,
    /// Nothing more will be fetched: the body ended, or an `if` did not hold.
    pub(super) closed: bool,
}

/// Everything that decides what can still happen, in a normal form: two states with the same future compare equal as
/// often as is cheap to see (dead registers and dead variables are zero, only feasible versions are kept).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) threads: SmallVec<[ThreadState; 4]>,
    /// What each read returned, by slot.
    pub(super) results: SmallVec<[Value; 8]>,
    pub(super) memory: SmallVec<[Value; 4]>,
    pub(super) durable: Durable,
}

/// One instruction of one thread takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Step {
    pub(super) thread: usize,
    pub(super) instr: usize,
}

/// Did a step take away something a crash could have left?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frontier {
    Kept,
    Raised,
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
    pub(super) lines: Lines,
    /// Reads whose register the outcome shows.
    observed_slots: Vec<bool>,
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
            observed_slots: observed_slots(program, observe, &code),
            code,
            lines: Lines::new(program, observe),
            merging,
        }
    }

    pub(super) fn initial(&self) -> State {
        let memory: SmallVec<[Value; 4]> = self.program.vars.iter().map(|v| v.init).collect();
        let mut state = State {
            threads: self
                .code
                .threads
                .iter()
                .map(|_| ThreadState::default())
                .collect(),
            results: SmallVec::from_elem(0, self.code.slots),
            durable: Durable::new(&self.lines, &memory),
            memory,
        };
        for t in 0..state.threads.len() {
            self.fetch(&mut state, t);
        }
        self.normalise(&mut state);
        state
    }

    /// Steps the model allows here.
    pub(super) fn enabled(&self, state: &State, out: &mut Vec<Step>) {
        out.clear();
        for (thread, ts) in state.threads.iter().enumerate() {
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
                out.push(Step { thread, instr });
            }
        }
    }

    /// Fetched and not yet performed.
    pub(super) fn waiting(&self, ts: &ThreadState, thread: usize) -> Mask {
        self.code.threads[thread].performable & !ts.performed & below(ts.fetched)
    }

    /// What the thread may still perform, now or once more is fetched.
    pub(super) fn remaining(&self, ts: &ThreadState, thread: usize) -> Mask {
        let window = if ts.closed { below(ts.fetched) } else { !0 };
        self.code.threads[thread].performable & !ts.performed & window
    }

    /// Performs `step`, which must be enabled.
    pub(super) fn perform(&self, state: &mut State, step: Step) -> Frontier {
        let Step { thread, instr } = step;
        let op = &self.code.threads[thread].ops[instr];
        let mut frontier = Frontier::Kept;
        if let Some(kind) = op.kind
            && kind.drains()
        {
            frontier = self.drain(state, step, kind, op.line);
        }
        match &op.action {
            Action::Load => state.results[op.slot] = self.load_value(state, step),
            Action::Store(value) => {
                let value = value.eval(&state.results);
                frontier = self.write(state, step, value);
            }
            Action::Rmw(rmw, operand) => {
                let operand = operand.eval(&state.results);
                let old = self.memory_of(state, step);
                state.results[op.slot] = old;
                if self.write(state, step, rmw.apply(old, operand)) == Frontier::Raised {
                    frontier = Frontier::Raised;
                }
            }
            Action::Cas { expected, desired } => {
                let (expected, desired) =
                    (expected.eval(&state.results), desired.eval(&state.results));
                let old = self.memory_of(state, step);
                state.results[op.slot] = old;
                if old == expected && self.write(state, step, desired) == Frontier::Raised {
                    frontier = Frontier::Raised;
                }
            }
            Action::Flush => {
                if let Some(line) = op.line {
                    frontier = state.durable.flush(&self.lines, line, &state.memory);
                }
            }
            Action::FlushOpt => {
                if let Some(line) = op.line {
                    let by = self.flusher(state, step, OpKind::FlushOpt);
                    state.durable.pend(&self.lines, line, &state.memory, by);
                }
            }
            Action::Fence | Action::If { .. } | Action::Local => {}
        }
        state.threads[thread].performed |= bit(instr);
        self.fetch(state, thread);
        self.normalise(state);
        frontier
    }

    /// What a load returns: its own thread's newest buffered store first (bypass), then the cache.
    pub(super) fn load_value(&self, state: &State, step: Step) -> Value {
        match self.forwarded_from(state, step) {
            Some(store) => {
                match &self.code.threads[step.thread].ops[store].action {
                    Action::Store(value) => value.eval(&state.results),
                    // Locked instructions are never forwarded from: reads wait for them.
                    _ => self.memory_of(state, step),
                }
            }
            None => self.memory_of(state, step),
        }
    }

    /// The buffered store of its own thread that the load reads.
    pub(super) fn forwarded_from(&self, state: &State, step: Step) -> Option<usize> {
        self.code.threads[step.thread].ops[step.instr]
            .forward
            .filter(|&store| state.threads[step.thread].performed & bit(store) == 0)
    }

    pub(super) fn memory_of(&self, state: &State, step: Step) -> Value {
        self.code.threads[step.thread].ops[step.instr]
            .var
            .map_or(0, |v| state.memory[v.0 as usize])
    }

    fn write(&self, state: &mut State, step: Step, value: Value) -> Frontier {
        let op = &self.code.threads[step.thread].ops[step.instr];
        let (Some(var), Some(line)) = (op.var, op.line) else {
            return Frontier::Kept;
        };
        state.memory[var.0 as usize] = value;
        let non_temporal = op.kind == Some(OpKind::NtWrite);
        let raised = state.durable.store(
            &self.lines,
            line,
            &state.memory,
            self.model.platform,
            non_temporal,
        );
        if non_temporal {
            let by = self.flusher(state, step, OpKind::NtWrite);
            state.durable.pend(&self.lines, line, &state.memory, by);
        }
        raised
    }

    /// A fence makes durable what this thread's `clflushopt`s and non-temporal stores before it cover.
    fn drain(
        &self,
        state: &mut State,
        step: Step,
        fence: OpKind,
        fence_line: Option<crate::program::LineId>,
    ) -> Frontier {
        let table = &self.model.table;
        let Step { thread, instr } = step;
        state
            .durable
            .drain(&self.lines, thread, instr, |kind, line| {
                table.ordered(kind, fence, Some(line) == fence_line)
            })
    }

    fn flusher(&self, state: &State, step: Step, kind: OpKind) -> Flusher {
        let Step { thread, instr } = step;
        let waiting = self.waiting(&state.threads[thread], thread) & below(instr as u8);
        let ops = &self.code.threads[thread].ops;
        let overtook_a_fence =
            (0..instr).any(|j| waiting & bit(j) != 0 && ops[j].kind.is_some_and(OpKind::drains));
        Flusher {
            thread,
            kind,
            since: if overtook_a_fence { instr } else { 0 },
        }
    }

    /// Decides every `if` whose value is known and lets the window grow past it.
    fn fetch(&self, state: &mut State, thread: usize) {
        let ops = &self.code.threads[thread].ops;
        let ts = &mut state.threads[thread];
        while !ts.closed {
            match ops.get(ts.fetched as usize) {
                None => ts.closed = true,
                Some(op) => {
                    if let Action::If { value, equals } = &op.action {
                        if op.before & !ts.performed != 0 {
                            return;
                        }
                        if value.eval(&state.results) != *equals {
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
    fn normalise(&self, state: &mut State) {
        state.durable.normalise(&self.lines);
        if self.merging == Merging::Raw {
            return;
        }
        let mut read_again: u32 = 0;
        for (thread, ts) in state.threads.iter().enumerate() {
            let code = &self.code.threads[thread];
            let remaining = self.remaining(ts, thread);
            for (i, op) in code.ops.iter().enumerate() {
                if remaining & bit(i) != 0
                    && matches!(
                        op.action,
                        Action::Load | Action::Rmw(..) | Action::Cas { .. }
                    )
                    && let Some(var) = op.var
                {
                    read_again |= 1 << var.0;
                }
            }
            let undecided = if ts.closed { 0 } else { !below(ts.fetched) };
            for &(slot, users) in &code.uses {
                if users & (remaining | undecided) == 0 && !self.observed_slots[slot] {
                    state.results[slot] = 0;
                }
            }
        }
        if self.observe.is_recovery() {
            for (v, value) in state.memory.iter_mut().enumerate() {
                if read_again & (1 << v) == 0 && !self.lines.observes(v) {
                    *value = 0;
                }
            }
        }
    }

    /// All threads have ended and every buffer is empty.
    pub(super) fn finished(&self, state: &State) -> bool {
        state
            .threads
            .iter()
            .enumerate()
            .all(|(t, ts)| ts.closed && self.waiting(ts, t) == 0)
    }

    /// The values of the observed places at the end of an execution.
    pub(super) fn final_outcome(&self, state: &State, places: &[Place]) -> Vec<Value> {
        places
            .iter()
            .map(|place| match *place {
                Place::Var(var) => state.memory[var.0 as usize],
                Place::Reg { thread, reg } => self.register(state, thread as usize, reg),
            })
            .collect()
    }

    fn register(&self, state: &State, thread: usize, reg: Reg) -> Value {
        use crate::program::{Instr, Operand};
        let decl = &self.program.threads[thread];
        let ops = &self.code.threads[thread].ops;
        let mut regs: SmallVec<[Value; 8]> = decl.regs.iter().map(|r| r.init).collect();
        let window = state.threads[thread].fetched as usize;
        for (instr, op) in decl.body.iter().zip(ops).take(window) {
            let operand = |o: Operand, regs: &[Value]| match o {
                Operand::Const(value) => value,
                Operand::Reg(r) => regs[r.0 as usize],
            };
            match *instr {
                Instr::Load { reg, .. } | Instr::Cas { reg, .. } => {
                    regs[reg.0 as usize] = state.results[op.slot];
                }
                Instr::Rmw { reg: Some(reg), .. } => {
                    regs[reg.0 as usize] = state.results[op.slot];
                }
                Instr::Move { reg, value } => {
                    regs[reg.0 as usize] = operand(value, &regs);
                }
                Instr::Arith {
                    reg,
                    op,
                    operand: o,
                } => {
                    regs[reg.0 as usize] = op.apply(regs[reg.0 as usize], operand(o, &regs));
                }
                _ => {}
            }
        }
        regs[reg.0 as usize]
    }
}

pub(super) fn below(n: u8) -> Mask {
    if n as u32 >= Mask::BITS {
        !0
    } else {
        (1 << n) - 1
    }
}

fn observed_slots(program: &Program, observe: &Observe, code: &Compiled) -> Vec<bool> {
    let mut slots = vec![false; code.slots];
    for place in observe.places() {
        // Registers may be copied by moves: if a thread shows any register, all its reads count.
        if let Place::Reg { thread, .. } = place {
            let thread = thread as usize;
            for (instr, op) in program.threads[thread]
                .body
                .iter()
                .zip(&code.threads[thread].ops)
            {
                if instr.reads() {
                    slots[op.slot] = true;
                }
            }
        }
    }
    slots
}
