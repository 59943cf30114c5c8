//! Threads that meet at a barrier, and what only the first of them does.

use super::knowledge::CallContext;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CState, CValue, Go, Stop};
use crate::term::{Op, Terms};
use landfall_ir::Type;

/// What the serial thread of a round is told.
const SERIAL: u64 = u64::MAX;

/// Not begun, begun, done.
const BEGUN: u64 = 1;
const DONE: u64 = 2;

impl CMachine<'_> {
    pub(super) fn meeting_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
        here: CallContext,
    ) -> Go<LibraryAnswer> {
        match name {
            "pthread_barrier_init" => {
                let pointer = self.number(values, 0)?;
                let parties = self.length(values, 2, "for how many threads a barrier waits")?;
                self.renew(state, pointer);
                let at = self.sync_object(state, pointer)?;
                if parties == 0 {
                    return self.gives(32, 22);
                }
                if *self.parties.entry(at).or_insert(parties) != parties {
                    return self.refuse("a barrier that waits for different numbers of threads");
                }
                self.put(state, at, 0)?;
                self.put(state, at + 8, 0)?;
                self.gives(32, 0)
            }
            "pthread_barrier_wait" => {
                let pointer = self.number(values, 0)?;
                let at = self.sync_object(state, pointer)?;
                self.meet_others(state, at)
            }
            "pthread_barrier_destroy" => self.gives(32, 0),
            "pthread_once" => self.once(state, values, here),
            "pthread_self" => self.gives(64, self.thread as u64),
            "pthread_equal" => {
                let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
                let same = self.program.terms.eq(a, b);
                let same = self.program.terms.zext(same, 32);
                self.answers(same)
            }
            _ => Ok(LibraryAnswer::Unknown),
        }
    }

    /// Arrives, waits until its round is complete, leaves. POSIX does not say who is told to be the serial thread: here the first who
    /// leaves is, and that can be any.
    fn meet_others(&mut self, state: &mut CState, at: u64) -> Go<LibraryAnswer> {
        let Some(&parties) = self.parties.get(&at) else {
            return self.refuse("for how many threads the barrier waits is not known here");
        };
        let always = self.program.terms.truth(true);
        let one_more = |terms: &mut Terms, old| {
            let one = terms.constant(64, 1);
            (terms.truth(true), terms.add(old, one))
        };
        let before = self.rmw_at(state, at, 8, always, &one_more)?;
        let terms = &mut self.program.terms;
        let parties = terms.constant(64, parties);
        let round = terms.binary(Op::Udiv, before, parties);
        let one = terms.constant(64, 1);
        let next = terms.add(round, one);
        let complete = terms.binary(Op::Mul, next, parties);
        self.wait_until(state, at, &|terms, word| {
            (terms.binary(Op::Ule, complete, word), word)
        })?;
        let left = self.rmw_at(state, at + 8, 8, always, &one_more)?;
        let terms = &mut self.program.terms;
        let (first, zero) = (terms.binary(Op::Urem, left, parties), terms.constant(64, 0));
        let is_first = terms.eq(first, zero);
        let (serial, other) = (terms.constant(32, SERIAL), terms.constant(32, 0));
        let answer = terms.choose(is_first, serial, other);
        self.answers(answer)
    }

    /// Whoever comes first calls the function; others wait until it has returned.
    fn once(
        &mut self,
        state: &mut CState,
        values: &[CValue],
        here: CallContext,
    ) -> Go<LibraryAnswer> {
        let (pointer, function) = (self.number(values, 0)?, self.number(values, 1)?);
        let at = self.sync_object(state, pointer)?;
        let taken = self.attempt(state, at, &|terms, old| {
            let zero = terms.constant(64, 0);
            (terms.eq(old, zero), terms.constant(64, BEGUN))
        })?;
        let not = self.program.terms.not(taken);
        let mut first = state.clone();
        let mut ways: Vec<CState> = Vec::new();
        if self.assume(&mut first, taken).is_ok() {
            match self.call_pointer(&mut first, function, Vec::new(), &Type::Void, here) {
                Err(Stop::Ended) => {}
                other => {
                    other?;
                    self.put(&mut first, at, DONE)?;
                    ways.push(first);
                }
            }
        }
        if self.assume(state, not).is_ok() {
            let done = self.wait_until(state, at, &|terms, old| {
                let done = terms.constant(64, DONE);
                (terms.eq(old, done), old)
            });
            match done {
                Ok(()) => ways.push(state.clone()),
                Err(Stop::Ended) => {}
                refused => refused?,
            }
        }
        let met = ways.into_iter().reduce(|a, b| self.meet(a, b));
        *state = met.ok_or(Stop::Ended)?;
        self.gives(32, 0)
    }

    /// A variable of which every thread has its own: where this thread's is.
    pub(super) fn own_copy(&mut self, of: u64) -> u64 {
        if self.thread == 0 {
            return of;
        }
        let place = (u32::MAX - 2, of as u32);
        let round = [self.thread as u32];
        let here = self.knowledge.context(CallContext(0), place, &round);
        let Some(original) = self.knowledge.objects.get(&of).cloned() else {
            return of;
        };
        let at = self
            .knowledge
            .create(here, (original.size, 16), &original.name, original.kind);
        if let Some(copy) = self.knowledge.objects.get_mut(&at) {
            copy.initial = original.initial;
        }
        at
    }
}
