//! The third definition: docs/design/model.md §2 and §4 word by word, on the types the native engine uses.
//!
//! Instructions execute in program order into [`ThreadQueues`]; what leaves them goes to a [`Log`]; each whole execution's log is
//! crashed at its sufficient cuts, and every image of every crash state is looked at. Nothing is reduced or abstracted:
//! it is for small programs, to tie logs, frontiers, cuts and crash states to the other two definitions.

mod queues;
mod transaction;

use crate::Model;
use crate::operational::StateLimit;
use crate::program::{
    Instr, LitmusOutcome, LitmusProgram, Location, Observe, Operand, VARS_PER_LINE, Value, Var,
};
use crate::transaction::{STARTED, TxInstr};
use landfall_model::crash::{CrashState, Crashed};
use landfall_model::image::Image;
use landfall_model::line::{Addr, LINE_BYTES, Line, PIECE_BYTES, Piece, pieces};
use landfall_model::log::Log;
use queues::ThreadQueues;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use transaction::OpenTransaction;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct BufferState {
    threads: Vec<BufferedThread>,
    log: Log,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct BufferedThread {
    next: usize,
    regs: Vec<Value>,
    buffers: ThreadQueues,
    open: Option<OpenTransaction>,
}

/// The table is that of Px86: its rows are built into the queues. Only the platform of `model` is used.
pub fn outcomes(
    program: &LitmusProgram,
    observe: &Observe,
    model: &Model,
    max_states: usize,
) -> Result<BTreeSet<LitmusOutcome>, StateLimit> {
    let layout = VarLayout::new(program);
    let mut base = Image::default();
    for (v, decl) in program.vars.iter().enumerate() {
        base.write(layout.addr(Var(v as u8)), &decl.init.to_le_bytes());
    }
    let initial = BufferState {
        threads: program
            .threads
            .iter()
            .enumerate()
            .map(|(t, thread)| BufferedThread {
                next: 0,
                regs: thread.regs.iter().map(|r| r.init).collect(),
                buffers: ThreadQueues::new(t as u16),
                open: None,
            })
            .collect(),
        log: Log::new(model.platform),
    };
    let mut search = BufferSearch {
        program,
        observe,
        layout,
        base,
        outcomes: BTreeSet::new(),
    };
    let mut seen = FxHashSet::default();
    let mut stack = vec![initial];
    while let Some(state) = stack.pop() {
        if seen.len() >= max_states {
            return Err(StateLimit { limit: max_states });
        }
        if !seen.insert(state.clone()) {
            continue;
        }
        let before = stack.len();
        search.successors(&state, &mut stack);
        if stack.len() == before {
            search.look(&state);
        }
    }
    Ok(search.outcomes)
}

/// Each variable is an 8-byte word; those of one line share 64 bytes.
#[derive(Debug)]
pub(crate) struct VarLayout(Vec<Addr>);

impl VarLayout {
    pub(crate) fn new(program: &LitmusProgram) -> VarLayout {
        let mut used = vec![0; program.line_count()];
        VarLayout(
            program
                .vars
                .iter()
                .map(|var| {
                    let line = var.line.0 as usize;
                    let word = used[line];
                    used[line] += 1;
                    assert!(word < VARS_PER_LINE, "program beyond its limits");
                    Addr((line * LINE_BYTES + word * PIECE_BYTES) as u64)
                })
                .collect(),
        )
    }

    pub(crate) fn addr(&self, var: Var) -> Addr {
        self.0[var.0 as usize]
    }

    pub(crate) fn piece(&self, var: Var, value: Value) -> Option<Piece> {
        pieces(self.addr(var), &value.to_le_bytes()).next()
    }
}

struct BufferSearch<'a> {
    program: &'a LitmusProgram,
    observe: &'a Observe,
    layout: VarLayout,
    base: Image,
    outcomes: BTreeSet<LitmusOutcome>,
}

