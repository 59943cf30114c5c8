//! Waits for a condition of which nobody can tell whether they were. A thread takes a lock, comes to the head of a loop with nothing read or done,
//! looks, waits, and comes back there: had it come later, it would have looked only then. So such a wait ends only where another thread
//! might have been woken instead; what follows otherwise is what follows if it had not waited (docs/design/algorithms.md §3).

use super::super::{block, on, store_buffer, tables, threads, wakes};
use super::{Head, Held, LoopHead, Turns, digest, frames_below, of};
use crate::run::call_stack;
use crate::run::trace::Site;
use crate::state::run;
use core::cell::Cell;

impl Turns {
    /// The thread reads or changes something: is that more than having taken a lock? Not if nobody else can know of the place.
    #[inline(always)]
    pub(super) fn stales(&self, thread: usize, place: u64) {
        if self.fresh.get() {
            let (low, high) = tables().contexts[thread].stack.get();
            if self.published.get() || !(low..high).contains(&(place as usize)) {
                self.fresh.set(false);
            }
        }
    }
}

/// The head of the loop that a thread is in, if it has done nothing since that others, or its own next turn, could tell.
pub(in crate::threads) fn untouched(thread: usize) -> LoopHead {
    let turns = of(thread);
    let latest = turns.latest.get();
    let is_latest =
        |head: &Head| (head.activation, head.number) == (latest.activation, latest.number);
    let mut heads = turns.heads().iter().map(Cell::get);
    let untouched = heads.find(is_latest).is_some_and(|head| {
        head.lasting == turns.lasting.get()
            && head.balance == turns.balance.get()
            && head.pushed == store_buffer::pushed(thread)
            && turns.undone(head.changes, 0..0)
    });
    if untouched { latest } else { LoopHead::NONE }
}

/// Would a thread that waits find something else than it did when it looked last?
pub(in crate::threads) fn finds_changes(thread: usize) -> bool {
    let turns = of(thread);
    let latest = turns.latest.get();
    let is_latest =
        |head: &Head| (head.activation, head.number) == (latest.activation, latest.number);
    let from = turns.heads().iter().map(Cell::get).find(is_latest);
    turns.many.get()
        || from.is_none_or(|head| {
            turns
                .reads(head.reads)
                .iter()
                .any(|read| read.get().changed)
        })
}

/// A wait of the thread has ended.
pub(in crate::threads) fn woken(thread: usize) {
    let turns = of(thread);
    turns.woken_lasting.set(turns.lasting.get());
    turns.woken_changes.set(turns.change_count.get());
    turns.woken_pushed.set(store_buffer::pushed(thread));
}

/// The running thread tells others of places on its stack.
pub(in crate::threads) fn publishes() {
    of(threads().current.get()).published.set(true);
}

/// Right before a call that waits for a condition, after which the function comes to the head of a loop and keeps this there; while several threads
/// run. The arguments are those of `__lf_turn`.
///
/// # Safety
/// Instrumented code calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_waits(
    _site: *const Site,
    number: u64,
    room: *mut u64,
    length: usize,
    counted: usize,
) {
    if !on() || block::is_inside() || crate::syscalls::dispatch::uninterrupted() {
        return;
    }
    call_stack::enter();
    let me = threads().current.get();
    let turns = of(me);
    // SAFETY: what the caller promises.
    let (activation, kept) = unsafe { (*room, digest(room, length, counted)) };
    let below = frames_below(me, run().entered.get());
    let here = |head: &Head| (head.activation, head.number) == (activation, number);
    let mut heads = turns.heads().iter().map(Cell::get);
    let newest = |held: &Held| held.number == turns.locks.get();
    let lock = heads.find(here).and_then(|head| {
        let same = head.fresh
            && head.kept == kept
            && head.lasting == turns.lasting.get()
            && head.balance == turns.balance.get()
            && head.pushed == store_buffer::pushed(me)
            && head.locks == turns.locks.get()
            && !turns.many.get()
            && turns.undone(head.changes, below);
        let mut held = turns.held[..turns.held_count.get()].iter().map(Cell::get);
        if same { held.find(newest) } else { None }
    });
    wakes::comes_back(me, lock.map_or(0, |held| held.lock));
}
