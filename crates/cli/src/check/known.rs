//! Which of the findings on the list has the cause of another one: found by what they have in common, so that ten thousand of them
//! are not compared with each other.

use super::finding::{Finding, Stored, Why};
use crate::names::Place;
use std::collections::HashMap;

/// Something that two findings with one cause have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Trait {
    /// The store at this place was lost.
    Lost(Place),
    /// This store overtook a lost one, and the flush that came too late (was not waited for, missed the line) is the same, or there is
    /// none, in one function.
    Overtaken {
        kept: Place,
        why: Why,
        function: Option<String>,
    },
    /// Nothing was lost: it ends in the same way at the same place.
    Ends {
        kind: &'static str,
        at: Option<Place>,
        crash_at: Option<Place>,
        racing: Option<Place>,
    },
}

/// Where a finding is: listed ones come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Where {
    Listed(usize),
    Allowed(usize),
}

/// Kind, file and line, whatever was lost. The column is not always known.
type End = (&'static str, Option<(String, u32)>);

fn end(finding: &Finding) -> End {
    let at = finding.at.as_ref();
    (finding.kind, at.map(|at| (at.file.clone(), at.line)))
}

#[derive(Debug, Default)]
pub(super) struct Known {
    by: HashMap<Trait, Where>,
    ends: HashMap<End, Where>,
}

impl Known {
    /// Remembers a finding.
    pub(super) fn add(&mut self, finding: &Finding, at: Where) {
        for of in traits(finding) {
            self.remember(of, at);
        }
        for lost in &finding.also_lost {
            self.also_lost(lost, at);
        }
        let known = self.ends.entry(end(finding)).or_insert(at);
        *known = at.min(*known);
    }

    /// Remembers another store that the same mistake loses.
    pub(super) fn also_lost(&mut self, lost: &Stored, at: Where) {
        if let Some(place) = &lost.at {
            self.remember(Trait::Lost(place.clone()), at);
        }
    }

    fn remember(&mut self, of: Trait, at: Where) {
        let known = self.by.entry(of).or_insert(at);
        *known = at.min(*known);
    }

    /// The first with the same cause.
    pub(super) fn same_cause(&self, finding: &Finding) -> Option<Where> {
        let known = traits(finding).filter_map(|of| self.by.get(&of));
        known.min().copied()
    }

    /// The first that ends in the same way at the same place.
    pub(super) fn ends_there(&self, finding: &Finding) -> Option<Where> {
        self.ends.get(&end(finding)).copied()
    }
}

impl Finding {
    /// The same mistake: the same store was lost, or another one for want of the same flush or fence; or, where none was lost,
    /// the same end at the same place.
    pub(crate) fn same_cause(&self, other: &Finding) -> bool {
        let also = self.also_lost.iter().filter_map(|lost| lost.at.clone());
        let mine: Vec<Trait> = traits(self).chain(also.map(Trait::Lost)).collect();
        traits(other).any(|theirs| mine.contains(&theirs))
    }
}

/// What tells the cause of a finding, without others that were counted with it.
fn traits(finding: &Finding) -> impl Iterator<Item = Trait> + use<> {
    let place = |stored: &Option<Stored>| stored.as_ref().and_then(|s| s.at.clone());
    let lost = place(&finding.lost);
    let ends = finding.lost.is_none().then(|| Trait::Ends {
        kind: finding.kind,
        at: finding.at.clone(),
        crash_at: finding.crash_at.clone(),
        racing: place(&finding.racing),
    });
    let overtaken = (lost
        .as_ref()
        .zip(place(&finding.kept))
        .zip(finding.why.clone()))
    .map(|((lost, kept), why)| Trait::Overtaken {
        kept,
        function: why.flush.is_none().then(|| lost.function.clone()),
        why,
    });
    lost.map(Trait::Lost)
        .into_iter()
        .chain(overtaken)
        .chain(ends)
}

#[cfg(test)]
mod tests {
    use super::super::finding::{GapKind, Severity};
    use super::*;

    fn place(line: u32) -> Place {
        Place {
            file: "f.c".to_owned(),
            line,
            column: 1,
            function: "f".to_owned(),
        }
    }

    fn stored(line: u32) -> Option<Stored> {
        Some(Stored {
            at: Some(place(line)),
            bytes: 8,
            offset: 0,
            stack: Vec::new(),
            member: None,
        })
    }

    fn finding(lost: u32, kept: u32, flush: Option<u32>) -> Finding {
        let mut finding = Finding::of("assertion", Severity::Error, String::new());
        (finding.lost, finding.kept) = (stored(lost), stored(kept));
        finding.why = Some(Why {
            gap: GapKind::NeverFlushed,
            flush: flush.map(place),
            how: "clwb",
        });
        finding
    }

    /// The first on the list that has the cause of another one, by its number.
    fn cause(listed: &[Finding], of: &Finding) -> Option<usize> {
        let mut known = Known::default();
        for (number, finding) in listed.iter().enumerate() {
            known.add(finding, Where::Listed(number));
        }
        let found = match known.same_cause(of) {
            Some(Where::Listed(number)) => Some(number),
            _ => None,
        };
        assert_eq!(found, listed.iter().position(|known| known.same_cause(of)));
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
        let lost = elsewhere.lost.as_mut().and_then(|lost| lost.at.as_mut());
        lost.unwrap().function = "g".to_owned();
        assert_eq!(cause(&listed, &elsewhere), None);
        listed[1].also_lost.extend(stored(7));
        assert_eq!(cause(&listed, &finding(7, 99, None)), Some(1));
    }

    #[test]
    fn where_nothing_was_lost_the_end_counts() {
        let mut plain = Finding::of("segfault", Severity::Error, String::new());
        plain.at = Some(place(5));
        let mut other = plain.clone();
        other.crash_at = Some(place(6));
        let listed = [finding(1, 10, None), plain.clone()];
        assert_eq!(cause(&listed, &plain), Some(1));
        assert_eq!(cause(&listed, &other), None);
        // A store of a library, which has no place, is like no other.
        let mut nowhere = finding(1, 10, None);
        nowhere.lost.as_mut().unwrap().at = None;
        assert_eq!(cause(&[nowhere.clone()], &nowhere), None);
    }
}
