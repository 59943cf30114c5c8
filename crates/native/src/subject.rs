//! A native program as the search sees it.

use crate::execution::{Event, Execution, Op, Outcome};
use crate::interrupt::interrupted;
use crate::job::{self, Job};
use crate::server::Server;
use landfall_explore::subject::{self, Ended, FirstRead, Subject, SubjectError};
use landfall_model::line::{Addr, Line, LineBytes, pieces};
use landfall_vocab::record::flag;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// When to stop searching.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    pub runs: Option<u64>,
    pub until: Option<Instant>,
}

/// A run gets this long even when the search's time is up.
const SHORTEST_WALL: Duration = Duration::from_secs(1);
/// Past this many lines a new base is cheaper than sending them with every job.
const MOST_AHEAD: usize = 64;

/// Runs recoveries on a server, and keeps the executions that ended badly.
#[derive(Debug)]
pub struct NativeSubject<'a> {
    server: &'a mut Server,
    template: Job,
    budget: Budget,
    /// Lines of the search's image that the server's base does not have yet.
    ahead: BTreeMap<Line, LineBytes>,
    /// Executions that did not end well, by the number in [`Ended::Badly`].
    pub failed: Vec<Execution>,
    pub runs: u64,
    pub events: u64,
    /// The limit that ended the search: runs, time or interrupt.
    pub stopped_by: Option<&'static str>,
}

impl<'a> NativeSubject<'a> {
    /// `template` gives limits and options; image and failures come from the search.
    pub fn new(server: &'a mut Server, template: Job, budget: Budget) -> Self {
        NativeSubject {
            server,
            template,
            budget,
            ahead: BTreeMap::new(),
            failed: Vec::new(),
            runs: 0,
            events: 0,
            stopped_by: None,
        }
    }
}

impl NativeSubject<'_> {
    fn reason_to_stop(&self) -> Option<&'static str> {
        if interrupted() {
            Some("interrupt")
        } else if self.budget.runs.is_some_and(|most| self.runs >= most) {
            Some("runs")
        } else if self.budget.until.is_some_and(|end| Instant::now() >= end) {
            Some("time")
        } else {
            None
        }
    }

    fn stop(&mut self, reason: &'static str) -> Result<subject::Execution, SubjectError> {
        self.stopped_by = Some(reason);
        Err(SubjectError::Stopped)
    }
}

impl Subject for NativeSubject<'_> {
    fn run(&mut self, job: &subject::Job<'_>) -> Result<subject::Execution, SubjectError> {
        if let Some(reason) = self.reason_to_stop() {
            return self.stop(reason);
        }
        let cannot = |error: crate::SubjectError| SubjectError::CannotRun(error.to_string());
        for &line in job.changed {
            self.ahead.insert(line, job.image.line(line));
        }
        if self.ahead.len() > MOST_AHEAD {
            let ahead = std::mem::take(&mut self.ahead);
            let lines = ahead
                .into_iter()
                .map(|(line, bytes)| to_line(line, bytes))
                .collect();
            self.server.set_base(job::Image { lines }).map_err(cannot)?;
        }
        let mut lines = self.ahead.clone();
        lines.extend(job.overrides.iter().copied());
        let mut native = self.template.clone();
        native.failures = job.failures;
        native.image.lines = lines
            .into_iter()
            .map(|(line, bytes)| to_line(line, bytes))
            .collect();
        if let Some(end) = self.budget.until {
            let left = end.saturating_duration_since(Instant::now());
            native.limits.wall = native.limits.wall.min(left.max(SHORTEST_WALL));
        }
        let execution = self.server.run(&native).map_err(cannot)?;
        self.runs += 1;
        // A run that was cut short by us or by the user's Ctrl-C says nothing about the program.
        let cut_short = matches!(
            execution.outcome,
            Outcome::Wedged | Outcome::Died { .. } | Outcome::Signal { .. }
        );
        if let Some(reason @ ("time" | "interrupt")) = self.reason_to_stop()
            && cut_short
        {
            return self.stop(reason);
        }
        self.events += execution.events.len() as u64;
        let ended = if execution.outcome.is_ok() {
            Ended::Well
        } else {
            Ended::Badly(self.failed.len() as u32)
        };
        let translated = subject::Execution {
            events: translate(&execution.events).0,
            ended,
        };
        if ended != Ended::Well {
            self.failed.push(execution);
        }
        Ok(translated)
    }
}

fn to_line(line: Line, bytes: LineBytes) -> job::Line {
    job::Line {
        offset: line.start().0,
        bytes,
    }
}

/// A native trace in the words of the search, and for each of those the native event it comes from. Addresses are offsets in
/// the persistent window.
pub fn translate(events: &[Event]) -> (Vec<subject::Event>, Vec<usize>) {
    let mut out = Vec::with_capacity(events.len());
    let mut origins = Vec::with_capacity(events.len());
    for (at, event) in events.iter().enumerate() {
        let line = || Addr(event.offset).line();
        match event.op {
            Op::Read => out.push(subject::Event::Read {
                read: FirstRead {
                    word: Addr(event.offset),
                    mask: event.mask,
                },
                value: event.value,
            }),
            Op::Store => store(event, &mut out),
            Op::Clflush => out.push(subject::Event::Clflush(line())),
            Op::Clflushopt | Op::Clwb => out.push(subject::Event::ClflushOpt(line())),
            Op::Sfence | Op::Mfence | Op::CasFailed => out.push(subject::Event::Fence),
            Op::Lfence
            | Op::Run
            | Op::Fill
            | Op::Alloc
            | Op::Free
            | Op::Stack
            | Op::Asm
            | Op::Mark
            | Op::Step
            | Op::Blocked
            | Op::Misuse
            | Op::Access => {}
        }
        origins.resize(out.len(), at);
    }
    (out, origins)
}

fn store(event: &Event, out: &mut Vec<subject::Event>) {
    let (start, length) = event.bytes();
    let bytes = event.value.to_le_bytes();
    let from = (start - event.offset) as usize;
    let Some(bytes) = bytes.get(from..from + length as usize) else {
        return;
    };
    // A locked instruction fences on both sides (MODEL.md §2).
    let locked = event.flags & flag::LOCKED != 0;
    if locked {
        out.push(subject::Event::Fence);
    }
    for piece in pieces(Addr(start), bytes) {
        out.push(if event.flags & flag::DURABLE != 0 {
            subject::Event::DurableStore(piece)
        } else if event.flags & flag::NON_TEMPORAL != 0 {
            subject::Event::NtStore(piece)
        } else {
            subject::Event::Store(piece)
        });
    }
    if locked {
        out.push(subject::Event::Fence);
    }
}
