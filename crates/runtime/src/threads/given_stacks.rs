//! Stacks that the program gives to its threads (`pthread_attr_setstack`). A thread uses its own to its very end: whoever frees it,
//! unmaps it or gives it to somebody else before that takes it away under a running thread.

use super::{tables, threads, visible};
use crate::memory::heap_checks;
use crate::run::trace::Origin;
use crate::state::run;
use core::cell::Cell;

/// Of one thread.
#[repr(C)]
pub(crate) struct GivenStack {
    /// Its stack is memory of the program's, and in use.
    in_use: Cell<bool>,
    /// Where the thread was created.
    created: Cell<Origin>,
}

impl GivenStack {
    pub(super) fn begin(&self) {
        self.in_use.set(false);
    }
}

/// A thread was created with such a stack.
pub(super) fn given(thread: usize, origin: Origin) {
    let stack = &tables().contexts[thread].given_stack;
    stack.in_use.set(true);
    stack.created.set(origin);
    run().given_stacks.set(true);
}

/// The thread uses its stack for the last time: its end is in conflict with whatever becomes of that memory.
pub(super) fn leaves(thread: usize) {
    let context = &tables().contexts[thread];
    if context.given_stack.in_use.get() {
        let (low, _) = context.stack.get();
        visible::touches(low, context.given_stack.created.get());
        context.given_stack.in_use.set(false);
    }
}

/// Which thread runs on a stack in this range?
fn user(start: usize, length: usize) -> Option<usize> {
    let uses = |&thread: &usize| {
        let context = &tables().contexts[thread];
        let (low, high) = context.stack.get();
        context.given_stack.in_use.get() && low < start + length && start < high
    };
    (0..threads().count.get()).find(uses)
}

/// Memory is taken away: not under a thread that runs on it.
#[inline(always)]
pub(crate) fn taken_away(start: usize, length: usize) {
    if run().given_stacks.get()
        && let Some(thread) = user(start, length)
    {
        heap_checks::live_stack(start, thread);
    }
}
