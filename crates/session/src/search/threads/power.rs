//! Power failures of every schedule: one recovery tree for all of them (`explore::schedule::power`).

use crate::diagnose::diagnosis::{Diagnosis, Scheduled};
use crate::diagnose::finding::failing_place;
use crate::diagnose::thread_fixes::JudgedSchedule;
use crate::error::{Error, ErrorKind};
use crate::names::ProgramNames;
use crate::options::{Asked, Options};
use crate::programs::RecoverySchedule;
use crate::report::SearchReport;
use crate::search::threads::judging::ScheduleJudging;
use crate::view::outcomes;
use crate::view::schedule::{ScheduleNames, TableEnd};
use landfall_explore::recovery::SearchError;
use landfall_explore::schedule::judged::{self, execution};
use landfall_explore::schedule::power::{Crash, Power};
use landfall_explore::schedule::{
    Explored, NOWHERE, Order, Persistency, Points, Process, Replayed, Threads, ThreadsError,
};
use landfall_explore::subject::{self, Ended, Execution, Subject, SubjectError};
use landfall_finding::Limit;
use landfall_finding::Preemptions;
use landfall_model::line::Line;
use landfall_model::order::Platform;
use landfall_native::{Deadline, EverySchedule, NativeSubject, NativeThreads, Watching};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// What looks at the power failures of each schedule.
#[derive(Debug)]
pub(crate) struct Crashing<'a> {
    power: Power,
    recoveries: RecoveryRuns<'a>,
    judging: Option<ScheduleJudging>,
    error: Option<Error>,
}

/// What runs recoveries.
#[derive(Debug)]
pub(crate) enum RecoveryRuns<'a> {
    /// Under one schedule, should they create threads.
    One(Box<NativeSubject<'a>>),
    Every(Box<EverySchedule<'a>>),
}

impl Subject for RecoveryRuns<'_> {
    fn stopped(&mut self) -> bool {
        match self {
            RecoveryRuns::One(one) => one.stopped(),
            RecoveryRuns::Every(every) => every.stopped(),
        }
    }

    fn run(&mut self, job: &subject::Job<'_>) -> Result<Execution, SubjectError> {
        match self {
            RecoveryRuns::One(one) => one.run(job),
            RecoveryRuns::Every(every) => every.run(job),
        }
    }

    fn run_all(
        &mut self,
        jobs: &[subject::Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        match self {
            RecoveryRuns::One(one) => one.run_all(jobs, each),
            RecoveryRuns::Every(every) => every.run_all(jobs, each),
        }
    }
}

impl RecoveryRuns<'_> {
    /// Says what was not looked at.
    fn report(&self, names: &ProgramNames, report: &mut SearchReport) {
        match self {
            RecoveryRuns::One(one) => {
                report.limited(one.stopped_by);
                report.runs += one.runs;
                report.events += one.events;
                report.assumed += one.assumed;
                if one.flushes_unjudged {
                    report.limit(Limit::Judging);
                    report.warn("flushes were not judged: a recovery did too much to keep track of what it flushed");
                }
                if let Some(unfinished) = &one.unfinished {
                    let at = failing_place(unfinished, names);
                    report.unfinished(&unfinished.outcome, "a recovery", at.as_ref());
                }
                if one.threads {
                    report.limit(Limit::RecoverSchedules);
                    report.warn("recoveries create threads, and each was run under one schedule: use --recover-schedules");
                }
            }
            RecoveryRuns::Every(every) => {
                report.limited(every.stopped_by);
                report.runs += every.runs;
                report.cut(&every.cut, "a recovery", names);
            }
        }
    }

    /// What judges them, if anything does.
    fn watching(&mut self) -> Option<&mut Watching> {
        match self {
            RecoveryRuns::One(one) => one.watching.as_mut(),
            RecoveryRuns::Every(_) => None,
        }
    }

    /// An execution that ended badly, and how its threads ran where that is not the default.
    fn failed(&self, number: u32) -> (&landfall_native::Execution, Option<RecoverySchedule>) {
        match self {
            RecoveryRuns::One(one) => (&one.failed[number as usize], None),
            RecoveryRuns::Every(every) => {
                let failed = &every.failed[number as usize];
                let threaded = failed
                    .job
                    .schedule
                    .clone()
                    .map(|schedule| RecoverySchedule {
                        schedule,
                        threads: failed.job.threads.clone(),
                    });
                (&failed.execution, threaded)
            }
        }
    }
}

/// What cannot be combined with threads and persistent memory.
pub(crate) fn refuse(options: &Asked) -> Option<Error> {
    let why = match &**options {
        Options { tear: true, .. } => {
            "--tear is not for such programs yet: what another thread stores between the pieces of a copy is not told apart from them; leave it out"
        }
        Options {
            no_prefix: true, ..
        } if options.races().is_some() => {
            "--no-prefix is not for such programs: it looks at the one place where the power failed, and here that is any set of steps that agrees with the recovery; leave it out"
        }
        Options {
            count_eager: true, ..
        } => {
            "--count-eager is not for such programs: their images are counted as they are run; use --eager"
        }
        _ if options.recover_schedules && options.failures > 1 => {
            "with --recover-schedules the power does not fail during recovery: leave out --failures"
        }
        _ => return None,
    };
    let why = match options.recover_schedules && options.failures > 1 {
        true => why.to_owned(),
        false => format!("the program creates threads and stores to persistent memory: {why}"),
    };
    Some(Error::new(ErrorKind::Usage, why))
}

