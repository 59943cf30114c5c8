//! Power failures of every schedule: one recovery tree for all of them (`explore::schedule::power`).

use super::judging::Judging;
use super::story::Telling;
use crate::check::Refusal;
use crate::check::bugs::{Bugs, Scheduled};
use crate::check::options::Check;
use crate::check::report::Report;
use crate::check::ways::Seen;
use crate::exit::Exit;
use crate::names::Names;
use landfall_explore::recovery::SearchError;
use landfall_explore::schedule::judged::{self, execution};
use landfall_explore::schedule::power::{Crash, Power};
use landfall_explore::schedule::{
    Explored, NOWHERE, Order, Persistency, Points, Process, Replayed, Threads,
};
use landfall_explore::subject::{Ended, SubjectError};
use landfall_model::line::Line;
use landfall_model::order::Platform;
use landfall_native::{NativeSubject, NativeThreads};
use std::ops::ControlFlow;

/// What looks at the power failures of each schedule.
#[derive(Debug)]
pub(super) struct Crashing<'a> {
    power: Power,
    subject: NativeSubject<'a>,
    judging: Option<Judging>,
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
        Check {
            no_prefix: true, ..
        } if options.races().is_some() => "--no-prefix",
        _ if options.failures > 1 => "--failures",
        _ => options.leaves_no_tree()?,
    };
    let why = format!(
        "the program creates threads and stores to persistent memory: {option} is not for such programs yet; leave it out"
    );
    Some(Refusal::new(Exit::Usage, why))
}

impl<'a> Crashing<'a> {
    pub(super) fn new(options: &Check, power: Power, subject: NativeSubject<'a>) -> Crashing<'a> {
        Crashing {
            power,
            subject,
            judging: options.judges().then(|| Judging::new(options)),
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
        match self.power.look(&mut self.subject, search, line) {
            Ok(traced) => {
                let watching = self.subject.watching.as_mut();
                if let (Some(judging), Some(watching)) = (&mut self.judging, watching) {
                    judging.look(&self.power, &traced, search, native, watching);
                }
                ControlFlow::Continue(())
            }
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
        mut self,
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
        if self.subject.flushes_unjudged {
            report.limits.push("judging");
            report.warn(
                "flushes were not judged: a recovery did too much to keep track of what it flushed",
            );
        }
        let order = Order {
            threads: native.threads(),
            persistency: Persistency::Lines,
        };
        let mut shown = Shown {
            native,
            names,
            order,
            platform: self.power.platform(),
        };
        for behaviour in &self.power.behaviours {
            let Ended::Badly(number) = behaviour.ended else {
                continue;
            };
            let (job, scheduled) = shown.scheduled(&behaviour.crash)?;
            let failed = &self.subject.failed[number as usize];
            bugs.under(Some(scheduled));
            let told = bugs.after_crash(job, behaviour, failed, report);
            bugs.under(None);
            told?;
        }
        let complete = report.limits.is_empty();
        if let (Some(judging), Some(watching)) = (self.judging, self.subject.watching.take()) {
            judging.report(complete, &self.power, watching, &mut shown, bugs, report)?;
        }
        Ok(())
    }
}

/// Schedules of the search, shown once more.
pub(super) struct Shown<'a, 's> {
    pub(super) native: &'a mut NativeThreads<'s>,
    names: &'a Names,
    order: Order,
    platform: Platform,
}

impl Shown<'_, '_> {
    pub(super) fn again(
        &mut self,
        schedule: &[Process],
        points: &Points,
    ) -> Result<Replayed, Refusal> {
        Replayed::run(self.native, self.order, schedule, points)
            .map_err(|error| Refusal::new(Exit::Uncontrolled, error))
    }

    /// What happened before a power failure, for people and for checkers; and what to run to see it.
    pub(super) fn scheduled(
        &mut self,
        crash: &Crash,
    ) -> Result<(landfall_native::Job, Scheduled), Refusal> {
        let again = self.again(&crash.schedule, &crash.points)?;
        let telling = Telling {
            threads: self.native,
            names: self.names,
            order: self.order,
        };
        let trace = again.trace();
        let table = telling.table(trace, crash.schedule.len(), None);
        let mut sites = Sites(self.native);
        let execution = execution(trace, self.order, self.platform, 0, &mut sites);
        let places = (execution.events().iter())
            .filter(|event| event.site != NOWHERE)
            .filter_map(|event| Some((event.site, telling.place(event.site)?)))
            .collect();
        let seen = Seen { execution, places };
        let job = self.native.replay(&crash.schedule);
        Ok((job, Scheduled { table, seen }))
    }
}

/// The search's own numbers of sites.
struct Sites<'a, 's>(&'a NativeThreads<'s>);

impl judged::Names for Sites<'_, '_> {
    fn line(&self, object: u32) -> Line {
        self.0.line(object).unwrap_or(Line(0))
    }

    fn site(&mut self, site: u32) -> u32 {
        site
    }
}
