//! Programs with threads: every schedule, each once, under TSO or SC (ALGORITHMS.md §3-5).

mod judging;
mod plain;
mod power;
mod progress;
mod seen;
mod story;

pub(super) use story::column;

use super::bugs::Bugs;
use super::options::{Check, Judged};
use super::report::Report;
use super::target::Target;
use super::{Refusal, refuse};
use crate::exit::Exit;
use crate::names::Names;
use crate::scene::{Scene, base_of};
use landfall_check::Wasted;
use landfall_explore::schedule::bounded::{Bound, bounded};
use landfall_explore::schedule::power::Power;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Counts, Options, Persistency, Points, Threads, ThreadsError};
use landfall_native::{
    Job, NativeSubject, NativeThreads, Op, Outcome, Places, Ran, Server, Watching,
};
use power::Crashing;
use progress::Progress;
use seen::Seen;
use std::ops::ControlFlow;
use std::time::Instant;

/// Threads that a search has room for: each may have a store buffer.
const MOST_THREADS: usize = 32;

pub(super) fn check(options: &Check, target: &Target, started: Instant) -> Result<Report, Refusal> {
    let scene = &target.scene;
    let mut server = Server::start(&scene.program).map_err(Refusal::cannot_run)?;
    let mut report = Report::default();
    let job = Job {
        schedule: Some(Vec::new()),
        ..scene.job.clone()
    };
    let first = server.run(&job).map_err(Refusal::cannot_run)?;
    if let Some(refusal) = refuse(&first) {
        return Err(refusal);
    }
    let created =
        |event: &&landfall_native::Event| event.op == Op::Step && event.step_name() == "create";
    let mut threads = 1 + first.events.iter().filter(created).count();
    report.events = first.events.len() as u64;
    let mut bugs = Bugs::new(target, options);
    let persistent = first.events.iter().any(super::report::touches_memory);
    if let Some(refusal) = power::refuse(options).filter(|_| persistent) {
        return Err(refusal);
    }
    let base = base_of(&server);
    let again = scene.recover.as_ref().unwrap_or(&scene.program);
    let mut recovery = match persistent {
        true => Some(Server::start(again).map_err(Refusal::cannot_run)?),
        false => None,
    };
    loop {
        let names = Names::of(&server);
        let mut native = NativeThreads::new(&mut server, job.clone(), threads, options.model());
        let mut seen = Seen::new(options, threads);
        let mut crashing = None;
        if let Some(recovery) = &mut recovery {
            native.persist();
            native.set_atomics(options.atomics());
            let mut subject = NativeSubject::new(recovery, job.clone(), options.budget(started))
                .with_workers(again, options.workers())
                .map_err(Refusal::cannot_run)?;
            subject.watching = options.judges().then(|| watching(options, scene));
            let power = Power::new(base.clone(), scene.platform);
            crashing = Some(Crashing::new(options, power, subject));
        }
        let searched = search(
            options,
            started,
            &mut native,
            &mut seen,
            &mut crashing,
            &mut report,
        );
        report.runs += native.runs;
        match searched {
            Ok(()) => {}
            Err(ThreadsError::Diverged { at }) => {
                let why = format!(
                    "the program is not deterministic under control: step {at} of a schedule is not what it was before"
                );
                return Err(Refusal::new(Exit::Uncontrolled, why));
            }
            Err(ThreadsError::CannotRun(why)) => match native.more_threads {
                Some(more) if more <= MOST_THREADS => {
                    threads = more;
                    continue;
                }
                _ => return Err(Refusal::new(cannot(&native.outcome), why)),
            },
        }
        // A clean verdict about schedules would be read as one about power failures, too.
        if native.stored() && crashing.is_none() {
            let why = "some schedules store to persistent memory, but not the first one: power failures were not searched; touch it before the threads are created";
            return Err(Refusal::new(Exit::Usage, why));
        }
        seen.report(&mut native, &names, &mut bugs, &mut report)?;
        if let Some(crashing) = crashing {
            crashing.report(&mut native, &names, &mut bugs, &mut report)?;
        }
        break;
    }
    report.isolation.add(&server);
    report.runs += bugs.runs();
    report.finish(options, started)?;
    Ok(report)
}

/// What looks at recoveries as they are run.
fn watching(options: &Check, scene: &Scene) -> Watching {
    let mut places = Places::default();
    if scene.recover.is_some() {
        places.of(Ran::Recovery);
    }
    Watching {
        places,
        wasted: options.checks(Judged::Flushes).then(Wasted::default),
        atomics: options.atomics(),
        platform: scene.platform,
    }
}

fn cannot(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Internal { .. } => Exit::Internal,
        _ => Exit::Usage,
    }
}

fn search(
    options: &Check,
    started: Instant,
    native: &mut NativeThreads<'_>,
    seen: &mut Seen,
    crashing: &mut Option<Crashing<'_>>,
    report: &mut Report,
) -> Result<(), ThreadsError> {
    let mut stopped = None;
    let mut progress = Progress::new(options.live());
    let limits = Options {
        persistency: match crashing {
            Some(_) => Persistency::Lines,
            None => Persistency::Ignored,
        },
        ..Options::default()
    };
    let mut stop = |runs: u64| -> ControlFlow<()> {
        stopped = if landfall_native::interrupted() {
            Some("interrupted")
        } else if options.time.is_some_and(|time| started.elapsed() >= time) {
            Some("time")
        } else if options.runs.is_some_and(|most| runs >= most) {
            Some("runs")
        } else {
            return ControlFlow::Continue(());
        };
        ControlFlow::Break(())
    };
    let counts: Counts = match options.bound() {
        None => {
            let preempt = options.preempt();
            let found = saturate(native, preempt, limits, |native, search| {
                progress.tick(&search.estimate, started);
                seen.look(native, search.trace(), Some(search));
                if let Some(crashing) = crashing {
                    crashing.look(native, search)?;
                }
                stop(native.runs)
            })?;
            if preempt == Preempt::Sync && !found.sites.is_empty() {
                report.limits.push("preempt");
                report.warn("plain accesses race, and --preempt sync does not look at their order: use --preempt auto");
            }
            report.schedules += found.abandoned;
            found.counts
        }
        Some(most) => {
            native.preempt_at(&match options.preempt() {
                Preempt::Sync => Points::Sites(Vec::new()),
                Preempt::Auto | Preempt::Everywhere => Points::Everywhere,
            });
            let mut preemptions = 0;
            loop {
                let bound = Bound {
                    preemptions,
                    sealed: &|_| false,
                };
                let mut broken = false;
                let found = bounded(native, bound, limits, |native, trace| {
                    seen.look(native, trace, None);
                    let flow = stop(native.runs);
                    broken = flow.is_break();
                    flow
                })?;
                if broken || !found.exceeded || preemptions >= most {
                    if found.exceeded {
                        report.limits.push("bound");
                    }
                    break found.counts;
                }
                preemptions += 1;
            }
        }
    };
    report.progress = progress.done();
    report.schedules += counts.executions;
    report.limits.extend(stopped);
    if stopped.is_none() && native.late() {
        report.limits.push("timeouts");
    } else if stopped.is_none() && counts.cut > 0 {
        report.limits.push("steps");
    }
    Ok(())
}
