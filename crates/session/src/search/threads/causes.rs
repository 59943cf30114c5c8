//! What the search has seen go wrong: one entry for each cause, with the first schedule that shows it. At the end each is made
//! plain, shown again from scratch, and told.

use super::commits::TransactionFates;
use crate::diagnose::diagnosis::{Diagnosis, not_again};
use crate::diagnose::finding::{failing_place, kind, what};
use crate::error::{Error, ErrorKind};
use crate::names::ProgramNames;
use crate::observer::Notices;
use crate::options::{Asked, CheckKind};
use crate::report::SearchReport;
use crate::search::threads::effects::Swaps;
use crate::search::threads::reorder::{plainer, prompt};
use crate::search::threads::wording::{data_race, misused, stuck};
use crate::view::schedule::{ScheduleNames, TableEnd};
use landfall_explore::schedule::data_races::{DataRace, Party, Relation, data_races};
use landfall_explore::schedule::locks::{Misuse, explain, misuses};
use landfall_explore::schedule::saturate::add_racing;
use landfall_explore::schedule::{
    Act, End, Explored, Job, Order, Process, Sharing, Step, Threads, ThreadsError, Trace,
};
use landfall_finding::{Finding, Kind, Preemptions, Severity};
use landfall_native::{NativeThreads, Outcome, StopAt};
use std::collections::HashMap;

/// What went wrong, as far as it tells causes apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Cause {
    /// A thread ended the process badly, there.
    Failed {
        thread: Process,
        site: u32,
        code: u32,
    },
    /// Every thread waits, there.
    Stuck(Vec<(Process, u32)>),
    /// One thread ran for ever.
    Endless,
    Race(DataRace),
    Misused(Misuse),
}

#[derive(Clone, Debug)]
struct CauseEntry {
    cause: Cause,
    /// Who takes the steps, up to where it shows. Once settled, only the plainest is left.
    schedules: Vec<Vec<Process>>,
    /// This execution in another order, where it is known what happens before what: it must show the same.
    same: Option<Vec<Process>>,
    /// With the accesses that were steps when it was found.
    job: landfall_native::Job,
    /// Of the settled schedule.
    preemptions: u32,
    times: u64,
    /// Plainer schedules are looked for.
    closely: bool,
    /// In the execution it was found in no other failure comes before it.
    comes_first: bool,
    /// Of a data race: where both orders of it begin.
    swaps: Swaps,
}

#[derive(Debug)]
pub(crate) struct ScheduleFindings<'a> {
    order: Order,
    races: Option<Relation>,
    locks: bool,
    entries: Vec<CauseEntry>,
    /// Where a cause is among them.
    known: HashMap<Cause, usize>,
    found: Vec<DataRace>,
    sharing: Sharing,
    /// So many steps of the last execution come before the first that synchronises.
    without_sync: usize,
    /// Calls by which memory that others use is handed to functions which nobody knows.
    handed: Vec<u32>,
    transactions: TransactionFates,
    /// Every schedule with fewer preemptions than this was seen.
    floor: u32,
    notices: Notices<'a>,
}

/// Different causes that are looked at closely; more are told as they were found.
const CLOSELY: usize = 50;

