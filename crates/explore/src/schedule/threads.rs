//! A multi-threaded program that can be executed, from its start, under a given schedule.

use super::processes::Processes;
use super::step::{Order, Persistency, Process, Sets, Step};
use super::trace::Trace;

/// What one execution is told.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Who makes the first transitions.
    pub follow: &'a [Process],
    /// How many of them were already executed like this: they are in the trace and stay there.
    pub keep: usize,
    /// Who sleeps after those: their next transition was explored from there. One that depends on it wakes them.
    pub sleep: &'a [Step],
    pub order: Order,
    /// End after this many transitions.
    pub limit: usize,
}

/// What an execution came to that only shows something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriedOut {
    /// It is kept under this number, for [`Threads::run_ahead`].
    Kept(u32),
    /// The program ran for nothing else.
    Ran,
    /// Nothing was run: what it shows was known.
    Known,
}

/// Which plain accesses are scheduling points. Synchronisation always is, and so are stores to persistent memory where power
/// failures are looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Points {
    #[default]
    Everywhere,
    /// These instructions, ascending.
    Sites(Vec<u32>),
    /// The same; and critical sections are single transitions, but for those of these locks, ascending.
    Sections { sites: Vec<u32>, locks: Vec<u32> },
}

impl Points {
    pub fn contains(&self, site: u32) -> bool {
        match self {
            Points::Everywhere => true,
            Points::Sites(sites) | Points::Sections { sites, .. } => {
                sites.binary_search(&site).is_ok()
            }
        }
    }

    /// Are the critical sections of a lock single transitions?
    pub fn joins_sections_of(&self, lock: u32) -> bool {
        match self {
            Points::Everywhere | Points::Sites(_) => false,
            Points::Sections { locks, .. } => locks.binary_search(&lock).is_err(),
        }
    }

    /// The same with every lock and unlock a transition.
    pub fn apart(&self) -> Points {
        match self {
            Points::Sections { sites, .. } => Points::Sites(sites.clone()),
            others => others.clone(),
        }
    }
}

/// What is known of turns of loops that were in vain but for what they left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftovers {
    /// There are some.
    Some,
    /// What was overlooked is read in some execution: from now on it is not, and the search says nothing.
    Wrong,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ThreadsError {
    /// Choices that were followed before led elsewhere.
    #[error(
        "the program is not deterministic under control: transition {at} is not the one that was there before"
    )]
    Diverged { at: usize },
    #[error("{0}")]
    CannotRun(String),
    /// [`Threads::stopped`].
    #[error("there is no time for it")]
    Stopped,
}

/// Executes from the start, each time. The search sees a program only through this.
pub trait Threads {
    /// The most threads there can be.
    fn threads(&self) -> usize;

    /// Are accesses steps where no other thread is left? Otherwise what memory holds then decides what follows.
    fn looks_when_alone(&self) -> bool {
        true
    }

    /// Can stores wait in buffers? Then each thread has a companion.
    fn buffered(&self) -> bool;

    /// How many streams has each thread, for its non-temporal stores?
    fn streams(&self) -> usize {
        0
    }

    /// The dependence of a search of it.
    fn order(&self, persistency: Persistency) -> Order {
        Order {
            threads: self.threads(),
            streams: self.streams(),
            persistency,
        }
    }

    /// Is it time to stop? The search asks where it works for long without a run.
    fn stopped(&self) -> bool {
        false
    }

    /// From now on, stop before these plain accesses; the others are reported as [`super::Trailing`].
    fn preempt_at(&mut self, points: &Points);

    /// Follows `job.follow`, then its own policy among those who are awake ([`Sleepers`]), until nobody can go on. Leaves
    /// `job.keep` transitions of the trace as they are and appends the others.
    fn run(&mut self, job: &Job<'_>, trace: &mut Trace) -> Result<(), ThreadsError>;

    /// From now on, a turn of a loop that leaves something behind may be in vain all the same, as long as nobody reads that before it is
    /// written again; or not.
    fn overlook_leftovers(&mut self, _on: bool) {}

    /// What executions have shown of leftovers since.
    fn leftovers(&self) -> Option<Leftovers> {
        None
    }

    /// Runs what may be wanted later as well. `trace` shares `job.keep` transitions with the last execution, which stays the last one.
    fn try_out(&mut self, job: &Job<'_>, trace: &mut Trace) -> Result<TriedOut, ThreadsError> {
        self.run(job, trace).map(|()| TriedOut::Ran)
    }

    /// Nobody wants what was kept under this number.
    fn not_wanted(&mut self, _number: u32) {}

    /// How many more executions may be asked for ahead of their time.
    fn room_ahead(&self) -> usize {
        0
    }

    /// This execution will be wanted: begin with it, if that helps. A number for [`Threads::run_ahead`]. `trace` is that of the
    /// last execution; the new one shares the part of it that the job follows, not all that it keeps.
    fn ahead(&mut self, _job: &Job<'_>, _trace: &Trace) -> Option<u32> {
        None
    }

    /// Like [`Threads::run`] for an execution that was begun ahead. The job says the last word about who sleeps.
    fn run_ahead(
        &mut self,
        _number: u32,
        job: &Job<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        self.run(job, trace)
    }
}

/// Asks whether to stop, once in so much work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AskEvery {
    work: usize,
    pub(super) ended: bool,
}

impl AskEvery {
    const MOST: usize = 1 << 16;

    pub(super) fn works<T: Threads>(&mut self, more: usize, threads: &T) {
        self.work += more;
        if self.work >= AskEvery::MOST && !self.ended {
            self.work = 0;
            self.ended = threads.stopped();
        }
    }
}

/// Who sleeps, kept along an execution. Executors use it to choose; nothing is allocated once it has grown.
#[derive(Clone, Debug, Default)]
pub struct Sleepers {
    asleep: Vec<Step>,
    processes: Processes,
    /// Per process, the tick it has come to.
    ticks: Vec<u32>,
}

impl Sleepers {
    /// A new execution, of which `kept` is known.
    pub fn restart(&mut self, order: &Order, kept: &[Step], asleep: &[Step]) {
        self.ticks.clear();
        self.ticks.resize(order.processes(), 0);
        for step in kept {
            self.ticks[step.process as usize] = step.tick;
        }
        self.asleep.clear();
        self.asleep.extend_from_slice(asleep);
        self.processes = asleep.iter().map(|step| step.process).collect();
    }

    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// A transition is executed: it wakes those it concerns.
    pub fn executed(&mut self, order: &Order, step: &Step, sets: &Sets) {
        if !self.asleep.is_empty() {
            let ticks = &self.ticks;
            let processes = &mut self.processes;
            self.asleep.retain(|asleep| {
                let wakes = order.wakes(asleep, step, sets, |process| ticks[process as usize]);
                if wakes {
                    processes.remove(asleep.process);
                }
                !wakes
            });
        }
        self.ticks[step.process as usize] = step.tick;
    }
}
