//! Native programs as subjects: a [`Program`] built with `landfall cc` is started once as a [`Server`] and then run again and
//! again, each time on a given image of persistent memory, giving an [`Execution`] each time (docs/design/algorithms.md §1).
//!
//! `unsafe` is shared memory (`shared`), what happens between fork and exec (`spawn`, `child`), signal handlers (`interrupt`), and single
//! system calls elsewhere.

#![allow(unsafe_code)]

mod child;
mod client;
pub mod compiler;
mod covered;
mod deadline;
mod debug;
mod decode;
mod error;
mod events;
mod execution;
mod files;
mod heap;
mod input;
mod inputs;
mod interrupt;
mod job;
mod judge;
mod kernel;
mod launch;
mod lock;
pub mod members;
mod memory_file;
mod outcome;
mod parts;
mod program;
mod rewrite;
mod said;
mod schedule;
mod server;
mod shared;
mod sites;
mod skim;
mod spawn;
mod subject;
mod symbols;
mod volatile;
mod workers;

pub use child::run_below;
pub use client::{ClientScript, ScriptError};
pub use covered::{Covered, ReadAt};
pub use deadline::Deadline;
pub use debug::debug;
pub use decode::{Copied, copies, decode};
pub use error::SubjectError;
pub use events::translate;
pub use execution::{ClientWhy, Divergence, Execution, Foreign, Outcome, first_difference};
pub use heap::{HeapBlock, HeapError};
pub use input::Input;
pub use inputs::{InputAsked, InputsAsked, InputsTold};
pub use interrupt::{Moment, interrupted, watch_interrupts};
pub use job::{
    ANY_CALL, Draw, FEW_THREADS, Htm, HtmCache, HtmFailures, Image, InputKind, InputValue,
    Isolation, Job, KnownSignals, Limits, Line, MOST_THREADS, Policy, Sleeper, StopAt, Threading,
};
pub use judge::{Atomics, Placed, Places, Ran, Watching, judge};
pub use kernel::{KernelFeature, kernel_features};
pub use landfall_vocab::record::{Origin, Record, RecordKind};
pub use lock::{Lock, try_lock};
pub use parts::{is_channel, part_of_memory, persistent_offset};
pub use program::{FreshBlocks, HeapChecks, MallocMetadata, Program};
pub use said::{Saying, SayingKind, sayings};
pub use schedule::{
    Activation, Activations, Cut, EverySchedule, FailedSchedule, Model, NamedBlock, Naming,
    NativeThreads, Sealing, Unfinished, Unseen, UnseenKind,
};
pub use server::Server;
pub use sites::{Position, Sites, is_inside_pmdk};
pub use subject::{Budget, MistakesOf, NativeSubject, Notice};
pub use symbols::{Symbols, demangled, type_name};
pub use volatile::{goes_with_the_run, volatile};
