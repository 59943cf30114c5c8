//! From failing executions to findings: one for each cause, each run from scratch, made plain, and kept in a file.

use super::Refusal;
use super::finding::{Finding, Preemptions, Severity, Told, failing_place, kind, said_place, what};
use super::minimise::{Confirmed, confirm};
use super::options::Check;
use super::report::Report;
use super::story::{Story, story};
use super::table::Table;
use super::target::Target;
use super::timeline::Teller;
use super::ways::{Seen, Ways};
use crate::exit::Exit;
use crate::names::{Names, Place};
use crate::provenance::first_reads;
use crate::recorded::quoted;
use crate::scene::{Act, Failure, Part, Stage, Threaded};
use crate::witness::{Built, Ended, Given, Memory, PowerFailure, Threads, Witness, Word, digest};
use landfall_explore::limit::Limit;
use landfall_explore::recovery::Behaviour;
use landfall_explore::schedule::power;
use landfall_explore::tree::Diverged;
use landfall_model::image::Image;
use landfall_native::{Deadline, Event, Execution, HeapChecks, Job, Op, Placed, Ran, SubjectError};
use std::time::Instant;

/// Findings that are told event by event; who has more will not read them.
const MOST_TOLD: usize = 200;
/// Bytes of what an execution printed, of each stream.
const MOST_PRINTED: usize = 4_000;

#[derive(Debug)]
pub(super) struct Bugs<'a> {
    target: &'a Target,
    options: &'a Check,
    stage: Option<Stage>,
    /// When the search ends; and when nothing is run any more for what it found.
    until: Deadline,
    last_call: Deadline,
    /// From then on not even the causes of failures are looked for; and from then on no debug information for their places.
    hurry: Deadline,
    rush: Deadline,
    /// What is told now happened under a schedule.
    scheduled: Option<Scheduled>,
}

/// How threads took turns, and what checkers know of that.
#[derive(Clone, Debug)]
pub(super) struct Scheduled {
    pub(super) table: Table,
    pub(super) preemptions: Preemptions,
    pub(super) seen: Seen,
    /// Every schedule was tried.
    pub(super) of_all: bool,
}

impl<'a> Bugs<'a> {
    pub(super) fn new(target: &'a Target, options: &'a Check, started: Instant) -> Self {
        Bugs {
            target,
            options,
            stage: None,
            until: options.deadline(started),
            last_call: options.last_call(started),
            hurry: options.after(started, 4),
            rush: options.after(started, 5),
            scheduled: None,
        }
    }

    /// Why the search would end now.
    pub(super) fn late(&self) -> Option<Limit> {
        self.until.reached()
    }

    /// Executions that were needed to tell.
    pub(super) fn runs(&self) -> u64 {
        self.stage.as_ref().map_or(0, |stage| stage.runs)
    }

    /// A stage of its own, opened for the first bug.
    fn stage(&mut self) -> Result<&mut Stage, Refusal> {
        let stage = match self.stage.take() {
            Some(stage) => stage,
            None => Stage::open(&self.target.scene).map_err(Refusal::cannot_run)?,
        };
        let stage = self.stage.insert(stage);
        stage.until = self.last_call;
        Ok(stage)
    }

    /// The program fails all by itself.
    pub(super) fn without_failure(
        &mut self,
        failed: &Execution,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        match confirm(self.stage()?, &[], failed) {
            Ok(confirmed) => self.add(confirmed.ok_or_else(not_again)?, report)?,
            Err(SubjectError::Stopped) => self.plainly(failed, 0, report)?,
            Err(error) => return Err(internal(error)),
        }
        report.runs += self.runs();
        Ok(())
    }

