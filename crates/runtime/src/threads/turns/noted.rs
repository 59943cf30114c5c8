//! What threads do between the heads of their loops, and what others see of it.

use super::super::{threads, visible, wakes};
use super::{CHANGES, Change, HELD, Held, READS, Read, Turns, View, of};
use crate::state::watching;
use core::cell::Cell;
use landfall_vocab::record::step;
use landfall_vocab::shared::LOCK;

/// The running thread does what cannot be undone, or is not known.
pub(in super::super) fn lasts(thread: usize) {
    if watching() {
        of(thread).lasts();
    }
}

/// It read something, and found this.
pub(in super::super) fn read(thread: usize, place: u64, length: usize, value: u64) {
    let turns = of(thread);
    turns.stales(thread, place);
    if turns.count.get() == 0 {
        return;
    }
    turns.finds(place, value);
    let known = |read: &Cell<Read>| {
        let read = read.get();
        read.place == place && read.length == length
    };
    let newest = turns.heads().iter().map(|head| head.get().reads).max();
    let mut reads = turns.reads(newest.unwrap_or(0)).iter();
    if let Some(known) = reads.find(|read| known(read)) {
        let was = known.get();
        if was.value != value && !turns.has_changed(was.after, place, length) {
            known.set(Read {
                found_another: true,
                ..was
            });
        }
        return;
    }
    let count = turns.read_count.get();
    if count == READS {
        turns.many.set(true);
        return;
    }
    turns.reads[count].set(Read {
        place,
        length,
        changed: false,
        after: turns.change_count.get(),
        value,
        found_another: false,
    });
    turns.read_count.set(count + 1);
}

/// It found what nobody can find again.
pub(in super::super) fn read_and_changed(thread: usize, place: u64) {
    read(thread, place, 1, 0);
    for read in of(thread).reads(0) {
        let was = read.get();
        if was.place == place {
            read.set(Read {
                changed: true,
                found_another: true,
                ..was
            });
        }
    }
}

pub(super) fn overlap(a: u64, a_length: usize, b: u64, b_length: usize) -> bool {
    a < b + b_length as u64 && b < a + a_length as u64
}

/// Bytes changed.
pub(in super::super) fn changed(by: usize, place: u64, length: usize) {
    for thread in 0..threads().count.get() {
        let turns = of(thread);
        if thread == by || turns.count.get() == 0 {
            continue;
        }
        turns
            .many_changed
            .set(turns.many_changed.get() | turns.many.get());
        for read in turns.reads(0).iter().chain(turns.watch()) {
            let was = read.get();
            let touched = overlap(was.place, was.length, place, length);
            read.set(Read {
                changed: was.changed | touched,
                ..was
            });
        }
    }
}

/// Bytes are there no more: nobody looks whether what was changed there is undone.
pub(in super::super) fn loses(address: usize, length: usize) {
    for thread in 0..threads().count.get() {
        let turns = of(thread);
        let inside = |change: &Cell<Change>| {
            let change = change.get();
            overlap(change.address as u64, change.length, address as u64, length)
        };
        if turns.changes(0).iter().any(inside) {
            turns.lasts();
        }
    }
}

/// A thread has changed bytes of one line, at once; what it found there and left, as [`visible::found`] says it.
pub(in super::super) fn change(
    thread: usize,
    (address, length): (usize, usize),
    (before, left): (u64, u64),
    hidden: bool,
) {
    let turns = of(thread);
    turns.stales(thread, address as u64);
    if turns.count.get() != 0 {
        turns.notes(Change {
            address,
            length,
            before,
            left,
            hidden,
            view: View::All,
            entry: 0,
        });
    }
}

/// A thread puts a store of so many bytes into its buffer; others can see it when it leaves, or nobody can tell.
///
/// # Safety
/// The program stores there what lies at `from`.
pub(in super::super) unsafe fn pushes(
    thread: usize,
    address: usize,
    from: *const u8,
    length: usize,
    visible: bool,
) {
    let turns = of(thread);
    turns.stales(thread, address as u64);
    turns.entries.set(turns.entries.get() + u32::from(visible));
    if turns.count.get() == 0 {
        return;
    }
    for head in turns.heads() {
        let was = head.get();
        head.set(super::Head {
            undrained: was.undrained || visible,
            early: was.early || !was.begun,
            ..was
        });
    }
    // SAFETY: what the caller promises.
    let (before, left) = unsafe {
        (
            visible::found(address, length),
            visible::digest(from, length),
        )
    };
    if before != left {
        turns.notes(Change {
            address,
            length,
            before,
            left,
            hidden: !visible,
            view: match visible {
                true => View::Own,
                false => View::All,
            },
            entry: 0,
        });
    }
}

