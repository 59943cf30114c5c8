//! What is accessed in critical sections that are single transitions.

use super::search::Search;
use super::step::Process;
use rustc_hash::FxHashMap;

/// An object, bytes of it, and whether they are written.
type Accessed = (u32, u64, bool);

/// Each is named by its index; the first stands for none.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    all: Vec<Vec<Accessed>>,
    numbers: FxHashMap<Vec<Accessed>, u32>,
}

impl Default for Sections {
    fn default() -> Sections {
        Sections {
            all: vec![Vec::new()],
            numbers: FxHashMap::default(),
        }
    }
}

impl Sections {
    /// The number of the section with these accesses, in whatever order they came.
    pub(super) fn number(&mut self, accesses: &mut Vec<Accessed>) -> u32 {
        accesses.sort_unstable_by_key(|&(object, _, writes)| (object, writes));
        accesses.dedup_by(|later, earlier| {
            let same = (later.0, later.2) == (earlier.0, earlier.2);
            if same {
                earlier.1 |= later.1;
            }
            same
        });
        if let Some(&number) = self.numbers.get(accesses) {
            return number;
        }
        let number = self.all.len() as u32;
        self.all.push(accesses.clone());
        self.numbers.insert(accesses.clone(), number);
        number
    }

    pub(super) fn get(&self, section: u32) -> &[Accessed] {
        &self.all[section as usize]
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

/// What critical sections access, by who is in them, when, and of which lock. It has to be always the same: what two transitions share
/// must not depend on what comes before them. A step from one place in memory to another cannot do that; a section may look at one place and
/// then decide about another.
#[derive(Debug, Default)]
pub(super) struct UsualSections {
    known: FxHashMap<(Process, u32, u32), u32>,
}

impl UsualSections {
    /// Locks of which an execution has a section that accesses something else than before.
    pub(super) fn deviating(&mut self, search: &Search) -> Vec<u32> {
        let trace = search.trace();
        let mut deviating = Vec::new();
        // Of threads that are alike, what one of them does another could have done.
        let name = |process: Process| match search.is_symmetric() {
            true => *trace.alike.get(usize::from(process)).unwrap_or(&process),
            false => process,
        };
        for step in trace.steps.iter().filter(|step| step.section != 0) {
            let key = (name(step.process), step.tick, step.object);
            if *self.known.entry(key).or_insert(step.section) != step.section {
                deviating.push(step.object);
            }
        }
        deviating
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_share_what_one_of_them_writes() {
        let mut sections = Sections::default();
        let mut of = |accesses: &[Accessed]| sections.number(&mut accesses.to_vec());
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
}
