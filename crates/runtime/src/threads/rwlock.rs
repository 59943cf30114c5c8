//! Reader-writer locks. Readers never wait for waiting writers: both orders are explored anyway.

use super::context::Step;
use super::mutex::Ask;
use super::objects::Object;
use super::steps::{effect, point};
use super::{on, tables, threads};
use crate::caller;
use crate::libc::real::real;
use crate::run::trace;
use landfall_vocab::record::access::{NOTHING, READ, WRITE};
use landfall_vocab::record::step;

pub(super) unsafe fn lock_shared(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = threads().current.get();
    let kind = if ask == Ask::Wait {
        step::LOCK_SHARED
    } else {
        step::TRY_LOCK_SHARED
    };
    let object = (*tables().objects.get()).get(lock);
    point(Step::new(kind, lock, caller));
    if (*object).owner != 0 {
        effect(lock, READ, 0);
        return match ask {
            _ if (*object).is_owner(me) => libc::EDEADLK,
            _ => ask.refused(),
        };
    }
    if (*object).shared & 1 << me != 0 {
        effect(lock, NOTHING, 0);
        (*again(lock, me)).count += 1;
        return 0;
    }
    effect(lock, WRITE, 0);
    (*object).shared |= 1 << me;
    0
}

/// How often a thread reads under the lock besides the first time.
unsafe fn again(lock: usize, thread: usize) -> *mut Object {
    (*tables().objects.get()).get(lock ^ (thread + 1) << 48)
}

pub(super) unsafe fn lock(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = threads().current.get();
    let kind = if ask == Ask::Wait {
        step::LOCK_EXCLUSIVE
    } else {
        step::TRY_LOCK_EXCLUSIVE
    };
    let object = (*tables().objects.get()).get(lock);
    point(Step::new(kind, lock, caller));
    if (*object).owner != 0 || (*object).shared != 0 {
        effect(lock, READ, 0);
        return ask.refused();
    }
    effect(lock, WRITE, 0);
    (*object).owner = me as u32 + 1;
    0
}

pub(super) unsafe fn unlock(lock: usize, caller: usize) -> i32 {
    let me = threads().current.get();
    let object = (*tables().objects.get()).get(lock);
    let shared = !(*object).is_owner(me);
    let kind = if shared {
        step::UNLOCK_SHARED
    } else {
        step::UNLOCK
    };
    point(Step::new(kind, lock, caller));
    if shared && (*object).shared & 1 << me != 0 && (*again(lock, me)).count > 0 {
        effect(lock, NOTHING, 0);
        (*again(lock, me)).count -= 1;
        return 0;
    }
    effect(lock, WRITE, 0);
    if (*object).is_owner(me) {
        (*object).owner = 0;
    } else if (*object).shared & 1 << me != 0 {
        (*object).shared &= !(1 << me);
    } else {
        trace::misuse(me, step::UNLOCK, caller, lock);
    }
    0
}

crate::weak!(
    "pthread_rwlock_timedrdlock" => rwlock_timedrdlock, "pthread_rwlock_clockrdlock" => rwlock_clockrdlock,
    "pthread_rwlock_timedwrlock" => rwlock_timedwrlock, "pthread_rwlock_clockwrlock" => rwlock_clockwrlock,
);

unsafe fn read_until(rwlock: usize, time: usize, caller: usize) -> i32 {
    if on() {
        return lock_shared(rwlock, Ask::Until(time), caller);
    }
    (*real())
        .pthread_rwlock_timedrdlock
        .map_or(libc::ENOSYS, |lock| lock(rwlock, time))
}

unsafe fn write_until(rwlock: usize, time: usize, caller: usize) -> i32 {
    if on() {
        return lock(rwlock, Ask::Until(time), caller);
    }
    (*real())
        .pthread_rwlock_timedwrlock
        .map_or(libc::ENOSYS, |lock| lock(rwlock, time))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_timedrdlock(rwlock: usize, time: usize) -> i32 {
    read_until(rwlock, time, caller!())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_clockrdlock(rwlock: usize, _clock: i32, time: usize) -> i32 {
    read_until(rwlock, time, caller!())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_timedwrlock(rwlock: usize, time: usize) -> i32 {
    write_until(rwlock, time, caller!())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rwlock_clockwrlock(rwlock: usize, _clock: i32, time: usize) -> i32 {
    write_until(rwlock, time, caller!())
}
