//! Store buffers, as an overlay: a thread's stores are in memory while it runs, and what they cover is kept. When another
//! thread goes on they are taken back, newest first; when this one does, they are put there again. So everything a
//! thread does, in libc or anywhere, finds its own stores, and nobody else's.

use super::access::{found, perform};
use super::context::Step;
use super::{MOST, sleepers, spin, threads};
use crate::blocks;
use crate::bytes;
use crate::log::{self, Origin};
use crate::outcome;
use crate::shadow::{is_persistent, recording, touch_span, view};
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::{self, step};
use landfall_vocab::shared::End;
use landfall_vocab::window::LINE;

/// Stores one thread may have waiting: far more than any processor has.
const ROOM: usize = 1024;

/// What waits in a store buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Store,
    /// A `clflush`.
    Flush,
    /// An `sfence`.
    Fence,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    kind: Kind,
    address: usize,
    length: usize,
    origin: Origin,
    flags: u8,
    /// Its commit is a step; of others, nobody can see when they happen.
    visible: bool,
    new: [u8; LINE as usize],
    /// What is under it, while it is in memory.
    old: [u8; LINE as usize],
}

#[repr(C)]
struct Buffer {
    /// Entries from `head` to `tail` wait; both only grow, and start over when they meet.
    head: usize,
    tail: usize,
    entries: [Entry; ROOM],
    /// Write-backs that come right behind an entry.
    behind: [Behind; ROOM],
    followers: usize,
}

/// A `clwb` or `clflushopt` that waits for an entry: the last store to its line, or the last fence.
#[derive(Clone, Copy)]
#[repr(C)]
struct Behind {
    entry: usize,
    kind: record::Kind,
    address: usize,
    origin: Origin,
}

#[repr(C)]
pub(super) struct Buffers {
    /// Whose stores are in memory.
    shown: usize,
    /// Those that hold something, a bit each.
    waiting: u32,
    all: [Buffer; MOST],
}

unsafe fn of(thread: usize) -> *mut Buffer {
    &raw mut (*(*threads()).buffers).all[thread]
}

/// At the start of a run; the last one had `before` threads.
pub(super) unsafe fn begin(before: usize) {
    let buffers = (*threads()).buffers;
    ((*buffers).shown, (*buffers).waiting) = (0, 0);
    for thread in 0..before {
        (
            (*of(thread)).head,
            (*of(thread)).tail,
            (*of(thread)).followers,
        ) = (0, 0, 0);
    }
}

pub(super) unsafe fn is_empty(thread: usize) -> bool {
    (*(*threads()).buffers).waiting >> thread & 1 == 0
}

/// Store buffers that hold something, a bit each.
pub(super) unsafe fn waiting() -> u32 {
    (*(*threads()).buffers).waiting
}

unsafe fn memory(entry: *const Entry) -> *mut u8 {
    view((*entry).address as *mut u8)
}

/// Does a store to this byte wait there?
pub(super) unsafe fn holds(thread: usize, byte: usize) -> bool {
    let buffer = of(thread);
    ((*buffer).head..(*buffer).tail).any(|at| {
        let entry = &raw const (*buffer).entries[at];
        (*entry).kind == Kind::Store
            && ((*entry).address..(*entry).address + (*entry).length).contains(&byte)
    })
}

/// The running thread stores.
pub(super) unsafe fn push(
    to: usize,
    from: *const u8,
    length: usize,
    visible: bool,
    flags: u8,
    origin: Origin,
) {
    let me = (*threads()).current;
    show(me);
    let entry = new(me, Kind::Store, to, origin);
    ((*entry).length, (*entry).visible, (*entry).flags) = (length, visible, flags);
    if is_persistent(to) {
        touch_span(to, length);
    }
    bytes::copy((&raw mut (*entry).new) as *mut u8, from, length);
    bytes::copy((&raw mut (*entry).old) as *mut u8, memory(entry), length);
    bytes::copy(memory(entry), from, length);
}

/// A place for one more of the running thread's.
unsafe fn new(me: usize, kind: Kind, address: usize, origin: Origin) -> *mut Entry {
    let buffer = of(me);
    if (*buffer).head == (*buffer).tail {
        ((*buffer).head, (*buffer).tail, (*buffer).followers) = (0, 0, 0);
    }
    if (*buffer).tail == ROOM {
        outcome::internal(b"a store buffer is full", 0);
    }
    let entry = &raw mut (*buffer).entries[(*buffer).tail];
    ((*entry).kind, (*entry).address, (*entry).origin) = (kind, address, origin);
    ((*entry).length, (*entry).visible) = (0, true);
    (*buffer).tail += 1;
    (*(*threads()).buffers).waiting |= 1 << me;
    entry
}

/// The running thread flushes or fences.
pub(super) unsafe fn push_order(kind: Kind, address: usize, origin: Origin) {
    let me = (*threads()).current;
    show(me);
    new(me, kind, address, origin);
}

