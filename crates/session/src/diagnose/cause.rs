//! Why a recovery failed: which store reached persistent memory, which earlier one did not, and why nothing ordered them.

use crate::diagnose::provenance::first_reads;
use crate::programs::{Failure, LoggedRun};
use landfall_explore::subject::{FirstRead, SeenStores};
use landfall_model::line::{Addr, LINE_BYTES, Line};
use landfall_model::log::{Cut, Entry, Version};
use landfall_native::{Record, RecordKind};
use std::collections::HashMap;

/// Entries of the log of one crashed execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Overtaking {
    /// Which execution of the chain.
    pub(crate) run: usize,
    /// The last store before the power failed.
    pub(crate) last: Option<Cut>,
    /// Read by the recovery although an earlier store was lost.
    pub(crate) kept: Option<Cut>,
    /// Not there when the recovery read.
    pub(crate) lost: Option<Cut>,
}

impl Overtaking {
    /// No store overtook another one; only where the power failed is to be told.
    pub(crate) fn nothing(runs: &[LoggedRun], failures: &[Failure]) -> Option<Overtaking> {
        let before = failures.first()?.cut.0 as usize;
        let mut entries = runs.first()?.log.entries().get(..before)?.iter();
        let last = entries.rposition(|entry| matches!(entry, Entry::Store { .. }));
        Some(Overtaking {
            run: 0,
            last: last.map(|entry| Cut(entry as u32)),
            kept: None,
            lost: None,
        })
    }
}

/// Why a store was not durable in time. Numbers are native events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// No flush of its line follows.
    NeverFlushed,
    /// The first flush of its line comes after the store that overtook it.
    FlushedLate { flush: usize },
    /// Flushed in time, but nothing waited for the flush.
    NotFenced { flush: usize },
    /// A flush in time wrote back a neighbouring line.
    OtherLine { flush: usize },
    /// A non-temporal store that no fence followed in time.
    Streamed,
    /// Both are parts of one copy on one line.
    Torn,
    /// Both are halves of one store, on two lines.
    Straddles,
}

/// The stores behind a failure, from what the executions after each crash read. A crash in which a store overtook another
/// explains more than one in which the latest stores are missing; later crashes are nearer to the failure.
pub(crate) fn story(runs: &[LoggedRun], failures: &[Failure]) -> Option<Overtaking> {
    let stories: Vec<Overtaking> = (0..failures.len())
        .rev()
        .map(|run| of_crash(&runs[run], &failures[run], &runs[run + 1], run))
        .collect();
    let tells =
        |wanted: fn(&Overtaking) -> bool| stories.iter().find(|story| wanted(story)).cloned();
    tells(|story| story.kept.is_some())
        .or_else(|| tells(|story| story.lost.is_some()))
        .or_else(|| stories.first().cloned())
}

/// What the reads of a recovery tell of the stores before the power failure.
pub(crate) fn seen(
    crashed: &LoggedRun,
    failure: &Failure,
    recovery: &landfall_native::Execution,
) -> SeenStores {
    let log = &crashed.log;
    let mut seen = SeenStores {
        cut: failure.cut,
        ..SeenStores::default()
    };
    let mut lines: HashMap<Line, LineStores> = HashMap::new();
    let old: HashMap<Line, Version> = failure.old.iter().copied().collect();
    for (_, read, _) in first_reads(recovery) {
        let line = read.line();
        // Most of what a recovery that went astray reads was never stored to.
        if log.newest(line, log.end()) == Version(0) {
            continue;
        }
        let stores = lines.entry(line).or_insert_with(|| {
            let newest = log.newest(line, failure.cut);
            let there = log.stores_in(line, old.get(&line).copied().unwrap_or(newest));
            let mut lost = log.stores_in(line, newest);
            lost.retain(|store| there.binary_search(store).is_err());
            LineStores { there, lost }
        });
        let covers = |store: &&Cut| covers(crashed, read, **store);
        seen.found
            .extend(stores.there.iter().rev().find(covers).copied());
        seen.missed.extend(stores.lost.iter().find(covers));
    }
    seen
}

