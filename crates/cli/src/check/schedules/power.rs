//! Power failures of every schedule: one recovery tree for all of them (`explore::schedule::power`).

use super::story::Telling;
use crate::check::Refusal;
use crate::check::bugs::Bugs;
use crate::check::options::Check;
use crate::check::report::Report;
use crate::exit::Exit;
use crate::names::Names;
use crate::scene::Threaded;
use landfall_explore::recovery::SearchError;
use landfall_explore::schedule::power::Power;
use landfall_explore::schedule::{Explored, Job, Order, Persistency, Threads, Trace};
use landfall_explore::subject::{self, Ended, Execution, Subject, SubjectError};
use landfall_model::line::Line;
use landfall_native::{EverySchedule, NativeSubject, NativeThreads};
use std::ops::ControlFlow;

/// What looks at the power failures of each schedule.
#[derive(Debug)]
pub(super) struct Crashing<'a> {
    power: Power,
    recoveries: Recoveries<'a>,
    error: Option<Refusal>,
}

/// What runs recoveries.
#[derive(Debug)]
pub(super) enum Recoveries<'a> {
    /// Under one schedule, should they create threads.
    One(NativeSubject<'a>),
    Every(EverySchedule<'a>),
}

impl Subject for Recoveries<'_> {
    fn run(&mut self, job: &subject::Job<'_>) -> Result<Execution, SubjectError> {
        match self {
            Recoveries::One(one) => one.run(job),
            Recoveries::Every(every) => every.run(job),
        }
    }

    fn run_all(
        &mut self,
        jobs: &[subject::Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        match self {
            Recoveries::One(one) => one.run_all(jobs, each),
            Recoveries::Every(every) => every.run_all(jobs, each),
        }
    }
}

impl Recoveries<'_> {
    /// Says what was not looked at.
    fn report(&self, report: &mut Report) {
        match self {
            Recoveries::One(one) => {
                report.limits.extend(one.stopped_by);
                report.runs += one.runs;
                report.events += one.events;
                if one.threads {
                    report.limits.push("recover-schedules");
                    report.warn("recoveries create threads, and each was run under one schedule: use --recover-schedules");
                }
            }
            Recoveries::Every(every) => {
                report.limits.extend(every.stopped_by);
                report.runs += every.runs;
                report.limits.extend(every.cut.then_some("steps"));
            }
        }
    }

    /// An execution that ended badly, and how its threads ran where that is not the default.
    fn failed(&self, number: u32) -> (&landfall_native::Execution, Option<Threaded>) {
        match self {
            Recoveries::One(one) => (&one.failed[number as usize], None),
            Recoveries::Every(every) => {
                let failed = &every.failed[number as usize];
                let threaded = failed.job.schedule.clone().map(|schedule| Threaded {
                    schedule,
                    threads: failed.job.threads.clone(),
                });
                (&failed.execution, threaded)
            }
        }
    }
}

/// What cannot be combined with threads and persistent memory yet.
pub(super) fn refuse(options: &Check) -> Option<Refusal> {
    let option = match options {
        Check {
            pm_dir: Some(_), ..
        } => "--pm-dir",
        Check { tear: true, .. } => "--tear",
        _ if options.recover_schedules && options.failures > 1 => {
            let why = "with --recover-schedules the power does not fail during recovery: leave out --failures";
            return Some(Refusal::new(Exit::Usage, why));
        }
        _ => options.leaves_no_tree()?,
    };
    let why = format!(
        "the program creates threads and stores to persistent memory: {option} is not for such programs yet; leave it out"
    );
    Some(Refusal::new(Exit::Usage, why))
}

impl<'a> Crashing<'a> {
    pub(super) fn new(power: Power, recoveries: Recoveries<'a>) -> Crashing<'a> {
        Crashing {
            power,
            recoveries,
            error: None,
        }
    }

    /// Looks at the last execution.
    pub(super) fn look(
        &mut self,
        native: &NativeThreads<'_>,
        search: &dyn Explored,
    ) -> ControlFlow<()> {
        let line = |object: u32| native.line(object).unwrap_or(Line(0));
        match self.power.look(&mut self.recoveries, search, line) {
            Ok(()) => ControlFlow::Continue(()),
            Err(SearchError::Subject(SubjectError::Stopped)) => ControlFlow::Break(()),
            Err(SearchError::Subject(error)) => {
                self.error = Some(Refusal::new(Exit::Internal, error));
                ControlFlow::Break(())
            }
            Err(SearchError::Diverged { .. }) => {
                let why = "the recovery is not deterministic: two runs read the same persistent memory and then went different ways";
                self.error = Some(Refusal::new(Exit::Uncontrolled, why));
                ControlFlow::Break(())
            }
        }
    }

    /// Tells of the recoveries that failed.
    pub(super) fn report(
        self,
        native: &mut NativeThreads<'_>,
        names: &Names,
        bugs: &mut Bugs<'_>,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.recoveries.report(report);
        report.behaviours = self.power.behaviours.len();
        report.crashes = true;
        if self.power.uncut > 0 {
            report.uncut(self.power.uncut);
        }
        let order = Order {
            threads: native.threads(),
            persistency: Persistency::Lines,
        };
        for behaviour in &self.power.behaviours {
            let Ended::Badly(number) = behaviour.ended else {
                continue;
            };
            let crash = &behaviour.crash;
            native.preempt_at(&crash.points);
            let mut trace = Trace::default();
            let job = Job {
                follow: &crash.schedule,
                keep: 0,
                sleep: &[],
                order,
                limit: usize::MAX,
            };
            let ran = native.run(&job, &mut trace);
            ran.map_err(|error| Refusal::new(Exit::Uncontrolled, error))?;
            let telling = Telling {
                threads: native,
                names,
                order,
            };
            let table = telling.table(&trace, crash.schedule.len(), None);
            let job = native.replay(&crash.schedule);
            let (failed, recovery) = self.recoveries.failed(number);
            bugs.after_crash(job, behaviour, failed, recovery, table, report)?;
        }
        Ok(())
    }
}
