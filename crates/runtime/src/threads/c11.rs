//! C11's threads.h, on top of the rest.

use super::context::Step;
use super::lifecycle::How;
use super::mutex::{self, Ask};
use super::object_lifetime::{self, MARK_AT};
use super::steps::point;
use super::{condition, constructor_locks, lifecycle, on, signals};
use crate::caller;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::run::outcome;
use crate::run::trace::Origin;
use crate::state::{Mode, run, server};
use crate::syscalls::clock;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::step;

const SUCCESS: i32 = 0;
const BUSY: i32 = 1;
const ERROR: i32 = 2;
const TIMED_OUT: i32 = 4;
/// Bits of a mutex type.
const RECURSIVE: i32 = 1;
const KIND_AT: usize = 16;

crate::weak!(
    "thrd_create" => thrd_create, "thrd_join" => thrd_join, "thrd_exit" => thrd_exit, "thrd_yield" => thrd_yield,
    "thrd_detach" => thrd_detach, "thrd_sleep" => thrd_sleep, "mtx_init" => mtx_init, "mtx_destroy" => mtx_destroy,
    "mtx_lock" => mtx_lock, "mtx_trylock" => mtx_trylock, "mtx_timedlock" => mtx_timedlock, "mtx_unlock" => mtx_unlock,
    "cnd_init" => cnd_init, "cnd_destroy" => cnd_destroy, "cnd_wait" => cnd_wait, "cnd_timedwait" => cnd_timedwait,
    "cnd_signal" => cnd_signal, "cnd_broadcast" => cnd_broadcast,
    "usleep" => usleep, "sleep" => sleep, "nanosleep" => nanosleep,
);

fn code(error: i32) -> i32 {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_thrd_create(to: *mut usize, start: usize, argument: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if server().mode.get() == Mode::Constructing {
            crate::run::serve::from_constructor();
        }
        if !on() {
            return code(lifecycle::__lf_weak_pthread_create(to, 0, start, argument));
        }
        code(lifecycle::create(to, How::new(start, argument), caller!()))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_thrd_join(thread: usize, to: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match lifecycle::join(thread, !to.is_null(), caller!()) {
            Ok(result) => {
                if !to.is_null() {
                    let origin = Origin::library(Builtin::thrd_join, caller!());
                    accesses::hand_over(to as usize, (&raw const result).cast(), 4, origin);
                }
                SUCCESS
            }
            Err(error) => code(error),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_thrd_exit(result: i32) -> ! {
    if !on() {
        outcome::internal(b"thrd_exit outside a run", 0)
    }
    lifecycle::exit(result as u32 as usize)
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_thrd_yield() {
    if on() {
        lifecycle::yielded(caller!());
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_thrd_detach(thread: usize) -> i32 {
    code(lifecycle::detach(thread))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mtx_init(lock: usize, kind: i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::made(lock, 0, caller!());
        }
        crate::memory::bytes::fill(lock as *mut u8, 0, 40);
        *((lock + KIND_AT) as *mut i32) = kind & RECURSIVE;
        SUCCESS
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mtx_destroy(lock: usize) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::destroyed(lock, lock + MARK_AT, 0, caller!());
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_mtx_lock(lock: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            code(mutex::lock(lock, Ask::Wait, caller!()))
        } else {
            constructor_locks::taken(lock, caller!(), super::pthread::lock);
            SUCCESS
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_mtx_trylock(lock: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            code(mutex::lock(lock, Ask::Try, caller!()))
        } else {
            constructor_locks::taken(lock, caller!(), super::pthread::lock);
            SUCCESS
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_mtx_timedlock(lock: usize, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            code(mutex::lock(lock, Ask::Until(time), caller!()))
        } else {
            SUCCESS
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_mtx_unlock(lock: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            code(mutex::unlock(lock, caller!()))
        } else {
            constructor_locks::given(lock);
            SUCCESS
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_cnd_init(condition: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::made(condition, 0, caller!());
        }
        crate::memory::bytes::fill(condition as *mut u8, 0, 48);
        SUCCESS
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_cnd_destroy(condition: usize) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::destroyed(condition, condition + MARK_AT, 0, caller!());
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_cnd_wait(condition: usize, lock: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            code(condition::wait(condition, lock, None, caller!()))
        } else {
            ERROR
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_cnd_timedwait(condition: usize, lock: usize, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            code(condition::wait(condition, lock, Some(time), caller!()))
        } else {
            TIMED_OUT
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_cnd_signal(condition: usize) -> i32 {
    if on() {
        code(condition::signal(condition, caller!()))
    } else {
        SUCCESS
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_cnd_broadcast(condition: usize) -> i32 {
    if on() {
        code(condition::broadcast(condition, caller!()))
    } else {
        SUCCESS
    }
}

// Sleeping lets others go on, and time jumps.

/// May a sleep be a step and nothing else? Where an alarm is set it may go off meanwhile: then libc sleeps, after others went on.
fn is_quiet(caller: usize) -> bool {
    if on() && run().alarm.get() != 0 {
        pause(0, caller);
        return false;
    }
    on()
}

/// Did a handler run meanwhile?
fn pause(nanoseconds: u64, caller: usize) -> bool {
    run()
        .clock
        .set(run().clock.get().saturating_add(nanoseconds));
    point(Step::new(step::SLEEP, 0, caller));
    signals::slept(caller)
}

/// What a sleep returns; a signal ends it.
fn interrupted(by_signal: bool) -> i32 {
    if !by_signal {
        return 0;
    }
    // SAFETY: libc's variable of this thread.
    unsafe { *libc::__errno_location() = libc::EINTR };
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_nanosleep(
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if is_quiet(caller!()) {
            return interrupted(pause(clock::duration(time), caller!()));
        }
        real().nanosleep().map_or(0, |sleep| sleep(time, left))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_usleep(microseconds: u32) -> i32 {
    if is_quiet(caller!()) {
        return interrupted(pause(u64::from(microseconds) * 1000, caller!()));
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { real().usleep().map_or(0, |sleep| sleep(microseconds)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sleep(seconds: u32) -> u32 {
    if is_quiet(caller!()) {
        pause(u64::from(seconds) * 1_000_000_000, caller!());
        return 0;
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { real().sleep().map_or(0, |sleep| sleep(seconds)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_thrd_sleep(
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { __lf_weak_nanosleep(time, left) }
}
