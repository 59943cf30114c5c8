//! Threads that wait: for locks, conditions, semaphores, each other. And whether all of them wait for ever.
//!
//! An operation that may have to wait is tried once. Where it is not possible then, the thread stops there: it is as if nobody
//! ran it again. Somebody may make it possible later, and another execution has it tried later. So a deadlock is an execution
//! at whose end every thread has ended or has stopped at an operation that is still not possible.

use super::knowledge::{LOCKS, is_persistent};
use super::machine::{CMachine, CPhase, CState, Go, Stop};
use crate::program::Check;
use crate::term::{Term, Terms};

/// What an operation does to an object of the thread library: from its content, when it is possible, and what it leaves.
pub(super) type WaitEffect<'a> = &'a dyn Fn(&mut Terms, Term) -> (Term, Term);

/// A thread that stopped.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) thread: usize,
    /// It stopped, and what it waits for has not come to the end.
    pub(super) stuck: Term,
    /// Of a lock or the like, where; waiting for another thread is that one's fault.
    pub(super) label: Option<String>,
}

impl CMachine<'_> {
    /// Tries an operation; whether it was possible.
    pub(super) fn attempt(&mut self, state: &mut CState, at: u64, effect: WaitEffect) -> Go<Term> {
        let always = self.program.terms.truth(true);
        let old = self.rmw_at(state, at, 8, always, effect)?;
        Ok(effect(&mut self.program.terms, old).0)
    }

    /// Waits until an operation is possible.
    pub(super) fn wait_until(&mut self, state: &mut CState, at: u64, effect: WaitEffect) -> Go<()> {
        let possible = self.attempt(state, at, effect)?;
        let not = self.program.terms.not(possible);
        match self.phase {
            CPhase::After => self.check(state, possible, "waits for ever")?,
            CPhase::Before => {
                let mut stuck = self.program.terms.and(state.condition, not);
                if !self.is_quiet(at) {
                    let loc = self.location(at);
                    let last = self.program.at_the_end(loc);
                    let (then, _) = effect(&mut self.program.terms, last);
                    let never = self.program.terms.not(then);
                    stuck = self.program.terms.and(stuck, never);
                }
                let label = Some(self.label());
                self.waiting.push(Waiting {
                    thread: self.thread,
                    stuck,
                    label,
                });
            }
        }
        self.assume(state, possible)
    }

    /// Waits for another thread to end.
    pub(super) fn await_end(&mut self, state: &CState, ended: Term) {
        let not = self.program.terms.not(ended);
        let stuck = self.program.terms.and(state.condition, not);
        self.waiting.push(Waiting {
            thread: self.thread,
            stuck,
            label: None,
        });
    }

    /// At the end of the program: `gone` says when the whole process has ended.
    pub(super) fn deadlocks(&mut self, gone: Term) {
        let mut all = self.program.terms.not(gone);
        let mut rests: Vec<(usize, Term)> = vec![(0, self.program.terms.truth(false))];
        for followed in self.followed.clone() {
            let terms = &mut self.program.terms;
            let mut rest = terms.not(followed.created);
            if let Some(ended) = &followed.ended {
                rest = terms.or(rest, ended.condition);
            }
            rests.push((followed.number, rest));
        }
        for (state, _) in self.left.clone() {
            rests[0].1 = self.program.terms.or(rests[0].1, state.condition);
        }
        for (thread, mut rest) in rests {
            for at in 0..self.waiting.len() {
                if self.waiting[at].thread == thread {
                    rest = self.program.terms.or(rest, self.waiting[at].stuck);
                }
            }
            all = self.program.terms.and(all, rest);
        }
        for waiting in self.waiting.clone() {
            let Some(label) = waiting.label else {
                continue;
            };
            let guard = self.program.terms.and(waiting.stuck, all);
            if self.program.terms.constant_of(guard) != Some(0) {
                let holds = self.program.terms.truth(false);
                let label = format!("waits for ever: {label}");
                self.program.at_the_end.push(Check {
                    guard,
                    holds,
                    label,
                });
            }
        }
    }

    /// Where the state of an object of the thread library is kept: not among its bytes, which nobody looks at.
    pub(super) fn sync_object(&mut self, state: &CState, pointer: Term) -> Go<u64> {
        let Some(at) = self.program.terms.constant_of(pointer) else {
            return self.refuse("which lock it is depends on what was read");
        };
        if self.knowledge.object(at, 1).is_none() {
            let never = self.program.terms.truth(false);
            self.check(state, never, "a lock or the like where there is no object")?;
            return Err(Stop::Ended);
        }
        let always = self.program.terms.truth(true);
        self.must_live(state, at, always)?;
        if self.phase == CPhase::After && is_persistent(at) {
            let terms = &self.program.terms;
            let now = terms.conjuncts(state.condition);
            let made = |&(of, when): &(u64, Term)| {
                of == at && terms.conjuncts(when).iter().all(|c| now.contains(c))
            };
            if !self.renewed.iter().any(made) {
                return self.refuse(
                    "a lock in persistent memory holds what the power failure left of it, which is not modelled: initialise it again first",
                );
            }
        }
        Ok(at | LOCKS)
    }

    /// An object begins anew.
    pub(super) fn renew(&mut self, state: &CState, pointer: Term) {
        if let Some(at) = self.program.terms.constant_of(pointer) {
            self.renewed.push((at, state.condition));
        }
    }
}
