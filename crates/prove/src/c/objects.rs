//! Mutexes, reader-writer locks, semaphores and conditions. The state of each is one word.

use super::library::LibraryAnswer;
use super::machine::{CMachine, CState, CValue, Go};
use super::waiting::WaitEffect;
use crate::term::{Op, Term, Terms};

const BUSY: u64 = 16;
const TIMED_OUT: u64 = 110;

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

/// The word of a condition: who waits, who of them a signal reached, how many wait, how many of those reached may go on.
struct Queue {
    waiting: Term,
    reached: Term,
    count: Term,
    may: Term,
}

impl Queue {
    fn of(terms: &mut Terms, word: Term) -> Queue {
        Queue {
            waiting: terms.extract(word, 0, 16),
            reached: terms.extract(word, 16, 16),
            count: terms.extract(word, 32, 16),
            may: terms.extract(word, 48, 16),
        }
    }

    fn word(&self, terms: &mut Terms) -> Term {
        let mut whole = terms.zext(self.waiting, 64);
        for (part, up) in [(self.reached, 16), (self.count, 32), (self.may, 48)] {
            let (wide, by) = (terms.zext(part, 64), terms.constant(64, up));
            let up = terms.binary(Op::Shl, wide, by);
            whole = terms.or(whole, up);
        }
        whole
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

fn step(terms: &mut Terms, of: Term, by: u64) -> Term {
    let by = terms.constant(16, by);
    terms.add(of, by)
}

/// Enters the queue.
fn enlist(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let mut queue = Queue::of(terms, old);
    queue.waiting = with_bit(terms, queue.waiting, thread, true);
    queue.count = step(terms, queue.count, 1);
    (terms.truth(true), queue.word(terms))
}

/// A signal reaches everybody in the queue; one more of them may go on, or all.
fn signal(terms: &mut Terms, old: Term, all: bool) -> (Term, Term) {
    let mut queue = Queue::of(terms, old);
    let nobody = is(terms, queue.waiting, 0);
    queue.reached = queue.waiting;
    let more = step(terms, queue.may, 1);
    let room = terms.binary(Op::Ult, queue.may, queue.count);
    queue.may = match all {
        true => queue.count,
        false => terms.choose(room, more, queue.may),
    };
    (terms.not(nobody), queue.word(terms))
}

/// Leaves the queue after a signal; the last one who may go on leaves nothing to the others.
fn wake(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let mut queue = Queue::of(terms, old);
    let possible = bit(terms, queue.reached, thread);
    queue.waiting = with_bit(terms, queue.waiting, thread, false);
    queue.count = step(terms, queue.count, 0xffff);
    queue.may = step(terms, queue.may, 0xffff);
    let last = is(terms, queue.may, 0);
    let (rest, none) = (
        with_bit(terms, queue.reached, thread, false),
        terms.constant(16, 0),
    );
    queue.reached = terms.choose(last, none, rest);
    (possible, queue.word(terms))
}

/// Leaves the queue, signal or not.
fn give_up(terms: &mut Terms, old: Term, thread: usize) -> (Term, Term) {
    let (reached, woken) = wake(terms, old, thread);
    let mut queue = Queue::of(terms, old);
    queue.waiting = with_bit(terms, queue.waiting, thread, false);
    queue.count = step(terms, queue.count, 0xffff);
    let alone = queue.word(terms);
    (terms.truth(true), terms.choose(reached, woken, alone))
}

impl CMachine<'_> {
    /// Calls about one object, which is the first argument.
    pub(super) fn object_call(
        &mut self,
        state: &mut CState,
        name: &str,
        values: &[CValue],
    ) -> Go<LibraryAnswer> {
        let effect: WaitEffect = match name {
            "pthread_mutex_lock"
            | "pthread_spin_lock"
            | "pthread_mutex_trylock"
            | "pthread_spin_trylock"
            | "pthread_mutex_timedlock" => &take,
            "pthread_rwlock_wrlock" | "pthread_rwlock_trywrlock" | "pthread_rwlock_timedwrlock" => {
                &write_lock
            }
            "pthread_rwlock_rdlock" | "pthread_rwlock_tryrdlock" | "pthread_rwlock_timedrdlock" => {
                &read_lock
            }
            "pthread_rwlock_unlock" => &leave,
            "sem_wait" | "sem_trywait" | "sem_timedwait" => &down,
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
            "pthread_cond_wait" | "pthread_cond_timedwait" => {
                return self.wait(state, values, name.ends_with("timedwait"));
            }
            _ => return Ok(LibraryAnswer::Unknown),
        };
        let pointer = self.number(values, 0)?;
        let at = self.sync_object(state, pointer)?;
        let refused = match name {
            _ if name.contains("_timed") => TIMED_OUT,
            "sem_trywait" => u64::MAX,
            _ if name.contains("_try") => BUSY,
            "pthread_cond_signal" | "pthread_cond_broadcast" => 0,
            _ => {
                self.wait_until(state, at, effect)?;
                return self.gives(32, 0);
            }
        };
        let refused = match name {
            "sem_timedwait" => u64::MAX,
            _ => refused,
        };
        let done = self.attempt(state, at, effect)?;
        let terms = &mut self.program.terms;
        let (zero, refused) = (terms.constant(32, 0), terms.constant(32, refused));
        let answer = terms.choose(done, zero, refused);
        self.answers(answer)
    }

    fn put(&mut self, state: &mut CState, at: u64, value: u64) -> Go<()> {
        let value = self.program.terms.constant(64, value);
        let always = self.program.terms.truth(true);
        self.write(state, at, value, always, super::access::AccessWay::Cached)
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
            self.wait_until(state, condition, &|terms, old| wake(terms, old, thread))?;
        }
        self.wait_until(state, mutex, &take)?;
        self.answers(answer)
    }
}
