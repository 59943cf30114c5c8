//! System calls that wait: nobody else will ever act, so waiting is sleeping in virtual time, or a deadlock.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::clock;
use crate::descriptors::{self, Kind};
use crate::dispatch::Call;
use crate::sys;
use libc::*;

const fn error(number: i32) -> isize {
    -(number as isize)
}

/// An empty pipe that only this program could fill.
pub(crate) unsafe fn waits_for_itself(fd: usize) -> bool {
    if descriptors::kind(fd) != Kind::Real {
        return false;
    }
    let mut about = core::mem::MaybeUninit::<stat>::uninit();
    if sys::call(SYS_fstat, [fd, about.as_mut_ptr() as usize]) != 0
        || (*about.as_ptr()).st_mode & S_IFMT != S_IFIFO
    {
        return false;
    }
    let mut poll = pollfd {
        fd: fd as i32,
        events: POLLIN,
        revents: 0,
    };
    sys::call(SYS_poll, [&raw mut poll as usize, 1, 0]) == 0
}

pub(crate) unsafe fn clock_nanosleep(call: &Call) -> isize {
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

pub(crate) unsafe fn set_timer(which: i32, new: *const itimerval, old: *mut itimerval) -> isize {
    if which != ITIMER_REAL {
        return 0;
    }
    let value = (*new).it_value;
    let left = clock::set_alarm(value.tv_sec as u64 * 1_000_000_000 + value.tv_usec as u64 * 1000);
    if !old.is_null() {
        let zero = timeval {
            tv_sec: 0,
            tv_usec: 0,
        };
        let left = timeval {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_usec: (left % 1_000_000_000 / 1000) as i64,
        };
        old.write_unaligned(itimerval {
            it_interval: zero,
            it_value: left,
        });
    }
    0
}

/// What is ready now is ready; waiting is sleeping, and waiting for ever is a deadlock.
pub(crate) unsafe fn poll(call: &Call) -> isize {
    let [a, b, c, d, e, f] = call.arguments;
    let zero = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let none = &raw const zero as usize;
    let (ready, timeout) = match call.number {
        SYS_poll => {
            let ready = sys::call(SYS_poll, [a, b, 0]);
            (ready, (c as i32 >= 0).then_some(c as u64 * 1_000_000))
        }
        SYS_ppoll => {
            let ready = sys::call(SYS_ppoll, [a, b, none, 0, 0]);
            (
                ready,
                (c != 0).then(|| clock::duration(c as *const timespec)),
            )
        }
        SYS_select => {
            let ready = sys::call(SYS_select, [a, b, c, d, none]);
            (
                ready,
                (e != 0).then(|| {
                    let time = *(e as *const timeval);
                    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
                }),
            )
        }
        _ => {
            let _ = f;
            let ready = sys::call(SYS_pselect6, [a, b, c, d, none, 0]);
            (
                ready,
                (e != 0).then(|| clock::duration(e as *const timespec)),
            )
        }
    };
    if ready == 0 {
        match timeout {
            Some(timeout) => clock::sleep(timeout, call.context),
            None => {
                clock::wait_forever(b"poll", call.context);
                return error(EINTR);
            }
        }
    }
    ready
}

pub(crate) unsafe fn futex(call: &Call) -> isize {
    let [word, operation, value, timeout, ..] = call.arguments;
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
