//! A native program as the search sees it.

use crate::covered::Covered;
use crate::deadline::Deadline;
use crate::execution::{Execution, Foreign, Outcome};
use crate::job::Job;
use crate::judge::Watching;
use crate::program::Program;
use crate::server::Server;
use crate::skim::{FlushesWanted, Skimmed};
use crate::workers::{Worker, WorkerTask, work_all};
use landfall_explore::subject::{self, Ended, Subject, SubjectError};
use landfall_finding::Limit;
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// When to stop searching.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    pub runs: Option<u64>,
    pub until: Deadline,
}

/// Events of failed executions that are kept, all told.
const MOST_KEPT: usize = 4_000_000;

/// Someone who wants to know at once.
pub struct Notice<'a>(pub Box<dyn FnMut(&Execution) + 'a>);

impl std::fmt::Debug for Notice<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notice")
    }
}

/// Names the mistakes that what a recovery has read tells of.
pub struct MistakesOf<'a>(pub Box<NameMistakes<'a>>);

type NameMistakes<'a> = dyn FnMut(&subject::SeenStores) -> SmallVec<[u64; 2]> + 'a;

impl std::fmt::Debug for MistakesOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MistakesOf")
    }
}

/// Runs recoveries on servers, and keeps the executions that ended badly.
#[derive(Debug)]
pub struct NativeSubject<'a> {
    workers: Vec<Worker<'a>>,
    template: Job,
    budget: Budget,
    /// Executions that did not end well, by the number in [`Ended::Badly`]. Once there are very many events among them, further
    /// ones come without: their crash, run again, has them.
    pub failed: Vec<Execution>,
    kept: usize,
    /// Told of each execution that ends badly, as it is found.
    pub notice: Option<Notice<'a>>,
    /// Whoever knows mistakes by what was read, if recoveries that show them again need not be run.
    pub mistakes: Option<MistakesOf<'a>>,
    /// Judges recoveries, if anyone does.
    pub watching: Option<Watching>,
    /// The first recovery that a limit ended: it may only compute for long.
    pub unfinished: Option<Box<Execution>>,
    /// A recovery went on for so long that what it flushed was not kept: those who judge flushes are gone.
    pub flushes_unjudged: bool,
    /// A recovery created threads: it was run under one schedule of many.
    pub threads: bool,
    /// The first recovery in which uninstrumented code touched persistent memory.
    pub foreign: Option<Foreign>,
    pub runs: u64,
    /// Recoveries that an assumption ended.
    pub assumed: u64,
    pub events: u64,
    /// The limit that ended the search: runs, time or interrupt.
    pub stopped_by: Option<Limit>,
}

impl<'a> NativeSubject<'a> {
    /// `template` gives limits and options; image and failures come from the search.
    pub fn new(server: &'a mut Server, template: Job, budget: Budget) -> Self {
        NativeSubject {
            workers: vec![Worker::lent(server)],
            template,
            budget,
            failed: Vec::new(),
            kept: 0,
            notice: None,
            mistakes: None,
            watching: None,
            unfinished: None,
            flushes_unjudged: false,
            threads: false,
            foreign: None,
            runs: 0,
            assumed: 0,
            events: 0,
            stopped_by: None,
        }
    }

    /// So many servers in all. What is found does not depend on it.
    pub fn with_workers(
        mut self,
        program: &Program,
        workers: usize,
    ) -> Result<Self, crate::SubjectError> {
        while self.workers.len() < workers {
            self.workers.push(Worker::own(Server::start(program)?));
        }
        Ok(self)
    }

    /// Keeps what recoveries look at.
    pub fn covering(mut self) -> Self {
        let workers = self.workers.iter_mut();
        workers.for_each(|worker| worker.covered = Some(Covered::default()));
        self
    }

    /// What recoveries looked at so far.
    pub fn covered(&mut self) -> Covered {
        let mut all = Covered::default();
        for worker in &mut self.workers {
            if let Some(covered) = worker.covered.as_mut() {
                all.join(std::mem::take(covered));
            }
        }
        all
    }

    fn reason_to_stop(&self) -> Option<Limit> {
        self.budget.until.reached()
    }
}

