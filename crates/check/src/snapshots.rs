//! Stores inside a transaction to bytes that the transaction does not answer for: they are neither undone with the rest of it when
//! the power fails before its end, nor written back at its end.
//!
//! Which stores these are follows from the events alone ([`unadded`]). Whether one matters is asked of recoveries: one must be able
//! to read it though the transaction was still at work, or to miss it though the transaction had ended.

use crate::checker::{Checker, PathVerdict};
use crate::execution::Execution;
use crate::finding::{Finding, Kind, Unprotected};
use crate::path::{Candidate, JudgedRead, RecoveryPath};
use crate::region::Region;
use landfall_model::event::{Action, Event, EventId, Mark};
use landfall_model::line::{Addr, PIECE_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

const WORD: u64 = PIECE_BYTES as u64;

/// Disjoint ranges of bytes: first to past the last.
#[derive(Clone, Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn add(&mut self, mut from: u64, mut to: u64) {
        while let Some((&start, &end)) = self.0.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
    }

    fn cover(&self, from: u64, to: u64) -> bool {
        let before = self.0.range(..=from).next_back();
        before.is_some_and(|(_, &end)| end >= to)
    }
}

/// A transaction of one thread, with all its levels.
#[derive(Clone, Debug, Default)]
struct Open {
    depth: u32,
    added: Ranges,
    number: usize,
}

/// A store of the program that its transaction does not answer for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unadded {
    pub store: EventId,
    /// Which transaction of the execution.
    pub transaction: usize,
    /// The mark that adds some of it all the same, too late: what is undone then is what this store has left.
    pub late: Option<EventId>,
}

/// What the program stored inside transactions.
#[derive(Clone, Debug, Default)]
pub struct TransactionStores {
    pub unadded: Vec<Unadded>,
    spans: Vec<TransactionSpan>,
}

/// A transaction, from its first mark on.
#[derive(Clone, Copy, Debug)]
struct TransactionSpan {
    begin: EventId,
    /// The last store of the program.
    last: Option<EventId>,
    /// The mark at its end.
    end: Option<EventId>,
}

