//! The search: every power failure of one run, or of every schedule.

pub(crate) mod first;
mod one;
mod threads;

use crate::error::Error;
use crate::observer::CheckWatch;
use crate::options::Asked;
use crate::report::SearchReport;
use crate::setup::BuiltTarget;
use first::FirstRun;
use landfall_native::{HeapChecks, Outcome};
use std::time::Instant;

/// Searches a program that is built: the first run says whether it has threads.
pub(crate) fn search<'w>(
    options: &Asked,
    mut target: BuiltTarget,
    started: Instant,
    watch: &'w CheckWatch<'w>,
) -> Result<SearchReport, Error> {
    let first = FirstRun::of(&target.programs, &target.programs.job)?;
    let creates_threads = matches!(first.execution.outcome, Outcome::Thread { .. });
    if !(creates_threads || options.recover_schedules && first.persists(&target.programs)) {
        return one::check(options, &target, first, started, watch);
    }
    drop(first);
    if options.looks_at_heap_of_threads() {
        target.programs.program.heap = HeapChecks::On;
    }
    threads::check(options, &target, started, watch)
}
