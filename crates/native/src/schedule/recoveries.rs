//! Recoveries with threads, under every schedule (`--recover-schedules`). All schedules on one image, one after the other, are one
//! deterministic run as the crash search sees it: what it reads is what any of them reads, and it fails if one of them does.
//! So the tree of recoveries stays as it is.

use super::{Cut, Model, NativeThreads};
use crate::execution::{Execution, Outcome};
use crate::job::{self, Job};
use crate::server::Server;
use crate::subject::Budget;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{End, Options, Process, ThreadsError};
use landfall_explore::subject::{self, Ended, FirstRead, Read, RunDetail, Subject, SubjectError};
use landfall_finding::Limit;
use landfall_model::line::{Addr, Line};
use landfall_vocab::record::{Record, RecordKind};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A recovery that fails under some schedule.
#[derive(Clone, Debug)]
pub struct FailedSchedule {
    pub execution: Execution,
    /// What repeats it, but for its image.
    pub job: Job,
}

#[derive(Debug)]
pub struct EverySchedule<'a> {
    server: &'a mut Server,
    template: Job,
    model: Model,
    /// Threads there may be.
    threads: usize,
    streams: usize,
    most_threads: usize,
    budget: Budget,
    /// By the number in [`Ended::Badly`].
    pub failed: Vec<FailedSchedule>,
    pub runs: u64,
    pub stopped_by: Option<Limit>,
    /// Schedules of recoveries that were not looked at to their end.
    pub cut: Cut,
}

/// First reads of several executions on one image, each byte once.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    all: Vec<Read>,
    /// Bytes of words that are among them.
    known: HashMap<u64, u8>,
}

impl Reads {
    pub(super) fn record(&mut self, record: &Record) {
        if record.kind != RecordKind::Read {
            return;
        }
        let known = self.known.entry(record.offset).or_default();
        let mask = record.mask & !*known;
        *known |= mask;
        if mask == 0 {
            return;
        }
        let bytes = (0..8).filter(|byte| mask >> byte & 1 != 0);
        let kept = bytes.fold(0u64, |kept, byte| kept | 0xff << (8 * byte));
        self.all.push(Read {
            read: FirstRead {
                word: Addr(record.offset),
                mask,
            },
            value: record.value & kept,
        });
    }
}

/// How a search of one image ended.
struct SearchedImage {
    reads: Vec<Read>,
    failing: Option<Job>,
    /// Stopped by a limit.
    stopped: bool,
}

