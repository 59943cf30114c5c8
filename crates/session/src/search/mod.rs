//! The search: every power failure of one run, or of every schedule.

pub(crate) mod one;
pub(crate) mod threads;
