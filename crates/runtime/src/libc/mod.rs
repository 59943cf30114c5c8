//! Functions of libraries that the runtime provides itself: those of libc that look at memory, stdio on persistent buffers, locks,
//! and libpmem. Programs call them by their usual names, which are weak symbols here: the program's own definition wins.
//!
//! Invariants: where no persistent memory is concerned the function behind ours does it (`real`). Where it is, what the function
//! reads and writes is recorded as if the program had done it at the place of the call (`caller!`).

pub(crate) mod libpmem;
pub(crate) mod locks;
mod memory;
pub(crate) mod real;
mod scanf;
pub(crate) mod stdio;
pub(crate) mod strings;
mod syslog;
mod text;
mod trees;
pub(crate) mod variadic;
mod wide;
