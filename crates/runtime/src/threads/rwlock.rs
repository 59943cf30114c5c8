//! Reader-writer locks. Readers never wait for waiting writers: both orders are explored anyway.

use super::context::Step;
use super::mutex::Ask;
use super::objects::Object;
use super::steps::{effect, point};
use super::{objects, on, threads};
use crate::caller;
use crate::libc::real::real;
use crate::run::trace;
use landfall_vocab::record::access::{NOTHING, READ, WRITE};
use landfall_vocab::record::step;

pub(super) fn lock_shared(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = threads().current.get();
    let kind = if ask == Ask::Wait {
        step::LOCK_SHARED
    } else {
        step::TRY_LOCK_SHARED
    };
    let object = objects().get(lock);
    point(Step::new(kind, lock, caller));
    if object.owner.get() != 0 {
        effect(lock, READ, 0);
        return match ask {
            _ if object.is_owner(me) => libc::EDEADLK,
            _ => ask.refused(),
        };
    }
    if object.shared.contains(me) {
        effect(lock, NOTHING, 0);
        let again = again(lock, me);
        again.count.set(again.count.get() + 1);
        return 0;
    }
    effect(lock, WRITE, 0);
    object.shared.insert(me);
    0
}

/// How often a thread reads under the lock besides the first time.
fn again(lock: usize, thread: usize) -> &'static Object {
    objects().get(lock ^ (thread + 1) << 48)
}

pub(super) fn lock(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = threads().current.get();
    let kind = if ask == Ask::Wait {
        step::LOCK_EXCLUSIVE
    } else {
        step::TRY_LOCK_EXCLUSIVE
    };
    let object = objects().get(lock);
    point(Step::new(kind, lock, caller));
    if object.owner.get() != 0 || !object.shared.is_empty(threads().thread_words.get()) {
        effect(lock, READ, 0);
        return ask.refused();
    }
    effect(lock, WRITE, 0);
    object.owner.set(me as u32 + 1);
    0
}

pub(super) fn unlock(lock: usize, caller: usize) -> i32 {
    let me = threads().current.get();
    let object = objects().get(lock);
    let shared = !object.is_owner(me);
    let kind = if shared {
        step::UNLOCK_SHARED
    } else {
        step::UNLOCK
    };
    point(Step::new(kind, lock, caller));
    if shared && object.shared.contains(me) && again(lock, me).count.get() > 0 {
        effect(lock, NOTHING, 0);
        let again = again(lock, me);
        again.count.set(again.count.get() - 1);
        return 0;
    }
    effect(lock, WRITE, 0);
    if object.is_owner(me) {
        object.owner.set(0);
    } else if object.shared.contains(me) {
        object.shared.remove(me);
    } else {
        trace::misuse(me, step::UNLOCK, caller, lock);
    }
    0
}

crate::weak!(
    "pthread_rwlock_timedrdlock" => rwlock_timedrdlock, "pthread_rwlock_clockrdlock" => rwlock_clockrdlock,
    "pthread_rwlock_timedwrlock" => rwlock_timedwrlock, "pthread_rwlock_clockwrlock" => rwlock_clockwrlock,
);

/// # Safety
/// The program may read `time`, as far as it asks for.
unsafe fn read_until(rwlock: usize, time: usize, caller: usize) -> i32 {
    if on() {
        return lock_shared(rwlock, Ask::Until(time), caller);
    }
    // SAFETY: what the caller promises.
    unsafe {
        real()
            .pthread_rwlock_timedrdlock()
            .map_or(libc::ENOSYS, |lock| lock(rwlock, time))
    }
}

/// # Safety
/// The program may read `time`, as far as it asks for.
unsafe fn write_until(rwlock: usize, time: usize, caller: usize) -> i32 {
    if on() {
        return lock(rwlock, Ask::Until(time), caller);
    }
    // SAFETY: what the caller promises.
    unsafe {
        real()
            .pthread_rwlock_timedwrlock()
            .map_or(libc::ENOSYS, |lock| lock(rwlock, time))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_timedrdlock(rwlock: usize, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { read_until(rwlock, time, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_clockrdlock(rwlock: usize, _clock: i32, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { read_until(rwlock, time, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_timedwrlock(rwlock: usize, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { write_until(rwlock, time, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_clockwrlock(rwlock: usize, _clock: i32, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { write_until(rwlock, time, caller!()) }
}