impl<'a> EverySchedule<'a> {
    pub fn new(
        server: &'a mut Server,
        template: Job,
        model: Model,
        most_threads: usize,
        budget: Budget,
    ) -> EverySchedule<'a> {
        EverySchedule {
            server,
            template,
            model,
            threads: 1,
            streams: 0,
            most_threads,
            budget,
            failed: Vec::new(),
            runs: 0,
            stopped_by: None,
            cut: Cut::default(),
        }
    }

    fn reason_to_stop(&self, runs: u64) -> Option<Limit> {
        let spent = self.budget.runs.is_some_and(|most| runs >= most);
        let reached = self.budget.until.reached();
        reached.or(spent.then_some(Limit::Runs))
    }

    fn search(&mut self, job: &Job) -> Result<SearchedImage, SubjectError> {
        loop {
            let (before, budget) = (self.runs, self.budget);
            let mut stopped_by = None;
            let stop = |runs: u64| {
                let spent = budget.runs.is_some_and(|most| before + runs >= most);
                let reached = budget.until.reached();
                reached.or(spent.then_some(Limit::Runs))
            };
            let threads = self.threads;
            let mut job = job.clone();
            job.threads.creations = self.template.threads.creations;
            job.threads.blocks = self.template.threads.blocks;
            job.threads.mappings = self.template.threads.mappings;
            job.threads
                .signals
                .clone_from(&self.template.threads.signals);
            job.limits.until = budget.until;
            let mut native = NativeThreads::new(self.server, job, threads, self.model)
                .with_streams(self.streams);
            native.reads = Some(Reads::default());
            let mut failing: Option<Vec<Process>> = None;
            let mut points = None;
            let options = Options::default();
            let found = saturate(&mut native, Preempt::Auto, options, |native, search| {
                let trace = search.trace();
                let fails = !trace.failures.is_empty()
                    || trace.end == End::Deadlock
                    || matches!(native.outcome, Outcome::Hang { .. });
                if fails && failing.is_none() {
                    failing = Some(trace.steps.iter().map(|step| step.process).collect());
                    points = Some(native.replay(&[]));
                }
                stopped_by = stop(native.runs);
                match stopped_by {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            });
            let runs = native.runs;
            match found {
                Ok(found) => {
                    if let (Some(points), Some(_)) = (&points, &failing) {
                        native.adopt(points);
                    }
                    let failing = failing.map(|schedule| native.replay(&schedule));
                    let reads = native.reads.take().unwrap_or_default().all;
                    let cut = native.cut.steps || native.crowded();
                    self.cut.steps |= cut && failing.is_none();
                    self.cut.unfinished =
                        self.cut.unfinished.take().or(native.cut.unfinished.take());
                    if found.stopped && stopped_by.is_none() {
                        stopped_by = stop(native.runs);
                    }
                    self.runs += runs;
                    self.stopped_by = self.stopped_by.or(stopped_by);
                    return Ok(SearchedImage {
                        reads,
                        failing,
                        stopped: stopped_by.is_some(),
                    });
                }
                Err(ThreadsError::CannotRun(why)) => {
                    let threading = &mut self.template.threads;
                    let room = (&mut self.threads, &mut self.streams);
                    if !native.makes_room(self.most_threads, room, threading) {
                        return Err(SubjectError::CannotRun(why));
                    }
                }
                Err(error) => return Err(SubjectError::CannotRun(error.to_string())),
            }
            self.runs += runs;
        }
    }
}

impl Subject for EverySchedule<'_> {
    fn stopped(&mut self) -> bool {
        if self.stopped_by.is_none() {
            self.stopped_by = self.reason_to_stop(self.runs);
        }
        self.stopped_by.is_some()
    }

    fn run(&mut self, job: &subject::Job<'_>) -> Result<subject::Execution, SubjectError> {
        if let Some(reason) = self.reason_to_stop(self.runs) {
            self.stopped_by = Some(reason);
            return Err(SubjectError::Stopped);
        }
        debug_assert!(
            job.wanted == RunDetail::Reads,
            "recoveries with schedules are not cut"
        );
        let template = Job {
            image: image(job),
            failures: job.failures,
            ..self.template.clone()
        };
        let SearchedImage {
            reads,
            failing,
            stopped,
        } = self.search(&template)?;
        let ended = match failing {
            None if stopped => return Err(SubjectError::Stopped),
            None => Ended::Well,
            Some(job) => {
                let ran = self.server.run(&job);
                let execution = ran.map_err(|error| SubjectError::CannotRun(error.to_string()))?;
                self.runs += 1;
                self.failed.push(FailedSchedule { execution, job });
                Ended::Badly(self.failed.len() as u32 - 1)
            }
        };
        Ok(subject::Execution {
            reads,
            events: Vec::new(),
            marks: Vec::new(),
            judged: None,
            shortened: false,
            ended,
        })
    }
}

/// All lines that a run finds, whatever the server's base is.
fn image(job: &subject::Job<'_>) -> job::Image {
    let nothing = job.image.untouched();
    let changed = |line: &Line| job.overrides.iter().any(|(other, _)| other == line);
    let lines = job.image.delta(&nothing).filter(|(line, _)| !changed(line));
    let lines = lines.chain(job.overrides.iter().copied());
    let mut lines: Vec<job::Line> = lines
        .map(|(line, bytes)| job::Line {
            offset: line.start().0,
            bytes,
        })
        .collect();
    lines.sort_by_key(|line| line.offset);
    job::Image { lines }
}
