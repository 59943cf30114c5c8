//! Futexes, which C++'s atomics, latches, semaphores and futures wait on, and Rust's locks. They come through `syscall`.

use super::context::Step;
use super::signals::Waiting;
use super::steps::{effect, point};
use super::{MOST, condition, forked, objects, on, signals, threads, visible, wakes};
use crate::caller;
use crate::libc::real::real;
use crate::outside::{crossing, effects};
use crate::run::outcome::{self};
use crate::run::trace::{self, Origin};
use crate::state::run;
use crate::syscalls::clock;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::End;

const WAIT: i32 = 0;
const WAKE: i32 = 1;
pub(super) const WAIT_BITSET: i32 = 9;
const WAKE_BITSET: i32 = 10;
const COMMAND: i32 = 0x7f;

/// A futex call of a thread under control; `None` if it is none of ours.
///
/// # Safety
/// `word` and `timeout` are what the program gave to the system call.
pub(super) unsafe fn futex(
    word: usize,
    operation: i32,
    value: u32,
    timeout: usize,
    bits: u32,
    caller: usize,
) -> Option<isize> {
    if !on() {
        return None;
    }
    let command = operation & COMMAND;
    if !matches!(command, WAIT | WAKE | WAIT_BITSET | WAKE_BITSET)
        || matches!(command, WAIT_BITSET | WAKE_BITSET) && bits != u32::MAX
    {
        outcome::fail(End::Forbidden, &[b"futex: only FUTEX_WAIT and FUTEX_WAKE are supported (with all bits, where there are any)"])
    }
    // Beside the word's own entry: a lock and a futex may share an address.
    let queue = forked::key(word) ^ (1 << 62);
    let object = objects().get(queue);
    // SAFETY: what the caller promises.
    unsafe {
        match operation & COMMAND {
            WAIT | WAIT_BITSET => {
                let wait = wakes::begins(caller);
                point(Step::new(step::FUTEX_WAIT, queue, caller));
                let seen = *(word as *const u32);
                trace::access(
                    threads().current.get(),
                    visible::pack(word, 4),
                    READ | 7,
                    Origin::library(Builtin::thread, caller),
                    [seen.into(), seen.into(), 0],
                );
                if seen != value {
                    effect(queue, WRITE, 0);
                    return Some(-(libc::EAGAIN as isize));
                }
                condition::enlist(object);
                effect(queue, WRITE, 1);
                let origin = Origin::library(Builtin::thread, caller);
                if !wait.ends_for_no_reason && signals::interrupts(Waiting::Already, origin) {
                    return Some(match condition::interrupted(queue, caller) {
                        true => {
                            wait.ended();
                            0
                        }
                        false => -(libc::EINTR as isize),
                    });
                }
                let reached = match wait.ends_for_no_reason {
                    true => {
                        wakes::without_reason(queue, caller);
                        true
                    }
                    false => condition::await_reach(queue, timeout != 0, caller),
                };
                if reached {
                    wait.ended();
                    return Some(0);
                }
                if timeout != 0 && operation & COMMAND == WAIT {
                    // Other than the rest of them, it says how long.
                    let time = clock::duration(timeout as *const libc::timespec);
                    run().clock.set(run().clock.get().saturating_add(time));
                } else {
                    clock::pass(timeout);
                }
                Some(-(libc::ETIMEDOUT as isize))
            }
            WAKE | WAKE_BITSET => {
                let mut woken = 0;
                // How many wait is known only when it happens, so a step that wakes some of them is several that wake one.
                let (kind, each, times) = if value as usize >= MOST {
                    (step::BROADCAST, u32::MAX, 1)
                } else {
                    (step::SIGNAL, 1, value)
                };
                for _ in 0..times {
                    point(Step::new(kind, queue, caller));
                    let reached = condition::reach(object, each);
                    effect(queue, WRITE, reached.into());
                    woken += reached;
                }
                Some(woken as isize)
            }
            _ => None,
        }
    }
}

/// Wakes one who waits for a word, as the kernel does.
pub(super) fn wake(word: usize, caller: usize) {
    let queue = word ^ (1 << 62);
    let object = objects().get(queue);
    point(Step::new(step::SIGNAL, queue, caller));
    let reached = condition::reach(object, 1);
    effect(queue, WRITE, reached.into());
}

crate::weak!("syscall" => syscall);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_syscall(
    number: i64,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> i64 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if number == libc::SYS_futex
            && let Some(result) = futex(a, b as i32, c as u32, d, f as u32, caller!())
        {
            if result < 0 {
                *libc::__errno_location() = -result as i32;
                return -1;
            }
            return result as i64;
        }
        if on() {
            let arguments = [a, b, c, d, e];
            if let Some(result) = super::clone::system_call(number, arguments) {
                return result;
            }
            if let Some(result) = super::sending::system_call(number, arguments, caller!()) {
                return result;
            }
            super::unseen::system_call(number, arguments, caller!());
        }
        let Some(call) = real().syscall() else {
            return -1;
        };
        let effects = effects::of_system_call(number);
        let origin = Origin::library(Builtin::system_call, caller!());
        let arguments = [a, b, c, d, e, f];
        crossing::through(effects, arguments, origin, |&[a, b, c, d, e, f]| {
            call(number, a, b, c, d, e, f) as usize
        }) as i64
    }
}
