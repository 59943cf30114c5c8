//! Litmus tests for tests: the bundled ones, random ones, and both as programs of the schedule search.

pub mod corpus;
pub mod random;
pub mod schedules;