impl<'a> ScheduleFindings<'a> {
    pub(crate) fn new(options: &Asked, order: Order, notices: Notices<'a>) -> ScheduleFindings<'a> {
        ScheduleFindings {
            order,
            races: options
                .checks(CheckKind::DataRaces)
                .then(|| options.relation()),
            locks: options.checks(CheckKind::Locks),
            entries: Vec::new(),
            known: HashMap::new(),
            found: Vec::new(),
            sharing: Sharing::default(),
            without_sync: 0,
            handed: Vec::new(),
            transactions: TransactionFates::default(),
            floor: 0,
            notices,
        }
    }

    /// Every schedule with so many preemptions was seen.
    pub(crate) fn searched(&mut self, preemptions: u32) {
        self.floor = preemptions.saturating_add(1);
    }

    /// What was handed to functions that nobody knows while others used it, each call once.
    pub(crate) fn handed(&self) -> &[u32] {
        &self.handed
    }

    pub(crate) fn floor(&self) -> u32 {
        self.floor
    }

    /// Of all that was found, the most preemptions that its schedule has, once settled.
    pub(crate) fn most_preemptions(&self) -> Option<u32> {
        let entries = self.entries.iter();
        let kept = entries.filter(|entry| entry.closely && entry.cause != Cause::Endless);
        kept.map(|entry| entry.preemptions).max()
    }

    /// Looks at an execution with at most so many preemptions, for what is known only with more.
    pub(crate) fn look_again(
        &mut self,
        native: &NativeThreads<'_>,
        search: &dyn Explored,
        preemptions: u32,
    ) {
        let (order, relation) = (self.order, self.races.unwrap_or_default());
        for entry in &mut self.entries {
            // What an assumption keeps from happening is shown before that, if it can be.
            let plainer = entry.closely
                && entry.preemptions > preemptions
                && search.trace().assumed.is_empty();
            if plainer && entry.cause.shows(native, search.trace(), order, relation) {
                entry.schedules = candidates(search, entry.cause.thread());
                entry.same = entry.cause.in_another_order(search);
                entry.job = native.replay(&[]);
                entry.preemptions = preemptions;
            }
        }
    }

    /// Shows everything again, and keeps the plainest schedule of each: the fewest preemptions, then the fewest steps. What there is no
    /// time for stays as it is.
    pub(crate) fn settle(&mut self, native: &mut NativeThreads<'_>) -> Result<(), Error> {
        let (order, relation) = (self.order, self.races.unwrap_or_default());
        let mut never_first = Vec::new();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            if entry.preemptions != u32::MAX && entry.schedules.len() == 1 {
                continue;
            }
            native.adopt(&entry.job);
            let mut best: Option<((bool, u32, usize), Vec<Process>)> = None;
            for schedule in entry.schedules.clone() {
                let trace = match follow(native, &schedule, order) {
                    Ok(trace) => trace,
                    Err(ThreadsError::Stopped) => return Ok(()),
                    Err(_) => continue,
                };
                if !entry.cause.shows(native, &trace, order, relation) {
                    continue;
                }
                let preemptions = trace.preemptions(order, schedule.len());
                let cost = (!trace.assumed.is_empty(), preemptions, schedule.len());
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, schedule));
                }
            }
            // Whatever comes before it is told, and is to be mended first.
            if best.is_none() && !entry.comes_first {
                never_first.push(number);
                continue;
            }
            let ((_, preemptions, _), schedule) = best.ok_or_else(not_again)?;
            if let Some(same) = entry.same.take()
                && let Ok(trace) = follow(native, &same, order)
                && !entry.cause.is_among(&trace)
            {
                return Err(not_believed());
            }
            entry.preemptions = preemptions;
            entry.schedules = vec![schedule];
        }
        for number in never_first.into_iter().rev() {
            self.entries.remove(number);
            self.known.clear();
        }
        Ok(())
    }

    /// Looks at the last execution.
    pub(crate) fn look(&mut self, native: &NativeThreads<'_>, search: &dyn Explored) {
        let trace = search.trace();
        self.transactions.look(trace);
        for failure in &trace.failures {
            let cause = Cause::Failed {
                thread: failure.thread,
                site: failure.site,
                code: failure.code,
            };
            self.note(native, cause, search);
        }
        match native.outcome {
            Outcome::Hang { .. } => self.note(native, Cause::Endless, search),
            _ if trace.end == End::Deadlock => {
                let waits = waits(trace, self.order);
                self.note(native, Cause::Stuck(waits), search);
            }
            _ => {}
        }
        if (self.races.is_some() || native.hands_over()) && self.sharing.of_plain(trace, self.order)
        {
            let mut found = std::mem::take(&mut self.found);
            found.clear();
            data_races(
                trace,
                self.order,
                self.races.unwrap_or_default(),
                &mut found,
            );
            for &race in &found {
                let sites = [race.first.site, race.second.site];
                // Two that may do nothing are most often two that look.
                if sites.iter().all(|&site| native.is_guessed(site)) {
                    continue;
                }
                let handed = sites.into_iter().find(|&site| native.is_handed(site));
                match handed {
                    Some(site) if self.handed.contains(&site) => {}
                    Some(site) => self.handed.push(site),
                    None if self.races.is_some() => {
                        let cause = Cause::Race(race);
                        let known = self.known.get(&cause.identity()).copied();
                        self.note(native, cause, search);
                        let number = known.unwrap_or(self.entries.len() - 1);
                        self.entries[number].swaps.look(native, search, &race);
                    }
                    None => {}
                }
            }
            self.found = found;
        }
        if self.locks && self.synchronises(search) {
            for misuse in misuses(trace, self.order) {
                // That nobody goes on then says the deadlock.
                if !matches!(misuse, Misuse::Inversion { .. }) || trace.end != End::Deadlock {
                    self.note(native, Cause::Misused(misuse), search);
                }
            }
        }
    }

    /// Does an execution do anything to a lock or the like? What it shares with the first one was looked at there.
    fn synchronises(&mut self, search: &dyn Explored) -> bool {
        let steps = &search.trace().steps;
        let known = match search.shared() {
            Some(shared) => shared.min(self.without_sync),
            None => 0,
        };
        let syncs = |step: &Step| matches!(step.act, Act::Sync(_));
        let first = steps[known..].iter().position(syncs);
        self.without_sync = first.map_or(steps.len(), |at| known + at);
        first.is_some()
    }

    fn note(&mut self, native: &NativeThreads<'_>, cause: Cause, search: &dyn Explored) {
        let known = *(self.known.entry(cause.identity())).or_insert(self.entries.len());
        let (order, relation) = (self.order, self.races.unwrap_or_default());
        let comes_first = |cause: &Cause| match cause {
            Cause::Failed { .. } => cause.shows(native, search.trace(), order, relation),
            _ => true,
        };
        if let Some(known) = self.entries.get_mut(known) {
            known.times += 1;
            if !known.closely || known.comes_first {
                return;
            }
            // Another thread failed before it until now. Where more accesses are steps it may be shown without that.
            let job = native.replay(&[]);
            let first = comes_first(&cause);
            if first || job.threads.points != known.job.threads.points {
                known.comes_first = first;
                known.same = cause.in_another_order(search);
                known.schedules = candidates(search, cause.thread());
                known.job = job;
                known.cause = cause;
            }
            return;
        }
        let closely = known < CLOSELY;
        let schedules = match cause {
            Cause::Failed { .. } | Cause::Stuck(_) if closely => candidates(search, cause.thread()),
            _ => vec![processes(&search.trace().steps)],
        };
        let entry = CauseEntry {
            same: (closely.then(|| cause.in_another_order(search))).flatten(),
            comes_first: comes_first(&cause),
            cause,
            job: native.replay(&[]),
            schedules,
            preemptions: u32::MAX,
            times: 1,
            closely,
            swaps: Swaps::default(),
        };
        let telling = ScheduleNames::new(native, &self.notices.names, self.order);
        let finding = entry.brief(&telling, self.order);
        (self.notices).say(finding.kind, finding.at.as_ref(), &finding.message);
        self.entries.push(entry);
    }

    /// Shows everything again, and tells it.
    pub(crate) fn report(
        self,
        native: &mut NativeThreads<'_>,
        names: &ProgramNames,
        bugs: &mut Diagnosis<'_>,
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        self.transactions.report(native, names, report);
        native.name_things();
        let order = self.order;
        let races = self.races.unwrap_or_default();
        let floor = self.floor;
        let mut entries = self.entries;
        let deadlocked = entries
            .iter()
            .any(|entry| matches!(entry.cause, Cause::Stuck(_)));
        // Failures first. Of locks taken in two orders a deadlock tells more.
        entries.retain(|entry| {
            !(deadlocked && matches!(entry.cause, Cause::Misused(Misuse::Inversion { .. })))
        });
        entries.sort_by_key(|entry| matches!(entry.cause, Cause::Race(_) | Cause::Misused(_)));
        for entry in entries {
            native.adopt(&entry.job);
            let steps = entry.schedules.first().ok_or_else(not_again)?;
            // As it was found, if it was not settled.
            let steps = match entry.preemptions {
                u32::MAX => entry.schedules.last().unwrap_or(steps),
                _ => steps,
            };
            let trace = match follow(native, steps, order) {
                Ok(trace) => trace,
                Err(ThreadsError::Stopped) => {
                    let telling = ScheduleNames::new(native, names, order);
                    bugs.unshown(entry.brief(&telling, order), report)?;
                    continue;
                }
                Err(_) => return Err(not_again()),
            };
            if !entry.cause.shows(native, &trace, order, races) {
                return Err(not_again());
            }
            let count = steps.len();
            let telling = ScheduleNames::new(native, names, order).of(&trace);
            let shows = match &entry.cause {
                Cause::Failed { .. } => TableEnd::Failure("fails here"),
                Cause::Race(race) => TableEnd::Race(race),
                _ => TableEnd::Otherwise,
            };
            let table = telling.table(&trace, count, shows);
            let mut finding = entry.cause.tell(&telling, &trace, order);
            finding.notes.extend(telling.overtaken(&trace, count));
            let brief = entry.brief(&telling, order);
            if let Cause::Race(race) = &entry.cause {
                let remapping = telling.remapping(race);
                entry
                    .swaps
                    .tell(native, names, (order, remapping), &mut finding)?;
                native.adopt(&entry.job);
            }
            let mut job = native.replay(steps);
            if let Cause::Race(race) = &entry.cause {
                job.threads.stop = stop_at(race, &trace, order, native);
            }
            bugs.scheduled(job, report, brief, |execution, names| {
                let mut finding = finish(finding, &entry.cause, execution, names)?;
                table.tell(&mut finding);
                finding.executions = entry.times;
                if entry.preemptions == u32::MAX {
                    finding.minimised = false;
                } else {
                    finding.preemptions = Some(Preemptions {
                        count: entry.preemptions,
                        fewest: entry.closely && entry.preemptions <= floor,
                    });
                }
                Some(finding)
            })?;
        }
        Ok(())
    }
}

