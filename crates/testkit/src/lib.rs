//! What only tests and benchmarks use; nothing that ships depends on it.
//!
//! [`program`] is a multi-threaded program of a few instructions, [`interpret`] executes it for the schedule search,
//! [`catalogue`] has some with known numbers of executions, and [`schedules`] draws others at random and tries everything.
//! [`toy`] is a subject for the crash search; [`litmus`] reads the bundled tests, draws random ones, and turns them into
//! programs of [`program`].

pub mod catalogue;
pub mod interpret;
pub mod litmus;
pub mod program;
pub mod schedules;
pub mod toy;
