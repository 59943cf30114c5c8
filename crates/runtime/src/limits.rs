//! How much memory a run may have: a program that takes memory without end must end itself, not the machine.

use crate::state::state;

/// Bytes of heap, and as many of mappings. The kernel's own limits count the runtime's windows, which are larger by far.
pub(crate) const MOST: usize = 4 << 30;

/// Are `more` bytes still to be had when `used` are taken?
pub(crate) const fn room(used: usize, more: usize) -> bool {
    used <= MOST && more <= MOST - used
}

const _: () = assert!(room(0, MOST) && room(MOST, 0) && room(MOST - 16, 16));
const _: () =
    assert!(!room(1, MOST) && !room(MOST, 1) && !room(MOST + 1, 0) && !room(1, usize::MAX));

/// Counts memory the program is about to map; false when it gets none.
pub(crate) unsafe fn take(bytes: usize) -> bool {
    let used = &raw mut (*state()).mapped_bytes;
    let granted = room(*used, bytes);
    if granted {
        *used += bytes;
    }
    granted
}

pub(crate) unsafe fn give_back(bytes: usize) {
    let used = &raw mut (*state()).mapped_bytes;
    *used = (*used).saturating_sub(bytes);
}
