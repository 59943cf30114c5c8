//! Transactions on the machine (docs/design/model.md §10): what runs inside, what it is met by, how it ends.
//!
//! The body of an open transaction is performed in program order. Its stores stay with it until it commits; what it reads and
//! writes is seen by the others only as its *footprint*, by line: whoever meets it dooms it (the requester wins).

use super::compile::{CompiledAction, CompiledOp, Mask, ThreadOps, below, bit};
use super::state::{Fates, Machine, MachineState, MachineStep, MachineThread, WriteKind};
use crate::program::{LineId, Value, Var};
use crate::transaction::{
    Aborts, CONFLICT_STATUSES, SPURIOUS_STATUSES, STARTED, TxRegion, explicit,
};
use smallvec::SmallVec;

impl ThreadOps {
    /// Lines that the transaction may write.
    pub(super) fn lines_written(&self, region: TxRegion) -> SmallVec<[LineId; 2]> {
        let mut lines: SmallVec<[LineId; 2]> = SmallVec::new();
        for op in &self.ops[region.begin..region.end] {
            if let Some(line) = op.line
                && op.may_store()
                && !lines.contains(&line)
            {
                lines.push(line);
            }
        }
        lines
    }

    /// What an instruction of a transaction wrote, as far as it was performed.
    fn written(&self, instr: usize, results: &[Value]) -> Option<Value> {
        let op = &self.ops[instr];
        match op.action {
            CompiledAction::Store(value) => Some(self.eval(value, results)),
            CompiledAction::Rmw(rmw, operand) => {
                Some(rmw.apply(results[op.slot], self.eval(operand, results)))
            }
            CompiledAction::Cas { expected, desired } => (results[op.slot]
                == self.eval(expected, results))
            .then(|| self.eval(desired, results)),
            _ => None,
        }
    }
}

impl CompiledOp {
    fn may_store(&self) -> bool {
        matches!(
            self.action,
            CompiledAction::Store(_) | CompiledAction::Rmw(..) | CompiledAction::Cas { .. }
        )
    }

    fn accesses(&self) -> bool {
        self.may_store() || matches!(self.action, CompiledAction::Load)
    }
}

