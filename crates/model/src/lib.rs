//! The memory model every engine of Landfall shares (design page MODEL.md).
//!
//! This crate is pure vocabulary: no I/O, no clock, no globals. [`order`] is the ordering table as data. [`buffers`] holds
//! what a thread has executed and memory has not seen; what leaves them goes to a [`log`], from which follow the
//! frontier, the [cuts](log::Log::sufficient_cuts), and the [crash states](crash) with their [images](image).

pub mod buffers;
pub mod clock;
pub mod commit;
pub mod count;
pub mod crash;
pub mod event;
pub mod image;
pub mod line;
pub mod log;
pub mod order;
