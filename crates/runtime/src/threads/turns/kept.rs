//! What a function keeps at the head of a loop, as it tells it, and what its thread does.

use super::Digest;
use crate::memory::bytes;
use crate::state::run;

/// What a function keeps there, and which signals its thread masks; apart from that, what only counts its turns.
#[derive(Clone, Copy, PartialEq)]
#[repr(C)]
pub(super) struct AtHead {
    rest: Digest,
    counted: u64,
}

impl AtHead {
    pub(super) fn words(&self) -> [u64; 2] {
        [self.rest.first(), self.counted]
    }

    /// Is the number of turns all that is different?
    pub(super) fn differs_in_count(&self, other: &AtHead) -> bool {
        self.rest == other.rest && self.counted != other.counted
    }
}

/// # Safety
/// The function has written so much of the one and so much of the other behind the first word of `room`.
pub(super) unsafe fn digest(room: *const u64, length: usize, counted: usize) -> AtHead {
    let (mut rest, mut count) = (Digest::NEW, Digest::NEW);
    rest.word(run().mask.get());
    // SAFETY: what the caller promises.
    unsafe {
        let from = room.add(1) as *const u8;
        words(from, length, &mut rest);
        words(from.add(length), counted, &mut count);
    }
    let counted = count.first();
    AtHead { rest, counted }
}

/// # Safety
/// There are so many bytes.
unsafe fn words(from: *const u8, length: usize, digest: &mut Digest) {
    for at in (0..length).step_by(8) {
        let mut word = 0u64;
        let left = (length - at).min(8);
        // SAFETY: what the caller promises.
        unsafe { bytes::copy((&raw mut word) as *mut u8, from.add(at), left) };
        digest.word(word);
    }
}
