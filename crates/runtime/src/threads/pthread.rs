//! The lock functions of pthreads, by their names, for `locks`.

use super::mutex::{self, Ask};
use super::object_lifetime::{self, MARK_AT};
use super::{condition, rwlock};

/// Before libc makes it.
pub(crate) unsafe fn made(object: usize, caller: usize) -> i32 {
    object_lifetime::made(object, 0, caller);
    0
}

pub(crate) unsafe fn destroyed(object: usize, caller: usize) -> i32 {
    object_lifetime::destroyed(object, object + MARK_AT, 0, caller);
    0
}

pub(crate) unsafe fn lock(lock: usize, caller: usize) -> i32 {
    mutex::lock(lock, Ask::Wait, caller)
}

pub(crate) unsafe fn try_lock(lock: usize, caller: usize) -> i32 {
    mutex::lock(lock, Ask::Try, caller)
}

pub(crate) unsafe fn unlock(lock: usize, caller: usize) -> i32 {
    mutex::unlock(lock, caller)
}

pub(crate) unsafe fn read_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock_shared(lock, Ask::Wait, caller)
}

pub(crate) unsafe fn try_read_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock_shared(lock, Ask::Try, caller)
}

pub(crate) unsafe fn write_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock(lock, Ask::Wait, caller)
}

pub(crate) unsafe fn try_write_lock(lock: usize, caller: usize) -> i32 {
    rwlock::lock(lock, Ask::Try, caller)
}

pub(crate) unsafe fn rw_unlock(lock: usize, caller: usize) -> i32 {
    rwlock::unlock(lock, caller)
}

pub(crate) unsafe fn signal(condition: usize, caller: usize) -> i32 {
    condition::signal(condition, caller)
}

pub(crate) unsafe fn broadcast(condition: usize, caller: usize) -> i32 {
    condition::broadcast(condition, caller)
}
