//! Judges recoveries that did not fail: bugs without a symptom (docs/design/model.md §7-8, Gorjiara 2022, chapters 4 and 5).
//!
//! A recovery is judged by *which stores* its reads may come from, not by their values. [`walk()`] follows everything that a
//! program may read after its power failed, store by store, and tells each [`Checker`]; it runs nothing. Robustness
//! ([`robustness`]) asks whether a crash under strict persistency could have shown the same; [`races`], whether a compiler
//! may have torn what is read; [`snapshots`], whether it is of a transaction that does not answer for it; [`wasted`], which flushes
//! and fences did nothing.
//!
//! Findings are plain data: stores, loads and fixes are numbers of events, which those above turn into source positions.

pub mod beginning;
pub mod checker;
pub mod execution;
pub mod finding;
pub mod fixes;
pub mod path;
pub mod races;
pub mod region;
pub mod robustness;
pub mod snapshots;
mod trail;
pub mod walk;
pub mod wasted;

pub use beginning::{DurableBeginning, Reached};
pub use checker::{Checker, PathVerdict};
pub use execution::Execution;
pub use finding::{Evidence, Finding, Fix, Kind, StoreMade};
pub use path::{Candidate, JudgedRead, RecoveryPath};
pub use races::Races;
pub use robustness::Robustness;
pub use snapshots::Snapshots;
pub use walk::{Recoveries, RecoveryStep, Walked, walk};
pub use wasted::Wasted;
