//! Calls on channels while several threads run: one at a time, under a lock of ours, so that any two of them are in conflict, and one
//! finds what those before it left. Whoever finds nothing ready gives the lock up and waits for a change, as for a condition; the
//! client of the run is part of what the lock protects, and acts inside of calls.

use super::context::{Context, Status, Step};
use super::mutex::Ask;
use super::steps::{effect, point};
use super::{Lock, condition, objects, on, rwlock, signals, tables, threads};
use crate::channels::waits::{For, Rested};
use crate::channels::{self, client};
use crate::run::outcome::{self, Report};
use crate::run::trace::Origin;
use crate::state::watching;
use crate::syscalls::dispatch;
use core::cell::Cell;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::step;
use landfall_vocab::shared::End;

// The checker knows them by their names (`session/view/schedule`).
#[unsafe(link_section = "lf_state")]
static mut CHANNEL_LOCK: Lock = Lock([0; 8]);
#[unsafe(link_section = "lf_state")]
static mut CHANNEL_CHANGES: Lock = Lock([0; 8]);

fn channel_lock() -> usize {
    &raw const CHANNEL_LOCK as usize
}

fn changes() -> usize {
    &raw const CHANNEL_CHANGES as usize
}

/// Is a call on channels being performed that others may interrupt?
pub(crate) fn are_shared() -> bool {
    on() && watching() && dispatch::is_deferred()
}

pub(crate) fn enter(caller: usize) {
    rwlock::lock(channel_lock(), Ask::Wait, caller);
}

/// Is the running thread in such a call?
pub(crate) fn is_inside() -> bool {
    let me = threads().current.get();
    objects()
        .find(channel_lock())
        .is_some_and(|lock| lock.is_owner(me))
}

/// The call is over: whoever waits hears of what it changed, and the client may act.
pub(crate) fn leave(caller: usize) {
    if channels::used().waiting.get() > 0 {
        client::acts();
    }
    tell(caller);
    rwlock::unlock(channel_lock(), caller);
}

/// Who waits looks again, if what it waits for has changed.
fn tell(caller: usize) {
    let used = channels::used();
    if !used.changed.replace(false) || used.waiting.get() == 0 {
        return;
    }
    if used.waiting_for_any.get() > 0 {
        wake(&used.waiting_for_any, changes(), caller);
    }
    for number in 0..channels::count() {
        let it = channels::channel(number);
        if it.happened.replace(false) && it.waiting.get() > 0 {
            wake(&it.waiting, it.place(), caller);
        }
    }
}

fn wake(waiting: &Cell<u32>, place: usize, caller: usize) {
    let used = channels::used();
    used.waiting.set(used.waiting.get() - waiting.replace(0));
    point(Step::new(step::BROADCAST, place, caller));
    let reached = condition::reach(objects().get(place), u32::MAX);
    effect(place, WRITE, reached.into());
}

/// Gives the lock up until something has changed, that takes too long, or a handler has run that ends the call.
pub(crate) fn wait(who: For, timed: bool, starts_over: bool) -> Rested {
    let caller = dispatch::caller();
    tell(caller);
    let used = channels::used();
    let (waiting, place) = match who {
        For::Any => (&used.waiting_for_any, changes()),
        For::One(number) => {
            let it = channels::channel(number);
            it.happened.set(false);
            (&it.waiting, it.place())
        }
    };
    waiting.set(waiting.get() + 1);
    used.waiting.set(used.waiting.get() + 1);
    point(Step::new(step::WAIT, place, caller));
    condition::enlist(objects().get(place));
    effect(place, WRITE, 1);
    rwlock::unlock(channel_lock(), caller);
    let origin = Origin::library(Builtin::system_call, caller);
    let interrupted = outside(|| signals::interrupts_any(starts_over, origin));
    let reached = match interrupted {
        true => condition::interrupted(place, caller),
        false => condition::await_reach(place, timed, caller),
    };
    rwlock::lock(channel_lock(), Ask::Wait, caller);
    if !reached && waiting.get() > 0 {
        waiting.set(waiting.get() - 1);
        used.waiting.set(used.waiting.get() - 1);
    }
    match reached {
        true => Rested::LookAgain,
        false if interrupted => Rested::Interrupted,
        false => Rested::TimedOut,
    }
}

/// In the middle of a call: handlers may run, and make calls of their own.
fn outside<T>(then: impl FnOnce() -> T) -> T {
    let call = dispatch::leave();
    let done = then();
    dispatch::go_on(call);
    done
}

/// One of these signals, which the program reads from a descriptor: its number, and what it says. None is there, or (with `waits`) never.
pub(crate) fn take_signal(mask: u64, waits: bool) -> Option<(usize, i32, usize)> {
    let caller = dispatch::caller();
    let wanted = |signal: usize| mask >> (signal - 1) & 1 != 0;
    let taken = match waits {
        false => signals::poll(wanted, caller),
        true => {
            rwlock::unlock(channel_lock(), caller);
            let taken = outside(|| signals::wait_for(wanted, caller));
            rwlock::lock(channel_lock(), Ask::Wait, caller);
            Some(taken)
        }
    };
    taken.map(|(signal, info)| (signal, info.code, info.value))
}

/// Nobody can go on. Where the client has done all that it was to do, that is how a server ends; where it has not, it was to be
/// answered. Locks that are waited for are a deadlock all the same.
pub(super) fn nobody_goes_on() {
    if !client::is_there() || threads().over.get() {
        return;
    }
    let waits_by = |kinds: &[u8]| {
        let contexts = &(&tables().contexts)[..threads().count.get()];
        contexts.iter().any(|context: &Context| {
            context.status.get() == Status::Ready && kinds.contains(&context.step.get().kind)
        })
    };
    let locks = [
        step::LOCK,
        step::LOCK_EXCLUSIVE,
        step::LOCK_SHARED,
        step::ONCE,
    ];
    if waits_by(&locks) {
        return;
    }
    if client::is_done() {
        outcome::end_for_all(End::Exited, Report::default());
    }
    if !waits_by(&[step::LATE_WAKE]) {
        client::gives_up();
    }
}
