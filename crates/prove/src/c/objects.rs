//! Mutexes, reader-writer locks, semaphores and conditions. The state of each is one word.

use super::knowledge::ValueSet;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CPhase, CState, CValue, Go, Stop};
use super::waiting::WaitEffect;
use crate::term::{Op, Term, Terms};

const BUSY: u64 = 16;
const TIMED_OUT: u64 = 110;

/// Types of mutexes, and where glibc's static ones say which they are.
const NORMAL: u64 = 0;
const RECURSIVE: u64 = 1;
const ADAPTIVE: u64 = 3;
const KIND: usize = 16;

/// A writer has it.
const WRITER: u64 = 1 << 32;

/// Threads that can wait for a condition.
const MOST_WAITERS: usize = 16;

fn add(terms: &mut Terms, a: Term, k: u64) -> Term {
    let k = terms.constant(64, k);
    terms.add(a, k)
}

fn is(terms: &mut Terms, a: Term, k: u64) -> Term {
    let k = terms.constant(terms.width(a), k);
    terms.eq(a, k)
}

fn take(terms: &mut Terms, old: Term) -> (Term, Term) {
    (is(terms, old, 0), terms.constant(64, 1))
}

/// Of a recursive mutex, whose word is its owner and how often that has it.
const OWNER: u8 = 32;

fn take_again(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let own = terms.constant(64, (thread as u64 + 1) << OWNER);
    let mask = terms.constant(64, !0 << OWNER);
    let owner = terms.binary(Op::And, old, mask);
    let (free, mine) = (is(terms, old, 0), terms.eq(owner, own));
    let first = add(terms, own, 1);
    let more = add(terms, old, 1);
    let possible = terms.or(free, mine);
    (possible, terms.choose(mine, more, first))
}

fn give_one_back(terms: &mut Terms, old: Term) -> (Term, Term) {
    let less = add(terms, old, u64::MAX);
    let count = terms.extract(less, 0, OWNER);
    let last = is(terms, count, 0);
    let free = terms.constant(64, 0);
    (terms.truth(true), terms.choose(last, free, less))
}

fn write_lock(terms: &mut Terms, old: Term) -> (Term, Term) {
    (is(terms, old, 0), terms.constant(64, WRITER))
}

fn read_lock(terms: &mut Terms, old: Term) -> (Term, Term) {
    let writer = is(terms, old, WRITER);
    (terms.not(writer), add(terms, old, 1))
}

/// Of a reader or of the writer, whoever has it.
fn leave(terms: &mut Terms, old: Term) -> (Term, Term) {
    let (writer, less) = (is(terms, old, WRITER), add(terms, old, u64::MAX));
    let (always, free) = (terms.truth(true), terms.constant(64, 0));
    (always, terms.choose(writer, free, less))
}

fn down(terms: &mut Terms, old: Term) -> (Term, Term) {
    let none = is(terms, old, 0);
    (terms.not(none), add(terms, old, u64::MAX))
}

fn up(terms: &mut Terms, old: Term) -> (Term, Term) {
    (terms.truth(true), add(terms, old, 1))
}

/// The word of a condition. Whom a signal wakes may be left open until one of them goes on. While it is, the next signal wakes another of the
/// same, and none of those who came since: whoever is woken could as well have gone on at once, which is tried as well.
struct Queue {
    /// Who waits, and no signal found them.
    blocked: Term,
    /// Who was found by signals that wake some of them.
    open: Term,
    /// Who is woken for certain.
    certain: Term,
    /// How many are blocked; how many of the open ones are woken, and how many are not.
    blocked_count: Term,
    may: Term,
    lacking: Term,
}

/// Bits of a count.
const COUNT: u8 = 5;

impl Queue {
    fn of(terms: &mut Terms, word: Term) -> Queue {
        Queue {
            blocked: terms.extract(word, 0, 16),
            open: terms.extract(word, 16, 16),
            certain: terms.extract(word, 32, 16),
            blocked_count: terms.extract(word, 48, COUNT),
            may: terms.extract(word, 48 + COUNT, COUNT),
            lacking: terms.extract(word, 48 + 2 * COUNT, COUNT),
        }
    }

