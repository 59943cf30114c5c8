//! Random recoveries.

use super::{Doing, Program, piece, store};
use landfall_model::event::{Action, Event, Fence, FirstRead, Read};
use landfall_model::line::Addr;

pub(crate) const LINES: u64 = 3;

/// A recovery whose next step depends on everything it has read so far.
pub(crate) struct Adaptive {
    pub(crate) seed: u64,
    pub(crate) depth: u32,
    /// Does the first recovery write, too?
    pub(crate) writes: bool,
}

pub(crate) fn stir(hash: &mut u64) -> u64 {
    *hash ^= *hash << 13;
    *hash ^= *hash >> 7;
    *hash ^= *hash << 17;
    *hash >> 20
}

impl Program for Adaptive {
    fn resume(&self, failures: usize, values: &[u64]) -> Doing {
        let mut hash = (self.seed ^ (failures as u64) << 32) | 1;
        let mut doing = Doing::default();
        let mut known: Vec<(u64, u8)> = Vec::new();
        let mut values = values.iter();
        let mut stored = 100u8;
        for _ in 0..self.depth {
            let word = stir(&mut hash) % LINES * 64 + stir(&mut hash) % 2 * 8;
            let wanted = [0xff, 0x0f, 0x01, 0xf0][(stir(&mut hash) % 4) as usize];
            let action = stir(&mut hash) % 8;
            if self.writes && failures == 1 && action < 4 {
                let line = Addr(word).line();
                stored += 1;
                let event = |action| Event {
                    site: u32::from(stored),
                    ..Event::new(action)
                };
                match action {
                    0 | 1 => {
                        doing
                            .events
                            .push(store(0, u32::from(stored), piece(word, &[stored; 8])));
                        known.push((word, 0xff));
                    }
                    2 => doing.events.push(event(Action::Clflush(line))),
                    _ => doing.events.extend([
                        event(Action::Clwb(line)),
                        event(Action::Fence(Fence::Store)),
                    ]),
                }
                continue;
            }
            let seen = known.iter().filter(|k| k.0 == word).fold(0, |m, k| m | k.1);
            let mask = wanted & !seen;
            if mask == 0 {
                continue;
            }
            let Some(&value) = values.next() else {
                doing.next = Some((Addr(word), mask));
                return doing;
            };
            let read = FirstRead {
                word: Addr(word),
                mask,
            };
            doing.events.push(Event::read(Read { read, value }));
            known.push((word, mask));
            hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ value.wrapping_mul(31) ^ word;
            if value == 0 && hash.is_multiple_of(7) {
                break;
            }
        }
        doing
    }
}
