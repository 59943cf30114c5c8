//! Proofs against the search, against brute force, and against verdicts that are known.
//!
//! One program for all of them: linking costs more than compiling. `cargo nextest run -p landfall-prove NAME::` runs one file.

mod agreement;
mod guards;
mod schedules;
mod structures;
mod verdicts;
