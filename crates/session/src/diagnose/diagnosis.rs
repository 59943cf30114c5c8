//! From failing executions to findings: one for each cause, each run from scratch, made plain, and kept in a file.

use crate::diagnose::cause::{Overtaking, story};
use crate::diagnose::finding::{
    cause, failing_place, finding, fixes, kind, loses, said_place, what,
};
use crate::diagnose::minimise::{Confirmed, confirm};
use crate::diagnose::provenance::first_reads;
use crate::diagnose::thread_fixes::{JudgedSchedule, ThreadFixes};
use crate::diagnose::transactions::Transactions;
use crate::diagnose::unadded::is_of_unadded;
use crate::error::{Error, ErrorKind};
use crate::known::same_cause;
use crate::names::ProgramNames;
use crate::options::Asked;
use crate::programs::{Failure, LoggedRun, RecoverySchedule, Replayer, RunRole};
use crate::record::quoted;
use crate::recorded_client::recorded_client;
use crate::report::SearchReport;
use crate::setup::BuiltTarget;
use crate::view::schedule::ScheduleTable;
use crate::view::timeline::TimelineBuilder;
use crate::witness::{build_file, digest, recorded_failure, recorded_threads};
use landfall_check::StoreMade;
use landfall_explore::recovery::Behaviour;
use landfall_explore::schedule::power;
use landfall_explore::tree::Diverged;
use landfall_finding::{
    Finding, Kind, Limit, Place, Preemptions, RecordedMemory, RecordedOutcome, Severity, StdinFile,
    Store, StoreRole, Witness, Word,
};
use landfall_model::image::Image;
use landfall_native::compiler::is_ours;
use landfall_native::compiler::pmdk::library;
use landfall_native::{
    Deadline, Execution, HeapChecks, Job, Placed, Places, Ran, Record, RecordKind, SubjectError,
    is_inside_pmdk,
};
use std::time::Instant;

/// Findings that are told event by event; who has more will not read them.
const MOST_TOLD: usize = 200;
/// Bytes of what an execution printed, of each stream.
const MOST_PRINTED: usize = 4_000;

#[derive(Debug)]
pub(crate) struct Diagnosis<'a> {
    target: &'a BuiltTarget,
    options: &'a Asked,
    replayer: Option<Replayer>,
    /// When the search ends; and when nothing is run any more for what it found.
    until: Deadline,
    last_call: Deadline,
    /// From then on not even the causes of failures are looked for; and from then on no debug information for their places.
    hurry: Deadline,
    rush: Deadline,
    /// What is told now happened under a schedule.
    scheduled: Option<Scheduled>,
    /// What transactions do not answer for.
    pub(crate) transactions: Option<Transactions>,
}

/// How threads took turns, and what checkers know of that.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    pub(crate) table: ScheduleTable,
    pub(crate) preemptions: Preemptions,
    pub(crate) judged: JudgedSchedule,
    /// Every schedule was tried.
    pub(crate) of_all: bool,
}

impl<'a> Diagnosis<'a> {
    pub(crate) fn new(target: &'a BuiltTarget, options: &'a Asked, started: Instant) -> Self {
        Diagnosis {
            target,
            options,
            replayer: None,
            until: options.deadline(started),
            last_call: options.last_call(started),
            hurry: options.after(started, 4),
            rush: options.after(started, 5),
            scheduled: None,
            transactions: None,
        }
    }

    /// Why the search would end now.
    pub(crate) fn late(&self) -> Option<Limit> {
        self.until.reached()
    }

    /// Executions that were needed to tell.
    pub(crate) fn runs(&self) -> u64 {
        self.replayer.as_ref().map_or(0, |replayer| replayer.runs)
    }

    /// A replayer of its own, opened for the first bug.
    pub(super) fn replayer(&mut self) -> Result<&mut Replayer, Error> {
        let replayer = match self.replayer.take() {
            Some(replayer) => replayer,
            None => Replayer::open(&self.target.programs).map_err(Error::cannot_run)?,
        };
        let replayer = self.replayer.insert(replayer);
        replayer.until = self.last_call;
        Ok(replayer)
    }