/// Stores in transactions that those do not answer for. `own` says of a place whether it is the program's: what a library stores
/// inside its transactions it knows itself.
pub fn unadded(events: &[Event], own: impl Fn(u32) -> bool) -> TransactionStores {
    let mut found = TransactionStores::default();
    let mut open: FxHashMap<u16, Open> = FxHashMap::default();
    for (at, event) in events.iter().enumerate() {
        let at = EventId(at as u32);
        match event.action {
            Action::Mark(Mark::TxBegin) => {
                let open = open.entry(event.thread).or_default();
                if open.depth == 0 {
                    open.number = found.spans.len();
                    found.spans.push(TransactionSpan {
                        begin: at,
                        last: None,
                        end: None,
                    });
                }
                open.depth += 1;
            }
            Action::Mark(Mark::TxEnd) => {
                let Some(of) = open.get_mut(&event.thread) else {
                    continue;
                };
                of.depth = of.depth.saturating_sub(1);
                if of.depth == 0 {
                    found.spans[of.number].end.get_or_insert(at);
                    open.remove(&event.thread);
                }
            }
            Action::Mark(Mark::TxAdd { addr, bytes }) => {
                if let Some(open) = open.get_mut(&event.thread) {
                    let (from, to) = (addr.0, addr.0.saturating_add(bytes));
                    open.added.add(from, to);
                    let unadded = found.unadded.iter_mut().rev();
                    let of_this = |of: &&mut Unadded| of.transaction >= open.number;
                    for of in unadded.take_while(of_this) {
                        let Action::Store { piece, .. } = events[of.store.0 as usize].action else {
                            continue;
                        };
                        let end = piece.addr.0 + piece.bytes().len() as u64;
                        if of.transaction == open.number && piece.addr.0 < to && from < end {
                            of.late.get_or_insert(at);
                        }
                    }
                }
            }
            Action::Store { piece, .. } => {
                let Some(open) = open.get(&event.thread).filter(|_| own(event.site)) else {
                    continue;
                };
                found.spans[open.number].last = Some(at);
                let from = piece.addr.0;
                if !open.added.cover(from, from + piece.bytes().len() as u64) {
                    found.unadded.push(Unadded {
                        store: at,
                        transaction: open.number,
                        late: None,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// The cuts at which a store must not be seen, and those at which it must not be missing.
#[derive(Clone, Copy, Debug)]
pub struct TransactionCuts {
    /// At this cut it had not begun.
    pub begun: u32,
    /// Up to this cut the transaction was at work.
    pub at_work: u32,
    /// From this cut on it had ended; never, if it did not end.
    pub ended: u32,
}

impl TransactionStores {
    /// The cuts of each transaction.
    pub fn cuts(&self, execution: &Execution) -> Vec<TransactionCuts> {
        let cut_with = |store: EventId| execution.at(0, store).entry + 1;
        let is_store = |event: &EventId| execution.event(*event).piece().is_some();
        // A cut that has a store made after the end has the end as well.
        let cut_past = |end: EventId| {
            let events = execution.events().len() as u32;
            let later = (end.0..events).map(EventId).find(is_store);
            later.map_or(execution.end(), |store| cut_with(store) - 1)
        };
        (self.spans.iter())
            .map(|span| TransactionCuts {
                begun: cut_past(span.begin),
                at_work: span.last.map_or(0, cut_with),
                ended: span.end.map_or(u32::MAX, cut_past),
            })
            .collect()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Snapshots {
    promises: FxHashMap<EventId, TransactionCuts>,
    /// Words that those stores are to, and how many places they are made at.
    words: FxHashSet<u64>,
    places: usize,
    /// By the store's place.
    found: FxHashMap<u32, usize>,
    findings: Vec<Finding>,
}

impl Snapshots {
    /// Judges these stores of the first execution.
    pub fn new(execution: &Execution, stores: &TransactionStores) -> Snapshots {
        let spans = stores.cuts(execution);
        let promises = stores.unadded.iter();
        let promises = promises.map(|of| (of.store, spans[of.transaction]));
        let event = |of: &Unadded| execution.event(of.store);
        let words = stores.unadded.iter().filter_map(|of| event(of).piece());
        let places: FxHashSet<u32> = stores.unadded.iter().map(|of| event(of).site).collect();
        Snapshots {
            promises: promises.collect(),
            words: words.map(|piece| piece.addr.0 / WORD * WORD).collect(),
            places: places.len(),
            ..Snapshots::default()
        }
    }

    fn report(
        &mut self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: &Candidate,
        store: EventId,
        (why, cut): (Unprotected, u32),
    ) {
        let at = path.execution(0).at(0, store);
        if let Some(&known) = self.found.get(&at.site) {
            self.findings[known].times += 1;
            return;
        }
        self.found.insert(at.site, self.findings.len());
        self.findings.push(Finding {
            kind: Kind::MissingSnapshot { store: at, why },
            fixes: Vec::new(),
            evidence: Some(path.evidence_from(read, Some(candidate), cut)),
            times: 1,
        });
    }
}

impl Checker for Snapshots {
    fn watches(&self, word: Addr) -> bool {
        self.words.contains(&word.0)
    }

    fn judge(
        &mut self,
        path: &RecoveryPath,
        read: &JudgedRead,
        candidate: &Candidate,
    ) -> PathVerdict {
        // All that there is to find was found.
        if self.findings.len() == self.places {
            return PathVerdict::Violates;
        }
        if read.region != Region::Judged || !self.watches(read.word) {
            return PathVerdict::Fits;
        }
        let (first, last) = candidate.cuts(path, 0);
        let mut broken: Vec<(EventId, (Unprotected, u32))> = Vec::new();
        for source in candidate.sources.iter().filter(|s| s.execution == 0) {
            let store = source.store.event;
            let promise = self.promises.get(&store);
            if promise.is_some_and(|promise| first <= promise.at_work) {
                broken.push((store, (Unprotected::NotUndone, first)));
            }
        }
        for later in candidate.later.iter().filter(|l| l.execution == 0) {
            let stores = &path.execution(0).stores_to(read.word)[later.from as usize..];
            for missed in stores.iter().filter(|s| s.mask & later.mask != 0) {
                let Some(promise) = self.promises.get(&missed.event) else {
                    continue;
                };
                let from = promise.ended.max(missed.born).max(first);
                if from <= last {
                    broken.push((missed.event, (Unprotected::NotKept, from)));
                }
            }
        }
        for &(store, how) in &broken {
            self.report(path, read, candidate, store, how);
        }
        // At other cuts of the path all may be well.
        PathVerdict::Fits
    }

    fn rests_on(&self, execution: u32) -> bool {
        let evidence = self.findings.iter().filter_map(|f| f.evidence.as_ref());
        evidence.into_iter().any(|e| e.execution == execution)
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }
}