impl CauseEntry {
    /// What there is to tell without running it again.
    fn brief(&self, telling: &ScheduleNames<'_>, order: Order) -> Finding {
        let mut finding = self.cause.tell(telling, &Trace::default(), order);
        match &self.cause {
            Cause::Failed { site, code, .. } => {
                finding.kind = kind(&Outcome::of_thread(*code));
                finding.message = "a thread fails under some schedule".to_owned();
                finding.at = telling.place(*site);
            }
            Cause::Endless => {
                finding.kind = Kind::Hang;
                finding.message = "a thread comes back to the same state for ever".to_owned();
            }
            Cause::Stuck(waits) => {
                finding.at = waits.first().and_then(|&(_, site)| telling.place(site));
            }
            Cause::Race(_) | Cause::Misused(_) => {}
        }
        finding.executions = self.times;
        finding
    }
}

/// Where a debugger stops: at the second access of a race, in the execution that shows it.
fn stop_at(
    race: &DataRace,
    trace: &Trace,
    order: Order,
    native: &NativeThreads<'_>,
) -> Option<StopAt> {
    let mut found = Vec::new();
    data_races(trace, order, Relation::Pure, &mut found);
    let same = |found: &&DataRace| Cause::Race(**found).same(&Cause::Race(*race));
    let race = found.iter().find(same).unwrap_or(race);
    let Party { thread, site, .. } = race.second;
    let touches = |object: u32, mask: u64| object == race.object && mask & race.mask != 0;
    let as_step = trace.steps.iter().position(|step| {
        let own = order.thread(step.process) == usize::from(thread);
        own && step.site == site && touches(step.object, step.mask)
    });
    let as_other = trace.trailing.iter().filter(|access| {
        let own = (access.thread, access.site) == (thread, site);
        own && touches(access.object, access.mask)
    });
    let steps = match as_step {
        // A store that is on its way: when its thread made it.
        Some(commit) if order.is_companion(trace.steps[commit].process) => {
            let issued = trace.steps[commit].issued;
            let before = |step: &Step| step.process == thread && step.tick < issued;
            trace
                .steps
                .iter()
                .rposition(before)
                .map_or(0, |last| last + 1)
        }
        Some(step) => step + 1,
        None => as_other
            .map(|access| access.after.wrapping_add(1) as usize)
            .next()?,
    };
    let origin = native.origin(site);
    Some(StopAt {
        thread,
        origin: u64::from(origin.site) | u64::from(origin.caller) << 32,
        bytes: (
            native.address(race.object)? + u64::from(race.mask.trailing_zeros()),
            64 - race.mask.leading_zeros() - race.mask.trailing_zeros().min(63),
        ),
        steps: steps as u32,
    })
}

