//! Mutexes and spin locks.

use super::context::Step;
use super::objects::Object;
use super::steps::{effect, note, point};
use super::{constructor_locks, object_lifetime, objects, on, section, threads, word};
use crate::caller;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::memory::shadow::{is_persistent, recording};
use crate::run::outcome::{self};
use crate::run::trace::{self, Origin};
use crate::syscalls::clock;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{NOTHING, READ, WRITE};
use landfall_vocab::record::{lifetime, step};
use landfall_vocab::shared::End;

/// Kinds, as libc's static initialisers write them into the object.
const KIND_AT: usize = 16;
const RECURSIVE: u32 = 1;
const ERROR_CHECKING: u32 = 2;
const ROBUST: u32 = 16;

/// # Safety
/// `lock` is a lock of the program's.
unsafe fn get(lock: usize) -> &'static Object {
    let object = objects().get(lock);
    // SAFETY: what the caller promises.
    let kind = unsafe { *word((lock + KIND_AT) as *mut u32) };
    if kind & ROBUST != 0 && !object_lifetime::is_gone(lock) {
        outcome::fail(End::Forbidden, &[b"a robust mutex: what happens to one whose owner has died is not modelled; make it an ordinary one"])
    }
    object.kind.set(kind & 3);
    object
}

/// Could this thread lock it now? A plain mutex cannot be locked twice, not even by its owner.
pub(super) fn is_free(lock: &Object, thread: usize) -> bool {
    lock.owner.get() == 0 && lock.shared.is_empty(threads().thread_words.get())
        || lock.is_owner(thread) && matches!(lock.kind.get(), RECURSIVE | ERROR_CHECKING)
}

/// What libc leaves in the object, for locks in persistent memory: a power failure keeps it.
fn persist(lock: usize, held: bool, caller: usize) {
    // SAFETY: the lock is in the window, and what is stored is ours.
    unsafe {
        if is_persistent(lock) && recording() {
            let origin = Origin::library(Builtin::pthread_lock, caller);
            let owner = if held { super::thread_id() as u64 } else { 0 };
            accesses::read_span(lock, 40, 0, origin);
            let (state, owner) = (u32::from(held), owner | u64::from(held) << 32);
            accesses::library_store(lock, (&raw const state).cast(), 4, origin);
            accesses::library_store(lock + 8, (&raw const owner).cast(), 8, origin);
        }
    }
}

/// How a lock is asked for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ask {
    Wait,
    Try,
    /// Waits, but not for ever: in a search any wait may be too long.
    Until(usize),
}

impl Ask {
    /// What a caller who does not get the lock is told.
    pub(super) fn refused(self) -> i32 {
        match self {
            Ask::Until(moment) => {
                clock::pass(moment);
                libc::ETIMEDOUT
            }
            Ask::Wait | Ask::Try => libc::EBUSY,
        }
    }
}

/// # Safety
/// `lock` is a lock of the program's.
pub(super) unsafe fn lock(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = threads().current.get();
    // SAFETY: what the caller promises.
    let object = unsafe { get(lock) };
    let kind = if ask == Ask::Wait {
        step::LOCK
    } else {
        step::TRY_LOCK
    };
    point(Step::new(kind, lock, caller));
    if ask != Ask::Wait {
        section::is_seen(lock);
    }
    if !is_free(object, me) {
        effect(lock, READ, 0);
        return ask.refused();
    }
    if object.is_owner(me) {
        effect(lock, NOTHING, 0);
        if object.kind.get() == ERROR_CHECKING {
            return if ask == Ask::Try {
                libc::EBUSY
            } else {
                libc::EDEADLK
            };
        }
        object.count.set(object.count.get() + 1);
        return 0;
    }
    object.owner.set(me as u32 + 1);
    object.count.set(1);
    taken(lock, ask);
    persist(lock, true, caller);
    0
}

/// The running thread has taken a lock: where nobody could see that, the lock says nothing.
fn taken(lock: usize, ask: Ask) {
    match ask == Ask::Wait && section::begins(lock) {
        true => note(lock, WRITE, lifetime::SECTION),
        false => effect(lock, WRITE, 0),
    }
}

/// # Safety
/// `lock` is a lock of the program's.
pub(super) unsafe fn unlock(lock: usize, caller: usize) -> i32 {
    let me = threads().current.get();
    // SAFETY: what the caller promises.
    let object = unsafe { get(lock) };
    if object.count.get() <= 1 && object.is_owner(me) && section::ends(lock) {
        object.count.set(0);
        object.owner.set(0);
        return 0;
    }
    section::is_seen(lock);
    if object.count.get() <= 1 {
        // While it is still ours: whoever has it next writes there, too.
        persist(lock, false, caller);
    }
    point(Step::new(step::UNLOCK, lock, caller));
    if !object.is_owner(me) {
        trace::misuse(me, step::UNLOCK, caller, lock);
        if object.kind.get() == ERROR_CHECKING || object.kind.get() == RECURSIVE {
            effect(lock, READ, 0);
            return libc::EPERM;
        }
    }
    object.count.set(object.count.get().saturating_sub(1));
    effect(
        lock,
        if object.count.get() == 0 {
            WRITE
        } else {
            NOTHING
        },
        0,
    );
    if object.count.get() == 0 {
        object.owner.set(0);
    }
    0
}

