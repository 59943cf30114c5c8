//! Critical sections in one piece. From taking a lock to giving it back nobody else goes on, so that both and all in between are one step:
//! two of those depend on each other if what they access does, not because of the lock. That is so as long as nothing in between is a
//! step, and nobody can see whether the lock is held. Signalling a condition is part of it, and so is entering the queue of one, which ends
//! it: what others can tell of that is the condition's. Where it turns out otherwise the trace says so, the step was that of taking the lock, and
//! the search begins anew with that lock among its points.

use super::context::Step;
use super::{block, object_lifetime, repeated, signals, sleep_sets, tables, threads, turns};
use crate::memory::shadow::is_persistent;
use crate::run::shared::control;
use crate::run::trace;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::access::{NOTHING, READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::{LOCK, SECTIONS, point as point_bit};

/// Is the running thread in one?
#[inline(always)]
pub(super) fn is_inside() -> bool {
    threads().section.get() != 0
}

/// Are those of this lock single steps?
fn are_joined(lock: usize) -> bool {
    let threads = threads();
    if !threads.sections.get() || threads.persistency.get() || is_persistent(lock) {
        return false;
    }
    // Whoever jumps out of a handler may have left the lock held.
    if signals::handlers_jump() {
        return false;
    }
    let bit = point_bit(lock as u64 | LOCK);
    control().points[bit / 64].load(Relaxed) >> (bit % 64) & 1 == 0
}

/// The running thread has taken a lock that it did not hold: does one begin?
pub(super) fn begins(lock: usize) -> bool {
    let begins = !is_inside() && !block::is_inside() && are_joined(lock);
    if begins {
        threads().section.set(lock);
        threads().section_signals.set(false);
    }
    begins
}

/// The running thread signals a condition, or enters its queue: is that part of the one that it is in? Once it is: all else in there could as
/// well come right before that, or right after.
pub(super) fn takes_in(condition: usize) -> bool {
    let takes_in = is_inside()
        && !threads().section_signals.get()
        && !is_persistent(condition)
        && !object_lifetime::is_gone(condition);
    if takes_in {
        threads().section_signals.set(true);
    }
    takes_in
}

/// It did; a signal may have found nobody, and then it has only looked whether somebody waits.
pub(super) fn concerns(condition: usize, kind: u8, found: bool) {
    let me = threads().current.get();
    let origin = tables().contexts[me].step.get().origin;
    let place = condition as u64 | LOCK;
    let said = [place, kind.into(), 0];
    trace::access(me, SECTIONS, WRITE, origin, said);
    repeated::moved(me, repeated::last(me));
    turns::touched(me, place, 1, None);
    match found {
        true => {
            turns::lasts(me);
            turns::changed(me, place, 1);
        }
        false => turns::read(me, place, 1, 0),
    }
    sleep_sets::executed(place, 1, true);
}

/// Is the running thread in one of this lock?
pub(super) fn is_of(lock: usize) -> bool {
    is_inside() && threads().section.get() == lock
}

/// The running thread gives a lock back that it holds once: was that all of it?
pub(super) fn ends(lock: usize) -> bool {
    if threads().section.get() != lock || lock == 0 {
        return false;
    }
    end(lock, step::UNLOCK);
    true
}

/// It is all of it.
pub(super) fn end(lock: usize, kind: u8) {
    threads().section.set(0);
    let me = threads().current.get();
    let origin = tables().contexts[me].step.get().origin;
    trace::access(me, SECTIONS, NOTHING, origin, [0, 0, 0]);
    repeated::moved(me, repeated::last(me));
    let place = lock as u64 | LOCK;
    turns::synchronised(me, place, kind, false);
    turns::changed(me, place, 1);
}

/// Somebody could see whether a lock is held, or holds it for longer than one step.
pub(super) fn is_seen(lock: usize) {
    if are_joined(lock) {
        breaks();
        say(lock);
    }
}

/// What comes next is a step, or the end of the process: the one that the running thread is in is not in one piece.
pub(super) fn breaks() {
    if is_inside() {
        say(threads().section.replace(0));
    }
}

fn say(lock: usize) {
    let me = threads().current.get();
    let origin = tables().contexts[me].step.get().origin;
    trace::access(me, SECTIONS, READ, origin, [lock as u64, 0, 0]);
    repeated::moved(me, repeated::last(me));
}

/// A step is announced: is there nothing to be done?
pub(super) fn passes_over(step: &Step) -> bool {
    // Its store buffer is empty, and nobody can tell when it rests.
    if matches!(step.kind, step::YIELD | step::SLEEP | step::FENCE) {
        return true;
    }
    breaks();
    false
}
