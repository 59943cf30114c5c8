//! Race sites become scheduling points, as in [`saturate`](crate::schedule::saturate): until there is no new one.
//!
//! What a thread does depends on what its steps have read and on what happened before them by that alone: accesses that are no points are
//! ordered by it, or they race.

use super::{ByReads, ReadFromSearch, ReadsTold, Refused};
use crate::schedule::explored::Explored;
use crate::schedule::saturate::{Preempt, Saturated, add_racing};
use crate::schedule::search::Options;
use crate::schedule::sharing::Sharing;
use crate::schedule::threads::{Points, Threads, ThreadsError};
use std::ops::ControlFlow;

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchedReads {
    Searched(Saturated),
    /// It has to be searched by orders of stores: what was shown are executions of the program, but not all.
    Refused(Refused),
}

/// Searches with the scheduling points that `preempt` asks for. `visit` sees executions of abandoned rounds too, and those that are like one before.
pub fn read_all<T: Threads>(
    threads: &mut T,
    told: ReadsTold,
    preempt: Preempt,
    options: Options,
    mut visit: impl FnMut(&T, &dyn Explored) -> ControlFlow<()>,
) -> Result<SearchedReads, ThreadsError> {
    let mut result = Saturated::default();
    let mut sharing = Sharing::default();
    loop {
        result.rounds += 1;
        let points = match preempt {
            Preempt::Everywhere => Points::Everywhere,
            Preempt::Sync | Preempt::Auto => Points::Sites(result.sites.clone()),
        };
        threads.preempt_at(&points);
        let mut search = ReadFromSearch::new(threads, told, options, points);
        let mut fresh = false;
        while !fresh {
            match search.next(threads) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ThreadsError::Stopped) => {
                    result.stopped = true;
                    break;
                }
                Err(error) => return Err(error),
            }
            if preempt != Preempt::Everywhere
                && !search.repeats
                && !search.trace().trailing.is_empty()
                && sharing.of_plain(search.trace(), search.order())
            {
                fresh = add_racing(&ByReads(&search), &mut result.sites);
            }
            if visit(threads, &search).is_break() {
                result.counts = search.counts;
                return Ok(SearchedReads::Searched(result));
            }
        }
        if let Some(refused) = search.refused {
            return Ok(SearchedReads::Refused(refused));
        }
        if !fresh || result.stopped || preempt == Preempt::Sync {
            result.counts = search.counts;
            return Ok(SearchedReads::Searched(result));
        }
        result.abandoned += search.counts.executions;
    }
}
