//! A program, its recovery, and the power failures between them: run from scratch, one execution after the other.

use crate::names::ProgramNames;
use crate::sources::SourceTexts;
use landfall_model::commit::{Copies, logged};
pub(crate) use landfall_model::crash::PowerFailure as Failure;
use landfall_model::crash::{self, CrashState};
use landfall_model::image::Image;
use landfall_model::line::{LINE_BYTES, Line};
use landfall_model::log::{Cut, Log, Version};
use landfall_model::order::Platform;
use landfall_native::{
    Deadline, Execution, Isolation, Job, Outcome, Program, Record, Server, SubjectError, Threading,
    translate,
};

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// Everything a run depends on but its image.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) program: Program,
    /// What runs after a power failure; the program again where there is nothing else.
    pub(crate) recover: Option<Program>,
    pub(crate) platform: Platform,
    /// Parts of one copy may persist in any order.
    pub(crate) tear: bool,
    /// Limits and options of every run; if there is a schedule, it is the first execution's.
    pub(crate) job: Job,
    /// How the threads of the last recovery run, where not by default.
    pub(crate) recovery: Option<RecoverySchedule>,
}

/// A schedule, and what its steps are.
#[derive(Clone, Debug)]
pub(crate) struct RecoverySchedule {
    pub(crate) schedule: Vec<u16>,
    pub(crate) threads: Threading,
}

impl Programs {
    /// The job of the execution after so many power failures, without its image.
    pub(crate) fn job_after(&self, failures: usize, part: RunRole) -> Job {
        let mut job = Job {
            failures: failures as u32,
            reads_only: part == RunRole::Last,
            ..self.job.clone()
        };
        if failures > 0 && job.schedule.is_some() {
            job.schedule = Some(Vec::new());
            job.threads = Threading::default();
        }
        if let (Some(recovery), 1.., RunRole::Last) = (&self.recovery, failures, part) {
            job.schedule = Some(recovery.schedule.clone());
            job.threads = recovery.threads.clone();
        }
        job
    }
}

/// One execution of a chain. A copy is the same one: there may be thousands of findings about an execution that is long.
#[derive(Clone, Debug)]
pub(crate) struct LoggedRun(Arc<RunLog>);

/// What an execution found, did and left.
#[derive(Debug)]
pub(crate) struct RunLog {
    /// Persistent memory as the execution found it.
    pub(crate) found: Image,
    pub(crate) execution: Execution,
    pub(crate) log: Log,
    /// For each event (the log says which one made each entry), the record of the trace that it comes from.
    records: Vec<u32>,
    /// Copies and fills: their first event and their length, ascending. Filled in where the execution is to be shown.
    copies: Vec<landfall_native::Copied>,
}

impl Deref for LoggedRun {
    type Target = RunLog;

    fn deref(&self) -> &RunLog {
        &self.0
    }
}

impl LoggedRun {
    pub(crate) fn new(found: Image, execution: Execution, programs: &Programs) -> LoggedRun {
        LoggedRun(Arc::new(RunLog::new(found, execution, programs)))
    }
}

impl RunLog {
    fn new(found: Image, execution: Execution, programs: &Programs) -> RunLog {
        let events = translate(&execution.events);
        let copies = match programs.tear {
            true => Copies::Torn,
            false => Copies::Whole,
        };
        let log = logged(&events, programs.platform, copies);
        RunLog {
            found,
            execution,
            log,
            records: events.iter().map(|event| event.record).collect(),
            copies: Vec::new(),
        }
    }

    /// The copy or fill that an event is part of.
    pub(crate) fn copy(&self, event: usize) -> Option<&landfall_native::Copied> {
        let after = self.copies.partition_point(|copy| copy.first <= event);
        let copy = after.checked_sub(1).map(|at| &self.copies[at]);
        copy.filter(|copy| event < copy.first + copy.events)
    }

