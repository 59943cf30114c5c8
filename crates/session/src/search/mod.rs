//! The search: every power failure of one run, or of every schedule; where the program asks for any value, with each of a few.

pub(crate) mod first;
mod inputs;
mod one;
mod threads;

use crate::error::{Error, ErrorKind};
use crate::names::ProgramNames;
use crate::observer::CheckWatch;
use crate::options::Asked;
use crate::report::SearchReport;
use crate::setup::BuiltTarget;
use first::FirstRun;
use inputs::{InputSearch, InputValues};
use landfall_finding::Limit;
use landfall_native::{HeapChecks, Outcome, Server};
use std::time::Instant;

/// Searches a program that is built, with one combination of values after the other where it asks for any.
pub(crate) fn search<'w>(
    options: &Asked,
    mut target: BuiltTarget,
    started: Instant,
    watch: &'w CheckWatch<'w>,
) -> Result<SearchReport, Error> {
    let spurious = if options.random.is_some() {
        0
    } else {
        options.spurious
    };
    let mut all = SearchReport::default();
    for &fresh in options.fresh_blocks() {
        target.programs.program.fresh = fresh;
        if let Some(recover) = &mut target.programs.recover {
            recover.fresh = fresh;
        }
        all = on_fresh_memory(options, &mut target, (all, spurious), started, watch)?;
        if options.deadline(started).reached().is_some() {
            break;
        }
    }
    all.explain_assumptions();
    Ok(all)
}

/// Searches a program with one combination of values after the other, and adds to what was found before.
fn on_fresh_memory<'w>(
    options: &Asked,
    target: &mut BuiltTarget,
    (mut all, spurious): (SearchReport, u32),
    started: Instant,
    watch: &'w CheckWatch<'w>,
) -> Result<SearchReport, Error> {
    let mut inputs = InputSearch::new(&options.nondet, spurious);
    // Why there was nothing to check with some values.
    let mut nothing = None;
    let mut checked = false;
    while let Some(values) = inputs.next() {
        target.programs.job.inputs = values.told(&options.nondet);
        let before = all.findings.len();
        match with_values(options, target, (&all, started), watch) {
            Ok(report) => (all, checked) = (report, true),
            Err(error) if error.kind() == ErrorKind::Nothing => nothing = Some(error),
            Err(error) => return Err(error),
        }
        name_values(&values, target, &mut all, before)?;
        let programs = &target.programs;
        inputs.asked(&values, programs.program.inputs.take());
        if let Some(recover) = &programs.recover {
            inputs.asked(&values, recover.inputs.take());
        }
        let spent = options.runs.is_some_and(|most| all.runs >= most);
        let reached = options.deadline(started).reached();
        if let Some(limit) = reached.or(spent.then_some(Limit::Runs))
            && inputs.is_open()
        {
            all.limit(limit);
            break;
        }
    }
    if let Some(nothing) = nothing.filter(|_| !checked) {
        return Err(nothing);
    }
    if inputs.is_partial() {
        all.limit(Limit::Nondet);
        all.warn(&inputs.explain(&options.nondet));
    }
    if inputs.left_waits_out() {
        all.limit(Limit::Spurious);
    }
    Ok(all)
}

/// The first run says whether the program has threads.
fn with_values<'w>(
    options: &Asked,
    target: &mut BuiltTarget,
    so_far: (&SearchReport, Instant),
    watch: &'w CheckWatch<'w>,
) -> Result<SearchReport, Error> {
    let mut job = target.programs.job.clone();
    job.threads.asks_for_signals = true;
    let first = FirstRun::of(&target.programs, &job)?;
    let creates_threads = matches!(first.execution.outcome, Outcome::Thread { .. });
    if !(creates_threads || options.recover_schedules && first.persists(&target.programs)) {
        return one::check(options, target, first, so_far, watch);
    }
    drop(first);
    if options.looks_at_heap_of_threads() {
        target.programs.program.heap = HeapChecks::On;
    }
    threads::check(options, target, so_far, watch)
}

/// Says with which values each new finding was seen.
fn name_values(
    values: &InputValues,
    target: &BuiltTarget,
    report: &mut SearchReport,
    before: usize,
) -> Result<(), Error> {
    if values.is_empty() || report.findings.len() == before {
        return Ok(());
    }
    let server = Server::start(&target.programs.program).map_err(Error::cannot_run)?;
    let names = ProgramNames::of(&server);
    let notes = values.describe(&names);
    for finding in &mut report.findings[before..] {
        finding.notes.extend(notes.iter().cloned());
    }
    Ok(())
}
