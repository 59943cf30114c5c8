//! How C++'s futures wait, as libstdc++ has it: for a word to be another one, by a futex, in a loop that looks at the word again whatever ended the
//! wait. So a wait that ends only when the word is another one shows all there is to see, and it costs what a loop does that waits for that:
//! wake-ups that come too early, or for no reason, are turns in vain.

use super::{futex, on, turns, visible};
use crate::caller;
use crate::libc::real::real;
use crate::run::trace::Origin;
use core::hint::black_box;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"
        => future_wait,
    "_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"
        => future_wait_steady,
);

/// Reads the word as the kernel does: it orders nothing.
const RELAXED: u32 = 2;

/// Waits until the word is another one, or, with a time, until that has passed: then it is false.
///
/// # Safety
/// `word` is one of the program's.
unsafe fn wait(
    word: usize,
    value: u32,
    until: Option<libc::timespec>,
    clock: i32,
    caller: usize,
) -> bool {
    if let Some(until) = until {
        let time = (&raw const until) as usize;
        let operation = futex::WAIT_BITSET | clock;
        // SAFETY: what the caller promises.
        let ended = unsafe { futex::futex(word, operation, value, time, u32::MAX, caller) };
        return ended != Some(-(libc::ETIMEDOUT as isize));
    }
    let origin = Origin::library(Builtin::thread, caller);
    // Nothing is kept from one turn to the next.
    let mut room = 0u64;
    loop {
        let mut seen = 0u32;
        // SAFETY: what the caller promises.
        unsafe {
            turns::arrive(origin, 0, &raw mut room, (0, 0));
            visible::load(word, (&raw mut seen) as *mut u8, 4, RELAXED, origin);
        }
        if seen != value {
            return true;
        }
    }
}

/// The same where nobody looks.
///
/// # Safety
/// As for [`wait`].
unsafe fn wait_unwatched(
    word: usize,
    value: u32,
    until: Option<libc::timespec>,
    clock: i32,
) -> bool {
    let Some(call) = real().syscall() else {
        return true;
    };
    let time = until
        .as_ref()
        .map_or(0, |until| core::ptr::from_ref(until) as usize);
    // SAFETY: what the caller promises.
    unsafe {
        let number = libc::SYS_futex;
        let operation = (futex::WAIT_BITSET | clock) as usize;
        let all = u32::MAX as usize;
        let ended = call(number, word, operation, value as usize, time, 0, all);
        ended == 0 || *libc::__errno_location() != libc::ETIMEDOUT
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_future_wait(
    _this: usize,
    word: usize,
    value: u32,
    timed: bool,
    seconds: i64,
    nanoseconds: i64,
) -> bool {
    let until = timed.then_some(libc::timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    });
    // SAFETY: libstdc++'s header calls it: its arguments are what the library's own function takes.
    unsafe {
        match on() {
            true => black_box(wait(
                word,
                value,
                until,
                libc::FUTEX_CLOCK_REALTIME,
                caller!(),
            )),
            false => wait_unwatched(word, value, until, libc::FUTEX_CLOCK_REALTIME),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_future_wait_steady(
    _this: usize,
    word: usize,
    value: u32,
    timed: bool,
    seconds: i64,
    nanoseconds: i64,
) -> bool {
    let until = timed.then_some(libc::timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    });
    // SAFETY: libstdc++'s header calls it: its arguments are what the library's own function takes.
    unsafe {
        match on() {
            true => black_box(wait(word, value, until, 0, caller!())),
            false => wait_unwatched(word, value, until, 0),
        }
    }
}
