//! Programs with threads: every schedule, each once, under TSO or SC.

mod causes;
mod commits;
mod effects;
mod fewest;
mod judging;
mod power;
mod progress;
mod random;
mod reads;
mod reorder;
mod said;
mod unseen;
mod wording;

use crate::diagnose::diagnosis::Diagnosis;
use crate::error::{Error, ErrorKind};
use crate::names::ProgramNames;
use crate::observer::{CheckWatch, Notices};
use crate::options::{Asked, CheckKind};
use crate::programs::Programs;
use crate::report::SearchReport;
use crate::search::first::FirstRun;
use crate::setup::BuiltTarget;
use causes::ScheduleFindings;
use fewest::fewest;
use landfall_check::Wasted;
use landfall_explore::schedule::bounded::{Bound, bounded};
use landfall_explore::schedule::power::{Power, Way};
use landfall_explore::schedule::read_from::{ReadsTold, SearchedReads, read_all};
use landfall_explore::schedule::saturate::{Preempt, add_racing, saturate};
use landfall_explore::schedule::seal::Directive;
use landfall_explore::schedule::{
    Counts, End, Options as SearchOptions, Persistency, Points, Threads, ThreadsError,
};
use landfall_finding::{Equivalence, Limit};
use landfall_native::{
    Deadline, EverySchedule, Job, MOST_THREADS, NativeSubject, NativeThreads, Notice, Outcome,
    Places, Policy, Ran, Saying, Sealing, Server, Watching,
};
use power::{Crashing, RecoveryRuns};
use progress::ScheduleProgress;
use random::random;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// Searches a program that creates threads.
pub(super) fn check<'w>(
    options: &Asked,
    target: &BuiltTarget,
    (earlier, started): (&SearchReport, Instant),
    watch: &'w CheckWatch<'w>,
) -> Result<SearchReport, Error> {
    let programs = &target.programs;
    let mut job = Job {
        schedule: Some(Vec::new()),
        ..programs.job.clone()
    };
    // Which lines have streams of non-temporal stores is learned.
    job.threads.streamed = Some(Arc::default());
    job.threads.timer_signals = options.signals;
    job.threads.htm = options.transactions();
    // Not every program ends; what comes later is seen by the search.
    let mut short = job.clone();
    short.threads.most_steps = Some(options.most_steps() as u64);
    let mut first = FirstRun::of(programs, &short)?;
    if let Some(refusal) = first.refusal() {
        return Err(refusal);
    }
    // The search asks again, and knows better which waits may end for no reason.
    first.server.forget_inputs();
    let mut streams = 0;
    let created = first.execution.events.iter();
    let created = created
        .filter(|event| event.creates_thread())
        .map(|event| event.value as usize);
    let mut threads = 1 + created.max().unwrap_or(0);
    let mut bugs = Diagnosis::new(target, options, started);
    let again = programs.recover.as_ref().unwrap_or(&programs.program);
    let mut persistent = first.persists(programs);
    let mut recovery = None;
    let mut runs = 0;
    let said = landfall_native::sayings(&programs.program.path);
    let mut report = loop {
        let mut report = first.report(options, earlier);
        report.threaded = true;
        note_uncompiled(&first.server, &mut report);
        if let Some(refusal) = power::refuse(options).filter(|_| persistent) {
            return Err(refusal);
        }
        if persistent && recovery.is_none() {
            recovery = Some(Server::start(again).map_err(Error::cannot_run)?);
        }
        let names = ProgramNames::of(&first.server);
        let after = recovery.as_ref().map(ProgramNames::of);
        said::assume(&said, &names, &mut report);
        let mut sealing = sealing(options, &said, &first.server)?;
        let is_sealed = sealing.is_some();
        let mut native =
            NativeThreads::new(&mut first.server, job.clone(), threads, options.model())
                .with_streams(streams);
        native.prefer(options.policy());
        native.until(options.deadline(started));
        if let Some(sealing) = sealing.take() {
            native.seal(sealing);
        }
        let notices = Notices::new(watch, native.server(), started);
        let mut seen = ScheduleFindings::new(options, native.order(Persistency::Ignored), notices);
        let mut crashing = None;
        if let Some(recovery) = &mut recovery {
            native.persist();
            native.set_atomics(options.atomics());
            let budget = options.budget(started);
            let mut notices = Notices::new(watch, recovery, started);
            let recoveries = match options.recover_schedules {
                true => RecoveryRuns::Every(Box::new(EverySchedule::new(
                    recovery,
                    job.clone(),
                    options.model(),
                    MOST_THREADS,
                    budget,
                ))),
                false => {
                    let mut one = NativeSubject::new(recovery, job.clone(), budget)
                        .with_workers(again, options.workers())
                        .map_err(Error::cannot_run)?;
                    one.watching = options.judges().then(|| watching(options, programs));
                    one.notice = Some(Notice(Box::new(move |failed| notices.failed(failed))));
                    RecoveryRuns::One(Box::new(one))
                }
            };
            let power = Power::new(first.base.clone(), programs.platform)
                .with_failures(options.failures)
                .by(way(options));
            let power = match options.all {
                true => power,
                false => power.skipping(),
            };
            crashing = Some(Crashing::new(options, power, recoveries, budget.until));
        }
        if options.failures > 1 && job.threads.transactions && persistent {
            let why = "hardware transactions with more than one power failure (--failures) are not searched";
            return Err(Error::new(ErrorKind::Usage, why));
        }
        let searched = search(
            (options, started, watch),
            (&names, is_sealed),
            &mut native,
            &mut seen,
            &mut crashing,
            &mut report,
        );
        runs += native.runs;
        let ran = native.runs;
        let searched = match searched {
            Ok(searched) => searched,
            // What is not seen may well make the difference.
            Err(ThreadsError::Diverged { .. })
                if !seen.handed().is_empty() || native.unseen().next().is_some() =>
            {
                report.limit(Limit::Unseen);
                ScheduleSearch::default()
            }
            Err(ThreadsError::Diverged { .. }) if !said::trusted(&said).is_empty() => {
                report.limit(Limit::Unseen);
                let names = said::trusted(&said).join("`, `");
                report.warn(&format!(
                    "what threads do depends on the order in which others are in functions that are trusted (`{names}`), and that was not tried; trust less, or let them share nothing that decides what their callers do"
                ));
                ScheduleSearch::default()
            }
            Err(ThreadsError::Diverged { at }) => {
                let why = format!(
                    "the program is not deterministic under control: step {at} of a schedule is not what it was before"
                );
                return Err(Error::new(ErrorKind::Uncontrolled, why));
            }
            Err(ThreadsError::CannotRun(why)) => {
                let room = (&mut threads, &mut streams);
                if native.makes_room(MOST_THREADS, room, &mut job.threads) {
                    continue;
                }
                return Err(Error::new(cannot(&native.outcome), why));
            }
            // The search says so itself; only what is asked beside it comes here.
            Err(ThreadsError::Stopped) => ScheduleSearch::default(),
        };
        // A clean verdict about schedules would be read as one about power failures, too.
        if native.server().asked() && !persistent {
            match options.deadline(started).reached() {
                // What was found is told all the same.
                Some(reached) => report.limit(reached),
                None => {
                    persistent = true;
                    continue;
                }
            }
        }
        unseen::report(&native, seen.handed(), &names, &mut report);
        native.prefer(Policy::Quiet);
        native.until(options.last_call(started));
        seen.settle(&mut native)?;
        // Who cannot try all schedules cannot try all plainer ones.
        if options.random.is_none() {
            native.until(options.deadline(started));
            fewest(options, started, &mut native, &searched, &mut seen)
                .map_err(|error| Error::new(ErrorKind::Uncontrolled, error))?;
            native.until(options.last_call(started));
        }
        seen.settle(&mut native)?;
        seen.report(&mut native, &names, &mut bugs, &mut report)?;
        if let Some(crashing) = crashing {
            let both = (&names, after.as_ref().unwrap_or(&names));
            crashing.report(&mut native, both, &mut bugs, &mut report)?;
        }
        report.runs += runs + native.runs - ran;
        break report;
    };
    report.add_server(&first.server);
    report.runs += bugs.runs();
    Ok(report)
}

