//! Stores of system calls on pool files while others may go on: past the store buffer, which the call has emptied, and for
//! metadata durable with the step itself.

use super::threads;
use super::visible::{self, PERSISTS, WRITE, announce, by_pieces, digest, found, perform};
use crate::memory::shadow::unview;
use crate::run::trace::Origin;
use landfall_vocab::window::LINE;

/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(crate) unsafe fn store(to: usize, from: *const u8, length: usize, flags: u8, origin: Origin) {
    // What is persisted in one piece is a step of its own.
    let (most, persists) = match threads().persistency.get() {
        true => (8, PERSISTS),
        false => (LINE as usize, 0),
    };
    // SAFETY: what the caller promises.
    unsafe {
        by_pieces(to, length, most, |at, piece| {
            let (to, from) = (to + at, from.add(at));
            let access = announce(to, piece, WRITE | persists, 0, origin);
            let found = found(to, piece);
            perform(to, from, piece, flags, origin);
            access.done(found, digest(from, piece), 0);
        })
    };
}

/// A copy into a pool file. `from` may be a view of persistent memory.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(crate) unsafe fn copy(to: usize, from: *const u8, length: usize, flags: u8, origin: Origin) {
    let from = unview(from) as usize;
    let mut line = [0u8; LINE as usize];
    let mut done = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while done < length {
            let piece = line.len().min(length - done);
            visible::load(from + done, line.as_mut_ptr(), piece, 0, origin);
            store(to + done, line.as_ptr(), piece, flags, origin);
            done += piece;
        }
    }
}
