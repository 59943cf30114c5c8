//! How much memory a run may have: a program that takes memory without end must end itself, not the machine.

use crate::run::outcome::{self, Report};
use crate::state::{budget, run};
use crate::syscalls::sys;
use landfall_vocab::shared::End;

/// Bytes of heap, and as many of mappings. The kernel's own limits count the runtime's windows, which are larger by far.
fn most() -> usize {
    match run().memory.get() {
        0 => 4 << 30,
        bytes => bytes as usize,
    }
}

/// Are `more` bytes still to be had when `used` are taken?
pub(crate) fn room(used: usize, more: usize) -> bool {
    used <= most() && more <= most() - used
}

/// Counts memory the program is about to map; false when it gets none.
pub(crate) fn take(bytes: usize) -> bool {
    let used = run().mapped_bytes.get();
    let granted = room(used, bytes);
    if granted {
        run().mapped_bytes.set(used + bytes);
    }
    granted
}

pub(crate) fn give_back(bytes: usize) {
    let used = run().mapped_bytes.get();
    run().mapped_bytes.set(used.saturating_sub(bytes));
}

/// Persistent memory cannot fail to be there: a run that touches too much of it ends. A page costs its shadows as well.
pub(crate) fn persistent_pages(count: usize) {
    const SHADOWS: usize = 2;
    if count * 4096 * SHADOWS > most() {
        exceeded(b"persistent memory");
    }
}

/// What was reserved and then used, or mapped in ways nobody counted, is found when the run is looked at.
pub(crate) fn look() {
    let mut text = [0u8; 128];
    let path = c"/proc/self/statm".as_ptr() as usize;
    let fd = sys::call(libc::SYS_open, [path, libc::O_RDONLY as usize]);
    if fd < 0 {
        return;
    }
    let to = text.as_mut_ptr() as usize;
    // SAFETY: the kernel fills a text of ours.
    let got = unsafe { sys::raw(libc::SYS_read, [fd as usize, to, text.len()]) };
    sys::call(libc::SYS_close, [fd as usize]);
    if got <= 0 {
        return;
    }
    let mut numbers = text[..got as usize]
        .split(|byte| *byte == b' ')
        .map(|digits| {
            digits.iter().fold(0usize, |number, digit| {
                number.wrapping_mul(10) + (digit.wrapping_sub(b'0') as usize & 15)
            })
        });
    // All of it but what is shared: the trace and the image are.
    let (_, resident, shared) = (numbers.next(), numbers.next(), numbers.next());
    let pages = resident.unwrap_or(0).saturating_sub(shared.unwrap_or(0));
    // The runtime's own share of a run is small; twice the limit and something is out of hand.
    if pages * 4096 > most() + most() / 4 + (64 << 20) {
        exceeded(b"memory");
    }
}

fn exceeded(what: &[u8]) -> ! {
    let mut digits = [0u8; 20];
    let text: &[&[u8]] = &[
        b"the program uses more than ",
        crate::memory::bytes::decimal(most() as u64 >> 20, &mut digits),
        b" MiB of ",
        what,
    ];
    budget().set((budget().get()).max(0));
    outcome::end(
        End::Forbidden,
        Report {
            frame: crate::run::call_stack::frame_pointer(),
            text,
            ..Report::default()
        },
    )
}
