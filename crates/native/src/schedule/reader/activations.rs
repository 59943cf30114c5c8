//! Whose variables lie where on stacks, in one execution that is told to people.

use super::super::numbers::place;
use landfall_vocab::record::{COMPANIONS, RecordKind, Traced};
use landfall_vocab::shared::{ACTIVATION, LOCK, address_of};
use std::collections::BTreeMap;

/// A function that is being called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Activation {
    pub thread: usize,
    /// The return address into it.
    pub code: u64,
    /// The stack pointer there.
    pub pointer: u64,
    /// What its frame pointer says; zero if nobody knows.
    pub frame: u64,
}

impl Activation {
    /// Arguments that its caller has put there.
    const ARGUMENTS: u64 = 256;

    fn may_have(&self, address: u64) -> bool {
        let end = match self.frame {
            0 => self.pointer + 4096,
            frame => frame + 16 + Self::ARGUMENTS,
        };
        (self.pointer..end).contains(&address)
    }
}

/// Functions that are being called, and where what was accessed belonged to one.
#[derive(Clone, Debug, Default)]
pub struct Activations {
    /// What each thread announced last, innermost first.
    last: Vec<Vec<Activation>>,
    /// The lowest and the highest stack pointer of each thread.
    reach: Vec<(u64, u64)>,
    /// By the word that was accessed: who may have had it then, one after the other, innermost first.
    of_word: BTreeMap<u64, Vec<Vec<Activation>>>,
}

impl Activations {
    /// As many are kept of a word: what has more has no name.
    const OWNERS: usize = 64;

    pub(super) fn record(&mut self, record: &Traced<'_>) {
        match record.kind {
            RecordKind::Activations => self.announced(record),
            RecordKind::Step
            | RecordKind::Access
            | RecordKind::Blocked
            | RecordKind::Watched
            | RecordKind::Foreign
                if record.thread < COMPANIONS =>
            {
                self.accessed(record.value);
            }
            _ => {}
        }
    }

    fn announced(&mut self, record: &Traced<'_>) {
        let thread = usize::from(record.thread);
        if self.last.len() <= thread {
            self.last.resize(thread + 1, Vec::new());
            self.reach.resize(thread + 1, (u64::MAX, 0));
        }
        let (words, _) = record.payload.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let of = |words: &[u64; ACTIVATION]| Activation {
            thread,
            code: words[0],
            pointer: words[1],
            frame: words[2],
        };
        self.last[thread] = words.as_chunks().0.iter().map(of).collect();
        let pointers = self.last[thread].iter().map(|of| of.pointer.max(of.frame));
        let reach = &mut self.reach[thread];
        for pointer in pointers {
            *reach = (reach.0.min(pointer), reach.1.max(pointer));
        }
    }

    fn accessed(&mut self, object: u64) {
        let (place, mask) = place(object);
        let address = match place & LOCK {
            0 => place + u64::from(mask.trailing_zeros() % 64),
            _ => address_of(place),
        };
        for (thread, last) in self.last.iter().enumerate() {
            let (low, high) = self.reach[thread];
            if address < low.saturating_sub(4096) || address > high.saturating_add(4096) {
                continue;
            }
            let owners: Vec<Activation> = { last.iter() }
                .filter(|of| of.may_have(address))
                .copied()
                .collect();
            if owners.is_empty() {
                continue;
            }
            let known = self.of_word.entry(address & !7).or_default();
            if known.len() <= Self::OWNERS && !known.contains(&owners) {
                known.push(owners);
            }
        }
    }

    /// Who had the word of this address whenever it was accessed: at each of the times, functions that may have had it, innermost
    /// first. None if it is on nobody's stack, or if that is not known.
    pub fn owners(&self, address: u64) -> Option<&[Vec<Activation>]> {
        let known = self.of_word.get(&(address & !7))?;
        (known.len() <= Self::OWNERS).then_some(known)
    }

    /// All words that were accessed and are on stacks.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.of_word.keys().copied()
    }
}
