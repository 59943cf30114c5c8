//! The search against brute force and against the numbers that are known.
//!
//! One program for all of them: linking costs more than compiling. `cargo nextest run -p landfall-explore NAME::` runs one file.

mod brute_force;
mod checksums;
mod growth;
mod judge;
mod order_table;
mod schedule_ahead;
mod schedule_alike;
mod schedule_begun;
mod schedule_bounded;
mod schedule_checkers;
mod schedule_classics;
mod schedule_conditions;
mod schedule_durable;
mod schedule_estimate;
mod schedule_failures;
mod schedule_judged;
mod schedule_leftovers;
mod schedule_mappings;
mod schedule_random;
mod schedule_read_from;
mod schedule_saturate;
mod schedule_sections;
mod schedule_signals;
mod schedule_sync;
mod schedule_table;
mod schedule_transactions;
mod tear;
