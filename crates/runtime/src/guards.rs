//! Protections of persistent memory: a pool file mapped for reading only faults when it is written, and so does what the
//! program protects itself. The kernel enforces it; the runtime lifts it for its own work and when the run ends.

use crate::state::state;
use crate::sys;
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
    sys::call(libc::SYS_mprotect, [address, length, protection as usize])
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
        crate::dispatch::refuse(&[b"the program protects too many parts of persistent memory"]);
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

/// The run is over.
pub(crate) unsafe fn reset() {
    if (*state()).guards.count != 0 {
        lift();
        (*state()).guards.count = 0;
    }
}

/// A store faulted: it was logged and mirrored first, but never happened.
pub(crate) unsafe fn undo_store(address: usize) {
    let state = state();
    let offset = (address as u64).wrapping_sub(window::BASE);
    let length = (*(*state).slot)
        .trace_len
        .load(core::sync::atomic::Ordering::Relaxed);
    if (*state).guards.count == 0 || offset >= window::LEN || length < 24 {
        return;
    }
    let head = *((*state).trace.add(length as usize - 24) as *const u64);
    let of_store = head & 0xff == Kind::Store as u64;
    if !of_store || head >> 24 != record::head(Kind::Store, 0, 0, offset) >> 24 {
        return;
    }
    (*(*state).slot)
        .trace_len
        .store(length - 24, core::sync::atomic::Ordering::Relaxed);
    let word = offset & !7;
    if *crate::shadow::known(word) != 0 {
        *(crate::shadow::mirror(word) as *mut u64) = *((window::BASE + word) as *const u64);
    }
}