    /// The program fails all by itself.
    pub(crate) fn without_failure(
        &mut self,
        failed: &Execution,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        match confirm(self.replayer()?, &[], failed) {
            Ok(confirmed) => self.add(confirmed.ok_or_else(not_again)?, report)?,
            Err(SubjectError::Stopped) => self.plainly(failed, 0, report)?,
            Err(error) => return Err(internal(error)),
        }
        report.runs += self.runs();
        Ok(())
    }

    /// A recovery fails after these power failures, the first of them in `first`.
    pub(crate) fn after_failures(
        &mut self,
        first: &LoggedRun,
        behaviour: &Behaviour,
        failed: &Execution,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let (target, until) = (self.target, self.until);
        let unpacked = behaviour.crashes.unpacked();
        let failures = unpacked.as_slice();
        if let ([failure], false) = (failures, failed.events.is_empty())
            && report.all().any(|f| f.kind == Kind::MissingSnapshot)
        {
            let what = what(&failed.outcome, self.replayer()?.names(1));
            let symptom = Finding::of_failure(kind(&failed.outcome), &what, 1);
            if self.tells_of_listed(&symptom, (first, failure), failed, report) {
                return Ok(());
            }
        }
        if self.hurry.reached().is_some() {
            return self.plainly(failed, failures.len(), report);
        }
        // Of very many failures not all come with their events.
        if let ([failure], false) = (failures, failed.events.is_empty()) {
            // Cheap: nothing is run for a cause that is known already, nor is memory put together.
            let recovery = LoggedRun::new(Image::default(), failed.clone(), &target.programs);
            let runs = [first.clone(), recovery];
            let story = story(&runs, std::slice::from_ref(failure));
            let found = cause(&runs, failures, story.as_ref(), self.replayer()?);
            if found.is_some_and(|finding| report.is_known(&finding)) {
                return Ok(());
            }
        }
        let replayer = self.replayer()?;
        let mut confirmed = match confirm(replayer, failures, failed) {
            Ok(confirmed) => confirmed.ok_or_else(not_again)?,
            Err(SubjectError::Stopped) => return self.as_seen(first, failures, failed, report),
            Err(error) => return Err(internal(error)),
        };
        confirmed
            .minimise(replayer, &move || until.reached().is_some())
            .map_err(internal)?;
        self.add(confirmed, report)
    }

    /// There is no time to run it again: what the search saw has to do.
    fn as_seen(
        &mut self,
        first: &LoggedRun,
        failures: &[Failure],
        failed: &Execution,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let ([failure], false) = (failures, failed.events.is_empty()) else {
            return self.plainly(failed, failures.len(), report);
        };
        let runs = [
            first.clone(),
            LoggedRun::new(first.left(failure), failed.clone(), &self.target.programs),
        ];
        let story = story(&runs, failures);
        let found = cause(&runs, failures, story.as_ref(), self.replayer()?);
        match found {
            Some(mut finding) => {
                (finding.minimised, finding.replayed) = (false, false);
                self.list(finding, &runs, failures, story.as_ref(), report)
            }
            None => Ok(()),
        }
    }

    /// Tells a failure though not even the executions before it are known: how it ends, and where.
    pub(crate) fn plainly(
        &mut self,
        failed: &Execution,
        failures: usize,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let late = self.rush.reached().is_some();
        let names = self.replayer()?.names(failures);
        let what = what(&failed.outcome, names);
        let mut finding = Finding::of_failure(kind(&failed.outcome), &what, failures);
        // Without a look at debug information an assertion still knows where it is.
        finding.at = match late {
            true => said_place(&failed.outcome, names),
            false => failing_place(failed, names),
        };
        if !late {
            finding.stack = names.frames(&failed.stack);
        }
        // For all anyone knows it has the cause of one that ended there as well.
        if report.ends_there(&finding) {
            return Ok(());
        }
        self.unshown(finding, report)
    }