/// What shows in one order of independent steps and not in another is no failure of the program.
fn not_believed() -> Error {
    let why = "internal error: a failure shows under one order of steps that do not depend on each other, and not under another; either landfall is at fault, or code that was not compiled with `landfall cc` changes what threads share";
    Error::new(ErrorKind::Internal, why)
}

/// An execution from its start: these take the first steps.
fn follow(
    native: &mut NativeThreads<'_>,
    schedule: &[Process],
    order: Order,
) -> Result<Trace, ThreadsError> {
    let job = Job {
        follow: schedule,
        keep: 0,
        sleep: &[],
        order,
        limit: usize::MAX,
    };
    let mut trace = Trace::default();
    native.run(&job, &mut trace).map(|()| trace)
}

fn processes(steps: &[Step]) -> Vec<Process> {
    steps.iter().map(|step| step.process).collect()
}

/// Schedules that may show what the last execution does, in which this thread failed if one did.
fn candidates(search: &dyn Explored, thread: Option<Process>) -> Vec<Vec<Process>> {
    let steps = &search.trace().steps;
    let mut found = Vec::new();
    if let Some(thread) = thread {
        // What it knows by joining others is in no step of its own: then it takes all of them.
        found.push(processes(&plainer(search, Some(thread))));
        let last = steps.iter().rposition(|step| step.process == thread);
        found.extend(last.map(|last| processes(&steps[..=last])));
    }
    found.push(processes(&plainer(search, None)));
    found.push(processes(steps));
    found
}

