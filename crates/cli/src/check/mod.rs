//! `landfall check`: compile, run once, then try every power failure of that run and look at what recovery makes of it.

mod allowed;
mod bugs;
mod coverage;
pub(crate) mod finding;
mod fit;
mod flags;
mod judge;
mod known;
mod lanes;
#[cfg(test)]
mod many;
mod members;
mod minimise;
mod notice;
mod options;
mod outcomes;
mod outputs;
pub(crate) mod render;
mod report;
mod schedules;
mod sealing;
mod settings;
pub(crate) mod story;
pub(crate) mod table;
mod target;
mod timeline;
mod ways;

pub(crate) use flags::{language, take as take_compiler_flags};
pub(crate) use options::{Check, duration};
pub(crate) use outputs::texts;
pub(crate) use settings::with_settings;

use crate::exit::Exit;
use crate::names::Names;
use crate::progress::Watched;
use crate::scene::{Act, base_of};
use bugs::Bugs;
use judge::Judging;
use landfall_explore::limit::Limit;
use landfall_explore::recovery::{
    Behaviour, Crash, SearchError, Searched, eager, random, search_watched,
};
use landfall_explore::subject::{Ended, SubjectError};
use landfall_explore::tree::Forest;
use landfall_native::{Execution, HeapChecks, Input, NativeSubject, Notice, Outcome, Server};
use notice::Notices;
use report::Report;
use std::time::Instant;
use target::Target;

pub(crate) fn run(options: &mut Check) -> Exit {
    let started = Instant::now();
    landfall_native::watch_interrupts();
    let claimed = options.claim();
    match claimed.and_then(|_claimed| check(options, started)) {
        Ok(report) => report.print(options),
        Err(Refusal { exit, why }) => {
            eprintln!("landfall: {why}");
            exit
        }
    }
}

/// Why there is nothing to report.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) exit: Exit,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(exit: Exit, why: impl std::fmt::Display) -> Refusal {
        Refusal {
            exit,
            why: why.to_string(),
        }
    }

    /// The program could not be run at all.
    pub(crate) fn cannot_run(error: landfall_native::SubjectError) -> Refusal {
        let exit = match error {
            landfall_native::SubjectError::Killed { .. } => Exit::Internal,
            _ => Exit::Usage,
        };
        Refusal::new(exit, error)
    }
}

fn check(options: &Check, started: Instant) -> Result<Report, Refusal> {
    if options.judges()
        && let Some(option) = options.leaves_no_tree()
    {
        let why = format!(
            "robustness, races and flushes cannot be judged with {option}: leave it out, or ask for --checks crash"
        );
        return Err(Refusal::new(Exit::Usage, why));
    }
    let mut target = options.target()?;
    let compiling = started.elapsed().as_secs_f64();
    // Building the program is not part of the search.
    let started = Instant::now();
    target.scene.job.limits.until = options.deadline(started);
    let compile_seconds = target.build.is_some().then_some(compiling);
    let mut report = searched(options, target, started)?;
    report.compile_seconds = compile_seconds;
    report.stdin = options.stdin.as_ref().map(Input::length);
    report.finish(options, started)?;
    Ok(report)
}

