//! Which step may be taken alone, because taking it now loses nothing.
//!
//! A step is *eager* when it commutes with everything any thread may still do before it, up to an outcome set that only
//! grows by moving it forward. Then the other steps enabled beside it need not be tried from this state: each
//! stays enabled, and whatever they led to before it they lead to after it. The cases, with MODEL.md §4's two facts
//! "flushes only remove, stores only add":
//!
//! 1. `clflushopt`: the earlier its stamp, the less it guarantees. So the moment it may be performed is the moment to.
//! 2. `clflush` of a line that a crash can find in one version only, or that nobody looks at: removes nothing now.
//! 3. A fence with nothing pending behind it: it only enables.
//! 4. A load of a variable that no other thread can still write: its value is settled.
//! 5. A store whose variable no other thread can still touch, on a line no other thread can still write or flush, with
//!    none of its own thread's flushes or stores of that line free to overtake it: it only adds.

use super::compile::{Action, Op, bit};
use super::state::{Machine, State, Step};
use crate::program::{LineId, Var};
use landfall_model::order::{OpKind, Platform};

impl Machine<'_> {
    pub(super) fn eager(&self, state: &State, enabled: &[Step]) -> Option<Step> {
        enabled
            .iter()
            .copied()
            .find(|&step| self.loses_nothing(state, step))
    }

    fn loses_nothing(&self, state: &State, step: Step) -> bool {
        let op = &self.code.threads[step.thread].ops[step.instr];
        let drains_nothing =
            !op.kind.is_some_and(OpKind::drains) || !state.durable.has_pending(step.thread);
        match &op.action {
            Action::FlushOpt => true,
            Action::Flush => self
                .observed(op)
                .is_none_or(|line| state.durable.single_version(line)),
            Action::Fence => drains_nothing,
            Action::Load => !self.others(state, step.thread, |other| writes(other, op.var)),
            Action::Store(_) => self.store_only_adds(state, step, op),
            Action::Rmw(..) | Action::Cas { .. } => {
                drains_nothing && self.store_only_adds(state, step, op)
            }
            Action::If { .. } | Action::Local => false,
        }
    }

    fn store_only_adds(&self, state: &State, step: Step, op: &Op) -> bool {
        let observed = self.observed(op).is_some();
        if observed && self.model.platform == Platform::Eadr {
            return false; // Under eADR a store also removes: it is its own flush.
        }
        if self.others(state, step.thread, |other| touches(other, op.var)) {
            return false;
        }
        if !observed {
            return true;
        }
        let shapes = |other: &Op| shapes_line(other, op.line);
        if self.others(state, step.thread, shapes) {
            return false;
        }
        let own = self.remaining(&state.threads[step.thread], step.thread);
        self.code.threads[step.thread]
            .ops
            .iter()
            .enumerate()
            .all(|(k, other)| {
                k == step.instr
                    || own & bit(k) == 0
                    || !shapes(other)
                    || other.before & bit(step.instr) != 0
            })
    }

    fn observed(&self, op: &Op) -> Option<usize> {
        op.line.and_then(|line| self.lines.observed_line(line))
    }

    /// Can another thread still perform something that `matters`?
    fn others(&self, state: &State, thread: usize, matters: impl Fn(&Op) -> bool) -> bool {
        state.threads.iter().enumerate().any(|(t, ts)| {
            t != thread && {
                let remaining = self.remaining(ts, t);
                self.code.threads[t]
                    .ops
                    .iter()
                    .enumerate()
                    .any(|(i, op)| remaining & bit(i) != 0 && matters(op))
            }
        })
    }
}

fn writes(op: &Op, var: Option<Var>) -> bool {
    op.var == var
        && matches!(
            op.action,
            Action::Store(_) | Action::Rmw(..) | Action::Cas { .. }
        )
}

fn touches(op: &Op, var: Option<Var>) -> bool {
    op.var == var && !matches!(op.action, Action::Flush | Action::FlushOpt)
}

/// Does it add a version to the line, or decide which are guaranteed?
fn shapes_line(op: &Op, line: Option<LineId>) -> bool {
    op.line == line && !matches!(op.action, Action::Load)
}
