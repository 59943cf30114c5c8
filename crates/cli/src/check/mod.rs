//! `landfall check`: compile, run once, then try every power failure of that run and look at what recovery makes of it.

mod finding;
mod options;
mod render;
mod report;
mod story;
mod witness;

pub(crate) use options::{Check, duration, take_compiler_flags};

use crate::exit::Exit;
use finding::Finding;
use landfall_explore::recovery::{Options, SearchError, Searched, search};
use landfall_explore::subject::{Ended, SubjectError};
use landfall_explore::tree::Forest;
use landfall_model::image::Image;
use landfall_native::{Execution, NativeSubject, Outcome, Program, Server};
use options::Target;
use report::{Report, Verdict};
use std::time::Instant;
use story::Crashed;
use witness::Witnesses;

pub(crate) fn run(options: &Check) -> Exit {
    let started = Instant::now();
    landfall_native::watch_interrupts();
    match check(options, started) {
        Ok(report) => report.print(options, started.elapsed()),
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
}

fn check(options: &Check, started: Instant) -> Result<Report, Refusal> {
    let Target { program, arguments } = options.target()?;
    let mut program = Program::new(program).arguments(arguments);
    program.pm_heap = options.malloc();
    let mut server = Server::start(&program).map_err(|e| Refusal::new(Exit::Usage, e))?;
    let template = options.job();
    let crash_free = server
        .run(&template)
        .map_err(|e| Refusal::new(Exit::Usage, e))?;
    let mut report = Report::default();
    report.runs = 1;
    report.events = crash_free.events.len() as u64;
    report.note_foreign(&crash_free, &server.symbols());
    if let Some(refusal) = refuse(&crash_free) {
        return Err(refusal);
    }
    if !crash_free.outcome.is_ok() {
        let finding = Finding::new(&crash_free, None, &server, &server.symbols());
        report.add(finding);
        report.verdict = Verdict::Findings;
        return Ok(report);
    }
    let crashed = Crashed::new(&crash_free.events, options.platform());
    if crash_free.events.iter().all(|e| !report::touches_memory(e)) {
        return Err(Refusal::new(
            Exit::Nothing,
            "the program touches no persistent memory: use lf_pm or lf_alloc from landfall.h, or --pm-heap",
        ));
    }
    report.eager_states = report::eager_states(&crashed.log);

    let mut found = Searched::default();
    let mut subject = NativeSubject::new(&mut server, template, options.budget(started));
    let mut tree = Forest::default();
    let ended = search(
        &mut subject,
        &mut tree,
        &Image::default(),
        &crashed.log,
        &Options {
            platform: options.platform(),
            ..Options::default()
        },
        &mut found,
    );
    let failed = std::mem::take(&mut subject.failed);
    let stopped_by = subject.stopped_by;
    report.runs += subject.runs;
    report.events += subject.events;
    report.cuts = found.cuts;
    report.behaviours = found.behaviours.len();
    match ended {
        Ok(()) => {}
        Err(SearchError::Subject(SubjectError::Stopped)) => {
            report.limits.extend(stopped_by);
        }
        Err(SearchError::Subject(error)) => return Err(Refusal::new(Exit::Internal, error)),
        Err(error @ SearchError::Diverged { .. }) => {
            return Err(Refusal::new(Exit::Uncontrolled, error));
        }
    }
    let mut witnesses = Witnesses::new(&program, options, &crashed);
    for behaviour in &found.behaviours {
        let Ended::Badly(number) = behaviour.ended else {
            continue;
        };
        let execution = &failed[number as usize];
        let story = crashed.story(behaviour, &execution.events);
        let finding = Finding::new(
            execution,
            Some((&crash_free.events, &story)),
            &server,
            &server.symbols(),
        );
        if report.is_known(&finding) {
            continue;
        }
        let confirmed = witnesses.confirm(behaviour, execution)?;
        let story = crashed.story(&confirmed.behaviour, &confirmed.execution.events);
        let mut finding = Finding::new(
            &confirmed.execution,
            Some((&crash_free.events, &story)),
            &server,
            &server.symbols(),
        );
        report.runs += confirmed.runs;
        if report.is_known(&finding) {
            continue;
        }
        finding.id = format!("B{}", report.findings.len() + 1);
        witnesses.save(&mut finding, &confirmed)?;
        report.add(finding);
    }
    report.settle();
    report.save(options, started.elapsed())?;
    Ok(report)
}

/// Executions no search can be built on.
fn refuse(execution: &Execution) -> Option<Refusal> {
    match &execution.outcome {
        Outcome::Thread { why } | Outcome::Forbidden { why, .. } => {
            Some(Refusal::new(Exit::Usage, why))
        }
        Outcome::Internal { why } => Some(Refusal::new(Exit::Internal, why)),
        _ => None,
    }
}