impl Machine<'_> {
    /// The transaction that the thread is in.
    pub(super) fn open_region(&self, ts: &MachineThread, thread: usize) -> Option<TxRegion> {
        let regions = &self.code.threads[thread].regions;
        let open = |region: &&TxRegion| {
            ts.performed & bit(region.begin) != 0 && ts.performed & bit(region.end) == 0
        };
        regions.iter().find(open).copied()
    }

    /// Steps that [`in_transaction`](Self::in_transaction) looks after.
    pub(super) fn is_for_transaction(&self, op: &CompiledOp) -> bool {
        op.inside.is_some() || matches!(op.action, CompiledAction::Commit(_))
    }

    /// What an open transaction may do next.
    pub(super) fn in_transaction(
        &self,
        state: &MachineState,
        thread: usize,
        region: TxRegion,
        out: &mut Vec<MachineStep>,
    ) {
        let ts = &state.volatile.threads[thread];
        let code = &self.code.threads[thread];
        let instr = self.position(ts, thread, region);
        let nested = code.nested[instr];
        let abort = |status: Value| MachineStep {
            thread,
            instr: region.begin,
            aborts: Some(status | nested),
        };
        if ts.doomed {
            out.extend(CONFLICT_STATUSES.map(abort));
            return;
        }
        if self.program.aborts == Aborts::Spurious {
            out.extend(SPURIOUS_STATUSES.map(abort));
        }
        let op = &code.ops[instr];
        match op.action {
            CompiledAction::Forbidden => {
                let step = abort(SPURIOUS_STATUSES[0]);
                if !out.contains(&step) {
                    out.push(step);
                }
                return;
            }
            CompiledAction::Abort { code: number, when } => {
                let holds = when.is_none_or(|(value, equals)| {
                    code.eval(value, &state.volatile.results) == equals
                });
                if holds {
                    out.push(abort(explicit(number)));
                    return;
                }
            }
            _ => {}
        }
        if op.before & !ts.performed == 0 {
            out.push(MachineStep {
                thread,
                instr,
                aborts: None,
            });
        }
    }

    /// The next instruction of the open transaction.
    fn position(&self, ts: &MachineThread, thread: usize, region: TxRegion) -> usize {
        let body = below(region.end as u8) & !below(region.begin as u8);
        let left = self.code.threads[thread].performable & !ts.performed & body;
        match left {
            0 => region.end,
            _ => left.trailing_zeros() as usize,
        }
    }

    /// An instruction of a transaction is performed.
    pub(super) fn perform_inside(&self, next: &mut MachineState, step: MachineStep) {
        let code = &self.code.threads[step.thread];
        let op = &code.ops[step.instr];
        if !op.accesses() {
            return;
        }
        let mut writes = op.may_store();
        if !matches!(op.action, CompiledAction::Store(_)) {
            let value = self.value_inside(next, step);
            next.volatile.results[op.slot] = value;
            writes = code.written(step.instr, &next.volatile.results).is_some();
        }
        if let Some(line) = op.line {
            self.doom_others(next, step.thread, line, writes);
        }
    }

    /// What a read inside finds: the newest store of its own transaction, or what a load there would.
    fn value_inside(&self, state: &MachineState, step: MachineStep) -> Value {
        let code = &self.code.threads[step.thread];
        let op = &code.ops[step.instr];
        let from = op.inside.map_or(step.instr, |region| region.begin);
        (from..step.instr)
            .rev()
            .filter(|&earlier| code.ops[earlier].var == op.var)
            .find_map(|earlier| code.written(earlier, &state.volatile.results))
            .unwrap_or_else(|| self.load_value(state, step))
    }

    /// A plain access reaches memory: transactions of others that it meets are doomed.
    pub(super) fn meet_others(&self, next: &mut MachineState, step: MachineStep, writes: bool) {
        let op = &self.code.threads[step.thread].ops[step.instr];
        let forwarded =
            matches!(op.action, CompiledAction::Load) && self.forwarded_from(next, step).is_some();
        if let Some(line) = op.line
            && op.accesses()
            && !forwarded
        {
            self.doom_others(next, step.thread, line, writes);
        }
    }

    fn doom_others(&self, next: &mut MachineState, by: usize, line: LineId, writes: bool) {
        for thread in (0..self.code.threads.len()).filter(|&thread| thread != by) {
            let ts = &next.volatile.threads[thread];
            if let Some(region) = self.open_region(ts, thread)
                && self.footprint_meets(next, thread, region, line, writes)
            {
                next.volatile.threads[thread].doomed = true;
            }
        }
    }

    /// Would an access of the line meet what the open transaction has touched?
    fn footprint_meets(
        &self,
        state: &MachineState,
        thread: usize,
        region: TxRegion,
        line: LineId,
        writes: bool,
    ) -> bool {
        let code = &self.code.threads[thread];
        let performed = state.volatile.threads[thread].performed;
        (region.begin..region.end).any(|instr| {
            let op = &code.ops[instr];
            performed & bit(instr) != 0
                && op.line == Some(line)
                && op.accesses()
                && (writes || code.written(instr, &state.volatile.results).is_some())
        })
    }

    /// Everything the transaction wrote appears at once: one version of each line.
    pub(super) fn commit(
        &self,
        next: &mut MachineState,
        thread: usize,
        region: TxRegion,
        fates: &Fates,
    ) -> Option<()> {
        let code = &self.code.threads[thread];
        for (line, &fate) in code.lines_written(region).into_iter().zip(fates) {
            let values: SmallVec<[(Var, Value); 8]> = (region.begin..region.end)
                .filter(|&instr| code.ops[instr].line == Some(line))
                .filter_map(|instr| {
                    let value = code.written(instr, &next.volatile.results)?;
                    Some((code.ops[instr].var?, value))
                })
                .collect();
            if values.is_empty() {
                if fate != super::state::SurvivorFate::Passes {
                    return None;
                }
                continue;
            }
            self.write(next, line, &values, fate, WriteKind { streamed: None })?;
        }
        Some(())
    }

    /// The transaction that began here did not happen; its thread goes on behind the `xend`.
    pub(super) fn abort(
        &self,
        next: &mut MachineState,
        thread: usize,
        begin: usize,
        status: Value,
    ) {
        debug_assert_ne!(status, STARTED);
        let code = &self.code.threads[thread];
        let Some(region) = code.regions.iter().find(|region| region.begin == begin) else {
            return;
        };
        for op in &code.ops[region.begin + 1..region.end] {
            if op.reads_memory() {
                next.volatile.results[op.slot] = 0;
            }
        }
        next.volatile.results[code.ops[begin].slot] = status;
        let skipped: Mask = below(region.end as u8 + 1) & !below(region.begin as u8);
        let ts = &mut next.volatile.threads[thread];
        ts.performed |= skipped & code.performable;
        ts.doomed = false;
    }
}

impl CompiledOp {
    /// Does it leave a value in its slot?
    fn reads_memory(&self) -> bool {
        self.accesses() && !matches!(self.action, CompiledAction::Store(_))
    }
}
