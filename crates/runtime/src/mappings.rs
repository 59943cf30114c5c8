//! `mmap`: pool files are mapped already, the runtime's own memory is out of reach, the rest is the program's business.

use crate::descriptors::{self, Kind};
use crate::dispatch::Call;
use crate::files;
use crate::state::{place, state};
use crate::syscalls::{altering, alters_kernel};
use landfall_vocab::window;
use libc::*;

/// Is any of this the runtime's or persistent? The program has no business unmapping it.
pub(crate) fn own_memory(address: usize, length: usize) -> bool {
    let end = address.saturating_add(length);
    let within = |start: usize, size: usize| address < start + size && end > start;
    within(window::BASE as usize, window::LEN as usize)
        || within(place::HEAP, place::HEAP_LEN)
        || within(place::STACK - place::GUARD, place::STACK_LEN + place::GUARD)
        || within(place::SIGNAL_STACK, place::SIGNAL_STACK_LEN)
        || within(place::ARENA, 1 << 45)
        || within(crate::shadow::KNOWN, (window::LEN / 8) as usize)
        || within(state() as usize, size_of::<crate::state::State>())
}

pub(crate) unsafe fn map(call: &Call) -> isize {
    let [address, length, protection, flags, fd, at] = call.arguments;
    if flags as i32 & MAP_ANONYMOUS == 0
        && let Kind::Pool(file) = descriptors::kind(fd)
    {
        if let Some(mapped) = files::map(file, length, protection as i32, flags as i32, at as u64) {
            return mapped;
        }
        alters_kernel(call);
        return files::map_copy(file, length, at as u64, address, flags as i32);
    }
    if flags as i32 & MAP_FIXED != 0 && own_memory(address, length) {
        return -(ENOMEM as isize);
    }
    altering(call)
}