/// Code that nobody looked at is a limit where threads share memory.
fn note_uncompiled(server: &Server, report: &mut SearchReport) {
    let elsewhere = server.symbols().from_elsewhere();
    if let Some(name) = elsewhere.first() {
        let more = match elsewhere.len() {
            1 => String::new(),
            n => format!(" (and {} more files)", n - 1),
        };
        report.limit(Limit::Foreign);
        report.warn(&format!(
            "`{name}`{more} was not compiled with `landfall cc`: what it does to memory that threads share is no step of a schedule; compile it with `landfall cc`"
        ));
    }
}

fn way(options: &Asked) -> Way {
    match (options.eager, options.no_share) {
        (true, _) => Way::Eager,
        (false, true) => Way::Alone,
        (false, false) => Way::Shared,
    }
}

/// What looks at recoveries as they are run.
fn watching(options: &Asked, programs: &Programs) -> Watching {
    let mut places = Places::default();
    if programs.recover.is_some() {
        places.of(Ran::Recovery);
    }
    Watching {
        places,
        wasted: options.checks(CheckKind::Flushes).then(Wasted::default),
        atomics: options.atomics(),
        platform: programs.platform,
    }
}

/// What the program, `--within` and `--without` ask for, if they do.
fn sealing(options: &Asked, said: &[Saying], server: &Server) -> Result<Option<Sealing>, Error> {
    let asked = options.directives.iter();
    let asked = asked.map(|(place, name)| ((*place).into(), name.clone()));
    let in_source = said::sealed(said).map(|name| (Directive::Without, name.to_owned()));
    let directives: Vec<_> = in_source.chain(asked).collect();
    if directives.is_empty() {
        return Ok(None);
    }
    let sealing = Sealing::new(directives, server.symbols());
    if let Some(name) = sealing.strangers().next() {
        let why = format!(
            "no function `{name}` in the program or its libraries: --within and --without take functions by name, as in a call stack"
        );
        return Err(Error::new(ErrorKind::Usage, why));
    }
    Ok(Some(sealing))
}

