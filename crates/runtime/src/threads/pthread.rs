//! The lock functions of pthreads, by their names, for `locks`.

use super::mutex::{self, Ask};
use super::object_lifetime::{self, MARK_AT};
use super::{condition, rwlock};

/// Before libc makes it.
///
/// # Safety
/// `object` is a lock or condition of the program's.
pub(crate) unsafe fn made(object: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe { object_lifetime::made(object, 0, caller) };
    0
}

/// # Safety
/// `object` is a lock or condition of the program's.
pub(crate) unsafe fn destroyed(object: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe { object_lifetime::destroyed(object, object + MARK_AT, 0, caller) };
    0
}

/// # Safety
/// `lock` is a lock of the program's.
pub(crate) unsafe fn lock(lock: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe { mutex::lock(lock, Ask::Wait, caller) }
}

/// # Safety
/// `lock` is a lock of the program's.
pub(crate) unsafe fn try_lock(lock: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe { mutex::lock(lock, Ask::Try, caller) }
}

/// # Safety
/// `lock` is a lock of the program's.
pub(crate) unsafe fn unlock(lock: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe { mutex::unlock(lock, caller) }
}

pub(crate) fn read_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock_shared(lock, Ask::Wait, caller)
}

pub(crate) fn try_read_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock_shared(lock, Ask::Try, caller)
}

pub(crate) fn write_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock(lock, Ask::Wait, caller)
}

pub(crate) fn try_write_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock(lock, Ask::Try, caller)
}

pub(crate) fn rw_unlock(lock: usize, caller: usize) -> i32 {
    rwlock::unlock(lock, caller)
}

pub(crate) fn signal(condition: usize, caller: usize) -> i32 {
    condition::signal(condition, caller)
}

pub(crate) fn broadcast(condition: usize, caller: usize) -> i32 {
    condition::broadcast(condition, caller)
}
