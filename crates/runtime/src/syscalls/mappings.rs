//! `mmap`: pool files are mapped already, the runtime's own memory is out of reach, the rest is the program's business.

use crate::files::descriptors::{self, Kind};
use crate::files::pool;
use crate::memory::limits;
use crate::memory::own::place;
use crate::syscalls::calls::{altering, alters_kernel};
use crate::syscalls::dispatch::Call;
use crate::syscalls::sys;
use landfall_vocab::window;
use libc::*;

/// Is any of this the runtime's or persistent? The program has no business unmapping it.
pub(crate) fn own_memory(address: usize, length: usize) -> bool {
    let end = address.saturating_add(length);
    let (state, state_len) = crate::state::range();
    let within = |start: usize, size: usize| address < start + size && end > start;
    within(window::BASE as usize, window::LEN as usize)
        || within(place::HEAP, place::HEAP_LEN)
        || within(place::STACK - place::GUARD, place::STACK_LEN + place::GUARD)
        || within(place::SIGNAL_STACK, place::SIGNAL_STACK_LEN)
        || within(place::ARENA, 1 << 45)
        || within(crate::memory::shadow::KNOWN, (window::LEN / 8) as usize)
        || within(state, state_len)
}

pub(crate) fn map(call: &Call) -> isize {
    let [address, length, protection, flags, fd, at] = call.arguments;
    // SAFETY: the program asks for it, and what is the runtime's own was left out.
    unsafe {
        if flags as i32 & MAP_ANONYMOUS == 0
            && let Kind::Pool(file) = descriptors::kind(fd)
        {
            if let Some(mapped) = pool::map(file, fd, call) {
                return mapped;
            }
            alters_kernel(call);
            return pool::map_copy(file, length, at as u64, address, flags as i32);
        }
    }
    if flags as i32 & MAP_FIXED != 0 && own_memory(address, length) {
        return -(ENOMEM as isize);
    }
    if flags as i32 & MAP_ANONYMOUS == 0 && flags as i32 & MAP_TYPE != MAP_PRIVATE {
        match descriptors::kind(fd) {
            Kind::Disk => crate::files::ordinary::note_shared_mapping(fd),
            Kind::Overlay(_) if !limits::take(length) => return -(ENOMEM as isize),
            _ => {}
        }
    }
    // A mapping of a file or one that cannot be written takes no memory of its own; nor does a reservation, yet.
    let counted = flags as i32 & MAP_ANONYMOUS != 0
        && flags as i32 & MAP_NORESERVE == 0
        && protection as i32 & PROT_WRITE != 0;
    if counted && !limits::take(length) {
        return -(ENOMEM as isize);
    }
    altering(call)
}

pub(crate) fn unmap(call: &Call) -> isize {
    let [address, length, ..] = call.arguments;
    if own_memory(address, length) {
        return -(EINVAL as isize);
    }
    let result = altering(call);
    if result == 0 {
        limits::give_back(length);
    }
    result
}

/// `brk`; the kernel's way of saying no is to answer with the end as it is.
pub(crate) fn set_break(call: &Call) -> isize {
    // SAFETY: nothing is asked for but where it is.
    let end = unsafe { sys::raw(SYS_brk, [0]) };
    let wanted = call.arguments[0];
    if wanted > end as usize && !limits::take(wanted - end as usize) {
        return end;
    }
    altering(call)
}
