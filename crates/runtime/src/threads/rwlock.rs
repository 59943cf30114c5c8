//! Reader-writer locks. Readers never wait for waiting writers: both orders are explored anyway.

use super::context::Step;
use super::mutex::Ask;
use super::steps::{effect, point};
use super::threads;
use crate::log;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;

pub(super) unsafe fn lock_shared(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = (*threads()).current;
    let kind = if ask == Ask::Wait {
        step::LOCK_SHARED
    } else {
        step::TRY_LOCK_SHARED
    };
    let object = (*(*threads()).objects).get(lock);
    point(Step::new(kind, lock, caller));
    if (*object).owner != 0 {
        effect(lock, READ, 0);
        return match ask {
            _ if (*object).is_owner(me) => libc::EDEADLK,
            Ask::Timed => libc::ETIMEDOUT,
            _ => libc::EBUSY,
        };
    }
    effect(lock, WRITE, 0);
    (*object).shared |= 1 << me;
    0
}

pub(super) unsafe fn lock(lock: usize, ask: Ask, caller: usize) -> i32 {
    let me = (*threads()).current;
    let kind = if ask == Ask::Wait {
        step::LOCK_EXCLUSIVE
    } else {
        step::TRY_LOCK_EXCLUSIVE
    };
    let object = (*(*threads()).objects).get(lock);
    point(Step::new(kind, lock, caller));
    if (*object).owner != 0 || (*object).shared != 0 {
        effect(lock, READ, 0);
        return if ask == Ask::Timed {
            libc::ETIMEDOUT
        } else {
            libc::EBUSY
        };
    }
    effect(lock, WRITE, 0);
    (*object).owner = me as u32 + 1;
    0
}

pub(super) unsafe fn unlock(lock: usize, caller: usize) -> i32 {
    let me = (*threads()).current;
    let object = (*(*threads()).objects).get(lock);
    let shared = !(*object).is_owner(me);
    let kind = if shared {
        step::UNLOCK_SHARED
    } else {
        step::UNLOCK
    };
    point(Step::new(kind, lock, caller));
    effect(lock, WRITE, 0);
    if (*object).is_owner(me) {
        (*object).owner = 0;
    } else if (*object).shared & 1 << me != 0 {
        (*object).shared &= !(1 << me);
    } else {
        log::misuse(me, step::UNLOCK, caller, lock);
    }
    0
}
