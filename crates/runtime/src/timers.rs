//! Interval timers. The one of real time is the alarm of the virtual clock. Those of processor time are kept, and never go off by themselves: how
//! long instructions take is not known here. So what only they can end may end.

use crate::clock;
use crate::state::state;
use libc::{EINVAL, ITIMER_PROF, ITIMER_REAL, ITIMER_VIRTUAL, itimerval, timeval};

/// A period and what is left of it, in nanoseconds.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Timer {
    period: u64,
    left: u64,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Timers {
    /// Of the alarm.
    period: u64,
    /// Virtual and profiling time.
    processor: [Timer; 2],
}

/// Is a timer running?
pub(crate) unsafe fn any() -> bool {
    let processor = &(*state()).timers.processor;
    (*state()).alarm != 0 || processor.iter().any(|timer| timer.left != 0)
}

/// All that is known of them, for who compares states.
pub(crate) unsafe fn each(mut word: impl FnMut(u64)) {
    let Timers { period, processor } = (*state()).timers;
    word((*state()).alarm);
    word(period);
    for Timer { period, left } in processor {
        word(period);
        word(left);
    }
}

pub(crate) unsafe fn reset() {
    (*state()).alarm = 0;
    (*state()).timers = Timers::default();
}

/// `alarm`: once.
pub(crate) unsafe fn alarm(seconds: usize) -> isize {
    let left = set_alarm(Timer {
        period: 0,
        left: seconds as u64 * clock::SECOND,
    });
    left.left.div_ceil(clock::SECOND) as isize
}

/// The alarm goes off; the next time is a period later.
pub(crate) unsafe fn went_off() {
    let state = state();
    let period = (*state).timers.period;
    (*state).alarm = match period {
        0 => 0,
        period => (*state).clock.saturating_add(period),
    };
}

unsafe fn get_alarm() -> Timer {
    let state = state();
    let left = match (*state).alarm {
        0 => 0,
        // One that is due has not gone off yet.
        alarm => alarm.saturating_sub((*state).clock).max(1000),
    };
    Timer {
        period: (*state).timers.period,
        left,
    }
}

unsafe fn set_alarm(new: Timer) -> Timer {
    let state = state();
    let old = get_alarm();
    (*state).alarm = match new.left {
        0 => 0,
        left => (*state).clock.saturating_add(left),
    };
    (*state).timers.period = new.period;
    old
}

pub(crate) unsafe fn set(which: i32, new: *const itimerval, old: *mut itimerval) -> isize {
    // Nothing stands for a timer that does not run, as in the kernel.
    let new = match new.is_null() {
        true => Timer::default(),
        false => read(new.read_unaligned()),
    };
    let before = match which {
        ITIMER_REAL => set_alarm(new),
        ITIMER_VIRTUAL => core::mem::replace(&mut (*state()).timers.processor[0], new),
        ITIMER_PROF => core::mem::replace(&mut (*state()).timers.processor[1], new),
        _ => return -(EINVAL as isize),
    };
    if !old.is_null() {
        old.write_unaligned(written(before));
    }
    0
}

pub(crate) unsafe fn get(which: i32, to: *mut itimerval) -> isize {
    let timer = match which {
        ITIMER_REAL => get_alarm(),
        ITIMER_VIRTUAL => (*state()).timers.processor[0],
        ITIMER_PROF => (*state()).timers.processor[1],
        _ => return -(EINVAL as isize),
    };
    to.write_unaligned(written(timer));
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
