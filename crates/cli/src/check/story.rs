//! Why a recovery failed: which store reached persistent memory, and which earlier one did not.

use landfall_explore::recovery::Behaviour;
use landfall_explore::subject::{self, FirstRead};
use landfall_model::line::{Addr, Line};
use landfall_model::log::{Cut, Entry, Log, Version};
use landfall_model::order::Platform;
use landfall_native::{Event, translate};

/// An execution that was cut, with the way back from its log to its events.
#[derive(Debug)]
pub(crate) struct Crashed {
    pub(crate) log: Log,
    /// The native event that each entry of the log comes from.
    origins: Vec<usize>,
}

/// Indices of native events of the crashed execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Story {
    /// The last store before the power failed.
    pub(crate) last: Option<usize>,
    /// Read by the recovery although an earlier store was lost.
    pub(crate) kept: Option<usize>,
    /// Not there when the recovery read.
    pub(crate) lost: Option<usize>,
}

impl Crashed {
    pub(crate) fn new(events: &[Event], platform: Platform) -> Crashed {
        let (events, native) = translate(events);
        let execution = subject::Execution::new(events, subject::Ended::Well);
        let (log, origins) = execution.log_with_origins(platform);
        let origins = origins.into_iter().map(|event| native[event]).collect();
        Crashed { log, origins }
    }

    fn survivor(&self, behaviour: &Behaviour, line: Line) -> Version {
        let old = behaviour.crashes[0].old.iter().find(|(l, _)| *l == line);
        old.map_or_else(
            || self.log.newest(line, behaviour.crashes[0].cut),
            |&(_, v)| v,
        )
    }

    /// The stores behind a failure, from what the failing recovery read.
    pub(crate) fn story(&self, behaviour: &Behaviour, recovery: &[Event]) -> Story {
        let (events, _) = translate(recovery);
        let mut kept: Option<Cut> = None;
        let mut missed: Vec<Cut> = Vec::new();
        for event in &events {
            let subject::Event::Read(subject::Read { read, .. }) = event else {
                continue;
            };
            let survivor = self.survivor(behaviour, read.line());
            let newest = self.log.newest(read.line(), behaviour.crashes[0].cut);
            let seen = (1..=survivor.0)
                .rev()
                .find_map(|v| self.covering(*read, Version(v)));
            kept = kept.max(seen);
            missed
                .extend((survivor.0 + 1..=newest.0).find_map(|v| self.covering(*read, Version(v))));
        }
        // A lost store that came before a kept one was overtaken; else the failure lies in what had not happened yet.
        let overtaken = missed.iter().copied().filter(|&m| Some(m) < kept).min();
        let lost = overtaken.or(missed.iter().copied().min());
        let kept = kept.filter(|_| overtaken.is_some());
        let last = self.log.entries()[..behaviour.crashes[0].cut.0 as usize]
            .iter()
            .rposition(|entry| matches!(entry, Entry::Store { .. }));
        let event = |cut: Cut| self.origins[cut.0 as usize];
        Story {
            last: last.map(|entry| self.origins[entry]),
            kept: kept.map(event),
            lost: lost.map(event),
        }
    }

    /// The store that made this version, if it wrote some of the bytes read.
    fn covering(&self, read: FirstRead, version: Version) -> Option<Cut> {
        let (at, piece) = self.log.store_of(read.line(), version)?;
        let wanted = (0..8).filter(|i| read.mask & (1 << i) != 0);
        let hit = wanted.map(|i| Addr(read.word.0 + i)).any(|byte| {
            let from = byte.0.checked_sub(piece.addr.0);
            from.is_some_and(|from| from < piece.bytes().len() as u64)
        });
        hit.then_some(at)
    }
}
