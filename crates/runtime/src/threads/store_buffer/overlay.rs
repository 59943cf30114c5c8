//! Whose stores are in memory: those of the thread that runs are put there, and what they cover is kept.

use super::super::visible::digest;
use super::super::{MOST, tables};
use super::{Entry, Kind, buffers, of};
use crate::memory::shadow::{is_persistent, view};
use crate::memory::{bytes, protections};
use crate::run::call_stack;
use crate::state::run;
use core::ops::Range;
use landfall_vocab::window::LINE;

impl Entry {
    /// Where it stores to.
    pub(super) fn memory(&self) -> *mut u8 {
        view(self.address.get() as *mut u8)
    }

    /// What it stores.
    pub(super) fn stored(&self) -> *mut u8 {
        self.stored.as_ptr().cast_mut().cast()
    }

    /// What is under it.
    pub(super) fn covered(&self) -> *mut u8 {
        self.covered.as_ptr().cast_mut().cast()
    }

    /// Puts what it stores into memory.
    pub(super) fn put_new(&self) {
        self.copy(self.memory(), self.stored());
    }

    /// Copies all of its bytes but those that are outdated.
    fn copy(&self, to: *mut u8, from: *const u8) {
        let (length, but) = (self.length.get(), self.outdated.get());
        // SAFETY: both are its memory, or its room for what is stored or covered: the program stored so many bytes there.
        unsafe {
            if but == 0 {
                return bytes::copy(to, from, length);
            }
            for at in (0..length).filter(|at| but >> at & 1 == 0) {
                *to.add(at) = *from.add(at);
            }
        }
    }

    /// Before it is taken back: not all that a thread does to its own stack is told us. A function returns, another one is
    /// called, and what the first had stored in a variable is overwritten by return addresses and variables of the second.
    fn note_outdated(&self, unused: &[Range<usize>; 2]) {
        let (address, length) = (self.address.get(), self.length.get());
        if unused.iter().any(|unused| unused.contains(&address)) {
            return self.outdated.set(u64::MAX);
        }
        let (memory, new) = (self.memory(), self.stored());
        // SAFETY: the program stored so many bytes there, and an entry has room for them.
        unsafe {
            // Nobody writes to persistent memory unseen.
            if is_persistent(address) || bytes::equal(memory, new, length) {
                return;
            }
            for at in 0..length {
                if *memory.add(at) != *new.add(at) {
                    self.outdated.set(self.outdated.get() | 1 << at);
                }
            }
        }
    }
}

/// From now on memory is as this thread sees it.
pub(in super::super) fn show(thread: usize) {
    if buffers().shown.get() == thread {
        return;
    }
    hide();
    buffers().shown.set(thread);
    let buffer = of(thread);
    protections::without(|| {
        for entry in &buffer.entries[buffer.places()] {
            if !entry.gone.get() {
                entry.copy(entry.covered(), entry.memory());
                entry.put_new();
            }
        }
    });
}

/// From now on memory is what everybody sees.
pub(super) fn hide() {
    let thread = buffers().shown.get();
    if thread < MOST {
        let buffer = of(thread);
        let unused = unused_stack(thread);
        protections::without(|| {
            for entry in buffer.entries[buffer.places()].iter().rev() {
                if !entry.gone.get() {
                    entry.note_outdated(&unused);
                    entry.copy(entry.memory(), entry.covered());
                }
            }
        });
    }
    buffers().shown.set(MOST);
}

/// What a thread would find in bytes of one line, whoever runs: as one word.
pub(in super::super) fn seen_by(thread: usize, address: usize, length: usize) -> u64 {
    let mut found = [0u8; LINE as usize];
    let found = &mut found[..length.min(LINE as usize)];
    // SAFETY: the thread has read there.
    unsafe { bytes::copy(found.as_mut_ptr(), view(address as *const u8), found.len()) };
    let mut put = |entry: &Entry, from: *const u8| {
        for at in (0..entry.length.get()).filter(|at| entry.outdated.get() >> at & 1 == 0) {
            let place = (entry.address.get() + at).wrapping_sub(address);
            if let Some(byte) = found.get_mut(place) {
                // SAFETY: an entry has room for so much.
                *byte = unsafe { *from.add(at) };
            }
        }
    };
    let is_there = |entry: &&Entry| entry.kind.get() == Kind::Store && !entry.gone.get();
    let shown = buffers().shown.get();
    if shown != thread {
        if shown < MOST {
            let buffer = of(shown);
            let newest = buffer.entries[buffer.places()].iter().rev();
            newest
                .filter(is_there)
                .for_each(|entry| put(entry, entry.covered()));
        }
        let buffer = of(thread);
        let oldest = buffer.entries[buffer.places()].iter();
        oldest
            .filter(is_there)
            .for_each(|entry| put(entry, entry.stored()));
    }
    // SAFETY: it is there.
    unsafe { digest(found.as_ptr(), found.len()) }
}

/// The part of a thread's stack below its last call of ours: where functions had their variables that have returned, and where we
/// are now. On another stack, that part if it is the one for handlers; of the program's own contexts, where we are.
fn unused_stack(thread: usize) -> [Range<usize>; 2] {
    const MOST_OF_OURS: usize = 64 << 10;
    let context = &tables().contexts[thread];
    let (low, high) = context.stack.get();
    let entered = run().entered.get();
    let here = call_stack::frame_pointer();
    let mut elsewhere = 0..0;
    if (low..high).contains(&entered) {
        context.entered.set(entered);
    } else if run().alternate.get().has(entered) {
        elsewhere = run().alternate.get().start..entered;
    } else {
        let ours = entered.saturating_sub(MOST_OF_OURS)..entered;
        let pointers = [here, context.stack_pointer.get()];
        let lowest = pointers.into_iter().find(|at| ours.contains(at));
        elsewhere = lowest.unwrap_or(entered)..entered;
    }
    let here = if (low..high).contains(&here) {
        here
    } else {
        low
    };
    [low..here.max(context.entered.get()), elsewhere]
}
