//! Locks that constructors took before the run began. Main takes them again, as the first steps of every run: so they are held, and
//! whoever searches knows it.

use super::on;
use crate::state::{Mode, state};

/// Takes a lock: its address, and where the constructor did it.
pub(crate) type Take = unsafe fn(usize, usize) -> i32;

#[derive(Clone, Copy)]
struct Lock {
    address: usize,
    caller: usize,
    take: Take,
}

/// More than this nobody holds.
const MOST: usize = 64;

#[repr(C)]
pub(crate) struct Held {
    all: [Option<Lock>; MOST],
    count: usize,
}

unsafe fn held() -> Option<&'static mut Held> {
    let state = state();
    ((*state).mode == Mode::Constructing).then(|| &mut (*state).held)
}

/// A lock was taken; nothing to note in a run.
pub(crate) unsafe fn taken(address: usize, caller: usize, take: Take) {
    if let Some(held) = held()
        && held.count < MOST
    {
        held.all[held.count] = Some(Lock {
            address,
            caller,
            take,
        });
        held.count += 1;
    }
}

/// It was given back.
pub(crate) unsafe fn given(address: usize) {
    let Some(held) = held() else { return };
    let of = |lock: &Option<Lock>| lock.is_some_and(|lock| lock.address == address);
    if let Some(at) = held.all[..held.count].iter().rposition(of) {
        held.count -= 1;
        for next in at..held.count {
            held.all[next] = held.all[next + 1];
        }
        // Somebody else's place from here on.
        held.all[held.count] = None;
    }
}

/// The first steps of main.
pub(crate) unsafe fn take_again() {
    let held = &raw const (*state()).held;
    if on() {
        for lock in (&(*held).all)[..(*held).count].iter().flatten() {
            (lock.take)(lock.address, lock.caller);
        }
    }
}
