//! Barriers.

use super::context::{Status, Step};
use super::objects::Object;
use super::steps::{effect, note, point};
use super::{object_lifetime, objects, on, sleep_sets, tables, threads, turns, word};
use crate::caller;
use crate::run::outcome::{self};
use crate::run::trace;
use landfall_vocab::record::access::{NOTHING, READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::{End, LOCK, round_of};

crate::weak!(
    "pthread_barrier_init" => barrier_init, "pthread_barrier_destroy" => barrier_destroy,
    "pthread_barrier_wait" => barrier_wait,
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_barrier_init(
    barrier: *mut u32,
    _attributes: usize,
    count: u32,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if count == 0 {
            return libc::EINVAL;
        }
        // The program's memory remembers the count as well: it may be initialised before the run that uses it.
        if on() {
            object_lifetime::made(barrier as usize, 0, caller!());
        }
        *word(barrier) = count;
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_barrier_destroy(barrier: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::destroyed(barrier as usize, barrier as usize, 0, caller!());
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_barrier_wait(barrier: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            if *barrier <= 1 {
                return libc::PTHREAD_BARRIER_SERIAL_THREAD;
            }
            outcome::fail(
                End::Deadlock,
                &[b"pthread_barrier_wait waits for something that cannot happen"],
            )
        }
        let caller = caller!();
        let me = &tables().contexts[threads().current.get()];
        let asks = !me.unasked.replace(false);
        let object = objects().get(barrier as usize);
        point(Step::new(step::ARRIVE, barrier as usize, caller));
        if object_lifetime::is_gone(barrier as usize) {
            effect(barrier as usize, READ, 0);
            return libc::EINVAL;
        }
        let last = arrive(barrier as usize, object, (*word(barrier)).max(1));
        point(Step::new(step::PASS, barrier as usize, caller));
        match pass(barrier as usize, asks, last) {
            true => libc::PTHREAD_BARRIER_SERIAL_THREAD,
            false => 0,
        }
    }
}

/// The running thread arrives; is it the last one?
fn arrive(barrier: usize, object: &Object, parties: u32) -> bool {
    let me = threads().current.get();
    let last = object.count.get() + 1 >= parties;
    note(barrier, WRITE, parties.into());
    if last {
        // Whoever sleeps before it would be in the next round.
        sleep_sets::executed(barrier as u64 | LOCK, 1, true);
    }
    object.count.set(object.count.get() + 1);
    object.waiting.set(object.waiting.get() | 1 << me);
    let context = &tables().contexts[me];
    context.released.set(false);
    context.told.set(false);
    context.meets.set((barrier, object.round.get()));
    if !last {
        return false;
    }
    for thread in 0..threads().count.get() {
        let context = &tables().contexts[thread];
        if object.waiting.get() & 1 << thread != 0 && context.status.get() == Status::Ready {
            context.released.set(true);
        }
    }
    object.count.set(0);
    object.waiting.set(0);
    object.round.set(object.round.get() + 1);
    true
}

/// The running thread leaves; is it the serial thread? That may be any of them, so it is the first to leave. Where the program does not
/// ask, nobody can tell.
fn pass(barrier: usize, asks: bool, last: bool) -> bool {
    let me = threads().current.get();
    let context = &tables().contexts[me];
    let origin = context.step.get().origin;
    let (.., round) = context.meets.replace((0, 0));
    let (place, round) = (barrier as u64 | LOCK, u64::from(round));
    turns::lasts(me);
    if !asks {
        trace::access(me, place, NOTHING, origin, [0, 0, 0]);
        return last;
    }
    let told = context.told.get();
    let what = if told { READ } else { WRITE };
    trace::access(
        me,
        place,
        what,
        origin,
        [round << 1 | u64::from(told), 0, 0],
    );
    sleep_sets::executed(round_of(place, round), 1, !told);
    for other in &(&tables().contexts)[..threads().count.get()] {
        if other.meets.get() == (barrier, round as u32) {
            other.told.set(true);
        }
    }
    !told
}

/// The result of the call that comes next is not looked at: so the pass found.
#[unsafe(no_mangle)]
extern "C" fn __lf_unasked() {
    if on() {
        tables().contexts[threads().current.get()].unasked.set(true);
    }
}
