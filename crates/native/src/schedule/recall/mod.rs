//! What a thread does depends only on what it finds: by that it is remembered, and an execution of which every thread does what it
//! did before, in another one, is put together without running the program. Its trace is what the run would have written, to the
//! byte, and is read like any other.
//!
//! A thread is at a *place*: right before a step. What its step found (the value of a load, the end of the thread that it joined)
//! says where it comes next, and what it writes into the trace on the way. Places form a tree for each thread, and for each place
//! at which it may be created. Memory that steps access is kept here ([`memory`]), and who has which mutex ([`holders`]); accesses that are
//! no steps find the same whatever the schedule is ([`plain`]), or that is kept, too ([`looks`]).
//!
//! All of that is given up, for a search, where something else could make a difference: calls of the system or of libraries, the heap,
//! loops that wait, conditions, persistent memory. The runtime says so ([`landfall_vocab::shared::SlotHeader::opaque`]), or a record
//! does that is not known here. Some executions are run all the same, to compare.

mod additions;
mod continued;
mod course;
mod holders;
mod known;
mod looks;
mod memory;
mod plain;
mod play;

use super::ahead::Landed;
use crate::execution::Outcome;
use crate::job::{Job, Policy};
use additions::Additions;
pub(super) use additions::TraceSizes;
use continued::Continued;
use known::{Known, NotLearned};
use landfall_explore::schedule::{self, Birth, Process, Trace};
use landfall_vocab::shared::{FEW_THREADS, MOST_CHOICES};
use play::Player;

/// Executions that are put together between two that are run as well; at first, as many as there were before.
const COMPARE_EVERY: u64 = 8192;
/// So often all that is known begins anew, because what more bytes hold must be kept.
const MOST_ANEW: u32 = 64;
/// After so many that went on from the one before, each at once, nothing is asked for ahead of its time.
const AT_ONCE: u32 = 4;

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
    /// What ways add to an execution, unless that is not known after all.
    additions: Option<Additions>,
    continued: Continued,
    /// Executions in a row that went on from the one before.
    at_once: u32,
    /// How often it turned out that what more bytes hold must be kept.
    anew: u32,
    /// Who is like whom, where these were born.
    alike: (Vec<Birth>, Vec<Process>),
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

    /// Another search begins: sets have other numbers in it.
    pub(super) fn begin_search(&mut self) {
        self.additions = (self.state == RecallState::On).then(Additions::default);
        self.continued.forget();
        self.at_once = 0;
    }

    /// Is it to be known how much of an execution each of its records adds?
    pub(super) fn wants_sizes(&self) -> bool {
        self.state == RecallState::On && self.additions.is_some()
    }

    /// What was learned last added this to its execution.
    pub(super) fn learn_additions(&mut self, trace: &Trace, sizes: &[TraceSizes]) {
        let Some(additions) = &mut self.additions else {
            return;
        };
        if self.state != RecallState::On || additions.learn(&self.known, trace, sizes).is_err() {
            self.additions = None;
        }
    }

    /// Goes on from the last execution, if all that this one does is known: the code that it ends with.
    pub(super) fn go_on(
        &mut self,
        (told, threads): (&Job, usize),
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Option<i32> {
        let additions = self.additions.as_ref()?;
        let possible = self.state == RecallState::On
            && !self.is_due()
            && suits(told)
            && job.follow.len() < MOST_CHOICES as usize
            && additions.mean_the_same(&trace.sets);
        let code = match possible {
            true => (self.continued).run((&mut self.known, additions), threads, job, trace),
            false => None,
        };
        match code {
            Some(_) => {
                self.played += 1;
                self.at_once += 1;
            }
            None => {
                self.at_once = 0;
                self.continued.forget();
            }
        }
        code
    }

    /// Is an execution what going on from another one would have made of it?
    pub(super) fn would_go_on_to(
        &mut self,
        threads: usize,
        job: &schedule::Job<'_>,
        trace: &Trace,
    ) -> bool {
        let Some(additions) = &self.additions else {
            return true;
        };
        let sizes = (&mut self.known, additions);
        self.continued.agrees(sizes, threads, job, trace)
    }

    /// Is nearly everything put together at once?
    pub(super) fn is_at_once(&self) -> bool {
        self.at_once >= AT_ONCE
    }

    /// Who is like whom in an execution, if that was asked before; or asks.
    pub(super) fn tell_alike(&mut self, trace: &mut Trace, ask: impl FnOnce(&mut Trace)) {
        let (births, alike) = &mut self.alike;
        if births.is_empty() || *births != trace.births {
            ask(trace);
            births.clone_from(&trace.births);
            alike.clone_from(&trace.alike);
            return;
        }
        trace.alike.clone_from(alike);
    }

    /// A run did this. `opaque`: the runtime saw something that may come out differently another time.
    pub(super) fn learn(&mut self, trace: &[u8], outcome: &Outcome, opaque: bool, job: &Job) {
        self.continued.forget();
        self.alike.0.clear();
        if self.state != RecallState::On {
            return;
        }
        if opaque || !suits(job) {
            return self.give_up();
        }
        let Outcome::Exited { code } = *outcome else {
            self.known.learns_nothing();
            return;
        };
        while let Err(why) = self.known.learn(trace, job.threads.buffered, code) {
            if why == NotLearned::Inexplicable || self.anew >= MOST_ANEW {
                return self.give_up();
            }
            self.anew += 1;
            self.known.start_over();
            self.additions = self.additions.take().map(|_| Additions::default());
        }
    }

    fn give_up(&mut self) {
        self.state = RecallState::GivenUp;
        self.known = Known::default();
        self.additions = None;
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
        self.continued.forget();
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
    fn is_due(&self) -> bool {
        self.played >= self.compare_at || self.compare_all
    }

    /// As [`Recall::is_due`]; it is then.
    pub(super) fn compares(&mut self) -> bool {
        let due = self.is_due();
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
