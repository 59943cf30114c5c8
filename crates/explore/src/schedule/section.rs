//! What is accessed in critical sections that are single transitions.

use super::search::Search;
use super::step::{Process, Step};
use super::sync::ALL;
use rustc_hash::{FxHashMap, FxHashSet};

/// An object, bytes of it, and whether they are written.
type Accessed = (u32, u64, bool);

/// Of a condition: entering its queue, which is no different for any two who do. No other bit of its word is this one.
const ENTERS: u64 = 1 << 63;

/// Who is in a critical section, when, of which lock, and where it was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SectionKey {
    pub process: Process,
    pub tick: u32,
    pub lock: u32,
    pub site: u32,
}

impl SectionKey {
    pub fn of(step: &Step) -> SectionKey {
        SectionKey {
            process: step.process,
            tick: step.tick,
            lock: step.object,
            site: step.site,
        }
    }
}

/// Which critical sections always access the same. One may look at one place and then decide about another, so that what it accesses elsewhere is
/// not what it accesses here ([`super::search`] finds that out where it has to). Most do not: they are taken for what they do, and the search
/// starts over if one of them did something else.
#[derive(Clone, Debug, Default)]
pub(super) struct UsualSections {
    known: FxHashMap<SectionKey, Vec<Accessed>>,
    /// Locks, and places where they are taken, whose sections do not.
    varying: FxHashSet<(u32, u32)>,
    grown: bool,
}

impl UsualSections {
    fn look_at(&mut self, key: SectionKey, accesses: &[Accessed]) {
        let known = self.known.entry(key).or_insert_with(|| accesses.to_vec());
        if known != accesses {
            self.grown |= self.varying.insert((key.lock, key.site));
        }
    }

    pub(super) fn is_varying(&self, step: &Step) -> bool {
        self.varying.contains(&(step.object, step.site))
    }

    pub(super) fn any_vary(&self) -> bool {
        !self.varying.is_empty()
    }

    /// Of threads that are alike, what one of them does another could have done.
    pub(super) fn rename(&mut self, search: &Search) {
        let trace = search.trace();
        if !search.is_symmetric() {
            return;
        }
        for step in trace.steps.iter().filter(|step| step.section != 0) {
            let Some(&first) = trace.alike.get(usize::from(step.process)) else {
                continue;
            };
            let accesses = trace.sets.accessed(step.section);
            for process in (0..).zip(&trace.alike).filter(|(_, like)| **like == first) {
                let key = SectionKey {
                    process: process.0,
                    ..SectionKey::of(step)
                };
                self.look_at(key, accesses);
            }
        }
    }

    /// Have more of them turned out to vary since somebody asked?
    pub(super) fn take_growth(&mut self) -> bool {
        std::mem::take(&mut self.grown)
    }
}

/// In order, and each object once for what is read and once for what is written.
fn tidy(accesses: &mut Vec<Accessed>) {
    accesses.sort_unstable_by_key(|&(object, _, writes)| (object, writes));
    accesses.dedup_by(|later, earlier| {
        let same = (later.0, later.2) == (earlier.0, earlier.2);
        if same {
            earlier.1 |= later.1;
        }
        same
    });
}

/// Each is named by its index; the first stands for none.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    all: Vec<Vec<Accessed>>,
    numbers: FxHashMap<Vec<Accessed>, u32>,
    pub(super) usual: UsualSections,
    /// Conditions that sections wait for or signal, and of which lock these are.
    conditions: Vec<(u32, u32)>,
    /// What hardware transactions have accessed, if there were any.
    in_transactions: Option<FxHashSet<u32>>,
}

impl Default for Sections {
    fn default() -> Sections {
        Sections {
            all: vec![Vec::new()],
            numbers: FxHashMap::default(),
            usual: UsualSections::default(),
            conditions: Vec::new(),
            in_transactions: None,
        }
    }
}

impl Sections {
    /// The number of a hardware transaction, likewise.
    pub(super) fn transaction(&mut self, key: SectionKey, accesses: &mut Vec<Accessed>) -> u32 {
        let objects = self.in_transactions.get_or_insert_default();
        objects.extend(accesses.iter().map(|access| access.0));
        self.number(key, accesses)
    }

    pub(super) fn has_transactions(&self) -> bool {
        self.in_transactions.is_some()
    }

    /// Does it touch anything that transactions have accessed?
    pub(super) fn meets_transactions(&self, step: &Step) -> bool {
        let Some(objects) = &self.in_transactions else {
            return false;
        };
        match step.section {
            0 => objects.contains(&step.object),
            section => self
                .get(section)
                .iter()
                .any(|access| objects.contains(&access.0)),
        }
    }

