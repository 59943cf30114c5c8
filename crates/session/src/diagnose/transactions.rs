//! Stores of the program inside transactions that do not answer for them: which belong to one mistake, whether a failure is due to
//! them, and how that is told.

use crate::diagnose::finding::stored;
use crate::diagnose::provenance::first_reads;
use crate::names::ProgramNames;
use crate::programs::{Failure, LoggedRun, Programs, Replayer, RunRole};
use landfall_check::snapshots::{TransactionCuts, TransactionStores, unadded};
use landfall_explore::subject::SeenStores;
use landfall_finding::{Action, Finding, Fix, Kind, Place, StoreRole};
use landfall_model::event::{EventId, Mark};
use landfall_model::image::Image;
use landfall_model::log::{Cut, Version};
use landfall_native::compiler::pmdk::library;
use landfall_native::{Execution, Places, SubjectError, translate};
use std::collections::{HashMap, HashSet};

/// Stores this near to each other are taken to be of one object, if they are of one transaction: nobody says where objects end.
const NEAR: u64 = 256;

pub(crate) const MESSAGE: &str =
    "a store inside a transaction goes to memory that was not added to it";

/// A store that its transaction does not answer for.
#[derive(Clone, Debug)]
struct UnaddedStore {
    entry: Cut,
    offset: u64,
    bytes: u64,
    transaction: usize,
    /// Seen at a cut while its transaction was at work, or missed when that had ended, it tells.
    cuts: TransactionCuts,
    /// Entries with the copy that the transaction would undo it by, which has it already.
    late: Option<(Cut, Cut)>,
    at: Place,
}

/// What the first execution stored inside of transactions that do not answer for it.
#[derive(Clone, Debug)]
pub(crate) struct Transactions {
    pub(crate) stores: TransactionStores,
    /// By mistake: what is missing for all of a group is one line, or a few beside each other. In the order of their first stores.
    groups: Vec<Vec<UnaddedStore>>,
}

impl Transactions {
    /// None where every transaction answers for all that the program stores in it, or where there is none.
    pub(crate) fn of(
        run: &LoggedRun,
        names: &ProgramNames,
        programs: &Programs,
    ) -> Option<Transactions> {
        let events = &run.execution.events;
        let begins = landfall_model::event::Action::Mark(Mark::TxBegin);
        if !(translate(events).iter()).any(|event| event.action == begins) {
            return None;
        }
        let mut places = Places::default();
        let atomics = landfall_native::Atomics::default();
        let ready = landfall_native::judge(events, atomics, programs.platform, &mut places);
        let mut known: HashMap<u32, Option<Place>> = HashMap::new();
        for event in ready
            .events()
            .iter()
            .filter(|event| event.piece().is_some())
        {
            known.entry(event.site).or_insert_with(|| {
                let at = names.origin(places.place(event.site)?.origin)?;
                (at.line > 0 && library(&at.file).is_none()).then_some(at)
            });
        }
        let place = |site: u32| known.get(&site).and_then(Option::as_ref);
        let stores = unadded(ready.events(), |site| place(site).is_some());
        let entries: HashMap<EventId, u32> = (run.log.events().iter().copied())
            .zip(0..run.log.end().0)
            .collect();
        let cuts = stores.cuts(&ready);
        // What the library stores behind a mark, up to the next one or to a store of the program, is the copy to be undone.
        let copy_behind = |mark: EventId| {
            let (mut from, mut to) = (None, run.log.end());
            let events = ready.events().iter().enumerate();
            for (at, event) in events.skip(mark.0 as usize + 1) {
                let entry = entries.get(&EventId(at as u32)).map(|entry| Cut(*entry));
                let own = place(event.site).is_some();
                let ends = matches!(event.action, landfall_model::event::Action::Mark(_))
                    || event.piece().is_some() && own;
                from = from.or(entry.filter(|_| event.piece().is_some()));
                if let (Some(from), Some(entry), true) = (from, entry.or(from), ends) {
                    to = entry.max(from);
                    break;
                }
            }
            (from.unwrap_or(run.log.end()), to)
        };
        let mut copies: HashMap<EventId, (Cut, Cut)> = HashMap::new();
        let found = stores.unadded.iter().filter_map(|of| {
            let event = ready.event(of.store);
            let piece = event.piece()?;
            Some(UnaddedStore {
                entry: Cut(*entries.get(&of.store)?),
                offset: piece.addr.0,
                bytes: piece.bytes().len() as u64,
                transaction: of.transaction,
                cuts: cuts[of.transaction],
                late: of
                    .late
                    .map(|mark| *copies.entry(mark).or_insert_with(|| copy_behind(mark))),
                at: place(event.site)?.clone(),
            })
        });
        let groups = grouped(found.collect());
        (!groups.is_empty()).then_some(Transactions { stores, groups })
    }