fn of_crash(
    crashed: &LoggedRun,
    failure: &Failure,
    recovery: &LoggedRun,
    run: usize,
) -> Overtaking {
    let log = &crashed.log;
    let seen = seen(crashed, failure, &recovery.execution);
    let kept = seen.found.iter().max().copied();
    // A lost store that came before a kept one was overtaken; else the failure lies in what had not happened yet.
    let overtaken = seen.overtaken();
    let lost = overtaken.or(seen.missed.iter().copied().min());
    let last = log.entries()[..failure.cut.0 as usize]
        .iter()
        .rposition(|entry| matches!(entry, Entry::Store { .. }));
    Overtaking {
        run,
        last: last.map(|entry| Cut(entry as u32)),
        kept: kept.filter(|_| overtaken.is_some()),
        lost,
    }
}

/// What was stored to a line before the power failed, oldest first.
struct LineStores {
    there: Vec<Cut>,
    lost: Vec<Cut>,
}

/// Did the store write some of the bytes read?
fn covers(crashed: &LoggedRun, read: FirstRead, store: Cut) -> bool {
    let Entry::Store { piece, .. } = &crashed.log.entries()[store.0 as usize] else {
        return false;
    };
    let wanted = (0..8).filter(|i| read.mask & (1 << i) != 0);
    wanted.map(|i| Addr(read.word.0 + i)).any(|byte| {
        let from = byte.0.checked_sub(piece.addr.0);
        from.is_some_and(|from| from < piece.bytes().len() as u64)
    })
}

/// Why the lost store was not durable before the kept one, or at all.
pub(crate) fn missing(run: &LoggedRun, lost: Cut, kept: Option<Cut>) -> Missing {
    let events = &run.execution.events;
    let from = run.event_of(lost);
    let until = kept.map_or(events.len(), |kept| run.event_of(kept));
    let line = line_of(events[from].offset);
    let flushes = |from: usize, until: usize, wanted: &dyn Fn(Line) -> bool| {
        let flush = |at: &usize| {
            let event = &events[*at];
            matches!(
                event.kind,
                RecordKind::Clflush | RecordKind::Clflushopt | RecordKind::Clwb
            ) && wanted(line_of(event.offset))
        };
        (from..until).find(flush)
    };
    let torn = |kept: Cut| {
        let kept = run.event_of(kept);
        from < kept && line_of(events[kept].offset) == line && one_copy(&events[from..=kept])
    };
    if kept.is_some_and(torn) {
        return Missing::Torn;
    }
    if kept.is_some_and(|kept| halves(events, from, run.event_of(kept))) {
        return Missing::Straddles;
    }
    if events[from].is_non_temporal() {
        return Missing::Streamed;
    }
    if let Some(flush) = flushes(from, until, &|l| l == line) {
        return Missing::NotFenced { flush };
    }
    let beside = |l: Line| l.0.abs_diff(line.0) == 1;
    if let Some(flush) = flushes(from, until, &beside) {
        return Missing::OtherLine { flush };
    }
    match flushes(until, events.len(), &|l| l == line) {
        Some(flush) => Missing::FlushedLate { flush },
        None => Missing::NeverFlushed,
    }
}

/// Are these two stores made at one place, one right after the other, to two words beside each other with the end of a line between?
fn halves(events: &[Record], lost: usize, kept: usize) -> bool {
    let between = events.get(lost + 1..kept).unwrap_or_default();
    let (a, b) = (&events[lost], &events[kept]);
    lost < kept
        && between.iter().all(|event| event.kind.is_aside())
        && a.origin == b.origin
        && a.offset.abs_diff(b.offset) == 8
        && line_of(a.offset) != line_of(b.offset)
}

/// Do all stores after the first go on with its copy?
fn one_copy(events: &[Record]) -> bool {
    let mut others = events.iter().skip(1).filter(|event| !event.kind.is_aside());
    others.all(Record::continues_copy)
}

fn line_of(offset: u64) -> Line {
    Line(offset / LINE_BYTES as u64)
}