/// The running thread begins to write a line back; true if that waits for something in its buffer.
pub(super) unsafe fn write_back(kind: record::Kind, address: usize, origin: Origin) -> bool {
    let buffer = of((*threads()).current);
    let line = |address: usize| address & !(LINE as usize - 1);
    let last = ((*buffer).head..(*buffer).tail).rev().find(|&at| {
        let entry = &raw const (*buffer).entries[at];
        (*entry).kind == Kind::Fence || line((*entry).address) == line(address)
    });
    let Some(entry) = last else {
        return false;
    };
    if (*buffer).followers == ROOM {
        outcome::internal(b"too many write-backs in a store buffer", 0);
    }
    (*buffer).behind[(*buffer).followers] = Behind {
        entry,
        kind,
        address,
        origin,
    };
    (*buffer).followers += 1;
    true
}

/// The oldest entry is gone: what waited for it happens.
unsafe fn gone(thread: usize) {
    let buffer = of(thread);
    let entry = (*buffer).head;
    (*buffer).head += 1;
    if (*buffer).head == (*buffer).tail {
        (*(*threads()).buffers).waiting &= !(1 << thread);
    }
    for behind in &(&(*buffer).behind)[..(*buffer).followers] {
        if behind.entry == entry {
            let at = crate::shadow::offset(behind.address);
            log::plain(behind.kind, at, 0, behind.origin);
        }
    }
}

/// What the next commit of a thread is.
pub(super) unsafe fn next_step(thread: usize) -> Step {
    let buffer = of(thread);
    let entry = &raw const (*buffer).entries[(*buffer).head];
    let (kind, object) = match (*entry).kind {
        Kind::Store => (step::COMMIT, 0),
        Kind::Flush => {
            let line = (*entry).address & !(LINE as usize - 1);
            (
                step::FLUSH,
                super::access::pack(line, LINE as usize) as usize,
            )
        }
        Kind::Fence => (step::ORDER, 0),
    };
    Step {
        kind,
        object,
        origin: (*entry).origin,
    }
}

/// From now on memory is as this thread sees it.
pub(super) unsafe fn show(thread: usize) {
    let buffers = (*threads()).buffers;
    if (*buffers).shown != thread {
        hide();
        (*buffers).shown = thread;
        let buffer = of(thread);
        for at in (*buffer).head..(*buffer).tail {
            let entry = &raw mut (*buffer).entries[at];
            let length = (*entry).length;
            bytes::copy((&raw mut (*entry).old) as *mut u8, memory(entry), length);
            bytes::copy(
                memory(entry),
                (&raw const (*entry).new) as *const u8,
                length,
            );
        }
    }
}

/// From now on memory is what everybody sees.
unsafe fn hide() {
    let buffers = (*threads()).buffers;
    let thread = (*buffers).shown;
    if thread < MOST {
        let buffer = of(thread);
        for at in ((*buffer).head..(*buffer).tail).rev() {
            let entry = &raw const (*buffer).entries[at];
            let length = (*entry).length;
            bytes::copy(
                memory(entry),
                (&raw const (*entry).old) as *const u8,
                length,
            );
        }
    }
    (*buffers).shown = MOST;
}

/// The oldest entry of a thread's buffer leaves it, and the stores behind it whose time nobody can tell.
pub(super) unsafe fn commit(thread: usize) {
    let buffer = of(thread);
    let first = &raw const (*buffer).entries[(*buffer).head];
    if (*first).kind != Kind::Store {
        match (*first).kind {
            Kind::Flush => {
                let at = crate::shadow::offset((*first).address);
                log::plain(record::Kind::Clflush, at, 0, (*first).origin);
            }
            _ => log::plain(record::Kind::Sfence, 0, 0, (*first).origin),
        }
        gone(thread);
        return take_hidden(thread);
    }
    let (left, found) = take(thread);
    let object = super::access::pack((*first).address, (*first).length);
    log::access(thread, object, WRITE, (*first).origin, [found, left, 0]);
    sleepers::executed((*first).address as u64, (*first).length, true);
    if blocks::refuses((*first).address, (*first).length) {
        log::ended(thread, End::Heap as u64, (*first).origin);
        blocks::committed((*first).address, (*first).length, (*first).origin);
    }
    take_hidden(thread);
}

/// Behind whatever left the buffer, the stores whose time nobody can tell.
unsafe fn take_hidden(thread: usize) {
    while is_hidden(thread) {
        take(thread);
    }
}

/// Is the oldest entry one whose commit is no step?
unsafe fn is_hidden(thread: usize) -> bool {
    let buffer = of(thread);
    !is_empty(thread) && !(*buffer).entries[(*buffer).head].visible
}

/// Takes the oldest entry out; what it stores, and what it replaces.
unsafe fn take(thread: usize) -> (u64, u64) {
    let buffer = of(thread);
    let entry = &raw const (*buffer).entries[(*buffer).head];
    let length = (*entry).length;
    let new = (&raw const (*entry).new) as *const u8;
    let left = super::access::digest(new, length);
    let found = if (*(*threads()).buffers).shown == thread {
        let old = (&raw const (*entry).old) as *const u8;
        if is_persistent((*entry).address) && recording() {
            crate::hooks::note_store(
                (*entry).address,
                new,
                length,
                (*entry).flags,
                (*entry).origin,
            );
        }
        super::access::digest(old, length)
    } else {
        hide();
        let found = found((*entry).address, length);
        perform(
            (*entry).address,
            new,
            length,
            (*entry).flags,
            (*entry).origin,
        );
        found
    };
    gone(thread);
    if found != left {
        spin::changed(thread, (*entry).address as u64, length);
    }
    (left, found)
}
