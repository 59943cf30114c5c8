//! The schedule search: every Mazurkiewicz trace of a multi-threaded program, each once.

pub mod bounded;
pub mod catalogue;
pub mod crash;
pub mod data_races;
mod estimate;
mod happens;
pub mod interpret;
pub mod locks;
pub mod program;
pub mod saturate;
pub mod seal;
mod search;
mod step;
mod threads;
mod trace;
mod wakeup;

pub use estimate::Estimate;
pub use happens::Race;
pub use search::{Counts, Options, Search, search};
pub use step::{Access, Act, MOST_PROCESSES, NOWHERE, Order, Persistency, Process, Step, Until};
pub use threads::{Job, Points, Sleepers, Threads, ThreadsError};
pub use trace::{End, Failure, Trace, Trailing, Wait, WriteBack};
