//! Sets of threads, and of all that can take a step. Whoever walks over one says how many words of it are in use, so that few threads cost
//! what one word costs.

use core::cell::Cell;

const WORD: usize = 64;

#[repr(C)]
pub(crate) struct Set<const WORDS: usize>([Cell<u64>; WORDS]);

pub(crate) type ThreadSet = Set<{ super::MOST / WORD }>;
pub(crate) type ProcessSet = Set<{ landfall_vocab::shared::MOST_PROCESSES / WORD }>;

/// Words that hold so many.
pub(crate) const fn words(count: usize) -> usize {
    count.div_ceil(WORD)
}

/// The members that a word stands for, in ascending order.
pub(crate) fn members(at: usize, mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(at * WORD + first)
    })
}

impl<const WORDS: usize> Set<WORDS> {
    pub(crate) fn insert(&self, number: usize) {
        let word = &self.0[number / WORD];
        word.set(word.get() | 1 << (number % WORD));
    }

    pub(crate) fn remove(&self, number: usize) {
        let word = &self.0[number / WORD];
        word.set(word.get() & !(1 << (number % WORD)));
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        let word = self.0.get(number / WORD);
        word.is_some_and(|word| word.get() >> (number % WORD) & 1 != 0)
    }

    pub(crate) fn word(&self, at: usize) -> u64 {
        self.0[at].get()
    }

    pub(crate) fn set_word(&self, at: usize, word: u64) {
        self.0[at].set(word);
    }

    /// Adds members from this number on.
    pub(crate) fn add(&self, from: usize, members: u64) {
        let (at, shift) = (from / WORD, from % WORD);
        self.0[at].set(self.0[at].get() | members << shift);
        let rest = if shift == 0 {
            0
        } else {
            members >> (WORD - shift)
        };
        if rest != 0 {
            self.0[at + 1].set(self.0[at + 1].get() | rest);
        }
    }

    pub(crate) fn clear(&self, words: usize) {
        for word in &self.0[..words] {
            // Not a call of `memset`, which may be the program's.
            // SAFETY: a word of ours.
            unsafe { word.as_ptr().write_volatile(0) };
        }
    }

    pub(crate) fn is_empty(&self, words: usize) -> bool {
        self.0[..words].iter().all(|word| word.get() == 0)
    }

    pub(crate) fn count(&self, words: usize) -> u32 {
        self.0[..words]
            .iter()
            .map(|word| word.get().count_ones())
            .sum()
    }

    /// Has it members besides this one?
    pub(crate) fn has_others(&self, than: usize, words: usize) -> bool {
        self.0[..words].iter().enumerate().any(|(at, word)| {
            let own = if at == than / WORD {
                1 << (than % WORD)
            } else {
                0
            };
            word.get() & !own != 0
        })
    }

    pub(crate) fn iter(&self, words: usize) -> impl Iterator<Item = usize> + '_ {
        (0..words).flat_map(|at| members(at, self.word(at)))
    }

    /// The lowest from a number on.
    pub(crate) fn lowest_from(&self, number: usize, words: usize) -> Option<usize> {
        let first = number / WORD;
        let word = |at: usize| match at == first {
            true => self.word(at) & (u64::MAX << (number % WORD)),
            false => self.word(at),
        };
        let at = (first..words).find(|&at| word(at) != 0)?;
        Some(at * WORD + word(at).trailing_zeros() as usize)
    }
}
