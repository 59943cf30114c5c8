//! Who goes on where dice decide (`--random`): anew at each choice, by ranks, or by ranks of steps. The same dice choose the same.

use super::sets::ProcessSet;
use super::{store_buffer, tables, threads};
use crate::memory::bytes;
use core::cell::Cell;
use landfall_vocab::record::step;
use landfall_vocab::shared::{DRAW_ORDER, MOST_PROCESSES};

/// Ranks are lowered at one step less than this, at most.
const MOST_DEPTH: usize = 8;

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) enum Dice {
    /// All who can go on are alike.
    Uniform(u64),
    /// Threads and store buffers have ranks; the highest goes on (probabilistic concurrency testing).
    Ranks(Ranks),
    /// Steps have ranks, and draw another when one that they depend on went first (partial-order sampling).
    Order(u64),
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Ranks {
    seed: u64,
    /// By number: at which step the highest gets the rank of that number, lower than all there were at first; and who got it.
    changes: [u32; MOST_DEPTH - 1],
    lowered: [u16; MOST_DEPTH - 1],
    count: u8,
}

const NOBODY: u16 = u16::MAX;

/// By process: how often its next step has drawn.
#[repr(C)]
pub(crate) struct Drawn([Cell<u32>; MOST_PROCESSES]);

/// splitmix64
fn mixed(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Dice {
    pub(super) fn of(seed: u64, draw: u32, length: u32) -> Dice {
        match draw {
            0 => Dice::Uniform(seed),
            DRAW_ORDER => {
                let drawn = &tables().drawn.0;
                // By hand: the compiler's way would be a call of `memset`, which may be the program's.
                // SAFETY: cells of ours, which nobody else is at.
                unsafe {
                    bytes::fill(drawn.as_ptr().cast_mut().cast(), 0, size_of_val(drawn));
                }
                Dice::Order(seed)
            }
            depth => Dice::Ranks(Ranks::of(seed, depth, length)),
        }
    }

    /// One of the processes, of which there is at least one.
    pub(super) fn throw(&mut self, awake: &ProcessSet, words: usize) -> Option<usize> {
        match self {
            Dice::Uniform(state) => {
                // xorshift64*
                *state ^= *state >> 12;
                *state ^= *state << 25;
                *state ^= *state >> 27;
                let thrown = (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32;
                let number = thrown % awake.count(words).max(1);
                awake.iter(words).nth(number as usize)
            }
            Dice::Ranks(ranks) => ranks.highest(awake, words),
            Dice::Order(seed) => {
                let rank = |&process: &usize| {
                    let drawn = tables().drawn.0.get(process).map_or(0, Cell::get);
                    mixed(*seed, (process as u64) << 32 | u64::from(drawn))
                };
                let first = awake.iter(words).max_by_key(rank)?;
                draw_again(first, awake, words);
                Some(first)
            }
        }
    }
}

impl Ranks {
    fn of(seed: u64, depth: u32, length: u32) -> Ranks {
        let count = (depth as usize).clamp(1, MOST_DEPTH) - 1;
        let mut changes = [u32::MAX; MOST_DEPTH - 1];
        for (number, change) in changes[..count].iter_mut().enumerate() {
            *change = (mixed(!seed, number as u64) % u64::from(length.max(1))) as u32;
        }
        Ranks {
            seed,
            changes,
            lowered: [NOBODY; MOST_DEPTH - 1],
            count: count as u8,
        }
    }

    fn rank(&self, process: usize) -> u64 {
        let lowered = self
            .lowered
            .iter()
            .rposition(|&l| usize::from(l) == process);
        match lowered {
            Some(number) => number as u64,
            None => mixed(self.seed, process as u64) | 1 << 63,
        }
    }

    fn highest(&mut self, awake: &ProcessSet, words: usize) -> Option<usize> {
        let now = threads().steps.get() as u32;
        loop {
            let first = awake
                .iter(words)
                .max_by_key(|&process| self.rank(process))?;
            let due =
                |number: &usize| self.changes[*number] == now && self.lowered[*number] == NOBODY;
            let Some(number) = (0..usize::from(self.count)).find(due) else {
                return Some(first);
            };
            self.lowered[number] = first as u16;
        }
    }
}

/// What a process is going to do: to what, and is it more than a look?
fn deed(process: usize) -> (u64, bool) {
    let companions = usize::from(threads().companions.get());
    let next = match process < companions {
        true => tables().contexts[process].step.get(),
        false => {
            let (thread, stream) = store_buffer::of_process(process as u16);
            store_buffer::next_step(thread, stream)
        }
    };
    let object = next.object as u64;
    match next.kind {
        // Of memory: the word, without the length.
        step::READ => ((object << 8) >> 11, false),
        step::WRITE | step::UPDATE | step::COMMIT => ((object << 8) >> 11, true),
        _ => (object, true),
    }
}

/// Who goes on draws again, and so does whoever's step depends on this one.
fn draw_again(first: usize, awake: &ProcessSet, words: usize) {
    let (object, writes) = deed(first);
    for process in awake.iter(words) {
        let (other, other_writes) = deed(process);
        if (process == first || other == object && (writes || other_writes))
            && let Some(drawn) = tables().drawn.0.get(process)
        {
            drawn.set(drawn.get() + 1);
        }
    }
}
