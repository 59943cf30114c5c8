//! Native programs: how they are compiled for Landfall and how they are run.

pub mod compiler;
