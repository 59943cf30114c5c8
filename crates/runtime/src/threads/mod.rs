//! Threads as contexts on the one kernel thread (RUNTIME.md): every switch is ours, so every schedule can be repeated.
//!
//! A thread announces what it is about to do (`steps::point`), and goes on when it is chosen and its step is possible. What
//! libc would keep inside its locks is kept here, in `objects`, by address.

pub(crate) mod access;
mod barrier;
mod condition;
mod context;
pub(crate) mod controlled;
mod futex;
mod life;
mod mutex;
mod objects;
mod once;
mod rwlock;
mod semaphore;
mod specific;
mod standard;
mod steps;

use crate::shadow::{is_persistent, touch_span, view};
use crate::state::{Mode, allocate, state, watch};
use context::Context;
use landfall_vocab::shared::job;
use objects::Objects;

pub(crate) use context::{all_stacks, in_guard};
pub(crate) use specific::MOST_KEYS;

/// Contexts of a run, main included.
pub(crate) const MOST: usize = 32;

/// Everything about the threads of one run.
#[repr(C)]
pub(crate) struct Threads {
    on: bool,
    /// Plain accesses are steps as well.
    everywhere: bool,
    /// Threads that have not ended.
    alive: usize,
    current: usize,
    count: usize,
    /// Decisions taken so far.
    steps: usize,
    contexts: [Context; MOST],
    objects: *mut Objects,
}

/// Are the threads of this run under control?
#[inline(always)]
pub(crate) unsafe fn on() -> bool {
    (*state()).threads.on && (*state()).mode as u8 == Mode::Running as u8
}

pub(crate) fn threads() -> *mut Threads {
    unsafe { &raw mut (*state()).threads }
}

/// Once per server.
pub(crate) unsafe fn prepare() -> bool {
    (*threads()).objects = allocate(size_of::<Objects>()) as *mut Objects;
    context::map_stacks()
}

/// At the start of a run: main is the only context.
pub(crate) unsafe fn begin(flags: u32) {
    let threads = threads();
    (*threads).on = flags & job::THREADS != 0;
    if !(*threads).on {
        return;
    }
    (*threads).everywhere = flags & job::EVERYWHERE != 0;
    (*threads).alive = 1;
    ((*threads).current, (*threads).count, (*threads).steps) = (0, 1, 0);
    (*threads).contexts[0] = Context::main();
    (*(*threads).objects).reset();
}

/// Could another thread still do something?
pub(crate) unsafe fn others_alive() -> bool {
    let threads = threads();
    on() && (0..(*threads).count).any(|number| {
        number != (*threads).current && (*threads).contexts[number].status == context::Status::Ready
    })
}

/// Before the driver takes over: its thread descriptor is the main thread's.
pub(crate) unsafe fn leave() {
    watch(false);
    if (*threads()).on && (*threads()).current != 0 {
        context::set_thread_pointer((*threads()).contexts[0].thread_pointer);
        (*threads()).current = 0;
    }
}

/// The number that `gettid` answers, and what libc finds in a thread descriptor.
pub(crate) unsafe fn thread_id() -> usize {
    const MAIN: usize = 1000;
    MAIN + if on() { (*threads()).current } else { 0 }
}

/// A word of the program's that belongs to a lock or the like, wherever it lies.
unsafe fn word<T>(at: *mut T) -> *mut T {
    if is_persistent(at as usize) && on() {
        touch_span(at as usize, size_of::<T>());
    }
    view(at)
}
