//! A native program as the search sees it.

use crate::execution::{Event, Execution, Op};
use crate::job::{self, Job};
use crate::server::Server;
use landfall_explore::subject::{self, Ended, FirstRead, Subject, SubjectError};
use landfall_model::line::{Addr, Line, LineBytes, pieces};
use landfall_vocab::record::flag;
use std::collections::BTreeMap;
use std::time::Instant;

/// When to stop searching.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    pub runs: Option<u64>,
    pub until: Option<Instant>,
}

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
        }
    }
}

impl Subject for NativeSubject<'_> {
    fn run(&mut self, job: &subject::Job<'_>) -> Result<subject::Execution, SubjectError> {
        let out_of_runs = self.budget.runs.is_some_and(|most| self.runs >= most);
        if out_of_runs || self.budget.until.is_some_and(|end| Instant::now() >= end) {
            return Err(SubjectError::Stopped);
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
        let execution = self.server.run(&native).map_err(cannot)?;
        self.runs += 1;
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
            | Op::Mark => {}
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
