//! Threads: created, joined, ended.

use super::knowledge::CallContext;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CODE, CPhase, CState, CValue, Followed, Go, Stop};
use crate::program::{ProofEventKind, ThreadId};
use crate::term::Term;
use landfall_ir::{Function, Type};

/// What a new thread runs: a function of one argument, and then what deletes that.
pub(super) struct ThreadBody {
    pub(super) function: Term,
    pub(super) argument: Option<CValue>,
    pub(super) afterwards: Option<Term>,
}

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
                let body = ThreadBody {
                    function,
                    argument: values.get(3).cloned(),
                    afterwards: None,
                };
                self.create(state, to, body, here)?;
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

    pub(super) fn create(
        &mut self,
        state: &mut CState,
        to: Term,
        ThreadBody {
            function,
            argument,
            afterwards,
        }: ThreadBody,
        here: CallContext,
    ) -> Go<()> {
        if self.phase == CPhase::After {
            return self.refuse(
                "a thread is created after the power failure: let `main` return before, in a branch of `lf_failures() > 0`",
            );
        }
        let Some(body) = self.function(function) else {
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
        let arguments: Vec<CValue> = argument.into_iter().collect();
        let mut ended = self.run(body, arguments.clone(), state.clone(), here)?;
        if let (Some(delete), Some((after, _))) = (afterwards, &mut ended) {
            match self.call_pointer(after, delete, arguments, &Type::Void, here) {
                Err(Stop::Ended) => ended = None,
                other => _ = other?,
            }
        }
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

    /// The function that is there, if it is one of the program's.
    pub(super) fn function(&mut self, pointer: Term) -> Option<&'m Function> {
        let at = self.only(pointer)?.checked_sub(CODE)?;
        let name = self.functions.get((at / 16) as usize)?;
        self.module.function(name)
    }

    pub(super) fn join(&mut self, state: &mut CState, handle: Term, to: Term) -> Go<()> {
        let number = self.program.terms.constant_of(handle);
        if number.is_none()
            && let Some(known) = self.domain(handle)
            && !known.open
        {
            return self.join_each(state, handle, to, &known.values);
        }
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

    /// Which thread it is depends on what was read.
    fn join_each(&mut self, state: &mut CState, handle: Term, to: Term, all: &[u64]) -> Go<()> {
        let mut after: Option<CState> = None;
        for &value in all {
            let this = self.program.terms.constant(64, value);
            let is = self.program.terms.eq(handle, this);
            let mut way = state.clone();
            if self.assume(&mut way, is).is_err() {
                continue;
            }
            match self.join(&mut way, this, to) {
                Ok(()) => {}
                Err(Stop::Ended) => continue,
                refused => return refused,
            }
            after = Some(match after {
                None => way,
                Some(before) => self.meet(before, way),
            });
        }
        *state = after.ok_or(Stop::Ended)?;
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
