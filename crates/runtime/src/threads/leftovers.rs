//! What a turn of a loop leaves behind that was in vain but for that: bytes that its thread stored to, no step of their own, which the next
//! turn stores to again before anybody looks. Such a turn did not happen either; where it is taken back the bytes hold again what they did.
//!
//! Whether they are ever read first is a question about all executions: one shows what a turn leaves, and another one that somebody
//! reads those bytes after a thread was at the head of that loop and before it stored to them. So both are kept as sets of
//! hashes for the whole search, in memory that all runs share, and who adds to one looks into the other. If they meet, turns of that loop
//! count whatever they leave, and the search starts over (docs/design/algorithms.md §3).

use super::{MOST, signals, tables, threads, turns};
use crate::memory::heap;
use crate::run::shared::control;
use crate::run::trace::Origin;
use core::cell::Cell;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;
use landfall_vocab::shared::{leftover, point};

/// Bytes are looked at four by four; a store to less than that covers none.
const GRAIN: usize = 4;
/// Stores of a thread that are remembered.
const PLACES: usize = 256;

/// What each thread stored to, and when: at how many heads of loops it had been.
#[repr(C)]
pub(super) struct Stored {
    heads: [Cell<u64>; MOST],
    places: [[Cell<(usize, u64)>; PLACES]; MOST],
}

fn stored() -> &'static Stored {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().stored.get() }
}

#[inline(always)]
pub(super) fn is_on() -> bool {
    threads().leftovers.get()
}

fn add(set: &[AtomicU64], bit: usize) {
    control().leftovers.filled.store(1, SeqCst);
    set[bit / 64].fetch_or(1 << (bit % 64), SeqCst);
}

fn contains(set: &[AtomicU64], bit: usize) -> bool {
    set[bit / 64].load(SeqCst) >> (bit % 64) & 1 != 0
}

/// A thread is at the head of a loop: the how many-th time.
pub(super) fn arrives(thread: usize) -> u64 {
    let heads = &stored().heads[thread];
    heads.set(heads.get() + 1);
    heads.get()
}

/// May a turn of this loop that leaves something behind be one in vain?
pub(super) fn overlooks(head: Origin) -> bool {
    let leftovers = &control().leftovers;
    // A handler sees its thread's memory whatever orders them.
    if signals::are_on() {
        return false;
    }
    if !is_on() {
        leftovers.some.store(1, SeqCst);
        return false;
    }
    let bit = point(head.number());
    if contains(&leftovers.counted, bit) {
        return false;
    }
    add(&leftovers.overlooked, bit);
    if contains(&leftovers.counted, bit) {
        leftovers.wrong.store(1, SeqCst);
    }
    true
}

/// What turns of this loop leave counts from now on.
pub(super) fn counts(head: Origin) {
    let leftovers = &control().leftovers;
    let bit = point(head.number());
    add(&leftovers.counted, bit);
    if contains(&leftovers.overlooked, bit) {
        leftovers.wrong.store(1, SeqCst);
    }
}

/// A loop of a thread, the same for threads that run the same on the same argument.
fn of_thread(head: Origin, thread: usize) -> u64 {
    let context = &tables().contexts[thread];
    let start = (context.start.get() as u64).rotate_left(32) ^ context.argument.get() as u64;
    head.number() ^ start.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A turn of this loop of a thread leaves these bytes.
pub(super) fn leaves(thread: usize, head: Origin, address: usize, length: usize) {
    let leftovers = &control().leftovers;
    for grain in address / GRAIN..=(address + length - 1) / GRAIN {
        let bit = leftover(of_thread(head, thread), named(grain));
        add(&leftovers.left, bit);
        if contains(&leftovers.read, bit) {
            counts(head);
        }
    }
}

/// The same for threads that are alike: where it lies in the stack or the heap of a thread.
fn named(grain: usize) -> u64 {
    const OF_HEAP: usize = 1 << 62;
    const OF_STACK: usize = 1 << 61;
    let address = grain * GRAIN;
    if heap::is_of_thread(address) {
        return (OF_HEAP | heap::place_of(address)) as u64;
    }
    let stacks = tables().contexts[..threads().count.get()].iter();
    let mut stacks = stacks.map(|context| context.stack.get());
    match stacks.find(|&(from, to)| (from..to).contains(&address)) {
        Some((from, _)) => (OF_STACK | (address - from)) as u64,
        None => address as u64,
    }
}

/// The running thread stores to bytes.
pub(super) fn stores(thread: usize, address: usize, length: usize) {
    let now = stored().heads[thread].get();
    for grain in address.div_ceil(GRAIN)..(address + length) / GRAIN {
        stored().places[thread][grain % PLACES].set((grain, now));
    }
}

/// Somebody reads bytes: what is new there since each thread was at the heads of its loops?
pub(super) fn reads(address: usize, length: usize) {
    let leftovers = &control().leftovers;
    for grain in address / GRAIN..=(address + length - 1) / GRAIN {
        let name = named(grain);
        for thread in 0..threads().count.get() {
            let (of, when) = stored().places[thread][grain % PLACES].get();
            turns::each_head(thread, |head, arrived| {
                if of == grain && when >= arrived {
                    return;
                }
                let bit = leftover(of_thread(head, thread), name);
                if !contains(&leftovers.read, bit) {
                    add(&leftovers.read, bit);
                    if contains(&leftovers.left, bit) {
                        counts(head);
                    }
                }
            });
        }
    }
}

/// The running thread does what may read anything.
pub(crate) fn anything_is_read() {
    if super::on() && is_on() {
        for thread in 0..threads().count.get() {
            turns::each_head(thread, |head, _| counts(head));
        }
    }
}

/// Bytes are copied to where nobody has seen them.
pub(crate) fn are_copied(address: usize, length: usize) {
    if length != 0 && super::on() && is_on() {
        reads(address, length);
    }
}
