//! Protections of persistent memory: a pool file mapped for reading only faults when it is written, and so does what the
//! program protects itself. The kernel enforces it on the content; the runtime lifts it for its own work and when the run ends.
//! (What reaches memory at its own address, past the hooks, is not held to it.)

use crate::memory::shadow;
use crate::state::state;
use crate::syscalls::sys;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::{self, Kind};
use landfall_vocab::window;

const MOST: usize = 64;
const ALL: i32 = libc::PROT_READ | libc::PROT_WRITE;

#[repr(C)]
#[derive(Clone, Copy)]
struct Guard {
    address: usize,
    length: usize,
    protection: i32,
}

/// In the order they were asked for: later ones win.
#[repr(C)]
pub(crate) struct Guards {
    all: [Guard; MOST],
    count: usize,
}

impl Guards {
    pub(crate) fn forget(&mut self) {
        self.count = 0;
    }
}

unsafe fn set(address: usize, length: usize, protection: i32) -> isize {
    let content = shadow::content(shadow::offset(address)) as usize;
    sys::call(libc::SYS_mprotect, [content, length, protection as usize])
}

/// Protects whole pages of persistent memory for the rest of the run.
pub(crate) unsafe fn protect(address: usize, length: usize, protection: i32) -> isize {
    let guards = &raw mut (*state()).guards;
    let length = (length + 4095) & !4095;
    let end = address.saturating_add(length) as u64;
    if address & 4095 != 0 || end > window::BASE + window::LEN {
        return -(libc::EINVAL as isize);
    }
    let protection = protection & ALL;
    if (*guards).count == 0 && protection == ALL {
        return 0;
    }
    if (*guards).count == MOST {
        crate::syscalls::dispatch::refuse(&[
            b"the program protects too many parts of persistent memory",
        ]);
    }
    (*guards).all[(*guards).count] = Guard {
        address,
        length,
        protection,
    };
    (*guards).count += 1;
    set(address, length, protection)
}

/// Everything writable, for the runtime itself.
pub(crate) unsafe fn lift() {
    let guards = &raw const (*state()).guards;
    for i in 0..(*guards).count {
        set((*guards).all[i].address, (*guards).all[i].length, ALL);
    }
}

/// Back to what the program asked for.
pub(crate) unsafe fn lower() {
    let guards = &raw const (*state()).guards;
    for i in 0..(*guards).count {
        let guard = (*guards).all[i];
        set(guard.address, guard.length, guard.protection);
    }
}

/// Is anything protected?
pub(crate) unsafe fn any() -> bool {
    (*state()).guards.count != 0
}

/// The run is over.
pub(crate) unsafe fn reset() {
    if (*state()).guards.count != 0 {
        lift();
        (*state()).guards.count = 0;
    }
}

/// The program's address of a fault in the content; a store that faulted was logged first, but never happened.
pub(crate) unsafe fn faulted(address: usize) -> usize {
    let state = state();
    let own = shadow::unview(address as *const u8) as usize;
    let slot = (*state).slot;
    if (*state).guards.count == 0 || own == address || slot.is_null() {
        return own;
    }
    let length = (*slot).trace_len.load(Relaxed);
    if length >= 24 {
        let head = *((*state).trace.add(length as usize - 24) as *const u64);
        let expected = record::head(Kind::Store, 0, 0, shadow::offset(own));
        if head & 0xff == Kind::Store as u64 && head >> 24 == expected >> 24 {
            (*slot).trace_len.store(length - 24, Relaxed);
        }
    }
    own
}