    /// First byte and length of the store, or of the whole copy, that an event is part of.
    pub(crate) fn extent(&self, event: usize) -> (u64, u64) {
        match self.copy(event) {
            Some(copy) => (copy.offset, copy.length),
            None => {
                let (offset, length) = self.execution.events[event].bytes();
                (offset, u64::from(length))
            }
        }
    }

    /// Which event made an entry of the log.
    pub(crate) fn event_of(&self, entry: Cut) -> usize {
        let event = self.log.events()[entry.0 as usize];
        self.records[event.index()] as usize
    }

    /// How an event is numbered for people: from one, without the records of call stacks.
    pub(crate) fn number(&self, event: usize) -> usize {
        let before = &self.execution.events[..event];
        1 + before.iter().filter(|event| !event.kind.is_aside()).count()
    }

    pub(crate) fn event(&self, entry: Cut) -> &Record {
        &self.execution.events[self.event_of(entry)]
    }

    /// The first event that is not known to have happened at the cut.
    pub(crate) fn events_before(&self, cut: Cut) -> usize {
        let next = (cut < self.log.end()).then(|| self.event_of(cut));
        next.unwrap_or(self.execution.events.len())
    }

    /// What had happened when this many steps of its schedule were taken.
    pub(crate) fn cut_after(&self, steps: usize) -> Cut {
        let events = self.execution.events.iter().enumerate();
        let mut next = events.filter(|(_, event)| event.is_choice()).skip(steps);
        let end = next.next().map_or(usize::MAX, |(at, _)| at);
        let entries = (0..self.log.end().0).map(Cut);
        Cut(entries.filter(|&entry| self.event_of(entry) < end).count() as u32)
    }

    /// The version of a line that survives a failure.
    pub(crate) fn survivor(&self, failure: &Failure, line: Line) -> Version {
        let old = failure.old.iter().find(|(l, _)| *l == line);
        old.map_or_else(|| self.log.newest(line, failure.cut), |&(_, v)| v)
    }

    /// Persistent memory as a failure leaves it.
    pub(crate) fn left(&self, failure: &Failure) -> Image {
        let mut image = self.found.clone();
        let old: HashMap<Line, Version> = failure.old.iter().copied().collect();
        for line in self.log.lines() {
            let newest = || self.log.newest(line, failure.cut);
            let survivor = old.get(&line).copied().unwrap_or_else(newest);
            let mut bytes = image.line(line);
            self.log.apply(line, survivor, &mut bytes);
            image.set_line(line, bytes);
        }
        image
    }

    /// A failure that this execution could suffer.
    pub(crate) fn can_suffer(&self, failure: &Failure) -> bool {
        failure.cut <= self.log.end()
            && failure.old.iter().all(|&(line, version)| {
                version >= self.log.frontier(line, failure.cut)
                    && version <= self.log.newest(line, failure.cut)
            })
    }
}

/// What the failures could have left, all of them together.
pub(crate) fn crash_state<'a>(
    runs: &'a [LoggedRun],
    failures: &[Failure],
) -> Option<CrashState<'a>> {
    let base = &runs.first()?.found;
    let crashed = runs
        .iter()
        .zip(failures)
        .map(|(run, failure)| crash::Crashed {
            log: &run.log,
            cut: failure.cut,
        });
    Some(CrashState::new(base, crashed))
}

/// What an execution of a chain is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunRole {
    /// The power fails in it: all it stores matters.
    Crashes,
    /// It comes last: what it reads and how it ends are all that matters.
    Last,
}

impl RunRole {
    /// Of the execution after so many of all power failures.
    pub(crate) fn of(number: usize, failures: usize) -> RunRole {
        match number < failures {
            true => RunRole::Crashes,
            false => RunRole::Last,
        }
    }
}

/// A program and its recovery, started: each run is a process of its own.
#[derive(Debug)]
pub(crate) struct Replayer {
    programs: Programs,
    first: Server,
    again: Option<Server>,
    base: Image,
    names: (ProgramNames, Option<ProgramNames>),
    pub(crate) runs: u64,
    /// Nothing is run after that.
    pub(crate) until: Deadline,
}