/// Who waits where at the end of a deadlock.
fn waits(trace: &Trace, order: Order) -> Vec<(Process, u32)> {
    let waits = explain(trace, order).map(|stuck| stuck.waits);
    let waits = waits.unwrap_or_default().into_iter();
    waits.map(|(thread, site, _)| (thread, site)).collect()
}

/// Characters of what a program printed that are shown.
const LONGEST_LINE: usize = 200;

/// Adds what only the execution from scratch knows; `None` if it did not happen again.
fn finish(
    finding: Finding,
    cause: &Cause,
    execution: &landfall_native::Execution,
    names: &ProgramNames,
) -> Option<Finding> {
    let outcome = &execution.outcome;
    let mut finding = finding;
    match cause {
        Cause::Failed { .. } if outcome.is_ok() => return None,
        Cause::Failed { .. } | Cause::Endless => {
            finding.kind = kind(outcome);
            finding.message = format!("fails under this schedule: {}", what(outcome, names));
            finding.at = failing_place(execution, names);
            finding.stack = names.frames(&execution.stack);
            finding
                .notes
                .extend(crate::diagnose::heap::notes(outcome, names));
        }
        Cause::Stuck(_) if !matches!(outcome, Outcome::Deadlock { .. }) => return None,
        Cause::Stuck(_) | Cause::Race(_) | Cause::Misused(_) => {}
    }
    if matches!(outcome, Outcome::Abort | Outcome::Deadlock { .. }) {
        finding.notes.extend(last_said(&execution.stderr));
    }
    Some(finding)
}

