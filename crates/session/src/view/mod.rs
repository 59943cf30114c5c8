//! What was found, as people look at it: schedules as tables, executions as rows and cache lines, coverage of the source.

mod behind;
pub(crate) mod blocks;
pub(crate) mod coverage;
pub(crate) mod lanes;
pub(crate) mod locals;
pub(crate) mod outcomes;
pub(crate) mod schedule;
pub(crate) mod table;
pub(crate) mod timeline;
mod transactions;
