//! The memory model every engine of Landfall shares (design page MODEL.md).
//!
//! This crate is pure vocabulary: no I/O, no clock, no globals. See `ARCHITECTURE.md`.

pub mod order;