    fn word(&self, terms: &mut Terms) -> Term {
        let mut whole = terms.zext(self.blocked, 64);
        let above = [
            (self.open, 16),
            (self.certain, 32),
            (self.blocked_count, 48),
            (self.may, 48 + COUNT),
            (self.lacking, 48 + 2 * COUNT),
        ];
        for (part, up) in above {
            let (wide, by) = (terms.zext(part, 64), terms.constant(64, up.into()));
            let up = terms.binary(Op::Shl, wide, by);
            whole = terms.or(whole, up);
        }
        whole
    }

    fn choose(terms: &mut Terms, when: Term, then: &Queue, other: &Queue) -> Queue {
        let mut of = |part: fn(&Queue) -> Term| terms.choose(when, part(then), part(other));
        Queue {
            blocked: of(|queue| queue.blocked),
            open: of(|queue| queue.open),
            certain: of(|queue| queue.certain),
            blocked_count: of(|queue| queue.blocked_count),
            may: of(|queue| queue.may),
            lacking: of(|queue| queue.lacking),
        }
    }
}

fn bit(terms: &mut Terms, of: Term, thread: usize) -> Term {
    terms.extract(of, thread as u8, 1)
}

fn with_bit(terms: &mut Terms, of: Term, thread: usize, on: bool) -> Term {
    let mask = terms.constant(16, 1 << thread);
    let rest = terms.constant(16, !(1u64 << thread) & 0xffff);
    match on {
        true => terms.or(of, mask),
        false => terms.and(of, rest),
    }
}

fn step(terms: &mut Terms, of: Term, up: bool) -> Term {
    let one = terms.constant(COUNT, if up { 1 } else { (1 << COUNT) - 1 });
    terms.add(of, one)
}

/// Enters the queue.
fn enlist(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let mut queue = Queue::of(terms, old);
    queue.blocked = with_bit(terms, queue.blocked, thread, true);
    queue.blocked_count = step(terms, queue.blocked_count, true);
    (terms.truth(true), queue.word(terms))
}

/// Wakes one of those who wait, or all.
fn signal(terms: &mut Terms, old: Term, all: bool) -> (Term, Term) {
    let queue = Queue::of(terms, old);
    let found = terms.or(queue.open, queue.certain);
    let anybody = terms.or(queue.blocked, found);
    let nobody = is(terms, anybody, 0);
    let (none, zero) = (terms.constant(16, 0), terms.constant(COUNT, 0));
    let rest = |certain| Queue {
        blocked: none,
        open: none,
        certain,
        blocked_count: zero,
        may: zero,
        lacking: zero,
    };
    let after = match all {
        true => rest(anybody),
        false => {
            let another = Queue {
                may: step(terms, queue.may, true),
                lacking: step(terms, queue.lacking, false),
                ..queue
            };
            let one_of_them = Queue {
                open: queue.blocked,
                may: terms.constant(COUNT, 1),
                lacking: step(terms, queue.blocked_count, false),
                ..rest(found)
            };
            let none_blocked = is(terms, queue.blocked, 0);
            let new = Queue::choose(terms, none_blocked, &rest(found), &one_of_them);
            let settled = is(terms, queue.lacking, 0);
            Queue::choose(terms, settled, &new, &another)
        }
    };
    (terms.not(nobody), after.word(terms))
}

