//! What a program says of itself (landfall.h). *Locks of its own making* (`lf_lock`, `lf_unlock`): who holds one is known to those who look
//! for data races and for misuse. Saying so is a step that waits for nothing, not even for the thread's own stores: the lock itself is
//! checked as it is. *What is not judged* (`lf_ignore_begin`, `lf_ignore_end`). *Where others may go on* (`lf_preempt`).

use super::context::Step;
use super::steps::{effect, point};
use super::{
    block, forked, objects, on, repeated, section, sleep_sets, tables, threads, trusted, turns,
};
use crate::caller;
use crate::run::trace::{self, Origin};
use core::cell::Cell;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{NOTHING, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::{BLOCKS, SAID, UNJUDGED};

/// Of one thread.
#[repr(C)]
pub(crate) struct ThreadSayings {
    /// Parts that are not judged, one inside of the other.
    unjudged: Cell<u32>,
}

impl ThreadSayings {
    pub(super) fn begin(&self) {
        self.unjudged.set(0);
    }
}

fn said() -> &'static ThreadSayings {
    &tables().contexts[threads().current.get()].said
}

/// The running thread holds a lock.
#[unsafe(no_mangle)]
extern "C" fn lf_lock(lock: usize) {
    let caller = caller!();
    if on() && !block::is_inside() {
        let (lock, me) = (forked::key(lock) | SAID, threads().current.get());
        point(Step::new(step::HOLD, lock, caller));
        let object = objects().get(lock);
        let again = object.is_owner(me);
        object.owner.set(me as u32 + 1);
        object
            .count
            .set(if again { object.count.get() + 1 } else { 1 });
        effect(lock, if again { NOTHING } else { WRITE }, 0);
    }
}

/// The running thread gives a lock back.
#[unsafe(no_mangle)]
extern "C" fn lf_unlock(lock: usize) {
    let caller = caller!();
    if on() && !block::is_inside() {
        let (lock, me) = (forked::key(lock) | SAID, threads().current.get());
        point(Step::new(step::LET_GO, lock, caller));
        let object = objects().get(lock);
        let own = object.is_owner(me);
        if own && object.count.get() > 1 {
            object.count.set(object.count.get() - 1);
            return effect(lock, NOTHING, 0);
        }
        // Where another one says that it holds it, too, that stays.
        if own {
            object.owner.set(0);
        }
        effect(lock, WRITE, 0);
    }
}

/// Is what the running thread does judged?
pub(crate) fn is_judged() -> bool {
    !on() || said().unjudged.get() == 0 && !trusted::is_inside()
}

/// A part that is not judged begins.
pub(crate) fn ignore_begins(caller: usize) {
    if on() {
        let depth = said().unjudged.get();
        said().unjudged.set(depth + 1);
        if depth == 0 {
            tell(WRITE, caller);
        }
    }
}

/// One ends.
pub(crate) fn ignore_ends(caller: usize) {
    if on() {
        match said().unjudged.get() {
            0 => {}
            depth => said().unjudged.set(depth - 1),
        }
        if said().unjudged.get() == 0 {
            tell(NOTHING, caller);
        }
    }
}

fn tell(what: u8, caller: usize) {
    let (me, origin) = (
        threads().current.get(),
        Origin::library(Builtin::thread, caller),
    );
    trace::access(me, UNJUDGED, what, origin, [0, 0, 0]);
    repeated::moved(me, origin);
}

/// All that others do is tried before this and after it. With persistent memory every step is tried in every order that matters, and this
/// adds nothing.
#[unsafe(no_mangle)]
extern "C" fn lf_preempt() {
    let caller = caller!();
    if on() && !block::is_inside() && !threads().persistency.get() {
        section::breaks();
        let me = threads().current.get();
        let step = Step::new(step::PREEMPT, BLOCKS as usize, caller);
        point(step);
        trace::access(me, BLOCKS, WRITE, step.origin, [0, 0, 0]);
        repeated::moved(me, step.origin);
        sleep_sets::executed(BLOCKS, 1, true);
        turns::lasts(me);
    }
}
