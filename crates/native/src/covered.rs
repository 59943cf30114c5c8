//! What recoveries looked at: which places read, and which values were found where. For crash coverage in the report.
//!
//! Recoveries share most of what they read, so a small table of recent reads answers nearly all of them: what it has is only
//! counted, what it has not goes into the maps.

use landfall_vocab::record::Origin;
use landfall_vocab::record::{Record, RecordKind};
use std::collections::{HashMap, HashSet};

/// Slots of the table, at first and at most: powers of two.
const SLOTS: usize = 4096;
const MOST_SLOTS: usize = 1 << 17;
/// Distinct values that are told apart, per place and per word.
const MOST_VALUES: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct Covered {
    recent: Vec<Option<(SeenReads, u64)>>,
    /// How many were driven out of the table since it has its size: too many, and it grows.
    driven_out: usize,
    places: HashMap<Origin, ReadAt>,
    words: HashMap<u64, Vec<(u8, u64)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SeenReads {
    origin: Origin,
    word: u64,
    mask: u8,
    value: u64,
}

/// First reads of one place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadAt {
    pub reads: u64,
    /// Distinct, in the order they came; not all, if there are very many.
    pub values: Vec<u64>,
    /// Likewise the words that were read.
    pub words: Vec<u64>,
}

impl Covered {
    #[inline]
    pub(crate) fn record(&mut self, record: &Record) {
        if record.kind != RecordKind::Read {
            return;
        }
        let seen = SeenReads {
            origin: record.origin,
            word: record.offset,
            mask: record.mask,
            value: record.value,
        };
        if self.recent.is_empty() {
            self.recent.resize(SLOTS, None);
        }
        let at = slot(seen, self.recent.len());
        let slot = &mut self.recent[at];
        match slot {
            Some((known, times)) if *known == seen => *times += 1,
            _ => {
                if let Some((old, times)) = slot.replace((seen, 1)) {
                    self.keep(old, times);
                    self.driven_out += 1;
                    if self.driven_out > 4 * self.recent.len() && self.recent.len() < MOST_SLOTS {
                        self.grow();
                    }
                }
            }
        }
    }

    fn grow(&mut self) {
        let larger = 2 * self.recent.len();
        self.settle();
        self.recent.resize(larger, None);
        self.driven_out = 0;
    }

    fn keep(&mut self, seen: SeenReads, times: u64) {
        let place = self.places.entry(seen.origin).or_default();
        place.reads += times;
        let value = seen.value >> (8 * seen.mask.trailing_zeros().min(7));
        remember(&mut place.values, value);
        remember(&mut place.words, seen.word);
        let word = self.words.entry(seen.word).or_default();
        remember(word, (seen.mask, seen.value));
    }

    /// All that others saw, too.
    pub(crate) fn join(&mut self, other: Covered) {
        self.settle();
        let mut other = other;
        other.settle();
        for (origin, theirs) in other.places {
            let mine = self.places.entry(origin).or_default();
            mine.reads += theirs.reads;
            theirs
                .values
                .into_iter()
                .for_each(|value| remember(&mut mine.values, value));
            let words = theirs.words.into_iter();
            words.for_each(|word| remember(&mut mine.words, word));
        }
        for (word, theirs) in other.words {
            let mine = self.words.entry(word).or_default();
            theirs.into_iter().for_each(|value| remember(mine, value));
        }
    }

    /// Into the maps with what is only in the table.
    fn settle(&mut self) {
        for (seen, times) in std::mem::take(&mut self.recent).into_iter().flatten() {
            self.keep(seen, times);
        }
    }

    pub fn places(&self) -> impl Iterator<Item = (Origin, &ReadAt)> {
        self.places.iter().map(|(&origin, read)| (origin, read))
    }

    /// The lines of which a place reads words that held different values.
    pub fn mixed_lines(&self, read: &ReadAt) -> usize {
        let several = |word: &&u64| self.words.get(word).is_some_and(|values| values.len() > 1);
        let lines = read.words.iter().filter(several).map(|word| word / 64);
        lines.collect::<HashSet<_>>().len()
    }

    /// The values that recoveries found in these bytes of an aligned word. A value counts if it was read together with some of them.
    pub fn found(&self, word: u64, mask: u8) -> Vec<u64> {
        let mut values = Vec::new();
        for &(read, value) in self.words.get(&word).into_iter().flatten() {
            let both = read & mask;
            if both != 0 {
                let value = value & bytes_of(both);
                remember(&mut values, value >> (8 * both.trailing_zeros()));
            }
        }
        values
    }
}

fn slot(seen: SeenReads, slots: usize) -> usize {
    let mixed = (seen.word ^ seen.value.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ u64::from(seen.origin.site).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize & (slots - 1)
}

fn remember<T: PartialEq>(values: &mut Vec<T>, value: T) {
    if values.len() < MOST_VALUES && !values.contains(&value) {
        values.push(value);
    }
}

/// A byte of ones for each bit.
fn bytes_of(mask: u8) -> u64 {
    (0..8)
        .filter(|i| mask & (1 << i) != 0)
        .fold(0, |all, i| all | 0xff << (8 * i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(site: u32, offset: u64, mask: u8, value: u64) -> Record {
        Record {
            kind: RecordKind::Read,
            offset,
            mask,
            thread: 0,
            flags: 0,
            origin: Origin { site, caller: 0 },
            value,
        }
    }

    #[test]
    fn reads_are_counted_and_values_told_apart() {
        let mut covered = Covered::default();
        for run in 0..1000u64 {
            covered.record(&read(1, 64, 0xff, 7));
            covered.record(&read(2, 72, 0xf0, (run % 3) << 32));
        }
        let mut others = Covered::default();
        others.record(&read(2, 72, 0xf0, 9 << 32));
        covered.join(others);
        let at = |site| {
            let origin = Origin { site, caller: 0 };
            covered.places.get(&origin).cloned().unwrap_or_default()
        };
        assert_eq!((at(1).reads, at(1).values), (1000, vec![7]));
        let mut values = at(2).values;
        values.sort_unstable();
        assert_eq!((at(2).reads, values), (1001, vec![0, 1, 2, 9]));
        assert_eq!(covered.found(64, 0x0f), [7]);
        assert_eq!(covered.found(72, 0xff).len(), 4);
        assert_eq!(covered.found(72, 0x0f), Vec::<u64>::new());
    }

    #[test]
    fn what_does_not_fit_is_counted_all_the_same() {
        let mut covered = Covered::default();
        let words = 3 * SLOTS as u64;
        for _ in 0..20 {
            (0..words).for_each(|word| covered.record(&read(word as u32, 8 * word, 0xff, word)));
        }
        assert!(covered.recent.len() > SLOTS);
        covered.join(Covered::default());
        assert_eq!(covered.places().count() as u64, words);
        assert!(
            covered
                .places()
                .all(|(_, at)| at.reads == 20 && at.values.len() == 1)
        );
    }
}
