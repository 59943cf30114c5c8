//! Of everything that was found, a schedule with the fewest preemptions that shows it: schedules without any are tried first, then
//! those with one, and so on (`explore::schedule::bounded`), until each cause was seen or has a schedule that is no worse.

use crate::options::Asked;
use crate::search::threads::causes::ScheduleFindings;
use crate::search::threads::{Ending, ScheduleSearch};
use landfall_explore::schedule::bounded::{Bound, bounded};
use landfall_explore::schedule::{Options as SearchOptions, Persistency, ThreadsError};
use landfall_native::NativeThreads;
use std::ops::ControlFlow;
use std::time::Instant;

/// Executions that are always worth a plainer schedule.
const LEAST: u64 = 10_000;

/// Looks for plainer schedules of what `seen` holds. Takes no more executions than the search itself did, or a few.
pub(crate) fn fewest(
    options: &Asked,
    started: Instant,
    native: &mut NativeThreads<'_>,
    searched: &ScheduleSearch,
    seen: &mut ScheduleFindings<'_>,
) -> Result<(), ThreadsError> {
    let mut ending = Ending::new(options, started);
    let limits = SearchOptions {
        persistency: Persistency::Ignored,
        ..searched.limits
    };
    let mut left = searched.executions.max(LEAST);
    // A bounded search begins with the fewest itself.
    let mut preemptions = seen.floor();
    while seen
        .most_preemptions()
        .is_some_and(|most| preemptions < most)
    {
        let bound = Bound {
            preemptions,
            sealed: &|step| step.sealed,
        };
        let mut ended = false;
        let found = bounded(native, &searched.points, bound, limits, |native, search| {
            seen.look_again(native, search, preemptions);
            left = left.saturating_sub(1);
            let enough = seen
                .most_preemptions()
                .is_none_or(|most| most <= preemptions);
            ended = left == 0 || ending.stop(native.runs).is_break();
            match enough || ended {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        if ended || found.stopped || found.counts.cut > 0 {
            return Ok(());
        }
        seen.searched(preemptions);
        if !found.exceeded {
            return Ok(());
        }
        preemptions += 1;
    }
    Ok(())
}
