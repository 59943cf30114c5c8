//! What tells threads that run the same on the same argument from each other: their ids, where their stacks, their thread-local
//! variables and their heaps lie, what they return. The search takes such threads for each other unless one looked (`explore`,
//! `schedule::symmetry`); the trace says who did. Better once too often than not at all: it costs executions, nothing else.

use super::context::all_stacks;
use super::lifecycle::How;
use super::{descriptor, frames, on, tables, threads, turns};
use crate::memory::own::place;
use crate::memory::{heap, persistent_heap};
use crate::run::trace::{self, Origin};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::identity;

/// A thread was created, to run this.
pub(super) fn started(number: usize, how: &How, caller: usize) {
    turns::publishes();
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    // One to one for each function, and for each argument.
    let start = (how.start as u64).wrapping_mul(MIX).rotate_left(32);
    let mut what = start.wrapping_add(how.argument as u64).wrapping_mul(MIX);
    // Others have a stack that is not memory of the program's, and end by themselves.
    if how.stack.is_some() || how.detached {
        what = 0;
    }
    let origin = Origin::library(Builtin::pthread_create, caller);
    trace::started(number, what, origin);
}

/// The running thread asked who it is.
pub(super) fn asked() {
    trace::identity(threads().current.get(), identity::ASKED);
}

/// What a thread returned is looked at.
pub(super) fn returned(number: usize) {
    trace::identity(number, identity::RESULT);
}

/// The running thread computes with an address (ABI).
#[unsafe(no_mangle)]
extern "C" fn __lf_number(address: usize) {
    if on() {
        frames::stores(0, address as u64);
    }
    if on() && is_own(address as u64) {
        turns::publishes();
        trace::identity(threads().current.get(), identity::READ);
    }
}

/// Thread descriptors, with thread-local variables.
fn is_id(value: u64) -> bool {
    (place::DESCRIPTORS..place::SIGNAL_STACK).contains(&(value as usize))
}

/// A place that belongs to one thread.
fn is_own(value: u64) -> bool {
    let value = value as usize;
    let (start, end) = all_stacks();
    (start..end).contains(&value)
        || is_id(value as u64)
        || heap::is_of_thread(value)
        || persistent_heap::is_of_thread(value)
}

/// The running thread reads this.
#[inline(always)]
pub(super) fn reads(value: u64) {
    if is_id(value) {
        trace::identity(threads().current.get(), identity::READ);
    }
}

/// The running thread stores this there.
#[inline(always)]
pub(super) fn stores(to: usize, value: u64) {
    frames::stores(to, value);
    // Others come to its thread-local variables only if they are told where those are.
    if is_own(value)
        && !is_on_own_stack(to)
        && !descriptor::is_variable_of(threads().current.get(), to)
    {
        turns::publishes();
        trace::identity(threads().current.get(), identity::STORED);
    }
}

fn is_on_own_stack(address: usize) -> bool {
    let (low, high) = tables().contexts[threads().current.get()].stack.get();
    (low..high).contains(&address)
}

/// It reads or stores more than a word.
///
/// # Safety
/// The program may read `from`, so far.
pub(super) unsafe fn looks_through(from: *const u8, length: usize, each: impl Fn(u64)) {
    let mut at = 0;
    while at + 8 <= length {
        // SAFETY: what the caller promises.
        each(unsafe { (from.add(at) as *const u64).read_unaligned() });
        at += 8;
    }
}