    /// The mistakes that what a recovery has read tells of.
    pub(crate) fn told_by(&self) -> impl Fn(&SeenStores) -> Vec<usize> + use<> {
        let stores = self.groups.iter().enumerate();
        let by_entry: HashMap<Cut, (usize, TransactionCuts)> = stores
            .flat_map(|(number, group)| group.iter().map(move |s| (s.entry, (number, s.cuts))))
            .collect();
        let groups = self.groups.iter().enumerate();
        let mut undone: Vec<(usize, (Cut, Cut), u32)> = groups
            .flat_map(|(number, group)| {
                let late = group.iter().filter_map(|s| Some((s.late?, s.cuts.ended)));
                late.map(move |(copy, ended)| (number, copy, ended))
            })
            .collect();
        undone.sort_unstable();
        undone.dedup();
        move |seen| {
            let early = seen.found.iter().filter_map(|entry| by_entry.get(entry));
            let early = early.filter(|(_, cuts)| seen.cut.0 <= cuts.at_work);
            let late = seen.missed.iter().filter_map(|entry| by_entry.get(entry));
            let late = late.filter(|(_, cuts)| seen.cut.0 >= cuts.ended);
            // What it undoes was wrong by then.
            let wrong = undone.iter().filter(|(_, (from, to), ended)| {
                let read = |entry: &Cut| entry >= from && entry < to;
                seen.cut.0 < *ended && seen.found.iter().any(read)
            });
            let wrong = wrong.map(|(group, ..)| *group);
            let told = early.chain(late).map(|(group, _)| *group);
            let mut told: Vec<usize> = told.chain(wrong).collect();
            told.sort_unstable();
            told.dedup();
            told
        }
    }

    /// Only stores at the places of these entries matter: recoveries can see no others too early, or miss them too late.
    pub(crate) fn keep(&mut self, entries: &[Cut]) {
        let stores = self.groups.iter().flatten();
        let seen: HashSet<Place> = stores
            .filter(|store| entries.contains(&store.entry))
            .map(|store| store.at.clone())
            .collect();
        for group in &mut self.groups {
            group.retain(|store| seen.contains(&store.at) || store.late.is_some());
        }
        self.groups.retain(|group| !group.is_empty());
    }

    /// The mistake that the store of an entry belongs to.
    pub(crate) fn group_of(&self, entry: Cut) -> Option<usize> {
        let has = |group: &Vec<UnaddedStore>| group.iter().any(|store| store.entry == entry);
        self.groups.iter().position(has)
    }

    /// Does a recovery read what was stored there before the power failed, of stores at some places?
    pub(crate) fn read_by(
        &self,
        recovery: &Execution,
        failure: &Failure,
        at: impl Fn(&Place) -> bool,
    ) -> bool {
        let stores = self.groups.iter().flatten();
        let words: HashSet<u64> = stores
            .filter(|store| store.entry < failure.cut && at(&store.at))
            .map(|store| store.offset / 8)
            .collect();
        !words.is_empty()
            && first_reads(recovery).any(|(_, read, _)| words.contains(&(read.word.0 / 8)))
    }

