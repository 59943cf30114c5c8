//! Condition variables. POSIX does not say which waiter a signal wakes, so each waiter that a signal reached may be the one:
//! whoever is chosen first.

use super::context::Step;
use super::objects::Object;
use super::steps::{effect, point};
use super::{mutex, objects, on, section, tables, threads, wakes};
use crate::caller;
use crate::libc::real::real;
use crate::syscalls::clock;
use core::hint::black_box;
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::step;

/// Waits of one thread in one run that may take too long; where there are more, the search says so.
const MOST_TIMEOUTS: u32 = 3;

fn get(condition: usize) -> &'static Object {
    objects().get(condition)
}

/// May this waiter go on?
pub(super) fn reached(condition: &Object, thread: usize) -> bool {
    condition.shared.contains(thread)
        && (condition.count.get() > 0 || !condition.waiting.contains(thread))
}

/// Was it woken for certain? Then it is no longer among those who wait for that.
fn is_certain(condition: &Object, thread: usize) -> bool {
    condition.shared.contains(thread) && !condition.waiting.contains(thread)
}

/// How many were reached, besides those who are certain to go on.
fn reached_by_chance(condition: &Object) -> u32 {
    let words = threads().thread_words.get();
    let both = |at| condition.shared.word(at) & condition.waiting.word(at);
    (0..words).map(|at| both(at).count_ones()).sum()
}

/// May it go on, and not all others who were reached?
pub(super) fn is_contested(condition: &Object, thread: usize) -> bool {
    reached(condition, thread)
        && condition.waiting.contains(thread)
        && condition.count.get() < reached_by_chance(condition)
}

/// Takes a place among the waiters.
pub(super) fn enlist(condition: &Object) {
    condition.waiting.insert(threads().current.get());
}

/// Lets up to `most` waiters go on; returns how many that are.
pub(super) fn reach(condition: &Object, most: u32) -> u32 {
    let words = threads().thread_words.get();
    let before = reached_by_chance(condition);
    // It is open whom earlier signals wake: this one wakes another of the same. Whoever is woken could as well have gone on at once.
    if most == 1 && condition.count.get() < before {
        condition.count.set(condition.count.get() + 1);
        return 1;
    }
    // All who were reached before may go on: whoever came since cannot go on in their stead.
    if before == condition.count.get() && condition.waiting.count(words) > before {
        for at in 0..words {
            let waiting = condition.waiting.word(at);
            condition
                .waiting
                .set_word(at, waiting & !condition.shared.word(at));
        }
        condition.count.set(0);
        condition.round.set(condition.round.get() + before);
    }
    let waiting = condition.waiting.count(words);
    let more = most.min(waiting.saturating_sub(condition.count.get()));
    if more > 0 {
        condition.count.set(condition.count.get() + more);
        for at in 0..words {
            condition.shared.add(64 * at, condition.waiting.word(at));
        }
    }
    more
}

/// Waits to be reached; false if that took too long.
pub(super) fn await_reach(condition: usize, timed: bool, caller: usize) -> bool {
    let me = threads().current.get();
    let timeouts = &tables().contexts[me].timeouts;
    let kind = match timed {
        false => step::WAKE,
        true if timeouts.get() < MOST_TIMEOUTS => step::TIMED_WAKE,
        true => step::LATE_WAKE,
    };
    let reached = leave_by(kind, condition, caller);
    if !reached {
        timeouts.set(timeouts.get() + 1);
    }
    reached
}

/// A signal has ended the wait: was it reached before?
pub(super) fn interrupted(condition: usize, caller: usize) -> bool {
    leave_by(step::TIMED_WAKE, condition, caller)
}

/// Leaves the queue by this step: was it reached?
fn leave_by(kind: u8, condition: usize, caller: usize) -> bool {
    let me = threads().current.get();
    point(Step::new(kind, condition, caller));
    let object = get(condition);
    let reached = reached(object, me);
    effect(condition, WRITE, reached.into());
    let goes = match is_certain(object, me) {
        true => &object.round,
        false => &object.count,
    };
    if reached {
        goes.set(goes.get() - 1);
    }
    leave(object, me);
    reached
}

/// Gives up its place among the waiters.
pub(super) fn leave(condition: &Object, thread: usize) {
    condition.waiting.remove(thread);
    condition.shared.remove(thread);
    if condition.count.get() == 0 {
        for at in 0..threads().thread_words.get() {
            let certain = condition.shared.word(at) & !condition.waiting.word(at);
            condition.shared.set_word(at, certain);
        }
    }
}

/// # Safety
/// `lock` is a lock of the program's, and `until` a time.
pub(super) unsafe fn wait(
    condition: usize,
    lock: usize,
    until: Option<usize>,
    caller: usize,
) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        // In the order that no signal can be lost in: it waits, then others may lock.
        let wait = match until {
            None => wakes::begins_with(lock, caller),
            Some(_) => wakes::begins(caller),
        };
        match section::is_of(lock) && section::takes_in(condition) {
            true => {
                enlist(get(condition));
                section::concerns(condition, step::WAIT, true);
            }
            false => {
                point(Step::new(step::WAIT, condition, caller));
                enlist(get(condition));
                effect(condition, WRITE, 1);
            }
        }
        let held = mutex::release(lock, caller);
        let reached = match wait.ends_for_no_reason {
            true => {
                wakes::without_reason(condition, caller);
                true
            }
            false if wait.comes_back => leave_by(step::WAKE_TO_LOOK, condition, caller),
            false => wakes::without_lock(condition, lock, || {
                await_reach(condition, until.is_some(), caller)
            }),
        };
        mutex::regain(lock, held, caller);
        if reached {
            wait.ended();
            return 0;
        }
        clock::pass(until.unwrap_or(0));
        libc::ETIMEDOUT
    }
}

/// Lets up to `most` waiters go on.
fn signal_to(most: u32, kind: u8, condition: usize, caller: usize) -> i32 {
    if section::takes_in(condition) {
        let reached = reach(get(condition), most);
        section::concerns(condition, kind, reached > 0);
        return 0;
    }
    point(Step::new(kind, condition, caller));
    let reached = reach(get(condition), most);
    effect(condition, WRITE, reached.into());
    0
}

pub(super) fn signal(condition: usize, caller: usize) -> i32 {
    signal_to(1, step::SIGNAL, condition, caller)
}

pub(super) fn broadcast(condition: usize, caller: usize) -> i32 {
    signal_to(u32::MAX, step::BROADCAST, condition, caller)
}

crate::weak!(
    "pthread_cond_wait" => cond_wait, "pthread_cond_timedwait" => cond_timedwait,
    "pthread_cond_clockwait" => cond_clockwait,
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_cond_wait(condition: usize, lock: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            // Not a tail call: that would leave without a frame of its own, and so without a caller.
            return black_box(wait(condition, lock, None, caller!()));
        }
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        real()
            .pthread_cond_wait()
            .map_or(libc::ENOSYS, |wait| wait(condition, lock))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_cond_timedwait(condition: usize, lock: usize, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            return black_box(wait(condition, lock, Some(time), caller!()));
        }
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        real()
            .pthread_cond_timedwait()
            .map_or(libc::ENOSYS, |wait| wait(condition, lock, time))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_cond_clockwait(
    condition: usize,
    lock: usize,
    _clock: i32,
    time: usize,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { __lf_weak_cond_timedwait(condition, lock, time) }
}
