//! Mistakes that many recoveries have shown: others that tell of them, by what they have read so far, need not be run.

use super::lines::{KnownValues, ReadLines};
use crate::subject::{Ended, FirstRead, Read, SeenStores};
use crate::tree::Branch;
use landfall_model::line::Line;
use landfall_model::log::{Cut, Entry, Log, Version};
use rustc_hash::{FxHashMap, FxHashSet};

/// Recoveries that show a mistake before it is well known: a small program is explored to its end.
const MANY: u32 = 64;
/// So many distinct recoveries are no small program. If some of them fail, it is a wrong one: from then on recoveries show mistakes also
/// if they end well.
const LARGE: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    shown: FxHashMap<u64, u32>,
    /// Some of them are well known.
    pub(crate) any: bool,
    fails: bool,
    /// What was not run for them, after so many power failures, to count each once.
    skipped: FxHashSet<(u32, Branch)>,
}

impl Mistakes {
    /// Does a recovery show the mistakes that it tells of, after so many distinct ones?
    pub(crate) fn shows(&mut self, ended: Ended, recoveries: usize) -> bool {
        self.fails |= ended != Ended::Well;
        ended != Ended::Well || self.fails && recoveries >= LARGE
    }

    pub(crate) fn show(&mut self, mistakes: &[u64]) {
        for &mistake in mistakes {
            let shown = self.shown.entry(mistake).or_default();
            *shown += 1;
            self.any |= *shown >= MANY;
        }
    }

    pub(crate) fn is_known(&self, mistakes: &[u64]) -> bool {
        let known = |mistake: &u64| self.shown.get(mistake).is_some_and(|&shown| shown >= MANY);
        mistakes.iter().any(known)
    }

    /// Is it the first time that this is not run?
    pub(crate) fn skip(&mut self, failures: u32, branch: Branch) -> bool {
        self.skipped.insert((failures, branch))
    }
}

/// What these reads tell of the stores before the cut, if every line is as new as they allow.
pub(super) fn seen(log: &Log, lines: &ReadLines, cut: Cut, reads: &[Read]) -> SeenStores {
    let mut known: FxHashMap<u32, KnownValues> = FxHashMap::default();
    for read in reads {
        if let Some(number) = lines.number(read.read.line()) {
            let before = known.remove(&number);
            known.insert(number, KnownValues::and(before, read.read, read.value));
        }
    }
    let mut stores: FxHashMap<u32, (Vec<Cut>, Vec<Cut>)> = FxHashMap::default();
    for (&number, known) in &known {
        let walk = lines.at(number);
        let Some((version, _)) = walk.agreeing(Some(known)).next_back() else {
            continue;
        };
        let (there, lost) = left(log, walk.line, Version(version), Version(walk.newest()));
        stores.insert(number, (there, lost));
    }
    let mut seen = SeenStores {
        cut,
        ..SeenStores::default()
    };
    for read in reads {
        let number = lines.number(read.read.line());
        let Some((there, lost)) = number.and_then(|number| stores.get(&number)) else {
            continue;
        };
        let covers = |store: &&Cut| covers(log, read.read, **store);
        seen.found.extend(there.iter().rev().find(covers));
        seen.missed.extend(lost.iter().find(covers));
    }
    seen
}

/// The stores to a line that are there in a version of it, and those that are not though they are in the newest.
pub(super) fn left(
    log: &Log,
    line: Line,
    version: Version,
    newest: Version,
) -> (Vec<Cut>, Vec<Cut>) {
    let there = log.stores_in(line, version);
    let mut lost = match version == newest {
        true => Vec::new(),
        false => log.stores_in(line, newest),
    };
    lost.retain(|store| there.binary_search(store).is_err());
    (there, lost)
}

/// Did the store write some of the bytes read?
pub(super) fn covers(log: &Log, read: FirstRead, store: Cut) -> bool {
    let Some(Entry::Store { piece, .. }) = log.entries().get(store.0 as usize) else {
        return false;
    };
    let (from, to) = (piece.addr.0, piece.addr.0 + piece.bytes().len() as u64);
    (0..8).any(|i| read.mask & (1 << i) != 0 && (from..to).contains(&(read.word.0 + i)))
}