impl Subject for NativeSubject<'_> {
    fn stopped(&mut self) -> bool {
        if self.stopped_by.is_none() {
            self.stopped_by = self.reason_to_stop();
        }
        self.stopped_by.is_some()
    }

    fn mistakes(&mut self, seen: &subject::SeenStores) -> SmallVec<[u64; 2]> {
        match &mut self.mistakes {
            Some(MistakesOf(name)) => name(seen),
            None => SmallVec::new(),
        }
    }

    fn run(&mut self, job: &subject::Job<'_>) -> Result<subject::Execution, SubjectError> {
        let mut ran = None;
        self.run_all(std::slice::from_ref(job), &mut |execution| {
            ran = Some(execution)
        })?;
        ran.ok_or(SubjectError::Stopped)
    }

    fn run_all(
        &mut self,
        jobs: &[subject::Job<'_>],
        each: &mut dyn FnMut(subject::Execution),
    ) -> Result<(), SubjectError> {
        for job in jobs {
            for &line in job.changed {
                let bytes = job.image.line(line);
                self.workers.iter_mut().for_each(|w| w.advance(line, bytes));
            }
        }
        let left = self.budget.runs.map(|most| most.saturating_sub(self.runs));
        let allowed = left.map_or(jobs.len(), |left| jobs.len().min(left as usize));
        let tasks: Vec<WorkerTask<'_>> = jobs[..allowed]
            .iter()
            .map(|job| WorkerTask {
                overrides: job.overrides,
                failures: job.failures,
                wanted: job.wanted,
                flushes: match &self.watching {
                    Some(watching) => watching.wants(job.wanted),
                    None => FlushesWanted::Unwanted,
                },
            })
            .collect();
        let mut template = self.template.clone();
        template.limits.until = self.budget.until;
        if let Some(reason) = self.reason_to_stop() {
            self.stopped_by = Some(reason);
            return Err(SubjectError::Stopped);
        }
        let mut workers = std::mem::take(&mut self.workers);
        let worked = work_all(&mut workers, &tasks, &template, |execution, skimmed| {
            match self.judge(execution, skimmed) {
                Some(execution) => each(execution),
                None => return ControlFlow::Break(()),
            }
            match self.stopped_by {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        self.workers = workers;
        worked.map_err(|error| SubjectError::CannotRun(error.to_string()))?;
        if self.stopped_by.is_none() && allowed < jobs.len() {
            self.stopped_by = Some(Limit::Runs);
        }
        match self.stopped_by {
            Some(_) => Err(SubjectError::Stopped),
            None => Ok(()),
        }
    }
}

impl NativeSubject<'_> {
    /// One run in the words of the search; `None` to stop.
    fn judge(&mut self, mut execution: Execution, skimmed: Skimmed) -> Option<subject::Execution> {
        self.runs += 1;
        // A run that was cut short by us says nothing about the program; nor does half a trace.
        let cut_short = matches!(execution.outcome, Outcome::Wedged | Outcome::Died { .. });
        let cut_short = cut_short || skimmed.interrupted;
        if let Some(reason) = self.reason_to_stop() {
            self.stopped_by = Some(reason);
            if cut_short {
                return None;
            }
        }
        self.events += skimmed.records;
        self.threads |= skimmed.threads;
        self.foreign = self.foreign.or(execution.foreign);
        if let Some(watching) = &mut self.watching
            && execution.squeezed
            && watching.wasted.take().is_some()
        {
            // Some flush may have been useful where nobody looked.
            self.flushes_unjudged = true;
        }
        let judged = (self.watching.as_mut())
            .filter(|_| !execution.squeezed && execution.outcome != Outcome::Assumed)
            .and_then(|watching| watching.ran(&skimmed));
        let ended = match execution.outcome.is_failure() {
            true => Ended::Badly(self.failed.len() as u32),
            false => Ended::Well,
        };
        self.assumed += u64::from(execution.outcome == Outcome::Assumed);
        if execution.outcome.limit().is_some() && self.unfinished.is_none() {
            self.unfinished = Some(Box::new(Execution {
                events: Vec::new(),
                stacks: Vec::new(),
                ..execution.clone()
            }));
        }
        if ended != Ended::Well {
            if let Some(Notice(notice)) = &mut self.notice {
                notice(&execution);
            }
            if self.kept + execution.events.len() > MOST_KEPT {
                execution.events = Vec::new();
                execution.stacks = Vec::new();
            }
            self.kept += execution.events.len();
            self.failed.push(execution);
        }
        Some(subject::Execution {
            reads: skimmed.reads,
            marks: skimmed.marks,
            events: skimmed.events,
            judged,
            shortened: skimmed.shortened,
            ended,
        })
    }
}