impl Replayer {
    pub(crate) fn open(programs: &Programs) -> Result<Replayer, SubjectError> {
        let alone = |program: &Program| {
            let mut program = program.clone();
            program.isolation = Isolation::Fork;
            Server::start(&program)
        };
        let first = alone(&programs.program)?;
        let again = programs.recover.as_ref().map(alone).transpose()?;
        let base = base_of(&first);
        Ok(Replayer {
            programs: programs.clone(),
            names: (
                ProgramNames::of(&first),
                again.as_ref().map(ProgramNames::of),
            ),
            first,
            again,
            base,
            runs: 0,
            until: programs.job.limits.until,
        })
    }

    /// From now on executions happen like this one.
    pub(crate) fn set_job(&mut self, job: Job) {
        self.programs.job = job;
    }

    /// And the last recovery like this.
    pub(crate) fn set_recovery(&mut self, recovery: Option<RecoverySchedule>) {
        self.programs.recovery = recovery;
    }

    pub(crate) fn recovery(&self) -> Option<&RecoverySchedule> {
        self.programs.recovery.as_ref()
    }

    pub(crate) fn job(&self) -> &Job {
        &self.programs.job
    }

    /// Names for what happens in the execution after this many failures.
    pub(crate) fn names(&self, failures: usize) -> &ProgramNames {
        match (&self.names, failures) {
            ((_, Some(again)), 1..) => again,
            ((first, _), _) => first,
        }
    }

    /// The text of the programs' sources.
    pub(crate) fn sources(&self) -> SourceTexts {
        self.names.0.sources()
    }

    /// Persistent memory before anything ran.
    pub(crate) fn base(&self) -> &Image {
        &self.base
    }

    /// One execution, on this image.
    pub(crate) fn run(
        &mut self,
        found: Image,
        failures: usize,
        stacks: bool,
        part: RunRole,
    ) -> Result<LoggedRun, SubjectError> {
        let mut lines: Vec<_> = found
            .delta(&self.base)
            .map(|(line, bytes)| landfall_native::Line {
                offset: line.start().0,
                bytes,
            })
            .collect();
        lines.sort_by_key(|line| line.offset);
        if self.until.reached().is_some() {
            return Err(SubjectError::Stopped);
        }
        let mut job = Job {
            image: landfall_native::Image { lines },
            stacks,
            ..self.programs.job_after(failures, part)
        };
        job.limits.until = self.until;
        let server = match &mut self.again {
            Some(again) if failures > 0 => again,
            _ => &mut self.first,
        };
        let execution = server.run(&job)?;
        self.runs += 1;
        if execution.outcome == Outcome::Wedged && self.until.reached().is_some() {
            return Err(SubjectError::Stopped);
        }
        let endless = execution.outcome.limit().is_some()
            || matches!(execution.outcome, Outcome::Hang { .. });
        let mut run = RunLog::new(found, execution, &self.programs);
        if stacks && !endless {
            run.copies = server.run_raw(&job, landfall_native::copies)?.1;
        }
        Ok(LoggedRun(Arc::new(run)))
    }

    /// From the very beginning through all failures to the execution after the last.
    pub(crate) fn play(
        &mut self,
        failures: &[Failure],
        stacks: bool,
    ) -> Result<Vec<LoggedRun>, SubjectError> {
        let part = |number: usize| RunRole::of(number, failures.len());
        let mut runs = vec![self.run(self.base.clone(), 0, stacks, part(0))?];
        for (count, failure) in failures.iter().enumerate() {
            let left = runs[count].left(failure);
            runs.push(self.run(left, count + 1, stacks, part(count + 1))?);
        }
        Ok(runs)
    }
}

/// What a server's runs start from.
pub(crate) fn base_of(server: &Server) -> Image {
    let mut base = Image::new(server.fresh());
    for image in server.base() {
        for line in &image.lines {
            base.set_line(Line(line.offset / LINE_BYTES as u64), line.bytes);
        }
    }
    base
}
