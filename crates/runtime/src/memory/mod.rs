//! The memory of a run: persistent memory (its content and shadow, accesses of it, announced or not), the two heaps, what the
//! program protected, and how much it may have. Called by hooks, by the functions of `libc` and by system calls.
//!
//! Invariants: during a run the window of persistent memory is closed, its content lies at a fixed distance, and only `shadow`
//! knows where; whoever else reaches for it faults and is recorded (`unannounced`). A page has its content once it is touched,
//! and a known byte is in a touched page. Bytes are moved by `bytes`, never by libc: the program may have replaced that.

pub(crate) mod accesses;
pub(crate) mod bytes;
pub(crate) mod heap;
pub(crate) mod heap_checks;
mod instruction;
pub(crate) mod kernel_pointers;
pub(crate) mod limits;
pub(crate) mod marked;
pub(crate) mod operand;
pub(crate) mod own;
pub(crate) mod persistent_heap;
pub(crate) mod probe;
pub(crate) mod protections;
pub(crate) mod rewritten;
pub(crate) mod shadow;
pub(crate) mod unannounced;
