//! What a function keeps at the head of a loop, as it tells it, and what its thread does.

use super::Digest;
use crate::memory::bytes;
use crate::state::run;

/// What a function keeps, and which signals its thread masks.
///
/// # Safety
/// It has written so much of that behind the first word of `room`.
pub(super) unsafe fn digest(room: *const u64, length: usize) -> Digest {
    let mut kept = Digest::NEW;
    kept.word(run().mask.get());
    for at in (0..length).step_by(8) {
        let mut word = 0u64;
        let left = (length - at).min(8);
        // SAFETY: what the caller promises.
        unsafe {
            let from = room.add(1) as *const u8;
            bytes::copy((&raw mut word) as *mut u8, from.add(at), left);
        }
        kept.word(word);
    }
    kept
}
