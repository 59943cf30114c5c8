//! What can be done without waiting: `poll`, `select`, and what sets look at.

use super::{Form, channel, interests, streams};
use crate::files::descriptors::{self, Kind};
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::syscalls::dispatch::refuse;
use crate::syscalls::error;
use crate::syscalls::sys;
use libc::*;

const IN: u32 = (POLLIN | POLLRDNORM) as u32;
const OUT: u32 = (POLLOUT | POLLWRNORM) as u32;
const HANGUP: u32 = POLLHUP as u32;
const ERROR: u32 = POLLERR as u32;
const OTHER_SIDE_DONE: u32 = POLLRDHUP as u32;

pub(crate) fn of_channel(number: usize, depth: u32) -> u32 {
    let it = channel(number);
    let when = |holds: bool, events: u32| if holds { events } else { 0 };
    match it.form.get() {
        Form::PipeOutlet => when(it.arrivals.length() > 0, IN) | when(it.left_alone.get(), HANGUP),
        Form::PipeInlet => match it.left_alone.get() {
            true => OUT | ERROR,
            false => when(it.other_end().is_some_and(has_room), OUT),
        },
        Form::Stream => {
            let done = streams::at_end(it);
            let broken = streams::is_broken(it);
            let sends_no_more = match it.family.get() == AF_UNIX as u16 {
                true => broken,
                false => it.shut_write.get(),
            };
            when(it.arrivals.length() > 0 || done, IN)
                | when(broken || it.other_end().is_some_and(has_room), OUT)
                | when(done, OTHER_SIDE_DONE)
                | when(done && sends_no_more, HANGUP)
                | when(it.reset.get(), ERROR)
        }
        Form::Listener => when(it.pending.get() != 0, IN),
        Form::Event => when(it.count.get() > 0, IN) | when(it.count.get() < u64::MAX - 1, OUT),
        Form::EpollSet => when(interests::is_any_due(number, depth), IN),
        Form::Socket => OUT | HANGUP,
        Form::Datagram => OUT,
        Form::Signals => refuse(&[
            b"poll: whether a signal has come that a signalfd would read is no step; read it, in a thread of its own",
        ]),
        Form::Free => 0,
    }
}

/// Can something be written that this end then reads?
fn has_room(reader: &super::Channel) -> bool {
    reader.of_client.get() || streams::room(reader) > 0
}

/// Files are always ready.
fn of_descriptor(fd: usize) -> u32 {
    match descriptors::kind(fd) {
        Kind::Channel(number) => of_channel(number.into(), 0),
        Kind::Input => IN,
        Kind::Output(_) => OUT,
        _ if !descriptors::is_open(fd) => POLLNVAL as u32,
        // Made before main, by the kernel.
        Kind::Real => of_kernel(fd),
        _ => IN | OUT,
    }
}

fn of_kernel(fd: usize) -> u32 {
    let mut entry = pollfd {
        fd: fd as i32,
        events: (IN | OUT) as i16,
        revents: 0,
    };
    // SAFETY: the kernel writes to the entry only.
    unsafe { sys::raw(SYS_poll, [&raw mut entry as usize, 1, 0]) };
    u32::from(entry.revents as u16)
}

/// Which of these are ready: how many.
///
/// # Safety
/// The program may read and write so many entries.
pub(crate) unsafe fn poll(entries: usize, count: usize) -> isize {
    let mut ready = 0;
    for at in 0..count {
        let entry = entries + at * size_of::<pollfd>();
        // SAFETY: what the caller promises.
        unsafe {
            let fd = (entry as *const i32).read_unaligned();
            let wanted = ((entry + 4) as *const u16).read_unaligned();
            let always = ERROR | HANGUP | POLLNVAL as u32;
            let found = match fd {
                ..0 => 0,
                fd => of_descriptor(fd as usize) & (u32::from(wanted) | always),
            };
            let found = found as u16;
            descriptors::give(entry + 6, (&raw const found).cast(), 2);
            ready += isize::from(found != 0);
        }
    }
    ready
}

/// The sets of `select`: an error number, or how many bits are left in them.
///
/// # Safety
/// The program may read and write the sets, as far as there are any.
pub(crate) unsafe fn select(most: usize, sets: [usize; 3], write_back: bool) -> isize {
    const WANTED: [u32; 3] = [IN | HANGUP | ERROR, OUT | ERROR, POLLPRI as u32];
    let most = most.min(FD_SETSIZE);
    let length = most.div_ceil(64) * 8;
    let scratch = Scratch::new(3 * FD_SETSIZE / 8);
    let mut ready = 0;
    for (which, set) in sets.into_iter().enumerate() {
        if set == 0 {
            continue;
        }
        let left = scratch.start().wrapping_add(which * FD_SETSIZE / 8);
        // SAFETY: what the caller promises; there is room for three sets.
        unsafe {
            bytes::fill(left, 0, length);
            for fd in 0..most {
                let bit = 1 << (fd % 8);
                if *((set + fd / 8) as *const u8) & bit == 0 {
                    continue;
                }
                let found = of_descriptor(fd);
                if found & POLLNVAL as u32 != 0 {
                    return error(EBADF);
                }
                if found & WANTED[which] != 0 {
                    *left.add(fd / 8) |= bit;
                    ready += 1;
                }
            }
        }
    }
    if ready > 0 || write_back {
        for (which, set) in sets.into_iter().enumerate().filter(|(_, set)| *set != 0) {
            let left = scratch.start().wrapping_add(which * FD_SETSIZE / 8);
            // SAFETY: as above.
            unsafe { descriptors::give(set, left, length) };
        }
    }
    ready
}
