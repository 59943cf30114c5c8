//! Mutexes and spin locks.

use super::context::Step;
use super::objects::Object;
use super::steps::{effect, point};
use super::{constructor_locks, object_lifetime, on, tables, threads, word};
use crate::caller;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::memory::shadow::{is_persistent, recording};
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::trace::{self, Origin};
use crate::syscalls::clock;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{NOTHING, READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::End;

/// Kinds, as libc's static initialisers write them into the object.
const KIND_AT: usize = 16;
const RECURSIVE: u32 = 1;
const ERROR_CHECKING: u32 = 2;
const ROBUST: u32 = 16;

unsafe fn get(lock: usize) -> *mut Object {
    let object = (*tables().objects.get()).get(lock);
    let kind = *word((lock + KIND_AT) as *mut u32);
    if kind & ROBUST != 0 && !object_lifetime::is_gone(lock) {
        let text: &[&[u8]] =
            &[b"a robust mutex: what happens to one whose owner has died is not modelled; make it an ordinary one"];
        let frame = call_stack::frame_pointer();
        outcome::end(
            End::Forbidden,
            Report {
                frame,
                text,
                ..Report::default()
            },
        )
    }
    (*object).kind = kind & 3;
    object
}

/// Could this thread lock it now? A plain mutex cannot be locked twice, not even by its owner.
pub(super) unsafe fn is_free(lock: *const Object, thread: usize) -> bool {
    (*lock).owner == 0 && (*lock).shared == 0
        || (*lock).is_owner(thread) && matches!((*lock).kind, RECURSIVE | ERROR_CHECKING)
}

/// What libc leaves in the object, for locks in persistent memory: a power failure keeps it.
unsafe fn persist(lock: usize, held: bool, caller: usize) {
    if is_persistent(lock) && recording() {
        let origin = Origin::library(Builtin::pthread_lock, caller);
        let owner = if held { super::thread_id() as u64 } else { 0 };
        accesses::read_span(lock, 40, 0, origin);
        let (state, owner) = (u32::from(held), owner | u64::from(held) << 32);
        accesses::library_store(lock, (&raw const state).cast(), 4, origin);
        accesses::library_store(lock + 8, (&raw const owner).cast(), 8, origin);
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
    pub(super) unsafe fn refused(self) -> i32 {
        match self {
            Ask::Until(moment) => {
                clock::pass(moment);
                libc::ETIMEDOUT
            }
            Ask::Wait | Ask::Try => libc::EBUSY,
        }
    }
}

pub(super) unsafe fn lock(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = threads().current.get();
    let object = get(lock);
    let kind = if ask == Ask::Wait {
        step::LOCK
    } else {
        step::TRY_LOCK
    };
    point(Step::new(kind, lock, caller));
    if !is_free(object, me) {
        effect(lock, READ, 0);
        return ask.refused();
    }
    if (*object).is_owner(me) {
        effect(lock, NOTHING, 0);
        if (*object).kind == ERROR_CHECKING {
            return if ask == Ask::Try {
                libc::EBUSY
            } else {
                libc::EDEADLK
            };
        }
        (*object).count += 1;
        return 0;
    }
    ((*object).owner, (*object).count) = (me as u32 + 1, 1);
    effect(lock, WRITE, 0);
    persist(lock, true, caller);
    0
}

pub(super) unsafe fn unlock(lock: usize, caller: usize) -> i32 {
    let me = threads().current.get();
    let object = get(lock);
    if (*object).count <= 1 {
        // While it is still ours: whoever has it next writes there, too.
        persist(lock, false, caller);
    }
    point(Step::new(step::UNLOCK, lock, caller));
    if !(*object).is_owner(me) {
        trace::misuse(me, step::UNLOCK, caller, lock);
        if (*object).kind == ERROR_CHECKING || (*object).kind == RECURSIVE {
            effect(lock, READ, 0);
            return libc::EPERM;
        }
    }
    (*object).count = (*object).count.saturating_sub(1);
    effect(lock, if (*object).count == 0 { WRITE } else { NOTHING }, 0);
    if (*object).count == 0 {
        (*object).owner = 0;
    }
    0
}

/// Gives a lock up for a wait, however often it is held; returns how often that was.
pub(super) unsafe fn release(lock: usize, caller: usize) -> u32 {
    let me = threads().current.get();
    let object = get(lock);
    persist(lock, false, caller);
    point(Step::new(step::RELEASE, lock, caller));
    if !(*object).is_owner(me) {
        trace::misuse(me, step::WAIT, caller, lock);
    }
    let held = (*object).count;
    ((*object).owner, (*object).count) = (0, 0);
    effect(lock, WRITE, 0);
    held
}

pub(super) unsafe fn regain(lock_address: usize, held: u32, caller: usize) {
    lock(lock_address, Ask::Wait, caller);
    (*get(lock_address)).count = held.max(1);
}

crate::weak!(
    "pthread_mutex_timedlock" => mutex_timedlock, "pthread_mutex_clocklock" => mutex_clocklock,
    "pthread_spin_init" => spin_init, "pthread_spin_destroy" => spin_destroy, "pthread_spin_lock" => spin_lock,
    "pthread_spin_trylock" => spin_trylock, "pthread_spin_unlock" => spin_unlock,
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mutex_timedlock(mutex: usize, time: usize) -> i32 {
    if on() {
        return lock(mutex, Ask::Until(time), caller!());
    }
    (*real())
        .pthread_mutex_timedlock
        .map_or(libc::ENOSYS, |lock| lock(mutex, time))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mutex_clocklock(mutex: usize, _clock: i32, time: usize) -> i32 {
    if on() {
        return lock(mutex, Ask::Until(time), caller!());
    }
    (*real())
        .pthread_mutex_timedlock
        .map_or(libc::ENOSYS, |lock| lock(mutex, time))
}

// A spin lock is one word; waiting for it is waiting. Its kind is plain, and there is no field that says so.

unsafe fn spin(lock: usize) -> *mut Object {
    (*tables().objects.get()).get(lock)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_init(lock: *mut i32, _shared: i32) -> i32 {
    if on() {
        object_lifetime::made(lock as usize, 0, caller!());
    }
    *word(lock) = 1;
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_destroy(lock: *mut i32) -> i32 {
    if on() {
        object_lifetime::destroyed(lock as usize, lock as usize, 0, caller!());
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_lock(lock: *mut i32) -> i32 {
    if !on() {
        *lock = 0;
        constructor_locks::taken(lock as usize, caller!(), spin_lock);
        return 0;
    }
    spin_lock(lock as usize, caller!())
}

unsafe fn spin_lock(lock: usize, caller: usize) -> i32 {
    let object = spin(lock);
    point(Step::new(step::LOCK, lock, caller));
    effect(lock, WRITE, 0);
    (*object).owner = threads().current.get() as u32 + 1;
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_trylock(lock: *mut i32) -> i32 {
    if !on() {
        if core::mem::replace(&mut *lock, 0) != 1 {
            return libc::EBUSY;
        }
        constructor_locks::taken(lock as usize, caller!(), spin_lock);
        return 0;
    }
    let object = spin(lock as usize);
    point(Step::new(step::TRY_LOCK, lock as usize, caller!()));
    if (*object).owner != 0 {
        effect(lock as usize, READ, 0);
        return libc::EBUSY;
    }
    effect(lock as usize, WRITE, 0);
    (*object).owner = threads().current.get() as u32 + 1;
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_spin_unlock(lock: *mut i32) -> i32 {
    if !on() {
        *lock = 1;
        constructor_locks::given(lock as usize);
        return 0;
    }
    let object = spin(lock as usize);
    let caller = caller!();
    point(Step::new(step::UNLOCK, lock as usize, caller));
    effect(lock as usize, WRITE, 0);
    if !(*object).is_owner(threads().current.get()) {
        trace::misuse(threads().current.get(), step::UNLOCK, caller, lock as usize);
    }
    (*object).owner = 0;
    0
}
