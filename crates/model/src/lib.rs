//! The memory model every engine of Landfall shares (docs/design/model.md).
//!
//! This crate is pure vocabulary: no I/O, no clock, no globals. [`order`] is the ordering table as data. What an execution did is a
//! list of [events](event); [`commit`] makes a [`log`] of them, from which follow the frontier, the
//! [cuts](log::Log::sufficient_cuts), and the [crash states](crash) with their [images](image).

pub mod clock;
pub mod commit;
pub mod count;
pub mod crash;
pub mod event;
pub mod image;
pub mod line;
pub mod log;
pub mod order;
