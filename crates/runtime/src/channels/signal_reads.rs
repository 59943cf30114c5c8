//! `signalfd`: signals that are blocked, and read from a descriptor. Reading one is waiting for it, as `sigwait` does; whether one is pending is
//! no step, so nobody may ask for that.

use super::{Form, behind, channel, new, open};
use crate::files::descriptors;
use crate::memory::bytes;
use crate::syscalls::dispatch::refuse;
use crate::syscalls::error;
use crate::threads::{channel_calls, signals};
use libc::*;

/// What a read gives for each signal.
const ENTRY: usize = 128;

/// Makes one, or gives one that there is another set.
///
/// # Safety
/// The program may read the set.
pub(crate) unsafe fn make(fd: usize, set: usize, flags: i32) -> isize {
    if !signals::may_arrive() {
        refuse(&[b"signalfd: signals are not searched where one process is run without others; use sigwait"]);
    }
    // SAFETY: what the caller promises.
    let mask = unsafe { (set as *const u64).read_unaligned() };
    if fd as i32 != -1 {
        return match behind(fd).filter(|&number| channel(number).form.get() == Form::Signals) {
            Some(number) => {
                channel(number).count.set(mask);
                fd as isize
            }
            None => error(EINVAL),
        };
    }
    let Some(number) = new(Form::Signals, O_RDWR | flags & SFD_NONBLOCK) else {
        return error(ENFILE);
    };
    channel(number).count.set(mask);
    open(number, flags & SFD_CLOEXEC != 0)
}

/// The next signal.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn read(number: usize, to: usize, length: usize, nonblocking: bool) -> isize {
    if length < ENTRY {
        return error(EINVAL);
    }
    let Some((signal, code, value)) =
        channel_calls::take_signal(channel(number).count.get(), !nonblocking)
    else {
        return error(EAGAIN);
    };
    const SENDER: u32 = 1000;
    let mut entry = [0u32; ENTRY / 4];
    entry[0] = signal as u32;
    entry[2] = code as u32;
    entry[3] = if code == SI_TIMER { 0 } else { SENDER };
    entry[11] = value as u32;
    // SAFETY: what the caller promises; there is room for a word.
    unsafe {
        bytes::copy(
            entry.as_mut_ptr().add(12).cast(),
            (&raw const value).cast(),
            8,
        );
        descriptors::give(to, entry.as_ptr().cast(), ENTRY);
    }
    ENTRY as isize
}