/// A store that others can see has left a thread's buffer.
pub(in super::super) fn committed(
    thread: usize,
    (address, length): (usize, usize),
    (before, left): (u64, u64),
) {
    let turns = of(thread);
    turns.entries_left.set(turns.entries_left.get() + 1);
    if turns.count.get() != 0 && before != left {
        turns.notes(Change {
            address,
            length,
            before,
            left,
            hidden: false,
            view: View::Others,
            entry: turns.entries_left.get(),
        });
    }
}

impl Turns {
    fn notes(&self, change: Change) {
        let count = self.change_count.get();
        if count == CHANGES {
            return self.lasts();
        }
        self.changes[count].set(change);
        self.change_count.set(count + 1);
    }

    /// Has the thread itself changed something there since so many changes?
    pub(super) fn has_changed(&self, from: usize, place: u64, length: usize) -> bool {
        self.changes(from).iter().map(Cell::get).any(|change| {
            change.view != View::Others
                && overlap(change.address as u64, change.length, place, length)
        })
    }
}

/// Somebody touches bytes, or a lock: others may have changed them, and not undone that yet. Who writes has found this there.
pub(in super::super) fn touched(by: usize, place: u64, length: usize, found: Option<u64>) {
    for thread in 0..threads().count.get() {
        let turns = of(thread);
        if thread == by || turns.count.get() == 0 {
            continue;
        }
        if place & LOCK != 0 {
            let held = turns.held[..turns.held_count.get()].iter();
            let since = held.filter(|held| held.get().lock == place);
            if let Some(number) = since.map(|held| held.get().number).max() {
                see(turns, by, |head| head.locks < number);
            }
            continue;
        }
        for (at, change) in turns.changes(0).iter().enumerate() {
            let change = change.get();
            let Change {
                address,
                length: changed,
                before,
                ..
            } = change;
            if change.view == View::Own || !overlap(address as u64, changed, place, length) {
                continue;
            }
            let differs = match found {
                Some(found) if (address as u64, changed) == (place, length) => found != before,
                Some(_) => true,
                // SAFETY: its thread has written there.
                None => unsafe { visible::found(address, changed) != before },
            };
            if differs {
                // Only what the bytes held before the first change counts.
                see(turns, by, |head| {
                    turns.is_first(head.changes, head.entries, at)
                });
                turns.unsettled.is_touched(turns, at);
            }
        }
    }
}

impl Turns {
    /// Is a change the first of its bytes since so many changes, made by what has been stored since so many entries?
    pub(super) fn is_first(&self, from: usize, entries: u32, at: usize) -> bool {
        let counts = |change: &Change| {
            change.view != View::Own && (change.entry == 0 || change.entry > entries)
        };
        let change = self.changes[at].get();
        let same = |other: &Cell<Change>| {
            let other = other.get();
            counts(&other) && (other.address, other.length) == (change.address, change.length)
        };
        at >= from && counts(&change) && !self.changes[from..at].iter().any(same)
    }
}

/// A thread sees what those turns have not undone.
fn see(turns: &Turns, by: usize, of: impl Fn(&super::Head) -> bool) {
    for (head, observed) in turns.heads().iter().zip(&turns.observed) {
        let was = head.get();
        if of(&was) && observed.is_seen_by(by) {
            head.set(super::Head { seen: true, ..was });
        }
    }
}

/// A step on a lock or the like happened, of this kind; it changed the object unless it only looked.
pub(in super::super) fn synchronised(thread: usize, place: u64, kind: u8, looked: bool) {
    let turns = of(thread);
    let mix = (place | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    turns.fresh.set(kind == step::LOCK && !looked);
    turns.finds(place, u64::from(kind) << 1 | u64::from(looked));
    match kind {
        _ if looked => read(thread, place, 1, 0),
        step::LOCK
        | step::TRY_LOCK
        | step::LOCK_SHARED
        | step::TRY_LOCK_SHARED
        | step::LOCK_EXCLUSIVE
        | step::TRY_LOCK_EXCLUSIVE
        | step::HOLD => {
            let count = turns.held_count.get();
            turns.locks.set(turns.locks.get() + 1);
            turns.balance.set(turns.balance.get().wrapping_add(mix));
            if count == HELD {
                return turns.lasts();
            }
            turns.held[count].set(Held {
                lock: place,
                number: turns.locks.get(),
            });
            turns.held_count.set(count + 1);
        }
        step::UNLOCK | step::UNLOCK_SHARED | step::RELEASE | step::LET_GO => {
            if kind == step::RELEASE {
                turns.lasts();
            }
            wakes::unlocked(place);
            turns.balance.set(turns.balance.get().wrapping_sub(mix));
            let held = &turns.held[..turns.held_count.get()];
            if let Some(at) = held.iter().rposition(|held| held.get().lock == place) {
                held[at].set(held[held.len() - 1].get());
                turns.held_count.set(held.len() - 1);
            }
        }
        _ => turns.lasts(),
    }
}