    /// Which of the mistakes a failure is due to: had its transaction answered for those stores alone, recovery would not have failed.
    pub(crate) fn cause(
        &self,
        runs: &[LoggedRun],
        failures: &[Failure],
        replayer: &mut Replayer,
    ) -> Result<Option<usize>, SubjectError> {
        let ([failure], [first, ..]) = (failures, runs) else {
            return Ok(None);
        };
        for (number, group) in self.groups.iter().enumerate() {
            for image in answered_for(group, first, failure) {
                let recovery = replayer.run(image, 1, false, RunRole::Last)?;
                if recovery.execution.outcome.is_ok() {
                    return Ok(Some(number));
                }
            }
        }
        // Where the transaction undoes what was wrong by then, no image without the stores alone can be made: as if it had not begun.
        for (number, group) in self.groups.iter().enumerate() {
            let wrong = |store: &&UnaddedStore| {
                let there = store.late.is_some_and(|(from, _)| from < failure.cut);
                there && failure.cut.0 < store.cuts.ended
            };
            let Some(store) = group.iter().find(wrong) else {
                continue;
            };
            let before = before(first, failure, Cut(store.cuts.begun));
            let recovery = replayer.run(first.left(&before), 1, false, RunRole::Last)?;
            if recovery.execution.outcome.is_ok() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Does what a failing recovery read tell of a mistake that a finding on the list is about?
    pub(crate) fn tells_of(
        &self,
        seen: &SeenStores,
        listed: impl Fn(&Place) -> bool,
    ) -> Option<Place> {
        let told = self.told_by()(seen);
        let stores = told.iter().flat_map(|group| &self.groups[*group]);
        let mut places = stores.map(|store| &store.at);
        places.find(|at| listed(at)).cloned()
    }

    /// Makes a finding of any kind one about this mistake.
    pub(crate) fn tell(
        &self,
        group: usize,
        finding: &mut Finding,
        runs: &[LoggedRun],
        replayer: &Replayer,
    ) {
        let group = &self.groups[group];
        finding.kind = Kind::MissingSnapshot;
        finding.gap = None;
        finding.stores.clear();
        let mut told: Vec<&Place> = Vec::new();
        for store in group {
            if !told.contains(&&store.at) {
                told.push(&store.at);
                let store = stored(StoreRole::Unadded, runs, 0, store.entry, replayer);
                finding.stores.extend(store);
            }
        }
        let first = finding.unadded().next().and_then(|store| store.at.clone());
        finding.at = first;
        finding.fix = advice(finding, replayer);
    }
}

/// Which stores are of one mistake: of one transaction, and in one function or near each other; and what has a place in common.
fn grouped(stores: Vec<UnaddedStore>) -> Vec<Vec<UnaddedStore>> {
    let mut group: Vec<usize> = (0..stores.len()).collect();
    fn root(group: &[usize], mut of: usize) -> usize {
        while group[of] != of {
            of = group[of];
        }
        of
    }
    let mut by_place: HashMap<&Place, usize> = HashMap::new();
    for (at, store) in stores.iter().enumerate() {
        let before = *by_place.entry(&store.at).or_insert(at);
        // One of each place and transaction is enough to compare with.
        let mut seen: Vec<&Place> = Vec::new();
        let mut same = vec![before];
        for (other, one) in stores[..at].iter().enumerate().rev() {
            if one.transaction != store.transaction {
                break;
            }
            let near = one.offset.abs_diff(store.offset) <= NEAR;
            let function = one.at.file == store.at.file && one.at.function == store.at.function;
            if near || function && !seen.contains(&&one.at) {
                seen.push(&one.at);
                same.push(other);
            }
        }
        for other in same {
            let (a, b) = (root(&group, at), root(&group, other));
            group[a.max(b)] = a.min(b);
        }
    }
    let roots: Vec<usize> = (0..stores.len()).map(|at| root(&group, at)).collect();
    let mut groups: Vec<(usize, Vec<UnaddedStore>)> = Vec::new();
    for (store, root) in stores.into_iter().zip(roots) {
        match groups.iter_mut().find(|(of, _)| *of == root) {
            Some((_, group)) => group.push(store),
            None => groups.push((root, vec![store])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The power failure at an earlier cut: lines are as old as they were, where that can be.
fn before(run: &LoggedRun, failure: &Failure, cut: Cut) -> Failure {
    let old = failure.old.iter().copied();
    let old = old.filter(|&(line, version)| version < run.log.newest(line, cut));
    Failure {
        cut,
        old: old.collect(),
    }
}

/// What the power failure would have left, had the transactions answered for these stores: all of them as they were made, or those
/// of the last transaction undone with it.
fn answered_for(group: &[UnaddedStore], run: &LoggedRun, failure: &Failure) -> Vec<Image> {
    let made: Vec<&UnaddedStore> = (group.iter())
        .filter(|store| store.entry < failure.cut)
        .collect();
    let Some(last) = made.last().map(|store| store.transaction) else {
        return Vec::new();
    };
    let mut kept = run.left(failure);
    for store in &made {
        put(&mut kept, store, run, failure.cut);
    }
    let mut undone = kept.clone();
    let of_last = || made.iter().filter(|store| store.transaction == last);
    let begun = of_last().map(|store| store.entry).min();
    for store in of_last() {
        put(&mut undone, store, run, begun.unwrap_or(Cut(0)));
    }
    vec![undone, kept]
}

/// The bytes of a store as they were at a cut, every store before it made.
fn put(image: &mut Image, store: &UnaddedStore, run: &LoggedRun, cut: Cut) {
    let addr = landfall_model::line::Addr(store.offset);
    let line = addr.line();
    let mut bytes = run.found.line(line);
    let newest: Version = run.log.newest(line, cut);
    run.log.apply(line, newest, &mut bytes);
    let from = addr.offset();
    let mut there = image.line(line);
    let part = from..from + store.bytes as usize;
    there[part.clone()].copy_from_slice(&bytes[part]);
    image.set_line(line, there);
}

/// Places of one file for one patch: stores that another one's function called are covered there, if it is the same object.
pub(crate) fn to_add(finding: &Finding) -> Vec<Place> {
    let stores = || {
        finding
            .unadded()
            .filter_map(|store| Some((store, store.at.as_ref()?)))
    };
    let Some((_, first)) = stores().next() else {
        return Vec::new();
    };
    let called = |of: &landfall_finding::Store| {
        let callers = of.stack.get(1..).unwrap_or_default();
        stores().any(|(_, at)| {
            let of_function = |frame: &Place| {
                frame.file == at.file && frame.function.split('(').next() == Some(&at.function)
            };
            callers.iter().any(of_function)
        })
    };
    let direct = stores().filter(|(store, at)| at.file == first.file && !called(store));
    let mut direct: Vec<Place> = direct.map(|(_, at)| at.clone()).collect();
    if direct.is_empty() {
        direct.push(first.clone());
    }
    direct
}

/// The lines that are missing, in the words of the file.
fn advice(finding: &Finding, replayer: &Replayer) -> Vec<Fix> {
    let places = to_add(finding);
    let Some(first) = places.first() else {
        return Vec::new();
    };
    let lines = replayer.sources().snapshot_lines(&places);
    if lines.is_empty() {
        return vec![Fix {
            before: Some(first.clone()),
            bytes: finding.unadded().next().map(|store| store.bytes),
            ..Fix::new(Action::Snapshot, true)
        }];
    }
    let fixes = lines.into_iter().map(|(line, column, code)| Fix {
        before: Some(Place {
            line,
            column,
            ..first.clone()
        }),
        code: Some(code),
        ..Fix::new(Action::Snapshot, true)
    });
    fixes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(
        entry: u32,
        offset: u64,
        transaction: usize,
        function: &str,
        line: u32,
    ) -> UnaddedStore {
        UnaddedStore {
            entry: Cut(entry),
            offset,
            bytes: 8,
            transaction,
            late: None,
            cuts: TransactionCuts {
                begun: 0,
                at_work: 0,
                ended: 0,
            },
            at: Place {
                file: "a.c".to_owned(),
                line,
                column: 1,
                function: function.to_owned(),
            },
        }
    }

    #[test]
    fn stores_of_one_function_or_object_are_one_mistake() {
        let far = 1 << 20;
        let lines = |groups: Vec<Vec<UnaddedStore>>| -> Vec<Vec<u32>> {
            let lines = |group: Vec<UnaddedStore>| group.iter().map(|s| s.at.line).collect();
            groups.into_iter().map(lines).collect()
        };
        // Line 2 is far away in the same function, 3 near in another; 9 is neither; 1 again in another transaction, with 5 beside it.
        let stores = vec![
            store(1, 0, 0, "f", 1),
            store(2, far, 0, "f", 2),
            store(3, 64, 0, "g", 3),
            store(4, 2 * far, 0, "h", 9),
            store(5, 3 * far, 1, "f", 1),
            store(6, 3 * far + 8, 1, "k", 5),
            store(7, 64, 2, "m", 7),
        ];
        let expected = vec![vec![1, 2, 3, 1, 5], vec![9], vec![7]];
        assert_eq!(lines(grouped(stores)), expected);
    }
}
