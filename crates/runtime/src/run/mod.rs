//! A run from its start to its end: taking over before `main` (`start`), serving jobs (`serve`) in forks (`fork_server`) or in
//! place (`restart`, `tracked`, from where the first thread is created: `checkpoint`), the memory shared with the checker (`shared`), the trace that a
//! run writes (`trace`, `sites`, `call_stack`, `activations`), and how it ends (`outcome`,
//! `endless`).
//!
//! Invariants: the same job gives the same trace to the byte. The trace and the outcome are in shared memory, so that they stand
//! whatever kills the program. A run ends through `outcome`, wherever it is.

pub(crate) mod activations;
pub(crate) mod call_stack;
pub(crate) mod checkpoint;
pub(crate) mod compaction;
pub(crate) mod endless;
mod final_state;
pub(crate) mod fork_server;
pub(crate) mod outcome;
pub(crate) mod restart;
pub(crate) mod serve;
pub(crate) mod shared;
pub(crate) mod sites;
pub(crate) mod start;
pub(crate) mod trace;
pub(crate) mod tracked;
