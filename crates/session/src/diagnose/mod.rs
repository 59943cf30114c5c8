//! From failing executions to findings: run again, made plain, explained.

pub(crate) mod cause;
pub(crate) mod checkers;
pub(crate) mod diagnosis;
pub(crate) mod doubtful;
pub(crate) mod finding;
pub(crate) mod heap;
pub(crate) mod members;
pub(crate) mod minimise;
pub(crate) mod outcome;
pub(crate) mod provenance;
pub(crate) mod thread_fixes;
pub(crate) mod transactions;
pub(crate) mod unadded;
