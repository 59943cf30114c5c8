//! Protections of persistent memory: a pool file mapped for reading only faults when it is written, and so does what the
//! program protects itself. The kernel enforces it on the content; the runtime lifts it for its own work and when the run ends.
//! (What reaches memory at its own address, past the hooks, is not held to it.)

use crate::memory::shadow;
use crate::state::{run, server};
use crate::syscalls::sys;
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::{self, RecordKind};
use landfall_vocab::window;

pub(crate) const MOST: usize = 64;
const ALL: i32 = libc::PROT_READ | libc::PROT_WRITE;

#[repr(C)]
#[derive(Clone, Copy)]
/// In the order they were asked for, in the server's table: later ones win.
pub(crate) struct Guard {
    address: usize,
    length: usize,
    protection: i32,
}

/// Those of this run.
fn all() -> &'static [Cell<Guard>] {
    &server().guards[..run().guards.get()]
}

fn set(address: usize, length: usize, protection: i32) -> isize {
    let content = shadow::content(shadow::offset(address)) as usize;
    sys::call(libc::SYS_mprotect, [content, length, protection as usize])
}

/// Protects whole pages of persistent memory for the rest of the run.
pub(crate) fn protect(address: usize, length: usize, protection: i32) -> isize {
    let length = (length + 4095) & !4095;
    let end = address.saturating_add(length) as u64;
    if address & 4095 != 0 || end > window::BASE + window::LEN {
        return -(libc::EINVAL as isize);
    }
    let protection = protection & ALL;
    if !any() && protection == ALL {
        return 0;
    }
    crate::run::checkpoint::abandon();
    if run().guards.get() == MOST {
        crate::syscalls::dispatch::refuse(&[
            b"the program protects too many parts of persistent memory",
        ]);
    }
    server().guards[run().guards.get()].set(Guard {
        address,
        length,
        protection,
    });
    run().guards.set(run().guards.get() + 1);
    set(address, length, protection)
}

/// Everything writable, for the runtime itself.
pub(crate) fn lift() {
    for guard in all() {
        set(guard.get().address, guard.get().length, ALL);
    }
}

/// Back to what the program asked for.
pub(crate) fn lower() {
    for guard in all() {
        let guard = guard.get();
        set(guard.address, guard.length, guard.protection);
    }
}

/// What the runtime itself writes on behalf of stores that were allowed when the program made them.
#[inline(always)]
pub(crate) fn without<R>(writes: impl FnOnce() -> R) -> R {
    if !any() || run().reach.get().is_open() {
        return writes();
    }
    lift();
    let result = writes();
    lower();
    result
}

/// Is anything protected?
pub(crate) fn any() -> bool {
    run().guards.get() != 0
}

/// The run is over.
pub(crate) fn reset() {
    if run().guards.get() != 0 {
        lift();
        run().guards.set(0);
    }
}

/// The program's address of a fault in the content; a store that faulted was logged first, but never happened.
///
/// # Safety
/// `address` is where an access of the runtime's faulted.
pub(crate) unsafe fn faulted(address: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        let own = shadow::unview(address as *const u8) as usize;
        let slot = run().slot.get();
        if run().guards.get() == 0 || own == address || slot.is_null() {
            return own;
        }
        let length = (*slot).trace_len.load(Relaxed);
        if length >= 24 {
            let head = *(run().trace.get().add(length as usize - 24) as *const u64);
            let expected = record::head(RecordKind::Store, 0, 0, shadow::offset(own));
            if head & 0xff == RecordKind::Store as u64 && head >> 24 == expected >> 24 {
                (*slot).trace_len.store(length - 24, Relaxed);
            }
        }
        own
    }
}
