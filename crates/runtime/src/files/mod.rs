//! Files as a run sees them: pool files under `--pm-dir` (`pool`, `pool_io`, `pool_table`), ordinary ones (`ordinary` and `names`
//! over an `overlay`), devices and the like (`special`), what descriptors stand for, and how a path is followed (`resolve`). Called by the
//! system calls of the program, in `syscalls::{io, paths}`.
//!
//! Invariants: the disk is read, never written. What a run makes of names and contents is memory of the run. A pool file is an
//! entry of a table in persistent memory, and every change of it that must be seen whole is one word.

pub(crate) mod descriptors;
pub(crate) mod holders;
pub(crate) mod listings;
pub(crate) mod names;
pub(crate) mod ordinary;
pub(crate) mod overlay;
pub(crate) mod pool;
pub(crate) mod pool_io;
mod pool_table;
pub(crate) mod reach;
pub(crate) mod resolve;
pub(crate) mod special;
pub(crate) mod status;
