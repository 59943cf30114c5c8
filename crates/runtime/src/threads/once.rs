//! Things done once: `pthread_once`, `call_once`, and C++'s local statics.

use super::context::Step;
use super::steps::{effect, point};
use super::{objects, on, threads, visible, word};
use crate::caller;
use crate::hooks::SEQ_CST;
use crate::run::trace::Origin;
use crate::state::watching;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;

/// libc's word for "done", in its control variable.
const DONE: i32 = 2;

crate::weak!(
    "pthread_once" => pthread_once, "call_once" => call_once, "__cxa_guard_acquire" => guard_acquire,
    "__cxa_guard_release" => guard_release, "__cxa_guard_abort" => guard_abort,
);

/// # Safety
/// `control` is the program's, and `routine` what it wants done once.
unsafe fn once(control: *mut i32, routine: unsafe extern "C" fn(), caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if !on() {
            if *control != DONE {
                routine();
                *control = DONE;
            }
            return;
        }
        let object = objects().get(control as usize);
        point(Step::new(step::ONCE, control as usize, caller));
        let done = *word(control) == DONE;
        effect(
            control as usize,
            if done { READ } else { WRITE },
            done.into(),
        );
        if done {
            return;
        }
        object.owner.set(threads().current.get() as u32 + 1);
        routine();
        point(Step::new(step::ONCE_DONE, control as usize, caller));
        effect(control as usize, WRITE, 1);
        *word(control) = DONE;
        object.owner.set(0);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_once(
    control: *mut i32,
    routine: unsafe extern "C" fn(),
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { once(control, routine, caller!()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_call_once(control: *mut i32, routine: unsafe extern "C" fn()) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        once(control, routine, caller!());
    }
}

// A guard is 64 bits; its first byte says that the variable is there (Itanium C++ ABI §3.3.3).

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_guard_acquire(guard: *mut u8) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            let object = objects().get(guard as usize);
            point(Step::new(step::ONCE, guard as usize, caller!()));
            let done = *word(guard) != 0;
            effect(guard as usize, if done { READ } else { WRITE }, done.into());
            if *word(guard) == 0 {
                object.owner.set(threads().current.get() as u32 + 1);
            }
        }
        i32::from(*word(guard) == 0)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_guard_release(guard: *mut u8) {
    let caller = caller!();
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if watching() {
            // Whoever looks at that byte first, as compiled code does, needs not ask.
            let origin = Origin::library(Builtin::thread, caller);
            visible::store(guard as usize, &1, 1, SEQ_CST, origin);
        } else {
            *word(guard) = 1;
        }
    }
    guard_left(guard, true, caller);
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_guard_abort(guard: *mut u8) {
    guard_left(guard, false, caller!());
}

fn guard_left(guard: *mut u8, done: bool, caller: usize) {
    if on() {
        point(Step::new(step::ONCE_DONE, guard as usize, caller));
        effect(guard as usize, WRITE, done.into());
        objects().get(guard as usize).owner.set(0);
    }
}
