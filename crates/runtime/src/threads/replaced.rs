//! Locks of the program's own making that others take the place of (`--replace`): the pass makes each of their functions a call of one of these, with the
//! lock's address. What lies there is not looked at.

use super::mutex::{self, Ask};
use super::{objects, on, rwlock};
use crate::caller;
use landfall_vocab::shared::SAID;

/// Where the lock is that takes its place.
fn key(lock: usize) -> usize {
    lock | SAID
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_lock(lock: usize) -> i32 {
    match on() {
        true => mutex::spin_lock(key(lock), caller!()),
        false => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_trylock(lock: usize) -> i32 {
    match on() {
        true => mutex::spin_try_lock(key(lock), caller!()),
        false => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_unlock(lock: usize) -> i32 {
    match on() {
        true => mutex::spin_unlock(key(lock), caller!()),
        false => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_rdlock(lock: usize) -> i32 {
    match on() {
        true => rwlock::lock_shared(key(lock), Ask::Wait, caller!()),
        false => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_wrlock(lock: usize) -> i32 {
    match on() {
        true => rwlock::lock(key(lock), Ask::Wait, caller!()),
        false => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_rwunlock(lock: usize) -> i32 {
    match on() {
        true => rwlock::unlock(key(lock), caller!()),
        false => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_init(lock: usize) -> i32 {
    if on() {
        objects().renew(key(lock));
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_replaced_destroy(_lock: usize) -> i32 {
    0
}
