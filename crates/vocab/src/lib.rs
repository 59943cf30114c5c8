//! What the runtime inside a checked program and the checker outside it must agree on: where persistent memory lies,
//! how a trace is written, and how the memory they share is laid out. Plain numbers and layouts, no behaviour.
//!
//! Architecture invariant: no dependency, no `std`, no allocation, so that the runtime can be linked into any program.
#![no_std]

pub mod builtin;
pub mod record;
pub mod shared;
pub mod window;

/// Raised whenever a layout of this crate changes; a program built with another version is refused by name.
pub const VERSION: u32 = 1;