    /// A recovery fails after these power failures, the first of them in `first`.
    pub(super) fn after_failures(
        &mut self,
        first: &Act,
        behaviour: &Behaviour,
        failed: &Execution,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        let (target, until) = (self.target, self.until);
        let failures = behaviour.crashes.as_slice();
        if self.hurry.reached().is_some() {
            return self.plainly(failed, failures.len(), report);
        }
        // Of very many failures not all come with their events.
        if let ([failure], false) = (failures, failed.events.is_empty()) {
            // Cheap: nothing is run for a cause that is known already, nor is memory put together.
            let recovery = Act::new(Image::default(), failed.clone(), &target.scene);
            let acts = [first.clone(), recovery];
            let story = story(&acts, std::slice::from_ref(failure));
            let finding = Finding::cause(&acts, failures, story.as_ref(), self.stage()?);
            if finding.is_some_and(|finding| report.is_known(&finding)) {
                return Ok(());
            }
        }
        let stage = self.stage()?;
        let mut confirmed = match confirm(stage, failures, failed) {
            Ok(confirmed) => confirmed.ok_or_else(not_again)?,
            Err(SubjectError::Stopped) => return self.as_seen(first, failures, failed, report),
            Err(error) => return Err(internal(error)),
        };
        confirmed
            .minimise(stage, &move || until.reached().is_some())
            .map_err(internal)?;
        self.add(confirmed, report)
    }

    /// There is no time to run it again: what the search saw has to do.
    fn as_seen(
        &mut self,
        first: &Act,
        failures: &[Failure],
        failed: &Execution,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        let ([failure], false) = (failures, failed.events.is_empty()) else {
            return self.plainly(failed, failures.len(), report);
        };
        let acts = [
            first.clone(),
            Act::new(first.left(failure), failed.clone(), &self.target.scene),
        ];
        let story = story(&acts, failures);
        let finding = Finding::cause(&acts, failures, story.as_ref(), self.stage()?);
        match finding {
            Some(mut finding) => {
                finding.told = Told::Once;
                self.list(finding, &acts, failures, story.as_ref(), report)
            }
            None => Ok(()),
        }
    }

    /// The same where not even the executions before it are known: how it ends, and where.
    pub(super) fn plainly(
        &mut self,
        failed: &Execution,
        failures: usize,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        let late = self.rush.reached().is_some();
        let names = self.stage()?.names(failures);
        let what = what(&failed.outcome, names);
        let message = match failures {
            0 => format!("the program fails without any power failure: {what}"),
            _ => format!("recovery fails: {what}"),
        };
        let mut finding = Finding::of(kind(&failed.outcome), Severity::Error, message);
        // Without a look at debug information an assertion still knows where it is.
        finding.at = match late {
            true => said_place(&failed.outcome),
            false => failing_place(failed, names),
        };
        if !late {
            finding.stack = names.frames(&failed.stack);
        }
        (finding.failures, finding.end) = (failures, Some(what));
        // For all anyone knows it has the cause of one that ended there as well.
        if report.ends_there(&finding) {
            return Ok(());
        }
        self.unshown(finding, report)
    }

