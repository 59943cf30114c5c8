//! Who watches a check while it goes on.

use crate::diagnose::finding::{failing_place, kind, what};
use crate::names::ProgramNames;
use landfall_finding::{Kind, Place};
use landfall_native::{Execution, Server};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::time::{Duration, Instant};

/// Who watches a check while it goes on. Everything can be left out.
pub trait Observer {
    /// How far it has come; a few times a second.
    fn progress(&mut self, _progress: &Progress) {}

    /// Something was found. It is told in full at the end, when it was run again and made plain; `after` is how long the search took
    /// to get there.
    fn found(&mut self, _kind: Kind, _at: Option<&Place>, _message: &str, _after: Duration) {}

    /// Something worth knowing before the end.
    fn remark(&mut self, _text: &str) {}
}

/// Nobody watches.
impl Observer for () {}

/// How far a check has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Power failures are tried.
    PowerFailures {
        /// Executions so far.
        executions: u64,
        /// Distinct recoveries so far.
        behaviours: usize,
        /// Power failures of the first execution that were tried.
        tried: usize,
        /// All of them.
        known: usize,
        /// Since the search began.
        elapsed: Duration,
    },
    /// Schedules are tried.
    Schedules {
        /// The share that was tried, from 0 to 1.
        share: f64,
        /// How many there are, by estimate.
        estimate: f64,
        /// The share of the work that is done.
        work: f64,
        /// Since the search began.
        elapsed: Duration,
    },
    /// A proof looks at loops up to so many rounds.
    Loops {
        /// So many.
        rounds: u32,
    },
    /// This part is done.
    Done,
}

/// The observer of a check, for all who have something to say.
pub(crate) struct CheckWatch<'a>(RefCell<&'a mut dyn Observer>);

impl fmt::Debug for CheckWatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl<'a> CheckWatch<'a> {
    pub(crate) fn new(observer: &'a mut dyn Observer) -> CheckWatch<'a> {
        CheckWatch(RefCell::new(observer))
    }

    pub(crate) fn progress(&self, progress: &Progress) {
        self.0.borrow_mut().progress(progress);
    }

    pub(crate) fn remark(&self, text: &str) {
        self.0.borrow_mut().remark(text);
    }

    fn found(&self, kind: Kind, at: Option<&Place>, message: &str, after: Duration) {
        self.0.borrow_mut().found(kind, at, message, after);
    }
}

/// Often enough to look alive.
const EVERY: Duration = Duration::from_millis(100);

/// Says how far a search has come every now and then.
#[derive(Debug)]
pub(crate) struct Ticker<'a> {
    watch: &'a CheckWatch<'a>,
    last: Option<Instant>,
}

impl<'a> Ticker<'a> {
    pub(crate) fn new(watch: &'a CheckWatch<'a>) -> Ticker<'a> {
        Ticker { watch, last: None }
    }

    pub(crate) fn tick(&mut self, progress: impl FnOnce() -> Progress) {
        let now = Instant::now();
        if self.last.is_none_or(|last| now - last >= EVERY) {
            self.last = Some(now);
            self.watch.progress(&progress());
        }
    }

    pub(crate) fn done(self) {
        if self.last.is_some() {
            self.watch.progress(&Progress::Done);
        }
    }
}

/// Says what is found at once, each cause once.
#[derive(Debug)]
pub(crate) struct Notices<'a> {
    watch: &'a CheckWatch<'a>,
    pub(crate) names: ProgramNames,
    started: Instant,
    said: HashSet<(Kind, Option<Place>)>,
}

/// More are not said while the search goes on.
const MOST: usize = 50;

impl<'a> Notices<'a> {
    /// Of a search that runs this program.
    pub(crate) fn new(watch: &'a CheckWatch<'a>, server: &Server, started: Instant) -> Notices<'a> {
        Notices {
            watch,
            names: ProgramNames::of(server),
            started,
            said: HashSet::new(),
        }
    }

    /// A recovery failed.
    pub(crate) fn failed(&mut self, execution: &Execution) {
        if self.said.len() < MOST {
            let at = failing_place(execution, &self.names);
            let what = what(&execution.outcome, &self.names);
            let message = format!("recovery fails: {what}");
            self.say(kind(&execution.outcome), at.as_ref(), &message);
        }
    }

    /// Says it, unless it was said.
    pub(crate) fn say(&mut self, kind: Kind, at: Option<&Place>, message: &str) {
        if self.said.len() < MOST && self.said.insert((kind, at.cloned())) {
            self.watch.found(kind, at, message, self.started.elapsed());
        }
    }
}