/// Leaves the queue after a signal; the last one of the open ones who is woken leaves nothing to the others.
fn wake(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let queue = Queue::of(terms, old);
    let certain = bit(terms, queue.certain, thread);
    let open = bit(terms, queue.open, thread);
    let possible = terms.or(certain, open);
    let surely = Queue {
        certain: with_bit(terms, queue.certain, thread, false),
        ..queue
    };
    let others = with_bit(terms, queue.open, thread, false);
    let may = step(terms, queue.may, false);
    let by_chance = Queue {
        open: others,
        may,
        ..queue
    };
    let last = Queue {
        blocked: terms.or(queue.blocked, others),
        open: terms.constant(16, 0),
        blocked_count: terms.add(queue.blocked_count, queue.lacking),
        may,
        lacking: terms.constant(COUNT, 0),
        ..queue
    };
    let is_last = is(terms, may, 0);
    let by_chance = Queue::choose(terms, is_last, &last, &by_chance);
    let after = Queue::choose(terms, certain, &surely, &by_chance);
    (possible, after.word(terms))
}

/// Leaves the queue, signal or not.
fn give_up(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let (reached, woken) = wake(terms, old, thread);
    let mut queue = Queue::of(terms, old);
    queue.blocked = with_bit(terms, queue.blocked, thread, false);
    queue.blocked_count = step(terms, queue.blocked_count, false);
    let alone = queue.word(terms);
    (terms.truth(true), terms.choose(reached, woken, alone))
}

/// Objects that one call may be about.
const MOST_OBJECTS: usize = 16;

