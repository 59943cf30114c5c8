//! System calls of the program, and what the kernel would do to it: signals, time, randomness, the machine. `dispatch` gets every
//! call as a signal before the kernel sees it; `calls` says what becomes of it, `io` and `paths` for descriptors and paths.
//!
//! Invariants: during a run nothing of the program reaches the kernel but what `calls` lets through. A call is performed, answered,
//! or the end of the run, never passed on because nobody knows it. What an in-place restart cannot undo repeats the run in a fork.
//! The runtime's own calls leave through `sys` alone.

pub(crate) mod calls;
pub(crate) mod channels;
pub(crate) mod clock;
pub(crate) mod deferred;
pub(crate) mod dispatch;
pub(crate) mod handlers;
pub(crate) mod io;
pub(crate) mod machine;
pub(crate) mod mappings;
pub(crate) mod paths;
pub(crate) mod random;
pub(crate) mod signals;
pub(crate) mod sys;
pub(crate) mod timers;
pub(crate) mod vdso;
pub(crate) mod waiting;

/// What a system call returns that fails.
pub(crate) const fn error(number: i32) -> isize {
    -(number as isize)
}
