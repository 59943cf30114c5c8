//! Running a transaction's body for a candidate graph, towards the ending that was chosen for it.

use super::candidate::{CandidateGraph, CandidateGraphs, KnownReads, ReadSource};
use super::order::{OrderCycle, one};
use super::transaction::{Attempt, AttemptEnding, values_matter};
use crate::program::{Instr, Value};
use crate::transaction::{SPURIOUS_STATUSES, STARTED, TxInstr, explicit, is_forbidden};
use landfall_model::order::OpKind;

impl<V: FnMut(Option<&CandidateGraph>) -> bool> CandidateGraphs<'_, V> {
    /// The transaction that the instruction belongs to, its `xbegin` and `xend` included.
    pub(super) fn attempt(&self, thread: usize, at: usize) -> Option<&Attempt> {
        self.attempts
            .iter()
            .find(|a| a.thread == thread && a.region.begin <= at && at <= a.region.end)
    }

    /// Is it inside a transaction that aborts?
    pub(super) fn is_undone(&self, thread: usize, at: usize) -> bool {
        self.attempt(thread, at)
            .is_some_and(|a| a.region.holds(at) && !a.commits())
    }

    /// Its row in the ordering table. An `xbegin` is a read, and so is what an aborted transaction did; a commit is locked.
    pub(super) fn kind(&self, thread: usize, at: usize) -> Option<OpKind> {
        let instr = &self.program.threads[thread].body[at];
        match self.attempt(thread, at) {
            Some(a) if at == a.region.end && a.commits() => Some(OpKind::Rmw),
            Some(a) if !a.region.holds(at) => Some(OpKind::Read),
            Some(a) if !a.commits() => instr.op_kind().map(|_| OpKind::Read),
            _ => instr.op_kind(),
        }
    }

    /// Does the value of this instruction of a transaction come from outside of it, and does anybody want to know?
    pub(super) fn is_looked_up(
        &self,
        candidate: &CandidateGraph,
        attempt: &Attempt,
        at: usize,
    ) -> bool {
        let thread = &self.program.threads[attempt.thread];
        self.ends_at(attempt) != Some(at)
            && thread.body[at].reads()
            && (attempt.commits() || values_matter(thread, attempt.region))
            && self.newest_inside(candidate, attempt, at).is_none()
    }

    fn ends_at(&self, attempt: &Attempt) -> Option<usize> {
        match attempt.ending {
            AttemptEnding::Met { at, .. } | AttemptEnding::Spurious { at, .. } => Some(at),
            AttemptEnding::Commits | AttemptEnding::ByItself => None,
        }
    }

    /// The newest earlier write of the same transaction to the variable, and its value.
    fn newest_inside(
        &self,
        candidate: &CandidateGraph,
        attempt: &Attempt,
        at: usize,
    ) -> Option<(usize, Value)> {
        let var = self.program.threads[attempt.thread].body[at].var();
        (attempt.region.begin + 1..at).rev().find_map(|earlier| {
            let id = candidate.id((attempt.thread, earlier));
            let event = candidate.event(id).filter(|event| event.var == var)?;
            Some((id, event.put()?))
        })
    }

    /// An instruction of a transaction that looks nothing up outside.
    pub(super) fn in_transaction(
        &self,
        candidate: &mut CandidateGraph,
        attempt: &Attempt,
        at: usize,
    ) -> Result<(), OrderCycle> {
        let Attempt { thread, region, .. } = *attempt;
        let instr = &self.program.threads[thread].body[at];
        if at == region.begin {
            return self.begin(candidate, attempt);
        }
        if self.ends_at(attempt) == Some(at) {
            let status = match attempt.ending {
                AttemptEnding::Met { status, .. } | AttemptEnding::Spurious { status, .. } => {
                    status
                }
                AttemptEnding::Commits | AttemptEnding::ByItself => return Err(OrderCycle),
            };
            return self.abort(candidate, attempt, at, status);
        }
        if at == region.end {
            return match attempt.commits() {
                true => {
                    candidate.advance(thread);
                    self.create(candidate, thread, at, None, None)
                }
                false => Err(OrderCycle),
            };
        }
        match *instr {
            _ if is_forbidden(instr) => {
                return self.abort_by_itself(candidate, attempt, at, SPURIOUS_STATUSES[0]);
            }
            Instr::Tx(TxInstr::Abort { code, when }) => {
                let holds = when.is_none_or(|(reg, equals)| {
                    candidate.register(thread, reg.0 as usize) == equals
                });
                if holds {
                    return self.abort_by_itself(candidate, attempt, at, explicit(code));
                }
            }
            Instr::Tx(TxInstr::Begin { reg: Some(reg) }) => {
                candidate.set(thread, reg, KnownReads::constant(STARTED));
            }
            Instr::Tx(TxInstr::Test { reg }) => {
                candidate.set(thread, reg, KnownReads::constant(1));
            }
            Instr::Tx(_) | Instr::Sfence | Instr::Mfence => {}
            _ if instr.reads() => {
                return match self.newest_inside(candidate, attempt, at) {
                    Some((write, value)) if attempt.commits() => {
                        let source = ReadSource::Write(write);
                        self.create(candidate, thread, at, Some((source, value)), None)?;
                        self.complete_read(candidate, thread, at, value)
                    }
                    // Of an aborted transaction only what it touched is left.
                    found => {
                        self.create(candidate, thread, at, None, None)?;
                        let value = found.map_or(0, |(_, value)| value);
                        self.complete_read(candidate, thread, at, value)
                    }
                };
            }
            _ => return self.step(candidate, thread, at),
        }
        candidate.advance(thread);
        Ok(())
    }

    fn begin(&self, candidate: &mut CandidateGraph, attempt: &Attempt) -> Result<(), OrderCycle> {
        let Attempt { thread, region, .. } = *attempt;
        candidate.advance(thread);
        self.create(candidate, thread, region.begin, None, None)?;
        candidate.save(thread);
        self.set_status(candidate, attempt, STARTED);
        Ok(())
    }

    fn set_status(&self, candidate: &mut CandidateGraph, attempt: &Attempt, status: Value) {
        let Attempt { thread, region, .. } = *attempt;
        let begin = &self.program.threads[thread].body[region.begin];
        if let Instr::Tx(TxInstr::Begin { reg: Some(reg) }) = *begin {
            let from = one(candidate.id((thread, region.begin)));
            candidate.set(
                thread,
                reg,
                KnownReads {
                    value: status,
                    from,
                },
            );
        }
    }

    fn abort_by_itself(
        &self,
        candidate: &mut CandidateGraph,
        attempt: &Attempt,
        at: usize,
        status: Value,
    ) -> Result<(), OrderCycle> {
        match attempt.ending {
            AttemptEnding::ByItself => self.abort(candidate, attempt, at, status),
            _ => Err(OrderCycle),
        }
    }

    /// The thread goes on behind the `xend`, which stands for the moment of the abort.
    fn abort(
        &self,
        candidate: &mut CandidateGraph,
        attempt: &Attempt,
        at: usize,
        status: Value,
    ) -> Result<(), OrderCycle> {
        let Attempt { thread, region, .. } = *attempt;
        candidate.restore(thread, region.end + 1);
        let nested = self.program.threads[thread].nested(at);
        self.set_status(candidate, attempt, status | nested);
        self.create(candidate, thread, region.end, None, None)
    }
}
