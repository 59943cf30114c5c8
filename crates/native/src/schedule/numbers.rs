//! Dense numbers for lines, locks and places in the program: the same for the same thing in every execution of a search.

use landfall_vocab::shared::LOCK;
use landfall_vocab::window;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Words are spread well enough by one multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(26);
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    numbers: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    words: Vec<u64>,
    /// Numbers asked for lately, by part of the word's hash; one more than they are, so that 0 says nothing.
    recent: Vec<(u64, u32)>,
}

const RECENT: usize = 256;

impl Numbers {
    pub(super) fn of(&mut self, word: u64) -> u32 {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, (0, 0));
        }
        let place = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % RECENT;
        match self.recent[place] {
            (known, number) if known == word && number != 0 => return number - 1,
            _ => {}
        }
        let next = self.words.len() as u32;
        let number = *self.numbers.entry(word).or_insert(next);
        if number == next {
            self.words.push(word);
        }
        self.recent[place] = (word, number + 1);
        number
    }

    pub(super) fn word(&self, number: u32) -> Option<u64> {
        self.words.get(number as usize).copied()
    }
}

/// A range of bytes of one line, or a lock, as the runtime writes it: the place, and which bytes of it.
pub(super) fn place(object: u64) -> (u64, u64) {
    if object & LOCK != 0 {
        return (object & !(0x7f << 56), u64::MAX);
    }
    let address = object & ((1 << 56) - 1);
    let length = (object >> 56).clamp(1, 64);
    let at = address % window::LINE;
    (address - at, u64::MAX >> (64 - length) << at)
}

/// Is a place persistent memory?
pub(super) fn is_persistent(place: u64) -> bool {
    place.wrapping_sub(window::BASE) < window::LEN
}
