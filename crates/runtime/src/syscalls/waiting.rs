//! System calls that wait: nobody else will ever act, so waiting is sleeping in virtual time, or a deadlock.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::syscalls::clock;
use crate::syscalls::dispatch::Call;
use crate::syscalls::error;
use crate::syscalls::sys;
use libc::*;

/// Can this be done without waiting? A wait that nothing can end ends the run; false when an alarm ended it.
pub(crate) fn ready(fd: usize, events: i16, what: &[u8]) -> bool {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        let mut poll = pollfd {
            fd: fd as i32,
            events,
            revents: 0,
        };
        if sys::raw(SYS_poll, [&raw mut poll as usize, 1, 0]) != 0 {
            return true;
        }
        let flags = sys::fcntl(fd, F_GETFL, 0);
        if flags < 0 || flags as i32 & O_NONBLOCK != 0 {
            return true;
        }
        clock::wait_forever(what, crate::syscalls::dispatch::context());
        false
    }
}

pub(crate) fn clock_nanosleep(call: &Call) -> isize {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        let [clock, flags, request, ..] = call.arguments;
        let wanted = clock::duration(request as *const timespec);
        let mut duration = wanted;
        if flags as i32 & TIMER_ABSTIME != 0 {
            let mut now: timespec = core::mem::zeroed();
            clock::clock_gettime(clock as i32, &raw mut now);
            duration = wanted.saturating_sub(clock::duration(&raw const now));
        }
        clock::sleep(duration, call.context);
        0
    }
}

pub(crate) fn futex(call: &Call) -> isize {
    let [word, operation, value, timeout, ..] = call.arguments;
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        match operation as i32 & 0x7f {
            0 | 9 => {
                if *(word as *const u32) != value as u32 {
                    return error(EAGAIN);
                }
                if timeout != 0 {
                    clock::sleep(
                        clock::duration(timeout as *const timespec).min(1_000_000_000),
                        call.context,
                    );
                    return error(ETIMEDOUT);
                }
                clock::wait_forever(b"a lock", call.context);
                error(EINTR)
            }
            _ => 0,
        }
    }
}
