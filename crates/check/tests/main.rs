//! The judges against a definition of their own, on random programs and on written ones.
//!
//! One program for all of them: linking costs more than compiling. `cargo nextest run -p landfall-check NAME::` runs one file.

mod cases;
mod order_table;
mod snapshots;
mod soundness;
mod support;
