//! Threads: created, joined, ended.

use super::knowledge::CallContext;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CODE, CPhase, CState, CValue, Followed, Go, Stop};
use crate::program::{ProofEventKind, ThreadId};
use crate::term::Term;

impl<'m> CMachine<'m> {
    pub(super) fn thread_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
        here: CallContext,
    ) -> Go<LibraryAnswer> {
        let argument = |this: &Self, at: usize| match values.get(at) {
            Some(CValue::Int(term)) => Ok(*term),
            _ => this.refuse("a call with fewer arguments than it needs"),
        };
        match name {
            "pthread_create" => {
                let (to, function) = (argument(self, 0)?, argument(self, 2)?);
                self.create(state, to, function, values.get(3).cloned(), here)?;
            }
            "pthread_join" => {
                let (handle, to) = (argument(self, 0)?, argument(self, 1)?);
                self.join(state, handle, to)?;
            }
            "pthread_exit" => {
                self.left.push((state.clone(), values.first().cloned()));
                return Err(Stop::Ended);
            }
            _ => {
                let met = self.meeting_call(state, name, values, here)?;
                return match met {
                    LibraryAnswer::Done => Ok(met),
                    LibraryAnswer::Unknown => self.object_call(state, name, values),
                };
            }
        }
        let zero = self.program.terms.constant(32, 0);
        self.answer = Some(CValue::Int(zero));
        Ok(LibraryAnswer::Done)
    }

    fn create(
        &mut self,
        state: &mut CState,
        to: Term,
        function: Term,
        argument: Option<CValue>,
        here: CallContext,
    ) -> Go<()> {
        if self.phase == CPhase::After {
            return self.refuse(
                "a thread is created after the power failure: let `main` return before, in a branch of `lf_failures() > 0`",
            );
        }
        let target = self.program.terms.constant_of(function);
        let name = target
            .and_then(|at| at.checked_sub(CODE))
            .and_then(|at| self.functions.get((at / 16) as usize))
            .cloned();
        let Some(body) = name.and_then(|name| self.module.function(&name)) else {
            return self.refuse("which function the thread runs is not known here");
        };
        let number = self.knowledge.thread(here);
        if number >= 64 {
            return self.refuse("more than 63 threads");
        }
        let created = self.event(state.condition, ProofEventKind::Sync, false)?;
        let handle = self.program.terms.constant(64, number as u64);
        self.store(state, to, handle, super::access::AccessWay::Cached)?;
        let parent = self.thread;
        *self.running.entry(parent).or_default() += 1;
        self.parents.insert(number, parent);
        let id = ThreadId(self.program.threads.len() as u32);
        self.program.threads.push(format!("T{number}"));
        self.thread_ids.insert(number, id);
        self.thread = number;
        let begins = self.event(state.condition, ProofEventKind::Sync, false)?;
        self.program.orders.push((created, begins));
        let below = self.allocas.len();
        let calls = std::mem::take(&mut self.calls);
        let left = std::mem::take(&mut self.left);
        let place = self.here;
        let outcome = self.run(body, argument.into_iter().collect(), state.clone(), here)?;
        let mut ended = outcome;
        for exited in std::mem::replace(&mut self.left, left) {
            ended = Some(match ended {
                None => exited,
                Some(before) => self.meet_returns(before, exited),
            });
        }
        let gone = self.allocas.split_off(below);
        if let Some((state, _)) = &mut ended {
            self.leave(state, &gone)?;
        }
        self.calls = calls;
        self.here = place;
        self.thread = parent;
        let (ended, result) = match ended {
            Some((state, result)) => (Some(state), result),
            None => (None, None),
        };
        self.followed.push(Followed {
            number,
            created: state.condition,
            ended,
            result,
            joined: false,
        });
        Ok(())
    }

    fn join(&mut self, state: &mut CState, handle: Term, to: Term) -> Go<()> {
        let number = self.program.terms.constant_of(handle);
        let at = self
            .followed
            .iter()
            .position(|f| Some(f.number as u64) == number);
        let Some(at) = at else {
            return match number {
                // Never created on this way.
                Some(0) => Err(Stop::Ended),
                _ => self.refuse("which thread is joined is not known here"),
            };
        };
        let followed = self.followed[at].clone();
        let Some(ended) = followed.ended else {
            let never = self.program.terms.truth(false);
            self.await_end(state, never);
            return Err(Stop::Ended);
        };
        self.settle(at, state.condition);
        let joiner = self.thread;
        self.thread = followed.number;
        let ends = self.event(ended.condition, ProofEventKind::Sync, false)?;
        self.thread = joiner;
        self.await_end(state, ended.condition);
        self.assume(state, ended.condition)?;
        let joins = self.event(state.condition, ProofEventKind::Sync, false)?;
        self.program.orders.push((ends, joins));
        if self.program.terms.constant_of(to) != Some(0)
            && let Some(CValue::Int(value)) = followed.result
        {
            self.store(state, to, value, super::access::AccessWay::Cached)?;
        }
        Ok(())
    }

    /// A thread is known to have ended if it is joined wherever it was created.
    fn settle(&mut self, at: usize, condition: Term) {
        let terms = &self.program.terms;
        let mut expected = terms.conjuncts(self.followed[at].created);
        for other in self.followed.iter().filter(|f| f.joined) {
            if let Some(ended) = &other.ended {
                expected.extend(terms.conjuncts(ended.condition));
            }
        }
        let certain = terms
            .conjuncts(condition)
            .iter()
            .all(|c| expected.contains(c));
        if certain && !self.followed[at].joined {
            self.followed[at].joined = true;
            if let Some(running) = self.running.get_mut(&self.thread) {
                *running = running.saturating_sub(1);
            }
        }
    }
}