/// Who gives up says why.
fn last_said(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    let line: String = line.chars().take(LONGEST_LINE).collect();
    Some(format!(
        "the last line that it printed to standard error: {line}"
    ))
}

impl Cause {
    /// The execution that shows a failure, in another order. Where plain accesses that are no steps race, it is not known which orders
    /// are the same.
    fn in_another_order(&self, search: &dyn Explored) -> Option<Vec<Process>> {
        let fails = matches!(self, Cause::Failed { .. });
        (fails && !add_racing(search, &mut Vec::new())).then(|| processes(&prompt(search)))
    }

    /// The thread that failed.
    fn thread(&self) -> Option<Process> {
        match self {
            Cause::Failed { thread, .. } => Some(*thread),
            _ => None,
        }
    }

    fn same(&self, other: &Cause) -> bool {
        self.identity() == other.identity()
    }

    /// What tells it from others, and nothing else.
    fn identity(&self) -> Cause {
        match *self {
            Cause::Failed { site, code, .. } => Cause::Failed {
                thread: 0,
                site,
                code,
            },
            Cause::Race(race) => {
                let (a, b) = (race.first.site, race.second.site);
                let party = |site| Party {
                    thread: 0,
                    site,
                    write: false,
                };
                Cause::Race(DataRace {
                    object: 0,
                    mask: 0,
                    first: party(a.min(b)),
                    second: party(a.max(b)),
                })
            }
            Cause::Misused(Misuse::Inversion { outer, inner, .. }) => {
                Cause::Misused(Misuse::Inversion {
                    outer: outer.min(inner),
                    inner: outer.max(inner),
                    site: 0,
                    other_site: 0,
                })
            }
            Cause::Misused(_) | Cause::Stuck(_) | Cause::Endless => self.clone(),
        }
    }

    /// Is it a failure of this execution, be it the first or not?
    fn is_among(&self, trace: &Trace) -> bool {
        // Where a thread failed is where its last step was, if nothing else is known; another order may have a later one.
        let Cause::Failed { code, .. } = self else {
            return false;
        };
        trace.failures.iter().any(|f| f.code == *code)
    }

    /// Does this execution show it, before anything else?
    fn shows(
        &self,
        native: &NativeThreads<'_>,
        trace: &Trace,
        order: Order,
        relation: Relation,
    ) -> bool {
        match self {
            Cause::Failed { site, code, .. } => trace
                .failures
                .first()
                .is_some_and(|first| (first.site, first.code) == (*site, *code)),
            Cause::Stuck(at) => trace.end == End::Deadlock && waits(trace, order) == *at,
            Cause::Endless => matches!(native.outcome, Outcome::Hang { .. }),
            Cause::Race(_) => {
                let mut found = Vec::new();
                data_races(trace, order, relation, &mut found);
                found.iter().any(|race| self.same(&Cause::Race(*race)))
            }
            Cause::Misused(misuse) => misuses(trace, order).contains(misuse),
        }
    }

    fn tell(&self, telling: &ScheduleNames<'_>, trace: &Trace, order: Order) -> Finding {
        match self {
            Cause::Failed { .. } | Cause::Endless => {
                Finding::new(Kind::Abort, Severity::Error, String::new())
            }
            Cause::Stuck(_) => stuck(telling, trace, order),
            Cause::Race(race) => data_race(telling, race),
            Cause::Misused(misuse) => misused(telling, misuse),
        }
    }
}
