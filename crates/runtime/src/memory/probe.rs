//! What the kernel would make of an address that a program hands it: asked without touching it.

use crate::run::tracked;
use crate::syscalls::sys;

const PAGE: usize = 4096;

/// Is anything mapped there?
pub(crate) fn is_mapped(address: usize) -> bool {
    let mut resident = 0u8;
    let arguments = [address & !(PAGE - 1), 1, (&raw mut resident) as usize];
    // SAFETY: the kernel writes one byte, which is ours.
    unsafe { sys::raw(libc::SYS_mincore, arguments) == 0 }
}

/// Could the kernel write there? It copies a byte onto itself, or says no.
pub(crate) fn is_writable(address: usize) -> bool {
    const EFAULT: isize = -(libc::EFAULT as isize);
    tracked::warm(address, 1);
    let byte = [address, 1];
    let part = (&raw const byte) as usize;
    // SAFETY: what is there afterwards was there before, and no other thread runs meanwhile.
    unsafe {
        let me = sys::raw(libc::SYS_getpid, [0]) as usize;
        match sys::raw(libc::SYS_process_vm_readv, [me, part, 1, part, 1, 0]) {
            1 => true,
            EFAULT => false,
            // Not allowed here.
            _ => is_mapped(address),
        }
    }
}