impl BufferSearch<'_> {
    fn successors(&self, state: &BufferState, out: &mut Vec<BufferState>) {
        for (t, thread) in state.threads.iter().enumerate() {
            for choice in thread.buffers.choices() {
                let mut next = state.clone();
                let stored = thread.buffers.line_of(choice);
                next.threads[t].buffers.leave(choice, &mut next.log);
                if let Some(line) = stored {
                    self.doom_others(&mut next, t, line, true);
                }
                out.push(next);
            }
            if thread.open.is_some() {
                self.in_transaction(state, t, out);
            } else if let Some(instr) = self.program.threads[t].body.get(thread.next)
                && let Some(next) = self.execute(state, t, instr)
            {
                out.push(next);
            }
        }
    }

    /// The thread's next instruction executes; `None` while it has to wait for the buffers.
    fn execute(&self, state: &BufferState, t: usize, instr: &Instr) -> Option<BufferState> {
        let mut next = state.clone();
        let BufferState { threads, log } = &mut next;
        let thread = &mut threads[t];
        thread.next += 1;
        // The access of memory by others' transactions, and whether it writes.
        let mut met: Option<(Line, bool)> = None;
        let operand = |o: Operand, regs: &[Value]| match o {
            Operand::Const(value) => value,
            Operand::Reg(reg) => regs[reg.0 as usize],
        };
        match *instr {
            Instr::Load { reg, var } => {
                let value = self.read(log, Some(&thread.buffers), var);
                thread.regs[reg.0 as usize] = value;
                let addr = self.layout.addr(var);
                met = (!thread.buffers.holds(addr)).then_some((addr.line(), false));
            }
            Instr::Store { var, value } => {
                let value = operand(value, &thread.regs);
                thread.buffers.store(self.layout.piece(var, value)?);
            }
            Instr::NtStore { var, value } => {
                let value = operand(value, &thread.regs);
                thread.buffers.nt_store(self.layout.piece(var, value)?);
            }
            Instr::Rmw { .. } | Instr::Cas { .. } | Instr::Mfence if !thread.buffers.is_empty() => {
                return None;
            }
            Instr::Mfence => thread.buffers.fence(log),
            Instr::Rmw {
                reg,
                var,
                op,
                operand: o,
            } => {
                thread.buffers.fence(log);
                let old = self.read(log, None, var);
                let new = op.apply(old, operand(o, &thread.regs));
                thread
                    .buffers
                    .locked_store(self.layout.piece(var, new)?, log);
                if let Some(reg) = reg {
                    thread.regs[reg.0 as usize] = old;
                }
                met = Some((self.layout.addr(var).line(), true));
            }
            Instr::Cas {
                reg,
                var,
                expected,
                desired,
            } => {
                thread.buffers.fence(log);
                let old = self.read(log, None, var);
                met = Some((self.layout.addr(var).line(), false));
                if old == operand(expected, &thread.regs) {
                    let new = operand(desired, &thread.regs);
                    thread
                        .buffers
                        .locked_store(self.layout.piece(var, new)?, log);
                    met = Some((self.layout.addr(var).line(), true));
                }
                thread.regs[reg.0 as usize] = old;
            }
            Instr::Flush { var, .. } => {
                let line = self.layout.addr(var).line();
                match instr.op_kind() {
                    Some(landfall_model::order::OpKind::Flush) => thread.buffers.clflush(line),
                    _ => thread.buffers.clflushopt(line, log.end()),
                }
            }
            Instr::Sfence => thread.buffers.sfence(),
            Instr::Move { reg, value } => {
                thread.regs[reg.0 as usize] = operand(value, &thread.regs);
            }
            Instr::Arith {
                reg,
                op,
                operand: o,
            } => {
                let new = op.apply(thread.regs[reg.0 as usize], operand(o, &thread.regs));
                thread.regs[reg.0 as usize] = new;
            }
            Instr::If { reg, equals } => {
                if thread.regs[reg.0 as usize] != equals {
                    thread.next = self.program.threads[t].body.len();
                }
            }
            Instr::Tx(TxInstr::Begin { reg }) => {
                thread.open = Some(OpenTransaction::new(thread.next - 1, reg, &thread.regs));
                if let Some(reg) = reg {
                    thread.regs[reg.0 as usize] = STARTED;
                }
            }
            Instr::Tx(TxInstr::Test { reg }) => thread.regs[reg.0 as usize] = 0,
            // Outside a transaction; an `xend` there is no test.
            Instr::Tx(TxInstr::Abort { .. } | TxInstr::End) => {}
        }
        if let Some((line, writes)) = met {
            self.doom_others(&mut next, t, line, writes);
        }
        Some(next)
    }

    fn read(&self, log: &Log, own: Option<&ThreadQueues>, var: Var) -> Value {
        let addr = self.layout.addr(var);
        let mut bytes = [0; PIECE_BYTES];
        self.base.read(addr, &mut bytes);
        log.read_newest(addr, &mut bytes);
        if let Some(buffers) = own {
            buffers.bypass(addr, &mut bytes);
        }
        Value::from_le_bytes(bytes)
    }

    /// The execution is over.
    fn look(&mut self, state: &BufferState) {
        match self.observe {
            Observe::Final(places) => {
                let outcome = places
                    .iter()
                    .map(|place| match *place {
                        Location::Var(var) => self.read(&state.log, None, var),
                        Location::Reg { thread, reg } => {
                            state.threads[thread as usize].regs[reg.0 as usize]
                        }
                    })
                    .collect();
                self.outcomes.insert(outcome);
            }
            Observe::Recover(vars) => {
                for cut in state.log.sufficient_cuts() {
                    let log = &state.log;
                    let (layout, outcomes) = (&self.layout, &mut self.outcomes);
                    CrashState::new(&self.base, [Crashed { log, cut }]).images(&mut |image| {
                        outcomes.insert(
                            vars.iter()
                                .map(|&var| {
                                    let mut bytes = [0; PIECE_BYTES];
                                    image.read(layout.addr(var), &mut bytes);
                                    Value::from_le_bytes(bytes)
                                })
                                .collect(),
                        );
                        true
                    });
                }
            }
        }
    }
}
