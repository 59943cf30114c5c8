//! Ctrl-C, noticed instead of obeyed: the search ends at its next step and reports what it has. A second one kills.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::SeqCst);
}

/// From now on the first SIGINT sets a flag.
pub fn watch_interrupts() {
    // Safety: the handler only stores to an atomic; SA_RESETHAND makes the next SIGINT deadly again.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
    }
}

pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}
