//! What locks, conditions, semaphores and the like are doing, by their address. libc's own fields stay as initialised: their
//! layout is libc's business, and a program that looks at them is beyond help.

use super::sets::{ThreadSet, words};
use super::{MOST, forked, threads};
use core::cell::Cell;

const ROOM: usize = 4096;

#[repr(C)]
pub(crate) struct Object {
    address: Cell<usize>,
    /// The thread that holds it, plus one; zero for nobody.
    pub(crate) owner: Cell<u32>,
    /// How often a recursive lock is held; a semaphore's value; threads that arrived at a barrier; waiters that may go on.
    pub(crate) count: Cell<u32>,
    /// Threads that hold it shared; of a condition, the waiters that its signals reached.
    pub(crate) shared: ThreadSet,
    /// Threads that wait for it.
    pub(crate) waiting: ThreadSet,
    /// A kind of lock, a barrier's number of threads.
    pub(crate) kind: Cell<u32>,
    /// Of a barrier: how often it has opened. Of a condition: those who were woken for certain, and are still to go on.
    pub(crate) round: Cell<u32>,
    /// Where the mark is that it was destroyed; zero if it was not.
    pub(crate) mark: Cell<usize>,
}

impl Object {
    pub(crate) fn is_owner(&self, thread: usize) -> bool {
        self.owner.get() as usize == thread + 1
    }

    /// Who holds it, plus one.
    pub(crate) fn holder(&self) -> u64 {
        let shared = || self.shared.lowest_from(0, threads().thread_words.get());
        match self.owner.get() {
            0 => shared().map_or(0, |thread| thread as u64 + 1),
            owner => u64::from(owner),
        }
    }

    /// Nobody has used it. A field that is added does not compile before it is named here.
    fn begin(&self, at: usize) {
        let Object {
            address,
            owner,
            count,
            shared,
            waiting,
            kind,
            round,
            mark,
        } = self;
        address.set(at);
        owner.set(0);
        count.set(0);
        shared.clear(words(MOST));
        waiting.clear(words(MOST));
        kind.set(0);
        round.set(0);
        mark.set(0);
    }
}

/// Open addressing; emptied by forgetting what was used.
#[repr(C)]
pub(crate) struct Objects {
    table: [Object; ROOM],
    used: [Cell<u16>; ROOM / 2],
    count: Cell<usize>,
}

impl Objects {
    pub(crate) fn reset(&self) {
        for used in &self.used[..self.count.get()] {
            self.table[usize::from(used.get())].address.set(0);
        }
        self.count.set(0);
    }

    fn place(&self, address: usize) -> usize {
        let mut at = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        while self.table[at].address.get() != 0 && self.table[at].address.get() != address {
            at = (at + 1) % ROOM;
        }
        at
    }

    pub(crate) fn find(&self, address: usize) -> Option<&Object> {
        self.find_exactly(forked::key(address))
    }

    /// The one of a step, whoever takes it.
    pub(crate) fn find_exactly(&self, address: usize) -> Option<&Object> {
        let object = &self.table[self.place(address)];
        (object.address.get() == address).then_some(object)
    }

    /// What a process has for itself, its child has as well; false if a lock is held among that.
    pub(super) fn inherit(&self, of: impl Fn(usize) -> Option<usize>) -> bool {
        let mut free = true;
        for used in 0..self.count.get() {
            let from = &self.table[usize::from(self.used[used].get())];
            let Some(of_child) = of(from.address.get()) else {
                continue;
            };
            free &= from.owner.get() == 0 && from.shared.is_empty(words(MOST));
            let (to, _) = self.meet_exactly(of_child);
            to.count.set(from.count.get());
            to.kind.set(from.kind.get());
            to.round.set(from.round.get());
            to.mark.set(from.mark.get());
        }
        free
    }

    /// The object at an address, new if nobody has used it yet in this run.
    pub(crate) fn get(&self, address: usize) -> &Object {
        self.meet(address).0
    }

    /// An object, and whether it is new: then a constructor may have made it, before the run.
    pub(crate) fn meet(&self, address: usize) -> (&Object, bool) {
        self.meet_exactly(forked::key(address))
    }

    fn meet_exactly(&self, address: usize) -> (&Object, bool) {
        let at = self.place(address);
        let object = &self.table[at];
        let first = object.address.get() == 0;
        if first {
            let count = self.count.get();
            if count == self.used.len() {
                crate::run::outcome::internal(b"too many locks", 0);
            }
            self.used[count].set(at as u16);
            self.count.set(count + 1);
            object.begin(address);
        }
        (object, first)
    }

    /// Initialised anew, or destroyed: whatever was known of it is void.
    pub(crate) fn renew(&self, address: usize) -> &Object {
        let object = self.get(address);
        object.begin(forked::key(address));
        object
    }
}
