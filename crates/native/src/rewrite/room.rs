//! Memory for rewritten code, near enough to the libraries it is for: first what it calls, then bodies, then landing places of jumps.

use super::modules::Modules;
use std::collections::BTreeMap;
use std::ops::Range;

/// The highest byte of a jump's distance: no instruction begins with it, so it is a trap as well. It leads 656 to 672 MiB back.
const FAR: u32 = 0xd6;
/// Other bytes that are to trap: a breakpoint.
pub(super) const BREAKPOINT: u8 = 0xcc;
/// How far a jump leads at least and at most.
const NEAREST: u64 = (1 << 32) - ((FAR as u64) << 24) - (1 << 24);
const FARTHEST: u64 = NEAREST + (1 << 24);
/// Bytes for bodies.
const BODIES: u64 = 4 << 20;
const PAGE: u64 = 4096;
const JUMP: u64 = 5;

#[derive(Debug)]
pub(super) struct Room {
    /// The code that can reach it.
    pub(super) serves: Range<u64>,
    range: Range<u64>,
    next: u64,
    /// Jumps that lie here, by where they begin.
    jumps: BTreeMap<u64, ()>,
}

impl Room {
    /// Room for the code around a place, where nothing is mapped.
    pub(super) fn beside(place: u64, modules: &Modules) -> Option<Room> {
        let serves = modules.around(place)?;
        let first = serves.start.checked_sub(FARTHEST + BODIES)? & !(PAGE - 1);
        let last = (serves.end - NEAREST + JUMP).next_multiple_of(PAGE);
        let range = first..last;
        modules.is_free(&range).then(|| Room {
            serves,
            next: first + PAGE,
            range,
            jumps: BTreeMap::new(),
        })
    }

    pub(super) fn start(&self) -> u64 {
        self.range.start
    }

    pub(super) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Where the addresses lie that bodies call.
    pub(super) fn entries(&self) -> u64 {
        self.range.start
    }

    /// Where the next body goes, which is also where a jump may lead that has no instruction behind it.
    pub(super) fn next_body(&self) -> u64 {
        self.next
    }

    /// The body that was written there stays.
    pub(super) fn keep_body(&mut self, length: u64) -> Option<()> {
        let next = (self.next + length).next_multiple_of(16);
        (next <= self.range.start + BODIES).then(|| self.next = next)
    }

    /// Where a jump that ends at `end` is to lead, so that its bytes at `interior` (counted from its first) trap.
    pub(super) fn target(&mut self, end: u64, interior: &[u64]) -> Option<u64> {
        if interior.is_empty() {
            return Some(self.next);
        }
        let choices = |byte: u64| match interior.contains(&byte) {
            true => BREAKPOINT..=BREAKPOINT,
            false => 0..=u8::MAX,
        };
        for second in choices(3) {
            for first in choices(2) {
                for lowest in choices(1) {
                    let distance = u32::from_le_bytes([lowest, first, second, FAR as u8]);
                    let at = end.wrapping_add_signed(i64::from(distance as i32));
                    let near = self.jumps.range(at.saturating_sub(JUMP - 1)..at + JUMP);
                    if near.count() == 0 {
                        self.jumps.insert(at, ());
                        return Some(at);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_traps_wherever_an_instruction_began() {
        let mut room = Room {
            serves: 0..u64::MAX,
            range: 0..u64::MAX,
            next: 64,
            jumps: BTreeMap::new(),
        };
        let place = 0x7fff_f7d1_2345;
        let mut targets = Vec::new();
        for interior in [&[2][..], &[3], &[4], &[2, 3], &[2, 4], &[3, 4], &[2, 3, 4]] {
            let target = room.target(place + JUMP, interior).expect("there is room");
            let bytes = super::super::jump(place, target).expect("it is near");
            for at in interior {
                assert!(
                    [BREAKPOINT, FAR as u8].contains(&bytes[*at as usize]),
                    "{bytes:x?} {interior:?}"
                );
            }
            assert!(place + JUMP - target <= FARTHEST && place + JUMP - target > NEAREST);
            assert!(
                targets
                    .iter()
                    .all(|&other: &u64| other.abs_diff(target) >= JUMP)
            );
            targets.push(target);
        }
    }
}
