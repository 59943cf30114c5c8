//! Proofs about all executions of a bounded program: not one schedule and one crash after another, but all at once.
//!
//! A front end turns its input into a [`program::Program`]: threads of guarded events over terms. [`encode`] turns that into a
//! formula and an ordering; [`solver`] looks for a model of the formula whose ordering has no cycle, with the [`theory`]
//! taking part in the search. A model is an execution with a power failure.

mod blast;
pub mod builder;
pub mod c;
pub mod certificate;
pub mod cnf;
mod dot;
pub mod encode;
pub mod litmus;
pub mod outcomes;
pub mod program;
pub mod prove;
mod simplify;
pub mod solver;
mod svg;
pub mod term;
pub mod theory;
mod values;
pub mod witness;
