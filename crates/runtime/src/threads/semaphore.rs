//! POSIX semaphores. Their value is in libc's object, where `sem_getvalue` of anybody finds it.

use super::context::Step;
use super::mutex::Ask;
use super::objects::Object;
use super::signals::Waiting;
use super::steps::{effect, point};
use super::{object_lifetime, objects, on, signals, word};
use crate::caller;
use crate::run::outcome::{self};
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::End;

crate::weak!(
    "sem_init" => sem_init, "sem_destroy" => sem_destroy, "sem_wait" => sem_wait, "sem_trywait" => sem_trywait,
    "sem_timedwait" => sem_timedwait, "sem_clockwait" => sem_clockwait, "sem_post" => sem_post,
    "sem_getvalue" => sem_getvalue, "sem_open" => sem_open,
);

/// What is known of a semaphore. One that this run has not seen yet was made before it, by a constructor: it has what its memory says.
///
/// # Safety
/// `semaphore` is a semaphore of the program's.
unsafe fn get(semaphore: *mut u32) -> &'static Object {
    let (object, first) = objects().meet(semaphore as usize);
    // SAFETY: what the caller promises.
    unsafe {
        if first {
            object.count.set(*word(semaphore));
        }
    }
    object
}

fn fail(error: i32) -> i32 {
    // SAFETY: libc's variable of this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_init(semaphore: *mut u32, _shared: i32, value: u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if value > i32::MAX as u32 {
            return fail(libc::EINVAL);
        }
        if on() {
            object_lifetime::made(semaphore as usize, value.into(), caller!());
            objects().get(semaphore as usize).count.set(value);
        }
        *word(semaphore) = value;
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_destroy(semaphore: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            let at = semaphore as usize;
            object_lifetime::destroyed(at, at, object_lifetime::GONE, caller!());
        }
    }
    0
}

/// One less, when there is one.
///
/// # Safety
/// `semaphore` is a semaphore of the program's.
unsafe fn take(semaphore: *mut u32, ask: Ask, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        let kind = if ask == Ask::Wait {
            step::TAKE
        } else {
            step::TRY_TAKE
        };
        let refused = || match ask {
            Ask::Try => fail(libc::EAGAIN),
            _ => fail(ask.refused()),
        };
        if on() {
            let object = get(semaphore);
            let origin = Origin::library(Builtin::thread, caller);
            let interrupted = ask != Ask::Try && signals::interrupts(Waiting::Soon, origin);
            let kind = if interrupted { step::TRY_TAKE } else { kind };
            point(Step::new(kind, semaphore as usize, caller));
            if object_lifetime::is_gone(semaphore as usize) {
                effect(semaphore as usize, READ, object_lifetime::GONE);
                return fail(libc::EINVAL);
            }
            if object.count.get() == 0 {
                effect(semaphore as usize, READ, 0);
                return match interrupted {
                    true => fail(libc::EINTR),
                    false => refused(),
                };
            }
            effect(semaphore as usize, WRITE, object.count.get().into());
            object.count.set(object.count.get() - 1);
            *word(semaphore) = object.count.get();
            return 0;
        }
        if *semaphore > 0 {
            *semaphore -= 1;
            return 0;
        }
        if kind == step::TRY_TAKE {
            return refused();
        }
        outcome::fail(
            End::Deadlock,
            &[b"sem_wait waits for something that cannot happen"],
        )
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_wait(semaphore: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { take(semaphore, Ask::Wait, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_trywait(semaphore: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { take(semaphore, Ask::Try, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_timedwait(semaphore: *mut u32, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { take(semaphore, Ask::Until(time), caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_clockwait(semaphore: *mut u32, _clock: i32, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { take(semaphore, Ask::Until(time), caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_post(semaphore: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            let object = get(semaphore);
            point(Step::new(step::GIVE, semaphore as usize, caller!()));
            if object_lifetime::is_gone(semaphore as usize) {
                effect(semaphore as usize, READ, object_lifetime::GONE);
                return fail(libc::EINVAL);
            }
            effect(semaphore as usize, WRITE, object.count.get().into());
            object.count.set(object.count.get() + 1);
            *word(semaphore) = object.count.get();
        } else {
            *semaphore += 1;
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sem_getvalue(semaphore: *mut u32, to: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            let object = get(semaphore);
            point(Step::new(step::LOOK, semaphore as usize, caller!()));
            effect(semaphore as usize, READ, object.count.get().into());
        }
        *to = *word(semaphore) as i32;
        0
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_sem_open(_name: *const u8) -> usize {
    outcome::fail(
        End::Forbidden,
        &[b"sem_open: named semaphores reach beyond the program; use sem_init"],
    )
}
