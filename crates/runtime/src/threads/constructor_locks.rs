//! Locks that constructors took before the run began. Main takes them again, as the first steps of every run: so they are held, and
//! whoever searches knows it.

use super::on;
use crate::memory::bytes;
use crate::state::{Mode, server};

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

fn held() -> Option<&'static mut Held> {
    // SAFETY: the table is reached here alone, and a lock that was taken is one.
    unsafe { (server().mode.get() == Mode::Constructing).then(|| &mut (*server().held.pointer())) }
}

/// A lock was taken; nothing to note in a run.
pub(crate) fn taken(address: usize, caller: usize, take: Take) {
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
pub(crate) fn given(address: usize) {
    let Some(held) = held() else { return };
    let of = |lock: &Option<Lock>| lock.is_some_and(|lock| lock.address == address);
    // SAFETY: the table is reached here alone, and a lock that was taken is one.
    unsafe {
        if let Some(at) = held.all[..held.count].iter().rposition(of) {
            // By hand: the compiler's way would be a call of `memmove`, which may be the program's.
            let behind = held.count - at - 1;
            let to = held.all.as_mut_ptr().add(at);
            bytes::shift(
                to.cast(),
                to.add(1).cast(),
                behind * size_of::<Option<Lock>>(),
            );
            held.count -= 1;
        }
    }
}

/// The first steps of main.
pub(crate) fn take_again() {
    let held = server().held.pointer();
    // SAFETY: the table is reached here alone, and a lock that was taken is one.
    unsafe {
        if on() {
            for lock in (&(*held).all)[..(*held).count].iter().flatten() {
                (lock.take)(lock.address, lock.caller);
            }
        }
    }
}