    /// Something that there is no time to show: it is told as far as it is known, and not kept for replay.
    pub(super) fn unshown(
        &mut self,
        mut finding: Finding,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        finding.told = Told::Once;
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &[], &[], None, report)
    }

    /// The same for what a checker said of a recovery that did not fail.
    pub(super) fn judged_briefly(
        &mut self,
        (mut finding, placed): (Finding, Option<Placed>),
        report: &mut Report,
    ) -> Result<(), Refusal> {
        if let Some(placed) = placed {
            finding.at = self.place(placed)?;
        }
        self.unshown(finding, report)
    }

    /// Two runs read the same and went on differently: names the place, as far as one more run comes there.
    pub(super) fn diverged(&mut self, difference: Diverged, crashes: &[Failure]) -> Refusal {
        let place = self.place_of_read(difference.at as usize, crashes);
        let place = place.map_or_else(String::new, |at| format!(" at {}", at.colons()));
        let why = format!(
            "the recovery is not deterministic: two runs read the same persistent memory up to read {}{place} and then went different ways; \
             something else decides there: uninitialised memory, an address, an instruction such as rdrand",
            difference.at + 1
        );
        Refusal::new(Exit::Uncontrolled, why)
    }

    fn place_of_read(&mut self, number: usize, crashes: &[Failure]) -> Option<Place> {
        let stage = self.stage().ok()?;
        let acts = stage.play(crashes, false).ok()?;
        let last = &acts.last()?.execution;
        let reads: Vec<usize> = first_reads(last).map(|(event, ..)| event).collect();
        let event = reads.get(number).or(reads.last())?;
        stage.names(crashes.len()).place(&last.events[*event])
    }

    /// Shows it once more with call stacks, and keeps it.
    fn add(&mut self, confirmed: Confirmed, report: &mut Report) -> Result<(), Refusal> {
        let Confirmed {
            failures,
            plain,
            acts,
            ..
        } = confirmed;
        let stage = self.stage()?;
        let acts = match stage.play(&failures, true) {
            Err(SubjectError::Stopped) => acts,
            played => played.map_err(internal)?,
        };
        let story = story(&acts, &failures);
        let Some(mut finding) = Finding::new(&acts, &failures, story.as_ref(), stage) else {
            return Ok(());
        };
        if !plain {
            finding.told = Told::AsFound;
        }
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &acts, &failures, story.as_ref(), report)
    }

    /// Something about a recovery that did not fail. It is shown from scratch like a failure, unless one has the same cause.
    pub(super) fn judged(
        &mut self,
        failures: &[Failure],
        story: impl Fn(&[Act]) -> Option<Story>,
        report: &mut Report,
        brief: impl FnOnce() -> (Finding, Option<Placed>),
        tell: impl FnOnce(&mut Finding, &[Act], &Stage),
    ) -> Result<(), Refusal> {
        let stage = self.stage()?;
        let acts = match stage.play(failures, true) {
            Err(SubjectError::Stopped) => return self.judged_briefly(brief(), report),
            played => played.map_err(internal)?,
        };
        let story = story(&acts);
        let Some(mut finding) = Finding::new(&acts, failures, story.as_ref(), stage) else {
            return Ok(());
        };
        tell(&mut finding, &acts, stage);
        let explains = |known: &Finding| {
            known.severity > finding.severity && known.same_cause(&finding)
                || known.loses(finding.racing.as_ref())
        };
        if report.all().any(explains) {
            if finding.racing.is_some() {
                report.hide_race();
            }
            return Ok(());
        }
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &acts, failures, story.as_ref(), report)
    }

    /// Runs a schedule from scratch, and finds the power failure that the search has found in it; none if there is no time for that.
    pub(super) fn suffered(
        &mut self,
        job: Job,
        crash: &power::Crash,
    ) -> Result<Option<(Act, Failure)>, Refusal> {
        let stage = self.stage()?;
        stage.set_job(job);
        let base = stage.base().clone();
        let first = match stage.act(base, 0, false, Part::Crashes) {
            Err(SubjectError::Stopped) => return Ok(None),
            ran => ran.map_err(internal)?,
        };
        let failure = Failure {
            cut: first.cut_after(crash.schedule.len()),
            old: crash.old.clone(),
        };
        let left = first.left(&failure);
        let image: Vec<_> = left.delta(stage.base()).collect();
        if !first.can_suffer(&failure) || image != crash.image {
            let why =
                "a power failure that the search found is not one of the schedule run from scratch";
            return Err(Refusal::new(Exit::Internal, why));
        }
        Ok(Some((first, failure)))
    }

    /// What is told until the next call happened under this schedule.
    pub(super) fn under(&mut self, scheduled: Option<Scheduled>) {
        self.scheduled = scheduled;
    }

    /// A recovery fails after a power failure in this schedule.
    pub(super) fn after_crash(
        &mut self,
        job: Job,
        behaviour: &power::Behaviour,
        failed: &Execution,
        recovery: Option<Threaded>,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        let Some((first, failure)) = self.suffered(job, &behaviour.crash)? else {
            return self.plainly(failed, 1 + behaviour.crash.later.len(), report);
        };
        let later = behaviour.crash.later.clone();
        let behaviour = Behaviour {
            ended: behaviour.ended,
            run: behaviour.run,
            crashes: std::iter::once(failure).chain(later).collect(),
            times: behaviour.times,
        };
        self.stage()?.set_recovery(recovery);
        let told = self.after_failures(&first, &behaviour, failed, report);
        self.stage()?.set_recovery(None);
        told
    }

    pub(super) fn place(&mut self, placed: Placed) -> Result<Option<Place>, Refusal> {
        let act = match placed.program {
            Ran::First => 0,
            Ran::Recovery => 1,
        };
        // Of an event of that origin, its place is all that is asked.
        let event = Event {
            op: Op::Sfence,
            mask: 0,
            flags: 0,
            origin: placed.origin,
            offset: 0,
            value: 0,
        };
        Ok(self.stage()?.names(act).place(&event))
    }

    /// Is a worse finding about the loss of the store at this place?
    pub(super) fn is_lost(&mut self, placed: Placed, report: &Report) -> Result<bool, Refusal> {
        if report.all().next().is_none() {
            return Ok(false);
        }
        let place = self.place(placed)?;
        Ok(place.is_some_and(|at| report.all().any(|known| known.loses_at(&at))))
    }

    /// Something that an execution under this schedule shows, from scratch. `tell` says what, if it does.
    pub(super) fn scheduled(
        &mut self,
        job: Job,
        report: &mut Report,
        brief: Finding,
        tell: impl FnOnce(&Execution, &Names) -> Option<Finding>,
    ) -> Result<(), Refusal> {
        let stage = self.stage()?;
        stage.set_job(job);
        let acts = match stage.play(&[], true) {
            Err(SubjectError::Stopped) => return self.unshown(brief, report),
            played => played.map_err(internal)?,
        };
        let execution = acts.first().map(|act| &act.execution);
        let finding = execution.and_then(|execution| tell(execution, stage.names(0)));
        let finding = finding.ok_or_else(not_again)?;
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &acts, &[], None, report)
    }

    /// A flush or fence that did nothing.
    pub(super) fn wasted(
        &mut self,
        kind: &'static str,
        message: String,
        times: u64,
        placed: Placed,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        let place = self.place(placed)?;
        let mut finding = Finding::of(kind, Severity::Perf, message);
        finding.at = place;
        finding.executions = times;
        if report.is_known(&finding) {
            return Ok(());
        }
        if self.options.allow.iter().any(|a| a.covers(&finding)) {
            report.allow(finding);
            return Ok(());
        }
        finding.id = format!("B{}", report.findings.len() + 1);
        report.add(finding);
        Ok(())
    }

    /// On the list, unless it is allowed, and kept in a file.
    fn list(
        &mut self,
        mut finding: Finding,
        acts: &[Act],
        failures: &[Failure],
        story: Option<&Story>,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        if self.options.allow.iter().any(|a| a.covers(&finding)) {
            report.allow(finding);
            return Ok(());
        }
        if let Some(scheduled) = &self.scheduled {
            finding.schedule = Some(scheduled.table.clone());
            finding.preemptions = Some(scheduled.preemptions);
            if finding.kind == "robustness" && !scheduled.of_all {
                let note = "not every schedule was tried: in another one the order of persists may follow the program and show the same";
                finding.notes.push(note.to_owned());
            }
            finding.ways = story.and_then(|story| match (story.act, story.lost, story.kept) {
                (0, Some(lost), Some(kept)) => {
                    Ways::new(acts.first()?, lost, kept, &scheduled.seen)
                }
                _ => None,
            });
        }
        finding.id = format!("B{}", report.findings.len() + 1);
        finding.notes.extend(finding.told.note().map(str::to_owned));
        let late = self.last_call.reached().is_some();
        if let Some(stage) = self.stage.as_ref().filter(|_| !late) {
            super::members::name(&mut finding, stage);
            if stage.recovery().is_some() {
                let note = "the recovery has threads, too, and fails under some of their schedules; replay shows one";
                finding.notes.push(note.to_owned());
            }
        }
        self.keep(&mut finding, acts, failures)?;
        if report.findings.len() < MOST_TOLD
            && !acts.is_empty()
            && !late
            && let Some(stage) = &self.stage
        {
            let teller = Teller {
                acts,
                failures,
                stage,
                story,
                finding: &finding,
            };
            finding.timeline = Some(teller.timeline());
            finding.output = acts.last().map_or_else(String::new, printed);
        }
        report.add(finding);
        Ok(())
    }

    /// Writes the witness beside run.json.
    fn keep(
        &self,
        finding: &mut Finding,
        acts: &[Act],
        failures: &[Failure],
    ) -> Result<(), Refusal> {
        let (Some(stage), Some(last)) = (&self.stage, acts.last()) else {
            return Ok(());
        };
        let scene = &self.target.scene;
        let name = format!("{}.json", finding.id);
        let path = self.options.out.join(&name);
        let replay = format!("landfall replay {}", quoted(path.as_os_str()));
        finding.replay = Some(replay);
        finding.witness = Some(path.display().to_string());
        let here = std::env::current_dir().unwrap_or_default();
        let names = stage.names(failures.len());
        let witness = Witness {
            tool: "landfall".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            directory: Word::new(here.as_os_str()),
            program: Built::new(&scene.program, self.target.build.clone()),
            recover: (scene.recover.as_ref())
                .map(|recover| Built::new(recover, self.target.build_recovery.clone())),
            persistent_memory: Memory {
                platform: self.options.platform_name().to_owned(),
                dir: (scene.program.pm_dir.as_ref()).map(|dir| Word::new(dir.as_os_str())),
                heap: scene.program.pm_heap.is_some(),
                heap_offset: scene.program.heap_offset,
                heap_checks: scene.program.heap == HeapChecks::On,
                tear: scene.tear,
                at_first: digest(stage.base()),
            },
            events: scene.job.limits.events,
            stdin: (scene.program.stdin.as_ref()).map(|input| Given {
                file: Word::new(self.options.out.join(super::target::INPUT).as_os_str()),
                bytes: input.length(),
            }),
            threads: Threads::of(stage.job()),
            recovery_threads: stage.recovery().and_then(Threads::of_recovery),
            failures: (acts.iter().zip(failures))
                .map(|(act, failure)| PowerFailure::new(failure, &act.left(failure), stage.base()))
                .collect(),
            outcome: Ended {
                kind: kind(&last.execution.outcome).to_owned(),
                text: what(&last.execution.outcome, names),
            },
            finding: finding.json(),
        };
        let failed = |e: &dyn std::fmt::Display| {
            Refusal::new(Exit::Usage, format!("{}: {e}", path.display()))
        };
        let text = serde_json::to_string_pretty(&witness).map_err(|e| failed(&e))?;
        crate::out::write_listed(&self.options.out, &name, (text + "\n").as_bytes())
            .map_err(|e| failed(&e))
    }
}

/// What an execution printed, the end of it.
fn printed(act: &Act) -> String {
    let Execution { stdout, stderr, .. } = &act.execution;
    let tail = |text: &[u8]| {
        let from = text.len().saturating_sub(MOST_PRINTED);
        String::from_utf8_lossy(&text[from..]).into_owned()
    };
    tail(stdout) + &tail(stderr)
}

fn internal(error: SubjectError) -> Refusal {
    Refusal::new(Exit::Internal, error)
}

pub(super) fn not_again() -> Refusal {
    let why =
        "the program is not deterministic: a failure did not happen again when run from scratch";
    Refusal::new(Exit::Uncontrolled, why)
}