impl CMachine<'_> {
    /// Calls about one object, which is the first argument; waits for conditions have a mutex as well.
    pub(super) fn object_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
    ) -> Go<LibraryAnswer> {
        let objects = 1 + usize::from(name.starts_with("pthread_cond_") && name.contains("wait"));
        for at in 0..objects {
            if let Some(&CValue::Int(pointer)) = values.get(at)
                && self.program.terms.constant_of(pointer).is_none()
                && let Some(known) = self.domain(pointer)
                && known.values.len() <= MOST_OBJECTS
            {
                return self.call_for_each(state, name, values, (at, pointer, &known));
            }
        }
        self.one_object_call(state, name, values)
    }

    /// Which object it is depends on what was read: one call for each that it can be.
    fn call_for_each(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
        (at, pointer, known): (usize, Term, &ValueSet),
    ) -> Go<LibraryAnswer> {
        let mut after: Option<(CState, Option<CValue>)> = None;
        let mut some = self.program.terms.truth(false);
        for &value in &known.values {
            let this = self.program.terms.constant(64, value);
            let is = self.program.terms.eq(pointer, this);
            some = self.program.terms.or(some, is);
            let mut way = state.clone();
            if self.assume(&mut way, is).is_err() {
                continue;
            }
            let mut values = values.to_vec();
            values[at] = CValue::Int(this);
            match self.object_call(&mut way, name, &values) {
                Ok(LibraryAnswer::Done) => {}
                Ok(unknown) => return Ok(unknown),
                Err(Stop::Ended) => continue,
                refused => return refused,
            }
            let answer = self.answer.take();
            after = Some(match after {
                None => (way, answer),
                Some(before) => self.meet_returns(before, (way, answer)),
            });
        }
        if known.open {
            self.check(state, some, "a lock or the like where there is no object")?;
        }
        let (met, answer) = after.ok_or(Stop::Ended)?;
        *state = met;
        self.answer = answer;
        Ok(LibraryAnswer::Done)
    }

    fn one_object_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
    ) -> Go<LibraryAnswer> {
        let thread = self.thread;
        let effect: WaitEffect = match name {
            "pthread_mutex_lock"
            | "pthread_spin_lock"
            | "pthread_mutex_trylock"
            | "pthread_spin_trylock"
            | "pthread_mutex_timedlock"
            | "pthread_mutex_clocklock" => &take,
            "pthread_rwlock_wrlock"
            | "pthread_rwlock_trywrlock"
            | "pthread_rwlock_timedwrlock"
            | "pthread_rwlock_clockwrlock" => &write_lock,
            "pthread_rwlock_rdlock"
            | "pthread_rwlock_tryrdlock"
            | "pthread_rwlock_timedrdlock"
            | "pthread_rwlock_clockrdlock" => &read_lock,
            "pthread_rwlock_unlock" => &leave,
            "sem_wait" | "sem_trywait" | "sem_timedwait" | "sem_clockwait" => &down,
            "sem_post" => &up,
            "pthread_cond_signal" => &|terms, old| signal(terms, old, false),
            "pthread_cond_broadcast" => &|terms, old| signal(terms, old, true),
            "pthread_mutex_unlock"
            | "pthread_spin_unlock"
            | "pthread_mutex_init"
            | "pthread_spin_init"
            | "pthread_rwlock_init"
            | "pthread_cond_init" => {
                let pointer = self.number(values, 0)?;
                if name.ends_with("_init") {
                    self.renew(state, pointer);
                }
                let at = self.sync_object(state, pointer)?;
                match name {
                    "pthread_mutex_init" => self.learn_mutex_type(at, values)?,
                    "pthread_mutex_unlock" if self.is_recursive(at) => {
                        let always = self.program.terms.truth(true);
                        self.rmw_at(state, at, 8, always, &give_one_back)?;
                        return self.gives(32, 0);
                    }
                    _ => {}
                }
                self.put(state, at, 0)?;
                return self.gives(32, 0);
            }
            "sem_init" => {
                let pointer = self.number(values, 0)?;
                self.renew(state, pointer);
                let at = self.sync_object(state, pointer)?;
                let count = self.length(values, 2, "the count of a semaphore")?;
                self.put(state, at, count)?;
                return self.gives(32, 0);
            }
            "pthread_mutex_destroy"
            | "pthread_spin_destroy"
            | "pthread_rwlock_destroy"
            | "pthread_cond_destroy"
            | "sem_destroy" => return self.gives(32, 0),
            "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => {
                return self.wait(state, values, name != "pthread_cond_wait");
            }
            "pthread_mutexattr_settype" => return self.set_mutex_type(values),
            _ => return Ok(LibraryAnswer::Unknown),
        };
        let pointer = self.number(values, 0)?;
        let at = self.sync_object(state, pointer)?;
        let again = |terms: &mut Terms, old: Term| take_again(terms, old, thread);
        let effect: WaitEffect = match name.starts_with("pthread_mutex_") && self.is_recursive(at) {
            true => &again,
            false => effect,
        };
        let refused = match name {
            "sem_trywait" | "sem_timedwait" | "sem_clockwait" => u64::MAX,
            _ if name.contains("_timed") || name.contains("_clock") => TIMED_OUT,
            _ if name.contains("_try") => BUSY,
            "pthread_cond_signal" | "pthread_cond_broadcast" => 0,
            _ => {
                self.wait_until(state, at, effect)?;
                return self.gives(32, 0);
            }
        };
        let done = self.attempt(state, at, effect)?;
        let terms = &mut self.program.terms;
        let (zero, refused) = (terms.constant(32, 0), terms.constant(32, refused));
        let answer = terms.choose(done, zero, refused);
        self.answers(answer)
    }

    /// What an attribute says of mutexes that are made with it.
    fn set_mutex_type(&mut self, values: &[CValue]) -> Go<LibraryAnswer> {
        let attribute = self.number(values, 0)?;
        let of = self.length(values, 1, "the type of a mutex")?;
        let Some(attribute) = self.program.terms.constant_of(attribute) else {
            return self.refuse("which attribute it is depends on what was read");
        };
        self.mutex_types.insert(attribute, of);
        self.gives(32, 0)
    }

    fn learn_mutex_type(&mut self, at: u64, values: &[CValue]) -> Go<()> {
        let attribute = match values.get(1) {
            Some(&CValue::Int(term)) => self.program.terms.constant_of(term),
            _ => None,
        };
        let Some(attribute) = attribute else {
            return self.refuse("with which attributes a mutex is made depends on what was read");
        };
        let of = self.mutex_types.get(&attribute).copied().unwrap_or(NORMAL);
        match of {
            NORMAL | ADAPTIVE => _ = self.recursive.remove(&at),
            RECURSIVE => _ = self.recursive.insert(at),
            _ => return self.refuse("a mutex that looks for errors"),
        }
        Ok(())
    }

    /// Was it made recursive, or is it so from the beginning?
    fn is_recursive(&self, at: u64) -> bool {
        self.recursive.contains(&at) || {
            let bytes = self.knowledge.object(at & !super::knowledge::LOCKS, 1);
            bytes.is_some_and(|(base, object)| {
                let kind = ((at & !super::knowledge::LOCKS) - base) as usize + KIND;
                object.initial.get(kind) == Some(&(RECURSIVE as u8))
            })
        }
    }

    pub(super) fn put(&mut self, state: &mut CState, at: u64, value: u64) -> Go<()> {
        let value = self.program.terms.constant(64, value);
        let always = self.program.terms.truth(true);
        self.write(state, at, value, always, super::access::AccessWay::Cached)
    }

    /// Leaves the queue of a condition for a signal; or for no reason, so often in an execution, as `check` has it.
    fn wake_up(&mut self, state: &mut CState, condition: u64, thread: usize) -> Go<()> {
        if self.phase == CPhase::After || self.bounds.spurious == 0 {
            return self.wait_until(state, condition, &|terms, old| wake(terms, old, thread));
        }
        let most = match self.bounds.spurious {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        self.assumes(&format!(
            "waits for conditions end for no reason {most} at most in an execution (--spurious)"
        ));
        let name = format!("wakes for no reason: {}", self.label());
        let chosen = self.program.add_input(&name, 1);
        let terms = &mut self.program.terms;
        let (mut before, most) = (terms.constant(32, 0), self.bounds.spurious.into());
        for &other in &self.woken {
            let one = terms.zext(other, 32);
            before = terms.add(before, one);
        }
        let most = terms.constant(32, most);
        let room = terms.binary(Op::Ult, before, most);
        let chosen = terms.and(chosen, room);
        self.woken.push(chosen);
        let waits = self.program.terms.not(chosen);
        let mut early = state.clone();
        self.assume(&mut early, chosen)?;
        let always = self.program.terms.truth(true);
        self.rmw_at(&mut early, condition, 8, always, &|terms, old| {
            give_up(terms, old, thread)
        })?;
        self.assume(state, waits)?;
        let signalled = self.wait_until(state, condition, &|terms, old| wake(terms, old, thread));
        match signalled {
            Ok(()) => *state = self.meet(early, state.clone()),
            Err(Stop::Ended) => *state = early,
            refused => return refused,
        }
        Ok(())
    }

    /// Enters the queue, gives the mutex back, is woken, takes the mutex.
    fn wait(&mut self, state: &mut CState, values: &[CValue], timed: bool) -> Go<LibraryAnswer> {
        let thread = self.thread;
        if thread >= MOST_WAITERS {
            return self.refuse("more than 16 threads that wait for conditions");
        }
        let (condition, mutex) = (self.number(values, 0)?, self.number(values, 1)?);
        let (condition, mutex) = (
            self.sync_object(state, condition)?,
            self.sync_object(state, mutex)?,
        );
        if self.is_recursive(mutex) {
            return self.refuse("a wait for a condition with a recursive mutex");
        }
        self.attempt(state, condition, &|terms, old| enlist(terms, old, thread))?;
        self.put(state, mutex, 0)?;
        let mut answer = self.program.terms.constant(32, 0);
        if timed {
            let always = self.program.terms.truth(true);
            let old = self.rmw_at(state, condition, 8, always, &|terms, old| {
                give_up(terms, old, thread)
            })?;
            let terms = &mut self.program.terms;
            let (reached, _) = wake(terms, old, thread);
            let late = terms.constant(32, TIMED_OUT);
            answer = terms.choose(reached, answer, late);
        } else {
            self.wake_up(state, condition, thread)?;
        }
        self.wait_until(state, mutex, &take)?;
        self.answers(answer)
    }
}
