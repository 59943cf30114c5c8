//! An open transaction, word by word (docs/design/model.md §10): its stores wait with it, others' accesses that meet its lines
//! doom it, a commit empties the store buffer and shows everything at once.

use super::{BufferSearch, BufferState};
use crate::program::{Instr, Operand, Reg, Value, Var};
use crate::transaction::{
    Aborts, CONFLICT_STATUSES, NESTED, SPURIOUS_STATUSES, STARTED, TxInstr, explicit, is_forbidden,
};
use landfall_model::line::{Line, Piece};
use smallvec::SmallVec;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OpenTransaction {
    begin: usize,
    depth: u8,
    status: Option<Reg>,
    /// What an abort gives back.
    regs: Vec<Value>,
    read: SmallVec<[Line; 4]>,
    written: SmallVec<[(Var, Value); 4]>,
    doomed: bool,
}

impl OpenTransaction {
    pub(super) fn new(begin: usize, status: Option<Reg>, regs: &[Value]) -> OpenTransaction {
        OpenTransaction {
            begin,
            depth: 1,
            status,
            regs: regs.to_vec(),
            read: SmallVec::new(),
            written: SmallVec::new(),
            doomed: false,
        }
    }

    fn own(&self, var: Var) -> Option<Value> {
        let own = self.written.iter().find(|(v, _)| *v == var);
        own.map(|&(_, value)| value)
    }

    fn write(&mut self, var: Var, value: Value) {
        self.written.retain(|(v, _)| *v != var);
        self.written.push((var, value));
        self.written.sort_unstable();
    }

    fn reads(&mut self, line: Line) {
        if !self.read.contains(&line) {
            self.read.push(line);
            self.read.sort_unstable();
        }
    }
}

impl BufferSearch<'_> {
    /// An access of the line reaches memory: the requester wins.
    pub(super) fn doom_others(&self, state: &mut BufferState, by: usize, line: Line, writes: bool) {
        let others = state.threads.iter_mut().enumerate();
        for (_, thread) in others.filter(|(t, _)| *t != by) {
            if let Some(open) = &mut thread.open {
                let mut own = open
                    .written
                    .iter()
                    .map(|&(var, _)| self.layout.addr(var).line());
                open.doomed |= own.any(|own| own == line) || (writes && open.read.contains(&line));
            }
        }
    }

    /// All that the thread's open transaction may do next.
    pub(super) fn in_transaction(&self, state: &BufferState, t: usize, out: &mut Vec<BufferState>) {
        let thread = &state.threads[t];
        let Some(open) = &thread.open else { return };
        if open.doomed {
            out.extend(CONFLICT_STATUSES.map(|status| self.aborted(state, t, status)));
            return;
        }
        if self.program.aborts == Aborts::Spurious {
            out.extend(SPURIOUS_STATUSES.map(|status| self.aborted(state, t, status)));
        }
        if let Some(instr) = self.program.threads[t].body.get(thread.next) {
            out.extend(self.inside(state, t, instr));
        }
    }

    /// The thread goes on behind the `xend`, with what its registers held before.
    fn aborted(&self, state: &BufferState, t: usize, status: Value) -> BufferState {
        let mut next = state.clone();
        let thread = &mut next.threads[t];
        if let Some(open) = thread.open.take() {
            thread.regs = open.regs;
            if let Some(reg) = open.status {
                let nested = if open.depth > 1 { NESTED } else { 0 };
                thread.regs[reg.0 as usize] = status | nested;
            }
            let mut depth = 0;
            for (at, instr) in self.program.threads[t]
                .body
                .iter()
                .enumerate()
                .skip(open.begin)
            {
                match instr {
                    Instr::Tx(TxInstr::Begin { .. }) => depth += 1,
                    Instr::Tx(TxInstr::End) => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    thread.next = at + 1;
                    break;
                }
            }
        }
        next
    }

    /// The transaction's next instruction; `None` while the commit waits for the store buffer.
    fn inside(&self, state: &BufferState, t: usize, instr: &Instr) -> Option<BufferState> {
        if is_forbidden(instr) {
            return Some(self.aborted(state, t, SPURIOUS_STATUSES[0]));
        }
        let mut next = state.clone();
        let BufferState { threads, log, .. } = &mut next;
        let thread = &mut threads[t];
        let open = thread.open.as_mut()?;
        thread.next += 1;
        let regs = &mut thread.regs;
        let value = |operand: Operand, regs: &[Value]| match operand {
            Operand::Const(value) => value,
            Operand::Reg(reg) => regs[reg.0 as usize],
        };
        let mut met = None;
        let read = |open: &mut OpenTransaction, var: Var| {
            open.reads(self.layout.addr(var).line());
            open.own(var)
                .unwrap_or_else(|| self.read(log, Some(&thread.buffers), var))
        };
        match *instr {
            Instr::Load { reg, var } => {
                regs[reg.0 as usize] = read(open, var);
                met = Some((var, false));
            }
            Instr::Store { var, value: v } => {
                open.write(var, value(v, regs));
                met = Some((var, true));
            }
            Instr::Rmw {
                reg,
                var,
                op,
                operand,
            } => {
                let old = read(open, var);
                open.write(var, op.apply(old, value(operand, regs)));
                if let Some(reg) = reg {
                    regs[reg.0 as usize] = old;
                }
                met = Some((var, true));
            }
            Instr::Cas {
                reg,
                var,
                expected,
                desired,
            } => {
                let old = read(open, var);
                let stores = old == value(expected, regs);
                if stores {
                    open.write(var, value(desired, regs));
                }
                regs[reg.0 as usize] = old;
                met = Some((var, stores));
            }
            Instr::Move { reg, value: v } => regs[reg.0 as usize] = value(v, regs),
            Instr::Arith { reg, op, operand } => {
                regs[reg.0 as usize] = op.apply(regs[reg.0 as usize], value(operand, regs));
            }
            Instr::Tx(TxInstr::Begin { reg }) => {
                open.depth += 1;
                if let Some(reg) = reg {
                    regs[reg.0 as usize] = STARTED;
                }
            }
            Instr::Tx(TxInstr::End) if open.depth > 1 => open.depth -= 1,
            Instr::Tx(TxInstr::End) if !thread.buffers.is_empty() => return None,
            Instr::Tx(TxInstr::End) => {
                let written: Option<Vec<Piece>> = open
                    .written
                    .iter()
                    .map(|&(var, value)| self.layout.piece(var, value))
                    .collect();
                thread.buffers.commit(&written?, log);
                thread.open = None;
            }
            Instr::Tx(TxInstr::Abort { code, when }) => {
                if when.is_none_or(|(reg, equals)| regs[reg.0 as usize] == equals) {
                    return Some(self.aborted(state, t, explicit(code)));
                }
            }
            Instr::Tx(TxInstr::Test { reg }) => regs[reg.0 as usize] = 1,
            // Fences have nothing to do here; flushes and streams were refused above; there is no `if` inside.
            Instr::Sfence
            | Instr::Mfence
            | Instr::Flush { .. }
            | Instr::NtStore { .. }
            | Instr::If { .. } => {}
        }
        if let Some((var, writes)) = met {
            self.doom_others(&mut next, t, self.layout.addr(var).line(), writes);
        }
        Some(next)
    }
}
