//! What a thread does depends only on what it finds: by that it is remembered, and an execution of which every thread does what it
//! did before, in another one, is put together without running the program. Its trace is what the run would have written, to the
//! byte, and is read like any other.
//!
//! A thread is at a *place*: right before a step. What its step found (the value of a load, the end of the thread that it joined)
//! says where it comes next, and what it writes into the trace on the way. Places form a tree for each thread, and for each place
//! at which it may be created. Memory that steps access is kept here ([`memory`]); accesses that are no steps must find the same
//! whatever the schedule is ([`plain`]).
//!
//! All of that is given up, for a search, where something else could make a difference: locks, calls of the system or of libraries,
//! the heap, loops that wait, persistent memory. The runtime says so ([`landfall_vocab::shared::SlotHeader::opaque`]), or a record
//! does that is not known here. Some executions are run all the same, to compare.

mod known;
mod memory;
mod plain;
mod play;

use super::ahead::Landed;
use crate::execution::Outcome;
use crate::job::{Job, Policy};
use known::Known;
use landfall_vocab::shared::FEW_THREADS;
use play::Player;

/// Executions that are put together between two that are run as well; at first, as many as there were before.
const COMPARE_EVERY: u64 = 8192;

#[derive(Clone, Debug, Default)]
pub(super) struct Recall {
    state: RecallState,
    known: Known,
    player: Player,
    /// Executions that were put together, and how many when the next one is run as well.
    played: u64,
    compare_at: u64,
    /// All of them are.
    compare_all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum RecallState {
    #[default]
    On,
    /// Something in this search cannot be known without running it.
    GivenUp,
    /// Never.
    Off,
}

impl Recall {
    /// From now on everything is run.
    pub(super) fn switch_off(&mut self) {
        self.state = RecallState::Off;
        self.known = Known::default();
    }

    /// From now on all that is put together is run as well.
    pub(super) fn compare_all(&mut self) {
        self.compare_all = true;
    }

    /// Other accesses are steps from now on.
    pub(super) fn start_over(&mut self) {
        if self.state != RecallState::Off {
            *self = Recall {
                compare_all: self.compare_all,
                ..Recall::default()
            };
        }
    }

    /// A run did this. `opaque`: the runtime saw something that may come out differently another time.
    pub(super) fn learn(&mut self, trace: &[u8], outcome: &Outcome, opaque: bool, job: &Job) {
        if self.state != RecallState::On {
            return;
        }
        if opaque || !suits(job) {
            return self.give_up();
        }
        let Outcome::Exited { code } = *outcome else {
            return;
        };
        if self.known.learn(trace, job.threads.buffered, code).is_err() {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.state = RecallState::GivenUp;
        self.known = Known::default();
    }

    /// Is everything compared? Then nothing is done ahead of its time.
    pub(super) fn compares_all(&self) -> bool {
        self.compare_all
    }

    /// The run that a job asks for, if every thread does in it what it is known to do.
    pub(super) fn play(&mut self, job: &Job) -> Option<Landed> {
        if self.state != RecallState::On || !suits(job) {
            return None;
        }
        let (trace, code) = self.player.play(&mut self.known, job)?;
        self.played += 1;
        Some(Landed {
            outcome: Outcome::Exited { code },
            enabled: 0,
            trace,
            told: None,
        })
    }

    /// Is the next execution that is put together to be run as well?
    pub(super) fn compares(&mut self) -> bool {
        let due = self.played >= self.compare_at || self.compare_all;
        if due {
            self.compare_at = self.played + self.played.clamp(1, COMPARE_EVERY);
        }
        due
    }

    /// Buffers of traces that were read are used again.
    pub(super) fn take_back(&mut self, trace: Vec<u8>) {
        self.player.spare(trace);
    }
}

/// Is all that a job asks for known here?
fn suits(job: &Job) -> bool {
    let threads = &job.threads;
    let more = threads.persistency
        || threads.announced
        || threads.turns
        || threads.creations
        || threads.blocks
        || threads.streams != 0
        || threads.signals.is_some();
    !more
        && threads.policy == Policy::Quiet
        && usize::from(threads.companions()) == FEW_THREADS
        && job.image.lines.is_empty()
        && job.failures == 0
}