impl<'a> Crashing<'a> {
    pub(crate) fn new(
        options: &Asked,
        power: Power,
        recoveries: RecoveryRuns<'a>,
        until: Deadline,
    ) -> Crashing<'a> {
        Crashing {
            power,
            recoveries,
            judging: options
                .judges()
                .then(|| ScheduleJudging::new(options, until)),
            error: None,
        }
    }

    /// Looks at the last execution.
    pub(crate) fn look(
        &mut self,
        native: &NativeThreads<'_>,
        search: &dyn Explored,
    ) -> ControlFlow<()> {
        let line = |object: u32| native.line(object).unwrap_or(Line(0));
        match self.power.look(&mut self.recoveries, search, line) {
            Ok(traced) => {
                let watching = self.recoveries.watching();
                match (&mut self.judging, watching) {
                    (Some(judging), Some(watching)) => {
                        judging.look(&mut self.power, &traced, search, native, watching);
                    }
                    _ => self.power.settle(&traced, search, line),
                }
                ControlFlow::Continue(())
            }
            Err(SearchError::Subject(SubjectError::Stopped)) => ControlFlow::Break(()),
            Err(SearchError::Subject(error)) => {
                self.error = Some(Error::new(ErrorKind::Internal, error));
                ControlFlow::Break(())
            }
            Err(SearchError::Diverged { .. }) => {
                let why = "the recovery is not deterministic: two runs read the same persistent memory and then went different ways";
                self.error = Some(Error::new(ErrorKind::Uncontrolled, why));
                ControlFlow::Break(())
            }
        }
    }

    /// Tells how recoveries ended, and of those that failed; names for what crashed, and for recoveries.
    pub(crate) fn report(
        mut self,
        native: &mut NativeThreads<'_>,
        (names, after): (&ProgramNames, &ProgramNames),
        bugs: &mut Diagnosis<'_>,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.recoveries.report(after, report);
        report.behaviours += self.power.behaviours.len();
        report.crashes = true;
        if self.power.skipped > 0 {
            report.skipped += u64::from(self.power.skipped);
            report.limit(Limit::Again);
        }
        let ends = self.power.behaviours.iter().map(|b| b.ended);
        let failed = |number| Some(self.recoveries.failed(number).0);
        report.outcomes = outcomes::after_schedules(after, ends, failed);
        if self.power.uncut > 0 {
            report.uncut(self.power.uncut);
        }
        let order = native.order(Persistency::Lines);
        let mut shown = Shown {
            native,
            names,
            order,
            platform: self.power.platform(),
            all: report.is_complete(),
        };
        for behaviour in &self.power.behaviours {
            let Ended::Badly(number) = behaviour.ended else {
                continue;
            };
            let (failed, recovery) = self.recoveries.failed(number);
            let Some((job, scheduled)) = shown.scheduled(&behaviour.crash)? else {
                bugs.plainly(failed, 1 + behaviour.crash.later.len(), report)?;
                continue;
            };
            bugs.under(Some(scheduled));
            let told = bugs.after_crash(job, behaviour, failed, recovery, report);
            bugs.under(None);
            told?;
        }
        let complete = report.is_complete();
        let watching = match &mut self.recoveries {
            RecoveryRuns::One(one) => one.watching.take(),
            RecoveryRuns::Every(_) => None,
        };
        if let (Some(judging), Some(watching)) = (self.judging, watching) {
            judging.report(complete, &self.power, watching, &mut shown, bugs, report)?;
        }
        Ok(())
    }
}

/// Schedules of the search, shown once more.
pub(crate) struct Shown<'a, 's> {
    pub(crate) native: &'a mut NativeThreads<'s>,
    names: &'a ProgramNames,
    order: Order,
    platform: Platform,
    /// Was every schedule tried? Otherwise one that was not may be as strict persistency has it.
    pub(crate) all: bool,
}

impl Shown<'_, '_> {
    /// None if there is no time for it.
    pub(crate) fn again(
        &mut self,
        schedule: &[Process],
        points: &Points,
    ) -> Result<Option<Replayed>, Error> {
        match Replayed::run(self.native, self.order, schedule, points) {
            Err(ThreadsError::Stopped) => Ok(None),
            ran => ran
                .map(Some)
                .map_err(|error| Error::new(ErrorKind::Uncontrolled, error)),
        }
    }

    /// What happened before a power failure, for people and for checkers; and what to run to see it.
    pub(crate) fn scheduled(
        &mut self,
        crash: &Crash,
    ) -> Result<Option<(landfall_native::Job, Scheduled)>, Error> {
        let Some(again) = self.again(&crash.schedule, &crash.points)? else {
            return Ok(None);
        };
        let telling = ScheduleNames::new(self.native, self.names, self.order);
        let trace = again.trace();
        let table = telling.table(trace, crash.schedule.len(), TableEnd::Otherwise);
        let count = trace.preemptions(self.order, crash.schedule.len());
        let preemptions = Preemptions {
            count,
            fewest: count == 0,
        };
        let mut sites = SearchSites(self.native);
        let execution = execution(trace, self.order, self.platform, 0, &mut sites);
        let sites = execution.events().iter().map(|event| event.site);
        let sites: HashSet<u32> = sites.filter(|&site| site != NOWHERE).collect();
        let places = (sites.into_iter())
            .filter_map(|site| Some((site, telling.place(site)?)))
            .collect();
        let judged = JudgedSchedule { execution, places };
        let job = self.native.replay(&crash.schedule);
        let scheduled = Scheduled {
            table,
            preemptions,
            judged,
            of_all: self.all,
        };
        Ok(Some((job, scheduled)))
    }
}

/// The search's own numbers of sites.
struct SearchSites<'a, 's>(&'a NativeThreads<'s>);

impl judged::Names for SearchSites<'_, '_> {
    fn line(&self, object: u32) -> Line {
        self.0.line(object).unwrap_or(Line(0))
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}
