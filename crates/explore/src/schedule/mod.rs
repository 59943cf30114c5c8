//! The schedule search: every Mazurkiewicz trace of a multi-threaded program, each once (docs/design/algorithms.md §3-5).
//!
//! A program is a [`Threads`]: it follows a schedule from its start and says what its transitions ([`Step`]) touched.
//! [`search`] is optimal DPOR over it; [`saturate`] finds which plain accesses need to be scheduling points; [`bounded`] goes by
//! number of preemptions, and [`seal`] says where there are none. [`crash`] is what a power failure leaves of a trace,
//! [`power`] which recoveries that leads to.
//! [`sync`] is what locks, conditions and the like do. [`data_races`] and [`locks`] judge single executions.

mod begun;
pub mod bounded;
mod chain;
mod conflicts;
pub mod crash;
pub mod data_races;
mod eager;
mod estimate;
mod explored;
mod happens;
mod helped;
pub mod judge;
pub mod judged;
pub mod locks;
mod messages;
mod positions;
pub mod power;
mod processes;
mod queued;
pub mod read_from;
mod replayed;
pub mod saturate;
pub mod seal;
mod search;
mod section;
mod sharing;
mod step;
pub mod swap;
mod symmetry;
pub mod sync;
mod threads;
mod trace;
mod transactions;
mod wakeup;
mod well_known;

pub use estimate::Estimate;
pub use explored::Explored;
pub use happens::Race;
pub use helped::helped;
pub use processes::Processes;
pub use queued::{Queued, come_behind};
pub use replayed::Replayed;
pub use search::{Counts, Options, Search, search};
pub use section::SectionKey;
pub use sharing::Sharing;
pub use step::{Access, Act, NOWHERE, Order, Orders, Persistency, Process, Sets, Step, Until};
pub use symmetry::Apart;
pub use threads::{Job, Leftovers, Points, Sleepers, Threads, ThreadsError, TriedOut};
pub use trace::{
    Attempt, AttemptFate, Birth, End, FootprintAccess, SourceFence, ThreadFailure, Trace, Trailing,
    TransactionStore, Wait, WriteBack,
};
