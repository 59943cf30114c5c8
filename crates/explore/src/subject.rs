//! A program that can be executed once, from its start, under full control (docs/design/algorithms.md §1).

use landfall_model::commit::{Copies, logged};
use landfall_model::event::{Action, Event, Mark};
pub use landfall_model::event::{FirstRead, Read};
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Log};
use landfall_model::order::Platform;
use smallvec::SmallVec;
use std::rc::Rc;

/// What one run is told.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Persistent memory as it is found, but for the overrides.
    pub image: &'a Image,
    /// Lines of `image` that changed since the last job of the same search: a run costs what changed, not the pool.
    pub changed: &'a [Line],
    /// Lines that this run finds different from `image`.
    pub overrides: &'a [(Line, LineBytes)],
    /// Power failures so far.
    pub failures: u32,
    /// What of the run is asked for.
    pub wanted: RunDetail,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunDetail {
    /// Its first reads alone.
    Reads,
    /// Everything it did.
    Events,
}

impl Job<'_> {
    /// A line as the run finds it.
    pub fn line(&self, line: Line) -> LineBytes {
        match self.overrides.iter().find(|(l, _)| *l == line) {
            Some((_, bytes)) => *bytes,
            None => self.image.line(line),
        }
    }
}

/// How a run ended, as far as the search needs to know. The number means something to the subject alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Ended {
    Well,
    Badly(u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// Its first reads, in order.
    pub reads: Vec<Read>,
    /// Everything it did, reads included, if that was asked for.
    pub events: Vec<Event>,
    /// What it says about its reads, each with the number of first reads before it.
    pub marks: Vec<(u32, Mark)>,
    /// The events, prepared for the checkers, if they were asked for and someone judges.
    pub judged: Option<Rc<landfall_check::Execution>>,
    /// It went on, but only its first reads and its end are known from there.
    pub shortened: bool,
    pub ended: Ended,
}

/// What the reads of a recovery, so far, tell of the stores before a power failure: entries of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeenStores {
    /// Where the power failed.
    pub cut: Cut,
    /// Stores that were there where their bytes were read; the newest that a read found.
    pub found: Vec<Cut>,
    /// Stores that were not; the oldest that a read missed.
    pub missed: Vec<Cut>,
}

impl SeenStores {
    /// The first store that was missed though a later one was found.
    pub fn overtaken(&self) -> Option<Cut> {
        let newest = self.found.iter().max()?;
        self.missed
            .iter()
            .filter(|missed| *missed < newest)
            .min()
            .copied()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SubjectError {
    /// Someone wants the search to end: a limit, or the user.
    #[error("stopped")]
    Stopped,
    #[error("{0}")]
    CannotRun(String),
}

pub trait Subject {
    /// Is it time to stop? The search asks where it works for long without a run.
    fn stopped(&mut self) -> bool {
        false
    }

    /// Deterministic: the same job gives the same execution.
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError>;

    /// Runs many jobs on one image, of which only the first may name changed lines. Executions are handed over in the
    /// order of the jobs, whatever runs beside what; those before an error are valid.
    fn run_all(
        &mut self,
        jobs: &[Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        for job in jobs {
            each(self.run(job)?);
        }
        Ok(())
    }

    /// Which mistakes what a recovery has read so far tells of, as numbers of the subject's: once one of them has shown in many failing
    /// recoveries, others that tell of it are not run any more. None by default: everything is run.
    fn mistakes(&mut self, seen: &SeenStores) -> SmallVec<[u64; 2]> {
        let _ = seen;
        SmallVec::new()
    }

    /// The search of the first execution has come to this cut, with so many behaviours found: for whoever watches.
    fn at_cut(&mut self, cut: Cut, behaviours: usize) {
        let _ = (cut, behaviours);
    }

    /// The tree of recoveries holds so many reads and branches now: for whoever watches.
    fn tree_holds(&mut self, size: usize) {
        let _ = size;
    }
}

impl Execution {
    pub fn new(events: Vec<Event>, ended: Ended) -> Execution {
        let (mut reads, mut marks) = (Vec::new(), Vec::new());
        for event in &events {
            match event.action {
                Action::Read(read) => reads.push(read),
                Action::Mark(mark) if mark.is_promise() => marks.push((reads.len() as u32, mark)),
                _ => {}
            }
        }
        Execution {
            reads,
            events,
            marks,
            judged: None,
            shortened: false,
            ended,
        }
    }

    /// It ended well, and what power failures in it would lead to is not known.
    pub(crate) fn is_left_uncut(&self) -> bool {
        self.shortened && self.ended == Ended::Well
    }

    /// What reached the cache and what was written back, with copies whole.
    pub fn log(&self, platform: Platform) -> Log {
        logged(&self.events, platform, Copies::Whole)
    }

    /// The log with copies torn, if so: then pieces of one copy on one line may persist in any order.
    pub fn log_torn(&self, platform: Platform, tear: bool) -> Log {
        let copies = match tear {
            true => Copies::Torn,
            false => Copies::Whole,
        };
        logged(&self.events, platform, copies)
    }
}
