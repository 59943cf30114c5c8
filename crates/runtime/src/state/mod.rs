//! All mutable state of the runtime, on pages of its own: an in-place restart must neither track nor restore it.
//!
//! There are two parts. [`Server`] lasts as long as the process; [`Run`] is one run and is made anew when the next one begins.
//! Both are made of cells. One kernel thread runs all of a checked program (its threads are contexts on it), so nobody else is ever
//! in here; a signal handler interrupts whoever is, on that same thread, and finds each cell whole.

mod run;
mod server;

use core::cell::{Cell, UnsafeCell};
use landfall_vocab::window;

use crate::memory::own::place;
pub(crate) use run::Run;
pub(crate) use server::Server;

/// What the process is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Nothing was set up yet.
    Raw = 0,
    /// An instrumented program that nobody checks: hooks only perform.
    Plain,
    /// A server before `main`: the first touch of persistent memory starts serving there and then.
    Constructing,
    /// A server between runs.
    Serving,
    /// A run is on.
    Running,
}

/// A static that only the one kernel thread reaches.
#[repr(transparent)]
pub struct OneThread<T>(pub(crate) T);

// SAFETY: the runtime never starts a kernel thread, and a program that does (`clone`) is stopped before it happens
// (`syscalls::calls`): there is no second thread to share with.
unsafe impl<T> Sync for OneThread<T> {}

/// A part of the state that its module reaches by pointer, field by field. References to all of it would overlap: a signal handler
/// may be in the same part as the code it interrupts.
#[repr(transparent)]
pub(crate) struct Raw<T>(UnsafeCell<T>);

impl<T> Raw<T> {
    #[inline(always)]
    pub(crate) const fn pointer(&self) -> *mut T {
        self.0.get()
    }
}

// Whole pages, this and everything else in the section: what shares a page with it would not be restored.
#[repr(C, align(4096))]
struct State {
    run: Run,
    server: Server,
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
// SAFETY: all zero is a value of every field: numbers, null pointers, `Mode::Raw`, `Policy::Quiet`, no function.
static __lf_state: OneThread<State> = OneThread(unsafe { core::mem::zeroed() });

/// What lasts as long as the process.
#[inline(always)]
pub(crate) fn server() -> &'static Server {
    &__lf_state.0.server
}

/// The run that is on; between two runs, the one before.
#[inline(always)]
pub(crate) fn run() -> &'static Run {
    &__lf_state.0.run
}

/// Where all of it lies.
pub(crate) fn range() -> (usize, usize) {
    (&raw const __lf_state as usize, size_of::<State>())
}

/// Steps left; decremented inline by instrumented code at function entries and loop back edges (ABI).
#[repr(C, align(4096))]
pub struct Budget(Cell<i64>);

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
pub static __lf_budget: OneThread<Budget> = OneThread(Budget(Cell::new(i64::MAX)));

/// How far the window reaches in which accesses of instrumented code concern us, from [`window::BASE`] on: persistent memory,
/// the heap too where it is looked at, or everything while several threads run (ABI).
#[repr(C, align(4096))]
pub struct Window(Cell<u64>);

#[unsafe(no_mangle)]
#[unsafe(link_section = "lf_state")]
pub static __lf_window: OneThread<Window> = OneThread(Window(Cell::new(window::LEN)));

/// As far as the end of the heap.
const HEAP_TOO: u64 = (place::HEAP + place::HEAP_LEN) as u64 - window::BASE;

/// All there is, and one thread runs.
const MARKED_TOO: u64 = u64::MAX - 1;

/// Several threads run: every access that others could see is looked at.
pub(crate) fn watch(on: bool) {
    crate::memory::rewritten::watch(on);
    __lf_window.0.0.set(if on {
        u64::MAX
    } else if run().marked.get() != 0 || run().graves.get() != 0 {
        MARKED_TOO
    } else if crate::memory::heap_checks::on() {
        HEAP_TOO
    } else {
        window::LEN
    });
}

/// One thread runs, and the heap is looked at, or what the program has marked.
#[inline(always)]
pub(crate) fn looking_at_heap() -> bool {
    __lf_window.0.0.get().wrapping_sub(HEAP_TOO) < u64::MAX - HEAP_TOO
}

#[inline(always)]
pub(crate) fn watching() -> bool {
    __lf_window.0.0.get() == u64::MAX
}

pub(crate) fn budget() -> &'static Cell<i64> {
    &__lf_budget.0.0
}

#[inline(always)]
pub(crate) fn running() -> bool {
    server().mode.get() as u8 == Mode::Running as u8
}