    /// Something that there is no time to show: it is told as far as it is known, and not kept for replay.
    pub(crate) fn unshown(
        &mut self,
        mut finding: Finding,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        (finding.minimised, finding.replayed) = (false, false);
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &[], &[], None, report)
    }

    /// What a checker said of a recovery that did not fail, and there is no time to show.
    pub(crate) fn judged_briefly(
        &mut self,
        (mut finding, placed): (Finding, Option<Placed>),
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        // Where a transaction does not answer for a store, recoveries see much that follows from it; there is no time to tell what does not.
        if report
            .all()
            .any(|known| known.kind == Kind::MissingSnapshot)
        {
            return Ok(());
        }
        if let Some(placed) = placed {
            finding.inside = is_inside_pmdk(placed.origin);
            finding.at = self.place(placed)?;
        }
        self.unshown(finding, report)
    }

    /// Two runs read the same and went on differently: names the place, as far as one more run comes there.
    pub(crate) fn diverged(&mut self, difference: Diverged, crashes: &[Failure]) -> Error {
        let place = self.place_of_read(difference.at as usize, crashes);
        let place = place.map_or_else(String::new, |at| format!(" at {}", at.colons()));
        let why = format!(
            "the recovery is not deterministic: two runs read the same persistent memory up to read {}{place} and then went different ways; \
             something else decides there: uninitialised memory, an address, an instruction such as rdrand",
            difference.at + 1
        );
        Error::new(ErrorKind::Uncontrolled, why)
    }

    fn place_of_read(&mut self, number: usize, crashes: &[Failure]) -> Option<Place> {
        let replayer = self.replayer().ok()?;
        let runs = replayer.play(crashes, false).ok()?;
        let last = &runs.last()?.execution;
        let reads: Vec<usize> = first_reads(last).map(|(event, ..)| event).collect();
        let event = reads.get(number).or(reads.last())?;
        replayer.names(crashes.len()).place(&last.events[*event])
    }

    /// Shows it once more with call stacks, and keeps it.
    fn add(&mut self, confirmed: Confirmed, report: &mut SearchReport) -> Result<(), Error> {
        let Confirmed {
            failures,
            plain,
            runs,
            ..
        } = confirmed;
        let replayer = self.replayer()?;
        let runs = match replayer.play(&failures, true) {
            Err(SubjectError::Stopped) => runs,
            played => played.map_err(internal)?,
        };
        let story = story(&runs, &failures);
        let Some(mut finding) = finding(&runs, &failures, story.as_ref(), replayer) else {
            return Ok(());
        };
        if !plain {
            finding.minimised = false;
        }
        if report.is_known(&finding) {
            return Ok(());
        }
        let Some(cause) = self.of_transaction(&finding, &runs, &failures)? else {
            return self.list(finding, &runs, &failures, story.as_ref(), report);
        };
        if !report.is_known(&cause) {
            self.list(cause.clone(), &runs, &failures, None, report)?;
        }
        report.shows_as(&cause, &finding);
        Ok(())
    }

    /// Something about a recovery that did not fail. It is shown from scratch like a failure, unless one has the same cause.
    pub(crate) fn judged(
        &mut self,
        failures: &[Failure],
        story: impl Fn(&[LoggedRun]) -> Option<Overtaking>,
        report: &mut SearchReport,
        brief: impl FnOnce() -> (Finding, Option<Placed>),
        tell: impl FnOnce(&mut Finding, &[LoggedRun], &Replayer),
    ) -> Result<(), Error> {
        let replayer = self.replayer()?;
        let runs = match replayer.play(failures, true) {
            Err(SubjectError::Stopped) => return self.judged_briefly(brief(), report),
            played => played.map_err(internal)?,
        };
        let story = story(&runs);
        let Some(mut finding) = finding(&runs, failures, story.as_ref(), replayer) else {
            return Ok(());
        };
        tell(&mut finding, &runs, replayer);
        let explains = |known: &Finding| {
            known.severity > finding.severity && same_cause(known, &finding)
                || loses(known, finding.racing())
                || is_of_unadded(known, &finding)
        };
        if report.all().any(explains) || self.follows_unadded(&finding, &runs, failures, report) {
            if finding.racing().is_some() {
                report.hide_race();
            }
            return Ok(());
        }
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &runs, failures, story.as_ref(), report)
    }

    /// Runs a schedule from scratch, and finds the power failure that the search has found in it; none if there is no time for that.
    pub(crate) fn suffered(
        &mut self,
        job: Job,
        crash: &power::Crash,
    ) -> Result<Option<(LoggedRun, Failure)>, Error> {
        let replayer = self.replayer()?;
        replayer.set_job(job);
        let base = replayer.base().clone();
        let first = match replayer.run(base, 0, false, RunRole::Crashes) {
            Err(SubjectError::Stopped) => return Ok(None),
            ran => ran.map_err(internal)?,
        };
        let failure = Failure {
            cut: first.cut_after(crash.schedule.len()),
            old: crash.old.clone(),
        };
        let left = first.left(&failure);
        let image: Vec<_> = left.delta(replayer.base()).collect();
        if !first.can_suffer(&failure) || image != crash.image {
            let why =
                "a power failure that the search found is not one of the schedule run from scratch";
            return Err(Error::new(ErrorKind::Internal, why));
        }
        Ok(Some((first, failure)))
    }

    /// What is told until the next call happened under this schedule.
    pub(crate) fn under(&mut self, scheduled: Option<Scheduled>) {
        self.scheduled = scheduled;
    }

    /// A recovery fails after a power failure in this schedule.
    pub(crate) fn after_crash(
        &mut self,
        job: Job,
        behaviour: &power::Behaviour,
        failed: &Execution,
        recovery: Option<RecoverySchedule>,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
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
        self.replayer()?.set_recovery(recovery);
        let told = self.after_failures(&first, &behaviour, failed, report);
        self.replayer()?.set_recovery(None);
        told
    }

    pub(crate) fn place(&mut self, placed: Placed) -> Result<Option<Place>, Error> {
        let run = match placed.program {
            Ran::First => 0,
            Ran::Recovery => 1,
        };
        // Of an event of that origin, its place is all that is asked.
        let event = Record {
            kind: RecordKind::Sfence,
            mask: 0,
            thread: 0,
            flags: 0,
            origin: placed.origin,
            offset: 0,
            value: 0,
        };
        Ok(self.replayer()?.names(run).place(&event))
    }

    /// A store that this compiler did not tear is a line of the summary, unless somebody asks.
    pub(crate) fn is_left_to_summary(
        &mut self,
        finding: &landfall_check::Finding,
        places: Option<&Places>,
        report: &mut SearchReport,
    ) -> Result<bool, Error> {
        let (store, made) = match finding.kind {
            landfall_check::Kind::PersistencyRace { store, made } => (store, made),
            _ => return Ok(false),
        };
        if made != StoreMade::AtOnce || !self.options.checks.is_empty() {
            return Ok(false);
        }
        let placed = places.and_then(|places| places.place(store.site));
        if placed.is_some_and(|placed| is_inside_pmdk(placed.origin)) {
            report.in_library(PMDK);
            return Ok(true);
        }
        let place = match placed {
            Some(placed) => self.place(placed)?,
            None => None,
        };
        match place.and_then(|at| library(&at.file)) {
            Some(name) => report.in_library(name),
            None => report.plain_store(),
        }
        Ok(true)
    }

    /// Is it about what a library does inside, all of it? Then it is counted, unless somebody asks or it is an error.
    fn is_of_library(&self, finding: &Finding, report: &mut SearchReport) -> bool {
        if finding.severity == Severity::Error || !self.options.checks.is_empty() {
            return false;
        }
        let of = |inside: bool, at: Option<&Place>| match inside {
            true => Some(PMDK),
            false => at.and_then(|at| library(&at.file)),
        };
        // Where the store itself is, not where the program called what made it.
        let made = |store: &Store| {
            let mut frames = store.stack.iter();
            let inner = frames.find(|frame| !is_ours(&frame.file));
            of(store.inside, inner.or(store.at.as_ref())).is_some()
        };
        let name = of(finding.inside, finding.at.as_ref());
        match name.filter(|_| finding.stores.iter().all(made)) {
            Some(name) => {
                report.in_library(name);
                true
            }
            None => false,
        }
    }

    /// Is a worse finding about the loss of the store at this place?
    pub(crate) fn is_lost(&mut self, placed: Placed, report: &SearchReport) -> Result<bool, Error> {
        if report.all().next().is_none() {
            return Ok(false);
        }
        let place = self.place(placed)?;
        Ok(place.is_some_and(|at| report.all().any(|known| known.loses_at(&at))))
    }

    /// Something that an execution under this schedule shows, from scratch. `tell` says what, if it does.
    pub(crate) fn scheduled(
        &mut self,
        job: Job,
        report: &mut SearchReport,
        brief: Finding,
        tell: impl FnOnce(&Execution, &ProgramNames) -> Option<Finding>,
    ) -> Result<(), Error> {
        let replayer = self.replayer()?;
        replayer.set_job(job);
        let runs = match replayer.play(&[], true) {
            Err(SubjectError::Stopped) => return self.unshown(brief, report),
            played => played.map_err(internal)?,
        };
        let execution = runs.first().map(|run| &run.execution);
        let finding = execution.and_then(|execution| tell(execution, replayer.names(0)));
        let finding = finding.ok_or_else(not_again)?;
        if report.is_known(&finding) {
            return Ok(());
        }
        self.list(finding, &runs, &[], None, report)
    }

    /// A flush or fence that did nothing.
    pub(crate) fn wasted(
        &mut self,
        kind: Kind,
        message: String,
        times: u64,
        placed: Placed,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let place = self.place(placed)?;
        let mut finding = Finding::new(kind, Severity::Perf, message);
        finding.inside = is_inside_pmdk(placed.origin);
        finding.at = place;
        finding.executions = times;
        if report.is_known(&finding) || self.is_of_library(&finding, report) {
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
        runs: &[LoggedRun],
        failures: &[Failure],
        story: Option<&Overtaking>,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        if self.is_of_library(&finding, report) {
            return Ok(());
        }
        if self.options.allow.iter().any(|a| a.covers(&finding)) {
            report.allow(finding);
            return Ok(());
        }
        let mut repairs = fixes(&finding);
        if let Some(scheduled) = &self.scheduled {
            scheduled.table.clone().tell(&mut finding);
            finding.preemptions = Some(scheduled.preemptions);
            if finding.kind == Kind::Robustness && !scheduled.of_all {
                let note = "not every schedule was tried: in another one the order of persists may follow the program and show the same";
                finding.notes.push(note.to_owned());
            }
            if let Some(ways) = across_threads(&finding, runs, story, scheduled) {
                repairs = ways.fixes;
                for store in &mut finding.stores {
                    store.thread = match store.role {
                        StoreRole::Lost => Some(ways.threads.0),
                        StoreRole::Kept => Some(ways.threads.1),
                        StoreRole::Racing | StoreRole::Unadded => None,
                    };
                }
            }
        }
        finding.fix.splice(0..0, repairs);
        finding.id = format!("B{}", report.findings.len() + 1);
        finding.notes.extend(not_shown(&finding).map(str::to_owned));
        let late = self.last_call.reached().is_some();
        if let Some(replayer) = self.replayer.as_ref().filter(|_| !late) {
            crate::diagnose::members::name(&mut finding, replayer);
            if replayer.recovery().is_some() {
                let note = "the recovery has threads, too, and fails under some of their schedules; replay shows one";
                finding.notes.push(note.to_owned());
            }
        }
        self.keep(&mut finding, runs, failures)?;
        if report.findings.len() < MOST_TOLD
            && !runs.is_empty()
            && !late
            && let Some(replayer) = &self.replayer
        {
            let teller = TimelineBuilder {
                runs,
                failures,
                replayer,
                story,
                finding: &finding,
            };
            finding.timeline = Some(teller.timeline());
            finding.output = runs.last().map_or_else(String::new, printed);
        }
        report.add(finding);
        Ok(())
    }

    /// Writes the witness beside run.json.
    fn keep(
        &self,
        finding: &mut Finding,
        runs: &[LoggedRun],
        failures: &[Failure],
    ) -> Result<(), Error> {
        let (Some(replayer), Some(last)) = (&self.replayer, runs.last()) else {
            return Ok(());
        };
        let programs = &self.target.programs;
        let name = format!("{}.json", finding.id);
        let path = self.options.out.join(&name);
        let replay = format!("landfall replay {}", quoted(path.as_os_str()));
        finding.replay = Some(replay);
        finding.witness = Some(path.display().to_string());
        let names = replayer.names(failures.len());
        let witness = Witness {
            tool: "landfall".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            directory: Word::new(self.options.here().as_os_str()),
            program: build_file(&programs.program, self.target.build.clone()),
            recover: (programs.recover.as_ref())
                .map(|recover| build_file(recover, self.target.build_recovery.clone())),
            persistent_memory: RecordedMemory {
                platform: self.options.platform_name().to_owned(),
                dir: (programs.program.pm_dir.as_ref()).map(|dir| Word::new(dir.as_os_str())),
                pools: (programs.program.pools.as_ref()).map(|dir| Word::new(dir.as_os_str())),
                heap: programs.program.pm_heap.is_some(),
                heap_offset: programs.program.heap_offset,
                fresh: crate::witness::recorded_fresh(programs.program.fresh),
                heap_checks: programs.program.heap == HeapChecks::On,
                tear: programs.tear,
                at_first: digest(replayer.base()),
            },
            events: programs.job.limits.events,
            stdin: (programs.program.stdin.as_ref()).map(|input| StdinFile {
                file: Word::new(self.options.out.join(crate::setup::INPUT).as_os_str()),
                bytes: input.length(),
            }),
            client: (programs.program.client.as_ref()).map(recorded_client),
            inputs: crate::witness::recorded_inputs(&programs.job.inputs),
            sv_comp: programs.program.sv_comp,
            threads: recorded_threads(replayer.job()),
            recovery_threads: replayer
                .recovery()
                .and_then(crate::witness::recovery_threads),
            failures: (runs.iter().zip(failures))
                .map(|(run, failure)| {
                    recorded_failure(failure, &run.left(failure), replayer.base())
                })
                .collect(),
            outcome: RecordedOutcome {
                kind: kind(&last.execution.outcome).to_string(),
                text: what(&last.execution.outcome, names),
            },
            finding: Finding {
                replay: None,
                ..finding.clone()
            },
        };
        let failed = |e: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Usage, format!("{}: {e}", path.display()))
        };
        let value = serde_json::to_value(&witness).map_err(|e| failed(&e))?;
        let text = format!("{value:#}");
        crate::results::write_listed(&self.options.out, &name, (text + "\n").as_bytes())
            .map_err(|e| failed(&e))
    }
}

