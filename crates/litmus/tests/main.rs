//! Litmus tests: their files, and three definitions that must agree.
//!
//! One program for all of them: linking costs more than compiling. `cargo nextest run -p landfall-litmus NAME::` runs one file.

mod agreement;
mod corpus;
mod mutation;
mod reading;
mod schedule;
