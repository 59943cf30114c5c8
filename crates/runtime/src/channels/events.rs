//! `eventfd`: a number that is added to, and taken.

use super::{Form, channel, new, open, waits};
use crate::syscalls::error;
use libc::*;

const MOST_COUNT: u64 = u64::MAX - 1;

pub(crate) fn make(count: u64, flags: i32) -> isize {
    let Some(number) = new(Form::Event, O_RDWR | flags & EFD_NONBLOCK) else {
        return error(ENFILE);
    };
    channel(number).count.set(count);
    channel(number).by_ones.set(flags & EFD_SEMAPHORE != 0);
    open(number, flags & EFD_CLOEXEC != 0)
}

/// What a read finds, and takes; `None` where it waits.
pub(crate) fn take(number: usize) -> Option<u64> {
    let event = channel(number);
    let taken = match (event.count.get(), event.by_ones.get()) {
        (0, _) => return None,
        (_, true) => 1,
        (count, false) => count,
    };
    event.count.set(event.count.get() - taken);
    // Who waits for room looks again; nothing has come that could be read.
    waits::something_changed(event);
    Some(taken)
}

/// Adds to it; `None` where that waits.
pub(crate) fn add(number: usize, more: u64) -> Option<isize> {
    let event = channel(number);
    if more == u64::MAX {
        return Some(error(EINVAL));
    }
    if more > MOST_COUNT - event.count.get() {
        return None;
    }
    event.count.set(event.count.get() + more);
    event.changed();
    Some(8)
}