fn searched(options: &Check, mut target: Target, started: Instant) -> Result<Report, Refusal> {
    let scene = &target.scene;
    let mut server = Server::start(&scene.program).map_err(Refusal::cannot_run)?;
    let crash_free = server.run(&scene.job).map_err(Refusal::cannot_run)?;
    let base = base_of(&server);
    let mut report = Report::default();
    report.not_judged = (options.checks.is_empty())
        .then(|| options.leaves_no_tree().map(str::to_owned))
        .flatten();
    report.runs = 1;
    report.events = crash_free.events.len() as u64;
    report.note_foreign("", crash_free.foreign.as_ref(), &server.symbols());
    report.note_input(crash_free.read_input, options);
    // Another program may do anything; the same one does the same again if it never asked.
    let asked = server.asked() || scene.recover.is_some();
    if matches!(crash_free.outcome, Outcome::Thread { .. }) || options.recover_schedules && asked {
        drop(server);
        if options.looks_at_heap_of_threads() {
            target.scene.program.heap = HeapChecks::On;
        }
        return schedules::check(options, &target, started);
    }
    if let Some(refusal) = refuse(&crash_free) {
        return Err(refusal);
    }
    let mut bugs = Bugs::new(&target, options, started);
    if crash_free.outcome.limit().is_some() {
        match scene.job.limits.until.reached() {
            Some(reached) => report.limit(reached),
            None => {
                let at = finding::failing_place(&crash_free, &Names::of(&server));
                report.unfinished(&crash_free.outcome, "the program", at.as_ref());
            }
        }
        return Ok(report);
    }
    if !crash_free.outcome.is_ok() {
        bugs.without_failure(&crash_free, &mut report)?;
        return Ok(report);
    }
    if !asked {
        return Err(Refusal::new(
            Exit::Nothing,
            "there is nothing to check: the program creates no threads and asks for no persistent memory; use lf_pm or lf_alloc from landfall.h, --pm-dir DIR for files that are persistent, or --pm-heap for malloc",
        ));
    }
    let act = Act::new(base, crash_free, scene);
    report.eager_states = eager::count(&act.log).to_string();
    if options.count_eager {
        report.cuts = act.log.sufficient_cuts().len();
        report.limit(Limit::CountEager);
        report.isolation.add(&server);
        return Ok(report);
    }

    let mut recovery = match &scene.recover {
        Some(recover) => Some(Server::start(recover).map_err(Refusal::cannot_run)?),
        None => None,
    };
    let mut found = Searched::default();
    let again = scene.recover.as_ref().unwrap_or(&scene.program);
    let mut notices = Notices::new(options, recovery.as_ref().unwrap_or(&server), started);
    let after = recovery.as_mut().unwrap_or(&mut server);
    let mut judging = Judging::new(options, &act, scene);
    let mut subject = NativeSubject::new(after, scene.job.clone(), options.budget(started))
        .with_workers(again, options.workers())
        .map_err(Refusal::cannot_run)?
        .covering();
    subject.watching = judging.watching.take();
    subject.notice = Some(Notice(Box::new(move |failed| notices.failed(failed))));
    let mut forest = Forest::default();
    let mut watched = Watched::new(subject, &act.log, options.live());
    let mut nobody = ();
    let ended = match options.random {
        Some(tries) => {
            report.limit(Limit::Random);
            let search = options.search();
            let (base, log) = (&act.found, &act.log);
            let tries = random::Tries {
                count: tries,
                seed: options.seed,
            };
            random::search(
                &mut watched,
                &mut forest,
                base,
                log,
                &search,
                tries,
                &mut found,
            )
        }
        None => search_watched(
            &mut watched,
            &mut forest,
            &act.found,
            &act.log,
            &options.search(),
            match &mut judging.judge {
                Some(judge) => judge,
                None => &mut nobody,
            },
            &mut found,
        ),
    };
    let (mut subject, mut history) = watched.done(
        found.behaviours.len(),
        ended.is_ok() && options.random.is_none(),
    );
    judging.watching = subject.watching.take();
    if subject.flushes_unjudged {
        report.limit(Limit::Judging);
        report.warn(
            "flushes were not judged: a recovery did too much to keep track of what it flushed",
        );
    }
    let failed = std::mem::take(&mut subject.failed);
    let stopped_by = subject.stopped_by;
    let covered = subject.covered();
    report.runs += subject.runs;
    report.events += subject.events;
    report.cuts = found.cuts;
    report.behaviours = found.behaviours.len();
    if found.uncut > 0 {
        report.uncut(found.uncut);
    }
    if found.contradictions > 0 {
        report.warn(&format!(
            "{} read what another had read and then went another way: the recovery is not deterministic, and they were not judged",
            report::count(found.contradictions.into(), "recovery", "recoveries")
        ));
    }
    let foreign = subject.foreign.take();
    let unfinished = subject.unfinished.take();
    drop(subject);
    if act.execution.foreign.is_none() {
        let symbols = recovery.as_ref().unwrap_or(&server).symbols();
        report.note_foreign("in a recovery, ", foreign.as_ref(), &symbols);
    }
    let names = Names::of(&server);
    let after = recovery.as_ref().map(Names::of);
    let after = after.as_ref().unwrap_or(&names);
    if let Some(unfinished) = unfinished {
        let at = finding::failing_place(&unfinished, after);
        report.unfinished(&unfinished.outcome, "a recovery", at.as_ref());
    }
    if options.random.is_some() {
        // Of random power failures those are known that showed something.
        let first = found.behaviours.iter().filter_map(|b| b.crashes.first());
        history.cuts = first.map(|crash| crash.cut).collect();
        history.cuts.sort_unstable();
        history.cuts.dedup();
    }
    report.coverage = coverage::coverage(&act, &names, &history.cuts, &covered, after);
    report.progress = history.samples;
    report.outcomes = outcomes::outcomes(&act, &names, after, &found.behaviours, &failed);
    report.isolation.add(&server);
    if let Some(recovery) = &recovery {
        report.isolation.add(recovery);
    }
    match ended {
        Ok(()) => {}
        Err(SearchError::Subject(SubjectError::Stopped)) => {
            report.limited(stopped_by);
        }
        Err(SearchError::Subject(error)) => return Err(Refusal::new(Exit::Internal, error)),
        Err(SearchError::Diverged {
            difference,
            crashes,
        }) => return Err(bugs.diverged(difference, &crashes)),
    }
    // In an order that does not depend on how the search came to them.
    let mut failing: Vec<(&Behaviour, u32)> = (found.behaviours.iter())
        .filter_map(|behaviour| match behaviour.ended {
            Ended::Badly(number) => Some((behaviour, number)),
            Ended::Well => None,
        })
        .collect();
    failing.sort_by_cached_key(|(behaviour, _)| plainness(behaviour, &act));
    for (behaviour, number) in failing {
        let failed = &failed[number as usize];
        bugs.after_failures(&act, behaviour, failed, &mut report)?;
    }
    let complete = report.is_complete();
    judging.report(&forest, complete, &mut bugs, &mut report)?;
    report.runs += bugs.runs();
    Ok(report)
}

