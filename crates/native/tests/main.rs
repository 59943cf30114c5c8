//! Native programs: built with the pass, run on given images, their traces read.
//!
//! One program for all of them: linking costs more than compiling. `cargo nextest run -p landfall-native NAME::` runs one file.

#![allow(missing_docs)]

mod channels;
mod checkpoint;
mod litmus;
mod programs;
mod rewritten;
mod schedule_random;
mod schedule_recall;
mod schedule_rounds;
mod schedule_scale;
mod schedule_transactions;
mod schedules;
mod server;
mod support;
