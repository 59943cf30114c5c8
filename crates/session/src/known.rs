//! Which of the findings on the list has the cause of another one: found by what they have in common, so that ten thousand of them
//! are not compared with each other.

use landfall_finding::{Finding, Gap, Kind, Place, Store, StoreRole};
use std::collections::{HashMap, HashSet};

/// Something that two findings with one cause have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum CauseMark {
    /// The store at this place was lost.
    Lost(Place),
    /// This store overtook a lost one, and the flush that came too late (was not waited for, missed the line) is the same, or there is
    /// none, in one function.
    Overtaken {
        kept: Place,
        gap: Gap,
        function: Option<String>,
    },
    /// A fence is missing behind the flush at this place.
    Unfenced(Place),
    /// The store at this place was made in a transaction that does not answer for it.
    Unadded(Place),
    /// Nothing was lost: it ends in the same way at the same place.
    Ends {
        kind: Kind,
        at: Option<Place>,
        crash_at: Option<Place>,
        racing: Option<Place>,
    },
}

/// Where a finding is: listed ones come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Where {
    Listed(usize),
    Allowed(usize),
}

/// Kind, file and line, whatever was lost. The column is not always known.
type End = (Kind, Option<(String, u32)>);

fn end(finding: &Finding) -> End {
    let at = finding.at.as_ref();
    (finding.kind, at.map(|at| (at.file.clone(), at.line)))
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KnownCauses {
    by: HashMap<CauseMark, Where>,
    ends: HashMap<End, Where>,
    heard: HashMap<Where, Heard>,
}

/// What was counted with a finding: how others end, and which stores they lost.
#[derive(Clone, Debug, Default)]
struct Heard {
    messages: HashSet<String>,
    lost: HashSet<Option<Place>>,
}

impl KnownCauses {
    /// Remembers a finding.
    pub(crate) fn add(&mut self, finding: &Finding, at: Where) {
        for of in marks(finding) {
            self.remember(of, at);
        }
        for lost in finding.also_lost() {
            self.also_lost(lost, at);
        }
        let known = self.ends.entry(end(finding)).or_insert(at);
        *known = at.min(*known);
    }

    /// Remembers that this is how a finding on the list shows, too.
    pub(crate) fn shows_as(&mut self, symptom: &Finding, at: Where) {
        for of in marks(symptom) {
            self.remember(of, at);
        }
    }

    /// Remembers another store that the same mistake loses.
    pub(crate) fn also_lost(&mut self, lost: &Store, at: Where) {
        if let Some(place) = &lost.at {
            self.remember(CauseMark::Lost(place.clone()), at);
        }
    }

    fn remember(&mut self, of: CauseMark, at: Where) {
        let known = self.by.entry(of).or_insert(at);
        *known = at.min(*known);
    }

    /// The first with the same cause.
    pub(crate) fn same_cause(&self, finding: &Finding) -> Option<Where> {
        let known = marks(finding).filter_map(|of| self.by.get(&of));
        known.min().copied()
    }

    /// The one that says of the store at this place that no transaction answers for it.
    pub(crate) fn unadded(&self, at: &Place) -> Option<Where> {
        self.by.get(&CauseMark::Unadded(at.clone())).copied()
    }

    /// One more execution shows a finding that is there.
    pub(crate) fn count(&mut self, at: Where, known: &mut Finding, again: &Finding) {
        known.executions += again.executions;
        let heard = self.heard.entry(at).or_default();
        let told = |message: &String| {
            *message == known.message || known.notes.iter().any(|note| note.starts_with(message))
        };
        if !told(&again.message) && heard.messages.insert(again.message.clone()) {
            known.other_messages.push(again.message.clone());
        }
        // A transaction that does not answer for a store says it all.
        if known.kind == Kind::MissingSnapshot {
            return;
        }
        let mut more = Vec::new();
        for lost in again.stores_that(StoreRole::Lost) {
            let mine = known.lost().is_some_and(|mine| mine.at == lost.at);
            if !mine && heard.lost.insert(lost.at.clone()) {
                more.push(lost.clone());
            }
        }
        for lost in &more {
            self.also_lost(lost, at);
        }
        // Lost ones come before the one that was kept.
        let after = known.stores_that(StoreRole::Lost).count();
        known.stores.splice(after..after, more);
    }

    /// The first that ends in the same way at the same place.
    pub(crate) fn ends_there(&self, finding: &Finding) -> Option<Where> {
        self.ends.get(&end(finding)).copied()
    }
}

/// Do both come from one mistake: is one store lost in both, or another one for want of the same flush or fence; or, where none
/// was lost, do both end in the same way at the same place?
pub(crate) fn same_cause(finding: &Finding, other: &Finding) -> bool {
    let also = finding.also_lost().filter_map(|lost| lost.at.clone());
    let mine: Vec<CauseMark> = marks(finding).chain(also.map(CauseMark::Lost)).collect();
    marks(other).any(|theirs| mine.contains(&theirs))
}

/// What tells the cause of a finding, without others that were counted with it.
fn marks(finding: &Finding) -> impl Iterator<Item = CauseMark> + use<> {
    let place = |store: Option<&Store>| store.and_then(|store| store.at.clone());
    let lost = place(finding.lost());
    let unadded: Vec<CauseMark> = (finding.unadded())
        .filter_map(|store| store.at.clone())
        .map(CauseMark::Unadded)
        .collect();
    let nothing = finding.lost().is_none() && unadded.is_empty();
    let ends = nothing.then(|| CauseMark::Ends {
        kind: finding.kind,
        at: finding.at.clone(),
        crash_at: finding.crash_at.clone(),
        racing: place(finding.racing()),
    });
    let overtaken = (lost.as_ref())
        .zip(place(finding.kept()))
        .zip(finding.gap.clone())
        .map(|((lost, kept), gap)| CauseMark::Overtaken {
            kept,
            function: gap.flush.is_none().then(|| lost.function.clone()),
            gap: Gap {
                called_from: None,
                ..gap
            },
        });
    let unfenced = (finding.gap.iter())
        .filter(|gap| gap.only_fence())
        .filter_map(|gap| gap.flush.clone())
        .map(CauseMark::Unfenced);
    let unfenced: Vec<CauseMark> = unfenced.collect();
    lost.map(CauseMark::Lost)
        .into_iter()
        .chain(overtaken)
        .chain(unfenced)
        .chain(ends)
        .chain(unadded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use landfall_finding::{GapKind, Severity};

    fn place(line: u32) -> Place {
        Place {
            file: "f.c".to_owned(),
            line,
            column: 1,
            function: "f".to_owned(),
        }
    }

    fn store(role: StoreRole, line: u32) -> Store {
        Store {
            role,
            at: Some(place(line)),
            bytes: 8,
            address: String::new(),
            offset: 0,
            inside: false,
            stack: Vec::new(),
            member: None,
            thread: None,
        }
    }

    fn finding(lost: u32, kept: u32, flush: Option<u32>) -> Finding {
        let mut finding = Finding::new(Kind::Assertion, Severity::Error, "");
        finding.stores = vec![store(StoreRole::Lost, lost), store(StoreRole::Kept, kept)];
        finding.gap = Some(Gap {
            kind: GapKind::NeverFlushed,
            flush: flush.map(place),
            instruction: "clwb".to_owned(),
            called_from: None,
        });
        finding
    }

    /// The first on the list that has the cause of another one, by its number.
    fn cause(listed: &[Finding], of: &Finding) -> Option<usize> {
        let mut known = KnownCauses::default();
        for (number, finding) in listed.iter().enumerate() {
            known.add(finding, Where::Listed(number));
        }
        let found = match known.same_cause(of) {
            Some(Where::Listed(number)) => Some(number),
            _ => None,
        };
        assert_eq!(found, listed.iter().position(|known| same_cause(known, of)));
        found
    }

    #[test]
    fn causes_are_found_by_what_was_lost_and_by_what_overtook_it() {
        let mut listed = [finding(1, 10, None), finding(2, 20, Some(30))];
        assert_eq!(cause(&listed, &finding(1, 99, None)), Some(0));
        assert_eq!(cause(&listed, &finding(3, 10, None)), Some(0));
        assert_eq!(cause(&listed, &finding(3, 20, Some(30))), Some(1));
        assert_eq!(cause(&listed, &finding(3, 20, None)), None);
        // Two causes at once: the first.
        assert_eq!(cause(&listed, &finding(2, 10, None)), Some(0));
        let mut elsewhere = finding(3, 10, None);
        elsewhere.stores[0].at.as_mut().unwrap().function = "g".to_owned();
        assert_eq!(cause(&listed, &elsewhere), None);
        listed[1].stores.insert(1, store(StoreRole::Lost, 7));
        assert_eq!(cause(&listed, &finding(7, 99, None)), Some(1));
    }

    #[test]
    fn where_nothing_was_lost_the_end_counts() {
        let mut plain = Finding::new(Kind::Segfault, Severity::Error, "");
        plain.at = Some(place(5));
        let mut other = plain.clone();
        other.crash_at = Some(place(6));
        let listed = [finding(1, 10, None), plain.clone()];
        assert_eq!(cause(&listed, &plain), Some(1));
        assert_eq!(cause(&listed, &other), None);
        // A store of a library, which has no place, is like no other.
        let mut nowhere = finding(1, 10, None);
        nowhere.stores[0].at = None;
        assert_eq!(cause(&[nowhere.clone()], &nowhere), None);
    }

    #[test]
    fn what_others_lose_for_the_same_reason_comes_before_what_was_kept() {
        let mut known = KnownCauses::default();
        let mut first = finding(1, 2, None);
        first.message = "recovery fails: exited with 1".to_owned();
        let at = Where::Listed(0);
        known.add(&first, at);
        let mut again = finding(3, 2, None);
        again.message = "recovery fails: exited with 2".to_owned();
        known.count(at, &mut first, &again);
        known.count(at, &mut first, &again);
        let lines: Vec<_> = (first.stores.iter())
            .map(|store| store.at.as_ref().map(|at| at.line))
            .collect();
        assert_eq!(lines, [Some(1), Some(3), Some(2)]);
        assert_eq!(first.executions, 3);
        let others: Vec<_> = (first.other_messages.iter())
            .map(|message| Finding::ended(message))
            .collect();
        assert_eq!(others, ["exited with 2"]);
        assert_eq!(known.same_cause(&finding(3, 9, None)), Some(at));
    }
}