/// The plainest crash of a cause is the one that is told: fewer failures, then fewer lines that are older than they could be,
/// then fewer stores lost on them, then earlier cuts.
fn plainness(behaviour: &Behaviour, first: &Act) -> impl Ord + use<> {
    let crashes = &behaviour.crashes;
    let old: usize = crashes.iter().map(|crash| crash.old.len()).sum();
    let lost = |crash: &Crash| -> u32 {
        let newest = |line| first.log.newest(line, crash.cut).0;
        let old = crash.old.iter();
        old.map(|&(line, version)| newest(line) - version.0).sum()
    };
    let lost = crashes.first().map(lost);
    let exactly: Vec<_> = (crashes.iter())
        .map(|crash| (crash.cut, crash.old.clone()))
        .collect();
    (crashes.len(), old, lost, exactly)
}

/// Executions no search can be built on.
fn refuse(execution: &Execution) -> Option<Refusal> {
    match &execution.outcome {
        Outcome::Thread { why } | Outcome::Forbidden { why, .. } => {
            Some(Refusal::new(Exit::Usage, why))
        }
        Outcome::Internal { why } => Some(Refusal::new(Exit::Internal, why)),
        Outcome::Strayed => Some(Refusal::new(
            Exit::Uncontrolled,
            "the program is not deterministic under control: a thread that went on before cannot go on now",
        )),
        _ => None,
    }
}
