//! Power failures of every schedule: one recovery tree for all of them (`explore::schedule::power`).

use super::story::Telling;
use crate::check::Refusal;
use crate::check::bugs::Bugs;
use crate::check::options::Check;
use crate::check::report::Report;
use crate::exit::Exit;
use crate::names::Names;
use landfall_explore::recovery::SearchError;
use landfall_explore::schedule::power::Power;
use landfall_explore::schedule::{Job, Order, Persistency, Search, Threads, Trace};
use landfall_explore::subject::{Ended, SubjectError};
use landfall_model::line::Line;
use landfall_native::{NativeSubject, NativeThreads};
use std::ops::ControlFlow;

/// What looks at the power failures of each schedule.
#[derive(Debug)]
pub(super) struct Crashing<'a> {
    power: Power,
    subject: NativeSubject<'a>,
    error: Option<Refusal>,
}

/// What cannot be combined with threads and persistent memory yet.
pub(super) fn refuse(options: &Check) -> Option<Refusal> {
    let option = match options {
        Check {
            pm_dir: Some(_), ..
        } => "--pm-dir",
        Check { pm_heap: true, .. } => "--pm-heap",
        Check { tear: true, .. } => "--tear",
        Check { bound: Some(_), .. } => "--bound",
        _ if options.failures > 1 => "--failures",
        _ => options.leaves_no_tree()?,
    };
    let why = format!(
        "the program creates threads and stores to persistent memory: {option} is not for such programs yet; leave it out"
    );
    Some(Refusal::new(Exit::Usage, why))
}

impl<'a> Crashing<'a> {
    pub(super) fn new(power: Power, subject: NativeSubject<'a>) -> Crashing<'a> {
        Crashing {
            power,
            subject,
            error: None,
        }
    }

    /// Looks at the last execution.
    pub(super) fn look(&mut self, native: &NativeThreads<'_>, search: &Search) -> ControlFlow<()> {
        let line = |object: u32| native.line(object).unwrap_or(Line(0));
        match self.power.look(&mut self.subject, search, line) {
            Ok(_) => ControlFlow::Continue(()),
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
        report.limits.extend(self.subject.stopped_by);
        report.runs += self.subject.runs;
        report.events += self.subject.events;
        report.behaviours = self.power.behaviours.len();
        report.crashes = true;
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
            let failed = &self.subject.failed[number as usize];
            bugs.after_crash(job, behaviour, failed, table, report)?;
        }
        Ok(())
    }
}
