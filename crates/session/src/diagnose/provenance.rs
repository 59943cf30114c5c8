//! Where the values that a recovery reads come from, and which others it could have read (Gorjiara 2022: loads that may read from
//! more than one store are what a missing flush looks like).

use crate::programs::{Failure, LoggedRun, crash_state};
use landfall_explore::subject::FirstRead;
use landfall_model::crash::{Chain, CrashState};
use landfall_model::line::Addr;
use landfall_model::log::{Cut, Version};
use landfall_native::{Execution, RecordKind};

/// Where bytes come from: an execution and an entry of its log, or nowhere (memory as it was before anything ran).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreSource {
    Beginning,
    Store { run: usize, entry: Cut },
}

/// One first read of the last execution of a chain.
#[derive(Clone, Debug)]
pub(crate) struct ReadProvenance {
    /// The native event.
    pub(crate) event: usize,
    pub(crate) read: FirstRead,
    pub(crate) value: u64,
    /// The stores behind its bytes, without repetition.
    pub(crate) from: Vec<StoreSource>,
    /// Values it could have returned instead, given what was read before it, each with a store behind it.
    pub(crate) others: Vec<(u64, StoreSource)>,
}

/// What an execution read before it wrote it: the native event, which bytes, and what they were.
pub(crate) fn first_reads(
    execution: &Execution,
) -> impl Iterator<Item = (usize, FirstRead, u64)> + '_ {
    let events = execution.events.iter().enumerate();
    events
        .filter(|(_, event)| event.kind == RecordKind::Read)
        .map(|(at, event)| {
            let read = FirstRead {
                word: Addr(event.offset),
                mask: event.mask,
            };
            (at, read, event.value)
        })
}

/// Every first read of the last run, in order.
pub(crate) fn readings(runs: &[LoggedRun], failures: &[Failure]) -> Vec<ReadProvenance> {
    let (Some(last), Some(mut state)) = (runs.last(), crash_state(runs, failures)) else {
        return Vec::new();
    };
    let crashed = &runs[..runs.len() - 1];
    let mut readings = Vec::new();
    for (at, read, value) in first_reads(&last.execution) {
        let line = read.line();
        let stored = |run: &LoggedRun| run.log.newest(line, run.log.end()) != Version(0);
        if !crashed.iter().any(stored) {
            readings.push(ReadProvenance {
                event: at,
                read,
                value,
                from: vec![StoreSource::Beginning],
                others: Vec::new(),
            });
            continue;
        }
        let actual: Chain = crashed
            .iter()
            .zip(failures)
            .map(|(run, failure)| run.survivor(failure, line))
            .collect();
        readings.push(ReadProvenance {
            event: at,
            read,
            value,
            from: sources(crashed, read, &actual),
            others: others(crashed, &state, read, value),
        });
        // What was read excludes the versions that say otherwise; an image no version explains narrows nothing.
        let _ = state.refine(line, |bytes| read.value(bytes) == value);
    }
    readings
}

fn others(
    crashed: &[LoggedRun],
    state: &CrashState<'_>,
    read: FirstRead,
    value: u64,
) -> Vec<(u64, StoreSource)> {
    let line = read.line();
    let mut others: Vec<(u64, StoreSource)> = Vec::new();
    for chain in state.feasible(line).iter().rev() {
        let other = read.value(&state.content(line, chain));
        if other != value && others.iter().all(|&(known, _)| known != other) {
            let source = sources(crashed, read, chain);
            // The newest of the stores is the one that makes the difference.
            let newest = source.into_iter().max_by_key(|source| match source {
                StoreSource::Beginning => (0, 0),
                StoreSource::Store { run, entry } => (run + 1, entry.0),
            });
            others.push((other, newest.unwrap_or(StoreSource::Beginning)));
        }
    }
    others
}

/// The stores behind the bytes of a read, when each crashed execution left this version.
fn sources(crashed: &[LoggedRun], read: FirstRead, chain: &Chain) -> Vec<StoreSource> {
    let mut sources = Vec::new();
    for byte in (0..8).filter(|i| read.mask & (1 << i) != 0) {
        let byte = Addr(read.word.0 + byte);
        let from = crashed.iter().zip(chain).enumerate().rev();
        let source = from
            .filter_map(|(run, (crashed, &version))| {
                let entry = crashed.log.last_store_to(byte, version)?;
                Some(StoreSource::Store { run, entry })
            })
            .next()
            .unwrap_or(StoreSource::Beginning);
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}