/// What to do in which thread, where several ran before the power failed.
fn across_threads(
    finding: &Finding,
    runs: &[LoggedRun],
    story: Option<&Overtaking>,
    scheduled: &Scheduled,
) -> Option<ThreadFixes> {
    let (Some(lost), Some(kept), 0) = (story?.lost, story?.kept, story?.run) else {
        return None;
    };
    if finding.racing().is_some() || finding.is_torn() {
        return None;
    }
    let bytes = finding.lost()?.bytes;
    ThreadFixes::new(runs.first()?, (lost, bytes), kept, &scheduled.judged)
}

/// What was not done about a finding before it was told.
fn not_shown(finding: &Finding) -> Option<&'static str> {
    match (finding.minimised, finding.replayed) {
        (true, _) => None,
        (false, true) => {
            Some("not minimised: the search was ended before a plainer way to it was looked for")
        }
        (false, false) => {
            Some("not minimised, and not run again from scratch: the search was ended before that")
        }
    }
}

/// What an execution printed, the end of it.
fn printed(run: &LoggedRun) -> String {
    let Execution { stdout, stderr, .. } = &run.execution;
    let tail = |text: &[u8]| {
        let from = text.len().saturating_sub(MOST_PRINTED);
        String::from_utf8_lossy(&text[from..]).into_owned()
    };
    tail(stdout) + &tail(stderr)
}

pub(super) fn internal(error: SubjectError) -> Error {
    Error::new(ErrorKind::Internal, error)
}

/// How PMDK is called where its findings are counted.
const PMDK: &str = "PMDK";

pub(crate) fn not_again() -> Error {
    let why =
        "the program is not deterministic: a failure did not happen again when run from scratch";
    Error::new(ErrorKind::Uncontrolled, why)
}
