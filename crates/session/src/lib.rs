#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod baseline;
mod check;
mod diagnose;
mod error;
mod fix;
mod known;
mod litmus_file;
#[cfg(test)]
mod many;
mod names;
mod observer;
mod options;
mod outputs;
mod programs;
mod progress;
mod prove;
mod record;
mod recorded_client;
mod replay;
mod report;
mod results;
mod search;
mod setup;
mod sources;
mod view;
mod witness;

pub use check::{Check, check};
pub use diagnose::outcome::describe;
pub use error::{Error, ErrorKind};
pub use fix::{FixOptions, Fixed, fix, read_run, run_file};
pub use landfall_finding as finding;
pub use landfall_finding::run_schema;
pub use landfall_model::order::Platform;
pub use landfall_native::watch_interrupts;
pub use litmus_file::read_litmus;
pub use observer::{Observer, Progress};
pub use options::{
    Cancel, CheckKind, MemoryModel, Options, PmFill, PreemptAt, PreemptIn, RaceOrder, ScheduleDraw,
    ScheduleOrder, Stdin, Target, TransactionCache, TransactionFailures,
};
pub use outputs::{Texts, json, texts};
pub use prove::{Answers, ProofRound, Property, PropertyAnswer, ProveOptions, prove};
pub use replay::{Replay, replay};
pub use results::write;
pub use setup::language;
pub use sources::SourceTexts;
pub use view::table::{WIDTH, draw};
