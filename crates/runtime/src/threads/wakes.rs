//! Waits that end for no reason. POSIX allows it of every condition wait, the kernel of every futex wait. Which wait does is said by
//! the job, as a value that the program asks for: each wait of a thread has a number. A wait in a loop that comes back to its head,
//! with all there as it was, looks again. If it would find all as it left it, it waits again, and the checker need not try that. On a
//! condition it would find something else where others changed what it had read, and gave the lock up, before they signalled. (On a
//! futex, too, but that is nothing new: had it come later, it would not have begun to wait, and would have looked again all the same.)

use super::context::Step;
use super::steps::{self, effect, point};
use super::{condition, objects, signals, tables, threads, turns};
use crate::hooks::any_value::{ask, told};
use crate::run::trace::Origin;
use crate::state::run;
use core::cell::Cell;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::step;
use landfall_vocab::shared::{End, InputKind, LOCK, WAIT_CALLS};

/// What is known of one thread's waits.
#[repr(C)]
pub(crate) struct Wakes {
    /// The wait that has ended last and of which nothing more is known yet, from 1 on; and from where it was called.
    woken: Cell<u32>,
    origin: Cell<u64>,
    /// The loop it waits in, if nothing that lasts was done in this turn before.
    inside: Cell<turns::LoopHead>,
    /// The lock that it gave up to wait for a condition, and the condition, while it waits; zero otherwise.
    lock: Cell<u64>,
    condition: Cell<usize>,
    /// The lock with which its next wait could as well not have been, or zero.
    comes_back: Cell<u64>,
}

impl Wakes {
    pub(crate) fn begin(&self) {
        self.woken.set(0);
        self.origin.set(0);
        self.inside.set(turns::LoopHead::NONE);
        self.lock.set(0);
        self.comes_back.set(0);
    }
}

fn of(thread: usize) -> &'static Wakes {
    &tables().contexts[thread].wakes
}

/// A wait of the running thread.
pub(super) struct Wait {
    number: u32,
    pub(super) ends_for_no_reason: bool,
    /// It could as well not have been: the thread would only look again.
    pub(super) comes_back: bool,
}

/// The next wait of a thread could as well not have been, if it is with this lock.
pub(super) fn comes_back(thread: usize, lock: u64) {
    of(thread).comes_back.set(lock);
}

/// The running thread is going to wait for a condition, as long as it takes, with this lock.
pub(super) fn begins_with(lock: usize, caller: usize) -> Wait {
    let me = threads().current.get();
    let lock = lock as u64 | LOCK;
    let comes_back = of(me).comes_back.replace(0) == lock
        && threads().sections.get()
        && !threads().policy.get().is_random()
        && !signals::are_on();
    if !comes_back {
        return begins(caller);
    }
    goes_on(me);
    Wait {
        number: 0,
        ends_for_no_reason: false,
        comes_back,
    }
}

/// The running thread is going to wait.
pub(super) fn begins(caller: usize) -> Wait {
    let me = threads().current.get();
    let wakes = of(me);
    wakes.comes_back.set(0);
    goes_on(me);
    let waits = &run().waits[me];
    let number = waits.get();
    waits.set(number + 1);
    let origin = Origin::library(Builtin::thread, caller).number();
    let value = told(me, WAIT_CALLS | number);
    if value.is_none() {
        tell(me, number, InputKind::Wake, origin);
    }
    wakes.inside.set(turns::untouched(me));
    wakes.origin.set(origin);
    Wait {
        number,
        ends_for_no_reason: value == Some(1),
        comes_back: false,
    }
}

/// The running thread waits for a condition, without its lock, as long as `during` takes.
pub(super) fn without_lock<T>(condition: usize, lock: usize, during: impl FnOnce() -> T) -> T {
    let wakes = of(threads().current.get());
    wakes.condition.set(condition);
    wakes.lock.set(lock as u64 | LOCK);
    run().waiting.set(run().waiting.get() + 1);
    let result = during();
    run().waiting.set(run().waiting.get() - 1);
    wakes.lock.set(0);
    result
}

/// A thread gives a lock up.
#[inline(always)]
pub(super) fn unlocked(lock: u64) {
    if run().waiting.get() != 0 {
        look_at_waiters(lock);
    }
}

#[cold]
fn look_at_waiters(lock: u64) {
    for thread in 0..threads().count.get() {
        let wakes = of(thread);
        if wakes.lock.get() != lock {
            continue;
        }
        let object = objects().get(wakes.condition.get());
        if !condition::reached(object, thread) && turns::finds_changes(thread) {
            let number = run().waits[thread].get() - 1;
            tell(thread, number, InputKind::WakeTrusted, wakes.origin.get());
        }
    }
}

impl Wait {
    /// It was woken, and has its lock again.
    pub(super) fn ended(self) {
        let me = threads().current.get();
        let wakes = of(me);
        if !self.ends_for_no_reason && !self.comes_back {
            wakes.woken.set(self.number + 1);
            turns::woken(me);
        }
    }
}

fn tell(thread: usize, number: u32, kind: InputKind, origin: u64) {
    ask(thread, WAIT_CALLS | number, kind, origin);
}

/// The thread does something after it was woken.
#[inline(always)]
pub(super) fn goes_on(thread: usize) {
    let woken = of(thread).woken.get();
    if woken != 0 {
        settle(thread, woken, InputKind::WakeTrusted);
    }
}

#[cold]
fn settle(thread: usize, woken: u32, kind: InputKind) {
    of(thread).woken.set(0);
    tell(thread, woken - 1, kind, of(thread).origin.get());
}

/// It is at the head of this loop, with what it keeps there as it was (or not), and nothing done since it was woken (or something).
#[inline(always)]
pub(super) fn at_head(thread: usize, head: turns::LoopHead, same: impl FnOnce() -> bool) {
    let wakes = of(thread);
    let woken = wakes.woken.get();
    if woken != 0 {
        let looks = wakes.inside.get() == head && same();
        let kind = match looks {
            true => InputKind::WakeLooked,
            false => InputKind::WakeTrusted,
        };
        settle(thread, woken, kind);
    }
}

/// Goes on without having been signalled. If it was, by then, this is no execution that is looked for: there is one in which it
/// was woken by that.
pub(super) fn without_reason(condition: usize, caller: usize) {
    let me = threads().current.get();
    point(Step::new(step::TIMED_WAKE, condition, caller));
    let object = objects().get(condition);
    let reached = condition::reached(object, me);
    effect(condition, WRITE, reached.into());
    if reached {
        steps::stop_at_once(End::InVain)
    }
    condition::leave(object, me);
    run().wakes.set(run().wakes.get() + 1);
}

/// Did some wait that was to end for no reason not come to it?
pub(crate) fn left_out() -> bool {
    let wanted = crate::run::shared::inputs().filter(|input| {
        input.call & WAIT_CALLS != 0
            && input.call != landfall_vocab::shared::ANY_CALL
            && input.value == 1
            && u32::from(input.failures) == run().failures.get()
    });
    wanted.count() > run().wakes.get() as usize
}
