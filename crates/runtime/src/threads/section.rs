//! Critical sections in one piece. From taking a lock to giving it back nobody else goes on, so that both and all in between are one step:
//! two of those depend on each other if what they access does, not because of the lock. That is so as long as nothing in between is a
//! step, and nobody can see whether the lock is held. Where it turns out otherwise the trace says so, the step was that of taking the lock, and
//! the search begins anew with that lock among its points.

use super::context::Step;
use super::{block, repeated, tables, threads, turns};
use crate::memory::shadow::is_persistent;
use crate::run::shared::control;
use crate::run::trace;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::access::{NOTHING, READ};
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
    let bit = point_bit(lock as u64 | LOCK);
    control().points[bit / 64].load(Relaxed) >> (bit % 64) & 1 == 0
}

/// The running thread has taken a lock that it did not hold: does one begin?
pub(super) fn begins(lock: usize) -> bool {
    let begins = !is_inside() && !block::is_inside() && are_joined(lock);
    if begins {
        threads().section.set(lock);
    }
    begins
}

/// The running thread gives a lock back that it holds once: was that all of it?
pub(super) fn ends(lock: usize) -> bool {
    if threads().section.get() != lock || lock == 0 {
        return false;
    }
    threads().section.set(0);
    let me = threads().current.get();
    let origin = tables().contexts[me].step.get().origin;
    trace::access(me, SECTIONS, NOTHING, origin, [0, 0, 0]);
    repeated::moved(me, repeated::last(me));
    let place = lock as u64 | LOCK;
    turns::synchronised(me, place, step::UNLOCK, false);
    turns::changed(me, place, 1);
    true
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
