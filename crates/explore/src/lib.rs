//! The search. A program is reached only through [`subject::Subject`]; nothing here knows whether it is native, a litmus
//! test or a closure.
//!
//! [`recovery`] is the crash search: one tree of everything a recovery may read, walked along the log of the execution
//! that crashed, so that each distinct recovery behaviour is run once however many power failures lead to it.

pub mod judge;
pub mod recovery;
pub mod schedule;
pub mod subject;
pub mod tree;