    /// The number of a section with these accesses, in whatever order they came.
    pub(super) fn number(&mut self, key: SectionKey, accesses: &mut Vec<Accessed>) -> u32 {
        tidy(accesses);
        self.usual.look_at(key, accesses);
        self.number_of(accesses)
    }

    fn number_of(&mut self, accesses: &[Accessed]) -> u32 {
        if let Some(&number) = self.numbers.get(accesses) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(accesses.to_vec());
        self.numbers.insert(accesses.to_vec(), number);
        number
    }

    /// A section of a lock enters the queue of a condition, or signals it: what that accesses. None if those of another lock do so, too: the
    /// condition would order what they access, and does not.
    pub(super) fn at_condition(
        &mut self,
        condition: u32,
        lock: u32,
        enters: bool,
    ) -> Result<Accessed, u32> {
        let known = self.conditions.iter().find(|known| known.0 == condition);
        match known {
            Some(&(_, other)) if other != lock => return Err(other),
            Some(_) => {}
            None => self.conditions.push((condition, lock)),
        }
        Ok(match enters {
            true => (condition, ENTERS, false),
            false => (condition, ALL, true),
        })
    }

    pub(super) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Is something done to this one in sections?
    pub(super) fn is_condition(&self, object: u32) -> bool {
        self.conditions.iter().any(|known| known.0 == object)
    }

    /// Does one concern a condition?
    pub(super) fn concerns_conditions(&self, section: u32) -> bool {
        self.has_conditions()
            && self
                .get(section)
                .iter()
                .any(|access| self.is_condition(access.0))
    }

    /// Does one do something to a condition that does not commute with this? Who signals without finding anybody looks, and would have found
    /// who enters.
    pub(super) fn touches(&self, section: u32, (object, mask, writes): Accessed) -> bool {
        self.get(section).iter().any(|access| {
            let changes = writes || access.2 || access.1 == ENTERS;
            access.0 == object && access.1 & mask != 0 && changes
        })
    }

    pub(super) fn get(&self, section: u32) -> &[Accessed] {
        self.all.get(section as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn share_nothing(&self, a: u32, b: u32) -> bool {
        let (mut a, mut b) = (self.get(a), self.get(b));
        while let (Some(first), Some(second)) = (a.first(), b.first()) {
            if first.0 != second.0 {
                match first.0 < second.0 {
                    true => a = &a[1..],
                    false => b = &b[1..],
                }
                continue;
            }
            let of = |all: &[Accessed]| {
                let on = all.iter().take_while(|access| access.0 == first.0);
                on.fold((0, 0, 0), |(count, read, written), access| match access.2 {
                    false => (count + 1, read | access.1, written),
                    true => (count + 1, read, written | access.1),
                })
            };
            let (skip_a, read_a, written_a) = of(a);
            let (skip_b, read_b, written_b) = of(b);
            if written_a & (read_b | written_b) != 0 || written_b & read_a != 0 {
                return false;
            }
            (a, b) = (&a[skip_a..], &b[skip_b..]);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_share_what_one_of_them_writes() {
        let mut sections = Sections::default();
        let mut tick = 0;
        let mut of = |accesses: &[Accessed]| {
            tick += 1;
            let key = SectionKey {
                process: 0,
                tick,
                lock: 0,
                site: 0,
            };
            sections.number(key, &mut accesses.to_vec())
        };
        let nothing = of(&[]);
        let reads = of(&[(1, 0xf, false), (2, 0xf, false)]);
        let again = of(&[(2, 0x3, false), (1, 0xf, false), (2, 0xc, false)]);
        let writes = of(&[(2, 0xf0, true), (0, 1, true)]);
        let both = of(&[(2, 0x8, true), (2, 0xf0, false)]);
        assert!(nothing != 0 && reads == again);
        assert!(sections.share_nothing(nothing, both) && sections.share_nothing(reads, reads));
        assert!(sections.share_nothing(reads, writes));
        for (a, b) in [(reads, both), (writes, both), (both, both)] {
            assert!(!sections.share_nothing(a, b) && !sections.share_nothing(b, a));
        }
    }

    #[test]
    fn it_is_noticed_that_a_section_accesses_something_else() {
        let mut sections = Sections::default();
        let key = SectionKey {
            process: 1,
            tick: 1,
            lock: 0,
            site: 3,
        };
        let looks = sections.number(key, &mut vec![(1, 1, false)]);
        assert!(!sections.usual.take_growth());
        let stores = sections.number(key, &mut vec![(2, 1, true)]);
        assert!(sections.usual.take_growth() && looks != stores);
        assert_eq!(sections.number(key, &mut vec![(1, 1, false)]), looks);
        let later = SectionKey { tick: 2, ..key };
        sections.number(later, &mut vec![(1, 1, false)]);
        assert!(!sections.usual.take_growth());
    }
}
