//! Interval timers. The one of real time is the alarm of the virtual clock. Those of processor time are kept, and never go off by themselves: how
//! long instructions take is not known here. So what only they can end may end.

use crate::state::run;
use crate::syscalls::clock;
use crate::syscalls::error;
use crate::syscalls::signals::is_handled;
use core::cell::Cell;
use libc::{EINVAL, ITIMER_PROF, ITIMER_REAL, ITIMER_VIRTUAL, itimerval, timeval};

/// A period and what is left of it, in nanoseconds.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Timer {
    period: u64,
    left: u64,
}

/// Of one run; all zero at its start: none is running.
#[repr(C)]
pub(crate) struct Timers {
    /// Of the alarm.
    period: Cell<u64>,
    /// Virtual and profiling time.
    processor: [Cell<Timer>; 2],
}

/// Is a timer running?
pub(crate) fn any() -> bool {
    let mut processor = run().timers.processor.iter();
    run().alarm.get() != 0 || processor.any(|timer| timer.get().left != 0)
}

/// All that is known of them, for who compares states.
pub(crate) fn each(mut word: impl FnMut(u64)) {
    let Timers { period, processor } = &run().timers;
    word(run().alarm.get());
    word(period.get());
    for timer in processor {
        let Timer { period, left } = timer.get();
        word(period);
        word(left);
    }
}

/// `alarm`: once.
pub(crate) fn alarm(seconds: usize) -> isize {
    let left = set_alarm(Timer {
        period: 0,
        left: seconds as u64 * clock::SECOND,
    });
    left.left.div_ceil(clock::SECOND) as isize
}

/// The alarm goes off; the next time is a period later.
pub(crate) fn went_off() {
    run().alarm.set(match run().timers.period.get() {
        0 => 0,
        period => run().clock.get().saturating_add(period),
    });
}

fn get_alarm() -> Timer {
    let left = match run().alarm.get() {
        0 => 0,
        // One that is due has not gone off yet.
        alarm => alarm.saturating_sub(run().clock.get()).max(1000),
    };
    Timer {
        period: run().timers.period.get(),
        left,
    }
}

fn set_alarm(new: Timer) -> Timer {
    let old = get_alarm();
    let masked = run().mask.get() >> (libc::SIGALRM - 1) & 1 != 0;
    if new.left != 0 && (masked || is_handled(libc::SIGALRM as usize)) {
        crate::threads::signals::may_arrive();
    }
    run().alarm.set(match new.left {
        0 => 0,
        left => run().clock.get().saturating_add(left),
    });
    run().timers.period.set(new.period);
    old
}

/// `setitimer`.
///
/// # Safety
/// The program may write to `old` and read `new`, as far as it asks for.
pub(crate) unsafe fn set(which: i32, new: *const itimerval, old: *mut itimerval) -> isize {
    // Nothing stands for a timer that does not run, as in the kernel.
    let new = match new.is_null() {
        true => Timer::default(),
        // SAFETY: what the caller promises.
        false => read(unsafe { new.read_unaligned() }),
    };
    let processor = &run().timers.processor;
    let before = match which {
        ITIMER_REAL => set_alarm(new),
        ITIMER_VIRTUAL => processor[0].replace(new),
        ITIMER_PROF => processor[1].replace(new),
        _ => return error(EINVAL),
    };
    if !old.is_null() {
        // SAFETY: what the caller promises.
        unsafe { old.write_unaligned(written(before)) };
    }
    0
}

/// `getitimer`.
///
/// # Safety
/// The program asks for an answer at `to`.
pub(crate) unsafe fn get(which: i32, to: *mut itimerval) -> isize {
    let processor = &run().timers.processor;
    let timer = match which {
        ITIMER_REAL => get_alarm(),
        ITIMER_VIRTUAL => processor[0].get(),
        ITIMER_PROF => processor[1].get(),
        _ => return error(EINVAL),
    };
    // SAFETY: what the caller promises.
    unsafe { to.write_unaligned(written(timer)) };
    0
}

fn read(timer: itimerval) -> Timer {
    let nanoseconds = |time: timeval| {
        (time.tv_sec as u64).saturating_mul(clock::SECOND) + time.tv_usec as u64 % 1_000_000 * 1000
    };
    Timer {
        period: nanoseconds(timer.it_interval),
        left: nanoseconds(timer.it_value),
    }
}

fn written(timer: Timer) -> itimerval {
    let time = |nanoseconds: u64| timeval {
        tv_sec: (nanoseconds / clock::SECOND) as i64,
        tv_usec: (nanoseconds % clock::SECOND / 1000) as i64,
    };
    itimerval {
        it_interval: time(timer.period),
        it_value: time(timer.left),
    }
}
