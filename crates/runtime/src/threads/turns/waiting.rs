//! Threads that wait at the head of a loop, after a turn in vain.

use super::super::context::{Step, decide};
use super::super::sets::ProcessSet;
use super::super::steps::announce;
use super::super::{store_buffer, tables, threads};
use super::{Change, Read, Turns, View, Waits, all, of};
use crate::run::trace::{self, Origin};
use core::cell::Cell;
use core::ops::Range;
use landfall_vocab::record::step;
use landfall_vocab::shared::LOCK;

impl Turns {
    pub(super) fn watch(&self) -> &[Cell<Read>] {
        &self.watch[..self.watch_count.get()]
    }

    /// Has something changed that the thread waits for? What was changed and is as it was has not.
    fn has_news(&self, thread: usize) -> bool {
        let differs = |read: &Cell<Read>| {
            let Read {
                place,
                length,
                changed,
                value,
                found_another,
                ..
            } = read.get();
            changed
                && (found_another
                    || place & LOCK != 0
                    || store_buffer::seen_by(thread, place as usize, length) != value)
        };
        self.watch_many.get() && self.many_changed.get() || self.watch().iter().any(differs)
    }

    /// It waits for a change of what it read there. Of what it had changed itself, by these changes, nobody else tells it anything; what it changed
    /// later comes last, since that is hardly what it waits for.
    pub(super) fn watch_reads(&self, which: Range<usize>, changes: Range<usize>) {
        let reads = &self.reads(which.start)[..which.len()];
        let changed = |read: &Read, which: Range<usize>| {
            let covers = |change: &Cell<Change>| {
                let change = change.get();
                change.view != View::Others
                    && change.address as u64 <= read.place
                    && read.place + read.length as u64 <= (change.address + change.length) as u64
            };
            read.place & LOCK == 0 && self.changes[which].iter().any(covers)
        };
        let mut count = 0;
        for own in [false, true] {
            for read in reads.iter().map(Cell::get) {
                let before = changes.start.min(read.after)..read.after;
                if !changed(&read, before) && changed(&read, changes.clone()) == own {
                    self.watch[count].set(read);
                    count += 1;
                }
            }
        }
        self.watch_count.set(count);
        self.watch_many.set(self.many.get());
    }

    /// Waits as it was said; never ends where the thread was left.
    pub(super) fn awaits(&self, me: usize, origin: Origin) {
        announce(
            me,
            Step {
                kind: step::AWAIT,
                object: 0,
                origin,
            },
        );
        decide();
        self.waits.set(Waits::No);
        self.watch_count.set(0);
        self.time.goes_on();
    }
}

/// Can a thread go on that waits at the head of a loop?
pub(in super::super) fn may_go_on(thread: usize) -> bool {
    let turns = of(thread);
    match turns.waits.get() {
        Waits::No => true,
        Waits::ForChange => turns.last.get() || turns.has_news(thread),
        Waits::Left => false,
    }
}

/// Nobody else can go on: lets a thread, whose last turn was in vain, go through another one that stays; false if there is none.
pub(in super::super) fn make_last() -> bool {
    let waits = |thread: &usize| {
        of(*thread).waits.get() == Waits::ForChange
            && !of(*thread).last.get()
            && !tables().asleep.contains(*thread)
    };
    match (0..threads().count.get()).find(waits) {
        Some(thread) => {
            of(thread).last.set(true);
            true
        }
        None => false,
    }
}

/// The job wants a thread to go on that waits after a turn in vain, as who proves something by its turns does; false if it does not wait.
pub(in super::super) fn release(thread: usize) -> bool {
    let Some(turns) = all().all.get(thread) else {
        return false;
    };
    if thread >= threads().count.get() || turns.waits.get() == Waits::No || turns.last.get() {
        return false;
    }
    turns.waits.set(Waits::ForChange);
    turns.last.set(true);
    true
}

/// Adds the threads that wait for a change, and sleep, to a set; are there any?
pub(in super::super) fn add_asleep(to: &ProcessSet) -> bool {
    let waits = |thread: &usize| {
        of(*thread).waits.get() == Waits::ForChange && tables().asleep.contains(*thread)
    };
    let mut any = false;
    for thread in (0..threads().count.get()).filter(waits) {
        to.insert(thread);
        any = true;
    }
    any
}

/// Was a thread left in a turn in vain, though what it read has changed since?
pub(in super::super) fn in_vain() -> bool {
    (0..threads().count.get()).any(|thread| {
        let turns = of(thread);
        turns.waits.get() == Waits::Left && turns.has_news(thread)
    })
}

/// What a thread that waits in vain waits for: a place, and all of them in the trace.
pub(in super::super) fn log_wait(thread: usize) -> (u64, Origin) {
    let turns = of(thread);
    let reads = turns.watch();
    let packed = |read: Read| read.place | (read.length as u64) << 56;
    for read in reads {
        trace::watched(thread, packed(read.get()));
    }
    let first = reads.first().map_or(0, |read| packed(read.get()));
    (first, turns.origin.get())
}
