//! Which step may be taken alone, because taking it now loses nothing.
//!
//! A step is *eager* when it commutes with everything any thread may still do before it, up to an outcome set that only
//! grows by moving it forward. Then the other steps enabled beside it need not be tried from this state: each
//! stays enabled, and whatever they led to before it they lead to after it. The cases:
//!
//! 1. `clflushopt`: the earlier its stamp, the less it guarantees. So the moment it may be performed is the moment to.
//! 2. `clflush` and fences, unless they are too late: they guarantee what is there, and later there may be more.
//! 3. A load of a variable that no other thread can still write: its value is settled. Or one whose value nobody asks for.
//! 4. A store whose variable no other thread can still touch, on a line no other thread can still write or flush, with
//!    none of its own thread's flushes or stores of that line free to overtake it.

use super::compile::{CompiledAction, CompiledOp, Mask, bit};
use super::state::{Machine, MachineState, MachineStep};
use landfall_model::order::Platform;

impl Machine<'_> {
    pub(super) fn eager(
        &self,
        state: &MachineState,
        enabled: &[MachineStep],
    ) -> Option<MachineStep> {
        enabled
            .iter()
            .copied()
            .find(|&step| self.loses_nothing(state, step))
    }

    fn loses_nothing(&self, state: &MachineState, step: MachineStep) -> bool {
        if step.aborts.is_some() {
            return false;
        }
        let op = &self.code.threads[step.thread].ops[step.instr];
        match &op.action {
            CompiledAction::FlushOpt | CompiledAction::Flush | CompiledAction::Fence => true,
            // Any access may doom a transaction, or be the one that does not.
            _ if self.transactional => false,
            CompiledAction::Load => {
                (op.unread && !self.observed_slots[op.slot])
                    || !self.others(state, step.thread, |t| {
                        self.of_var(t, op, StepAccess::Write)
                    })
            }
            CompiledAction::Store(_) | CompiledAction::Rmw(..) | CompiledAction::Cas { .. } => {
                self.store_only_adds(state, step, op)
            }
            _ => false,
        }
    }

    fn store_only_adds(&self, state: &MachineState, step: MachineStep, op: &CompiledOp) -> bool {
        let observed = self.observed(op).is_some();
        if observed && self.model.platform == Platform::Eadr {
            return false; // Under eADR a store also removes: it is its own flush.
        }
        if self.others(state, step.thread, |t| self.of_var(t, op, StepAccess::Any)) {
            return false;
        }
        let Some(line) = op.line.filter(|_| observed) else {
            return true;
        };
        let shapers = |t: usize| self.code.threads[t].shapers[line.0 as usize];
        if self.others(state, step.thread, shapers) {
            return false;
        }
        let own = self.remaining(&state.volatile.threads[step.thread], step.thread)
            & shapers(step.thread)
            & !bit(step.instr);
        self.code.threads[step.thread]
            .ops
            .iter()
            .enumerate()
            .all(|(k, other)| own & bit(k) == 0 || other.before & bit(step.instr) != 0)
    }

    fn observed(&self, op: &CompiledOp) -> Option<usize> {
        op.line.and_then(|line| self.lines.observed_line(line))
    }

    /// Instructions of a thread that access the operation's variable.
    fn of_var(&self, thread: usize, op: &CompiledOp, access: StepAccess) -> Mask {
        let code = &self.code.threads[thread];
        op.var.map_or(0, |var| {
            let var = var.0 as usize;
            match access {
                StepAccess::Write => code.writers[var],
                StepAccess::Any => code.writers[var] | code.readers[var],
            }
        })
    }

    /// Can another thread still perform one of `which`?
    fn others(&self, state: &MachineState, thread: usize, which: impl Fn(usize) -> Mask) -> bool {
        state
            .volatile
            .threads
            .iter()
            .enumerate()
            .any(|(t, ts)| t != thread && self.remaining(ts, t) & which(t) != 0)
    }
}

#[derive(Clone, Copy)]
enum StepAccess {
    Write,
    Any,
}