fn cannot(outcome: &Outcome) -> ErrorKind {
    match outcome {
        Outcome::Internal { .. } => ErrorKind::Internal,
        _ => ErrorKind::Usage,
    }
}

fn search<'w>(
    (options, started, watch): (&Asked, Instant, &'w CheckWatch<'w>),
    (names, is_sealed): (&ProgramNames, bool),
    native: &mut NativeThreads<'_>,
    seen: &mut ScheduleFindings<'_>,
    crashing: &mut Option<Crashing<'_>>,
    report: &mut SearchReport,
) -> Result<ScheduleSearch, ThreadsError> {
    let mut progress = ScheduleProgress::new(watch);
    let limits = SearchOptions {
        persistency: match crashing {
            Some(_) => Persistency::Lines,
            None => Persistency::Ignored,
        },
        limit: options.most_steps(),
        symmetry: options.symmetry && native.tells_all_the_same(),
        ..SearchOptions::default()
    };
    if options.random.is_some() {
        let points = match options.preempt() {
            Preempt::Sync => Points::Sites(Vec::new()),
            Preempt::Auto | Preempt::Everywhere => Points::Everywhere,
        };
        let on = (&mut *native, &points);
        let drawn = random(options, started, on, limits, seen, crashing)?;
        let (executions, assumed) = (drawn.executions, drawn.assumed);
        report.drawn = drawn.promise(options);
        report.cut(&native.cut, "an execution", names);
        report.limit(Limit::Random);
        report.limited(drawn.reached);
        report.schedules += executions;
        report.stand_for = report.stand_for.saturating_add(executions);
        report.assumed += assumed;
        return Ok(ScheduleSearch {
            points,
            limits,
            executions: executions + assumed,
        });
    }
    let mut ending = Ending::new(options, started);
    let mut stopped = false;
    let points;
    let by_reads = match (crashing.is_some(), is_sealed) {
        _ if options.equivalence == Equivalence::Orders => None,
        (true, _) => {
            reads::instead(options.equivalence, "power failures are looked at", report);
            None
        }
        (_, true) => {
            reads::instead(options.equivalence, "functions are sealed", report);
            None
        }
        _ => {
            report.equivalence = options.equivalence;
            let preempt = options.preempt();
            let told = match options.equivalence {
                Equivalence::Values => ReadsTold::ByValues,
                _ => ReadsTold::ByStores,
            };
            let found = read_all(native, told, preempt, limits, |native, search| {
                if !search.repeats() {
                    seen.look(native, search);
                }
                ending.stop(native.runs)
            })?;
            match found {
                SearchedReads::Searched(found) => Some(found),
                SearchedReads::Refused(refused) => {
                    reads::instead(options.equivalence, reads::why(refused), report);
                    None
                }
            }
        }
    };
    let counts: Counts = match (options.bound(), is_sealed, by_reads) {
        (_, _, Some(found)) => {
            let preempt = options.preempt();
            if preempt == Preempt::Sync && !found.sites.is_empty() {
                warn_of_sync(report);
            }
            stopped |= found.stopped;
            points = found.points(preempt);
            found.counts
        }
        (None, false, None) => {
            let preempt = options.preempt();
            let found = saturate(native, preempt, limits, |native, search| {
                progress.tick(&search.estimate, started);
                seen.look(native, search);
                let whole = !search.racy && search.trace().end != End::InVain;
                if let Some(crashing) = crashing.as_mut().filter(|_| whole) {
                    crashing.look(native, search)?;
                }
                ending.stop(native.runs)
            })?;
            if preempt == Preempt::Sync && !found.sites.is_empty() {
                warn_of_sync(report);
            }
            stopped |= found.stopped;
            points = found.points(preempt);
            found.counts
        }
        (most, ..) => {
            let preempt = options.preempt();
            let mut sites = Vec::new();
            let mut preemptions = if most.is_some() { 0 } else { u32::MAX };
            loop {
                let bound = Bound {
                    preemptions,
                    sealed: &|step| step.sealed,
                };
                let (mut broken, mut fresh) = (false, false);
                let now = match preempt {
                    Preempt::Everywhere => Points::Everywhere,
                    Preempt::Sync | Preempt::Auto => Points::Sites(sites.clone()),
                };
                let found = bounded(native, &now, bound, limits, |native, search| {
                    seen.look(native, search);
                    let mut flow = ending.stop(native.runs);
                    let racy = preempt != Preempt::Everywhere && add_racing(search, &mut sites);
                    fresh |= racy;
                    let partial = racy || search.trace().end == End::InVain;
                    if let (Some(crashing), false, ControlFlow::Continue(())) =
                        (&mut *crashing, partial, flow)
                    {
                        flow = crashing.look(native, search);
                    }
                    broken = flow.is_break();
                    match fresh && preempt == Preempt::Auto {
                        true => ControlFlow::Break(()),
                        false => flow,
                    }
                })?;
                broken |= found.stopped;
                stopped |= found.stopped;
                if fresh && preempt == Preempt::Auto && !broken {
                    continue;
                }
                if !broken {
                    seen.searched(preemptions);
                }
                if broken || !found.exceeded || most.is_none_or(|most| preemptions >= most) {
                    report.limited(found.exceeded.then_some(Limit::Bound));
                    report.limited(found.sealed.then_some(Limit::Sealed));
                    if preempt == Preempt::Sync && !sites.is_empty() {
                        warn_of_sync(report);
                    }
                    points = now;
                    break found.counts;
                }
                preemptions += 1;
            }
        }
    };
    report.progress = progress.done();
    report.schedules += counts.executions;
    let all = counts.stand_for.max(counts.executions);
    report.stand_for = report.stand_for.saturating_add(all);
    report.assumed += counts.assumed;
    report.in_vain += counts.in_vain;
    if stopped {
        // Between two executions, or inside one.
        let _ = ending.stop(native.runs);
    }
    report.limited(ending.reached);
    if native.foreign() || report.is_foreign() {
        report.limit(Limit::Foreign);
        report.warn(
            "what code that was not compiled with `landfall cc` does to persistent memory is no step of a schedule: other orders of it were not tried, nor power failures between its stores",
        );
    }
    if ending.reached.is_none() && native.crowded() {
        report.limit(Limit::NonTemporal);
        report.warn(
            "a thread makes non-temporal stores to more cache lines between two fences than are told apart: some were tried in program order only",
        );
    }
    if ending.reached.is_none() && native.late() {
        report.limit(Limit::Timeouts);
    }
    report.timer_signals = report.timer_signals.max(native.timer_signals());
    if ending.reached.is_none() && native.waits_for_timer() {
        report.limit(Limit::Signals);
    }
    report.cut(&native.cut, "an execution", names);
    Ok(ScheduleSearch {
        points,
        limits,
        executions: counts.executions + counts.assumed,
    })
}

fn warn_of_sync(report: &mut SearchReport) {
    report.limit(Limit::Preempt);
    report.warn(
        "plain accesses race, and --preempt sync does not look at their order: use --preempt auto",
    );
}

/// What is known after a search, and how it was made.
#[derive(Debug, Default)]
struct ScheduleSearch {
    points: Points,
    limits: SearchOptions,
    executions: u64,
}

/// When to stop: `--time`, `--runs`, Ctrl-C.
#[derive(Debug)]
struct Ending<'a> {
    options: &'a Asked,
    until: Deadline,
    reached: Option<Limit>,
}

impl<'a> Ending<'a> {
    fn new(options: &'a Asked, started: Instant) -> Ending<'a> {
        Ending {
            options,
            until: options.deadline(started),
            reached: None,
        }
    }

    fn stop(&mut self, runs: u64) -> ControlFlow<()> {
        let spent = self.options.runs.is_some_and(|most| runs >= most);
        let reached = self.until.reached();
        self.reached = reached.or(spent.then_some(Limit::Runs));
        match self.reached {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}