/// Gives a lock up for a wait, however often it is held; returns how often that was.
///
/// # Safety
/// `lock` is a lock of the program's.
pub(super) unsafe fn release(lock: usize, caller: usize) -> u32 {
    let me = threads().current.get();
    // SAFETY: what the caller promises.
    let object = unsafe { get(lock) };
    section::is_seen(lock);
    persist(lock, false, caller);
    point(Step::new(step::RELEASE, lock, caller));
    if !object.is_owner(me) {
        trace::misuse(me, step::WAIT, caller, lock);
    }
    let held = object.count.get();
    object.owner.set(0);
    object.count.set(0);
    effect(lock, WRITE, 0);
    held
}

/// # Safety
/// `lock_address` is a lock of the program's.
pub(super) unsafe fn regain(lock_address: usize, held: u32, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        lock(lock_address, Ask::Wait, caller);
        get(lock_address).count.set(held.max(1));
    }
}

crate::weak!(
    "pthread_mutex_timedlock" => mutex_timedlock, "pthread_mutex_clocklock" => mutex_clocklock,
    "pthread_spin_init" => spin_init, "pthread_spin_destroy" => spin_destroy, "pthread_spin_lock" => spin_lock,
    "pthread_spin_trylock" => spin_trylock, "pthread_spin_unlock" => spin_unlock,
);

/// `pthread_mutex_timedlock` and its kin.
///
/// # Safety
/// `mutex` is a lock of the program's, and `time` a time.
#[inline(always)]
unsafe fn lock_until(mutex: usize, time: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        if on() {
            return lock(mutex, Ask::Until(time), caller);
        }
        real()
            .pthread_mutex_timedlock()
            .map_or(libc::ENOSYS, |lock| lock(mutex, time))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mutex_timedlock(mutex: usize, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { lock_until(mutex, time, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mutex_clocklock(mutex: usize, _clock: i32, time: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { lock_until(mutex, time, caller!()) }
}

// A spin lock is one word; waiting for it is waiting. Its kind is plain, and there is no field that says so.

fn spin(lock: usize) -> &'static Object {
    objects().get(lock)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_init(lock: *mut i32, _shared: i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::made(lock as usize, 0, caller!());
        }
        *word(lock) = 1;
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_destroy(lock: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::destroyed(lock as usize, lock as usize, 0, caller!());
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_lock(lock: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            *lock = 0;
            constructor_locks::taken(lock as usize, caller!(), spin_lock);
            return 0;
        }
    }
    spin_lock(lock as usize, caller!())
}

pub(super) fn spin_lock(lock: usize, caller: usize) -> i32 {
    let object = spin(lock);
    point(Step::new(step::LOCK, lock, caller));
    object.owner.set(threads().current.get() as u32 + 1);
    taken(lock, Ask::Wait);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_trylock(lock: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            if core::mem::replace(&mut *lock, 0) != 1 {
                return libc::EBUSY;
            }
            constructor_locks::taken(lock as usize, caller!(), spin_lock);
            return 0;
        }
    }
    spin_try_lock(lock as usize, caller!())
}

pub(super) fn spin_try_lock(lock: usize, caller: usize) -> i32 {
    let object = spin(lock);
    point(Step::new(step::TRY_LOCK, lock, caller));
    section::is_seen(lock);
    if object.owner.get() != 0 {
        effect(lock, READ, 0);
        return libc::EBUSY;
    }
    effect(lock, WRITE, 0);
    object.owner.set(threads().current.get() as u32 + 1);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_unlock(lock: *mut i32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            *lock = 1;
            constructor_locks::given(lock as usize);
            return 0;
        }
    }
    spin_unlock(lock as usize, caller!())
}

pub(super) fn spin_unlock(lock: usize, caller: usize) -> i32 {
    let object = spin(lock);
    if object.is_owner(threads().current.get()) && section::ends(lock) {
        object.owner.set(0);
        return 0;
    }
    section::is_seen(lock);
    point(Step::new(step::UNLOCK, lock, caller));
    effect(lock, WRITE, 0);
    if !object.is_owner(threads().current.get()) {
        trace::misuse(threads().current.get(), step::UNLOCK, caller, lock);
    }
    object.owner.set(0);
    0
}
