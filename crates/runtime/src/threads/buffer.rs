//! Store buffers, as an overlay: a thread's stores are in memory while it runs, and what they cover is kept. When another
//! thread goes on they are taken back, newest first; when this one does, they are put there again. So everything a
//! thread does, in libc or anywhere, finds its own stores, and nobody else's.
//!
//! Non-temporal stores keep no order with stores to other lines, so they leave from where they are: each line of them has a
//! *stream*, from one fence of the thread to the next. Which one does not depend on the schedule.

use super::access::{found, perform};
use super::context::Step;
use super::{MOST, Threads, sleepers, spin, threads};
use crate::blocks;
use crate::bytes;
use crate::log::{self, Origin};
use crate::outcome;
use crate::shadow::{is_persistent, recording, touch_span, view};
use crate::stack;
use crate::state::state;
use core::ops::Range;
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::{self, step};
use landfall_vocab::shared::End;
use landfall_vocab::window::LINE;

/// Stores one thread may have waiting: far more than any processor has.
const ROOM: usize = 1024;

/// Lines of non-temporal stores that are told apart between two fences; there are never that many streams.
const LINES: usize = 32;

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
    /// The stream that it is in, from 1 on; 0 for all that waits in order.
    stream: u8,
    /// It has left, but an older one has not.
    gone: bool,
    /// Bytes that the thread has overwritten since without a word to us, a bit each: what is there is newer.
    outdated: u64,
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
    /// Entries that wait in streams.
    streaming: usize,
    /// The lines of non-temporal stores since the last fence, and how many. Their places are their streams.
    lines: [usize; LINES],
    streamed: usize,
    /// Stores, flushes and fences since the thread last waited for its stores, whether they waited here or went past: how many had to wait
    /// is a question of the schedule, when there are too many is none.
    unfenced: usize,
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
    /// Those of which some are in streams.
    streaming: u32,
    all: [Buffer; MOST],
}

unsafe fn of(thread: usize) -> *mut Buffer {
    &raw mut (*(*threads()).buffers).all[thread]
}

/// At the start of a run; the last one had `before` threads.
pub(super) unsafe fn begin(before: usize) {
    let buffers = (*threads()).buffers;
    ((*buffers).shown, (*buffers).waiting) = (0, 0);
    (*buffers).streaming = 0;
    for thread in 0..before {
        let buffer = of(thread);
        ((*buffer).head, (*buffer).tail, (*buffer).followers) = (0, 0, 0);
        ((*buffer).streaming, (*buffer).streamed) = (0, 0);
        (*buffer).unfenced = 0;
    }
}

fn line_of(address: usize) -> usize {
    address & !(LINE as usize - 1)
}

/// The stream of the running thread that a non-temporal store belongs to, and how many streams there would have to be for each
/// line since the last fence to have one.
pub(super) unsafe fn stream(address: usize) -> (u8, u64) {
    let threads = threads();
    let me = (*threads).current;
    if !(*threads).contexts[me].among_others {
        return (0, 0);
    }
    let (buffer, line) = (of(me), line_of(address));
    let known = (0..(*buffer).streamed).find(|&at| (*buffer).lines[at] == line);
    let number = known.unwrap_or((*buffer).streamed);
    if number == LINES {
        return (0, LINES as u64 + 1);
    }
    (*buffer).lines[number] = line;
    (*buffer).streamed = (*buffer).streamed.max(number + 1);
    let stream = if number < usize::from((*threads).streams) {
        number as u8 + 1
    } else {
        0
    };
    (stream, number as u64 + 1)
}

/// Has the thread made non-temporal stores since its last fence that others could see late?
pub(super) unsafe fn has_streamed(thread: usize) -> bool {
    (*threads()).streams != 0 && (*of(thread)).streamed != 0
}

/// Has it stored since its last fence?
pub(super) unsafe fn is_unfenced(thread: usize) -> bool {
    (*of(thread)).unfenced != 0
}

/// All that a thread has stored so far comes before what it will store.
pub(super) unsafe fn fenced(thread: usize) {
    let buffer = of(thread);
    (*buffer).streamed = 0;
    (*buffer).unfenced = 0;
}

/// The running thread is about to store, perhaps into its buffer. No processor has room for that many stores; which one is too many does
/// not depend on the schedule.
pub(super) unsafe fn make_room(origin: Origin) {
    let buffer = of((*threads()).current);
    if (*buffer).unfenced == ROOM - 1 {
        super::steps::point(Step {
            kind: step::FENCE,
            object: 0,
            origin,
        });
    }
    (*buffer).unfenced += 1;
}

/// Can an entry of this kind leave, with those before this place still there?
unsafe fn may_leave(thread: usize, place: usize, kind: Kind, stream: u8, address: usize) -> bool {
    let buffer = of(thread);
    if (*buffer).streaming == 0 && stream == 0 {
        return (*buffer).head >= place;
    }
    !((*buffer).head..place).any(|at| {
        let earlier = &raw const (*buffer).entries[at];
        !(*earlier).gone
            && ((*earlier).stream == stream
                || (*earlier).kind == Kind::Fence
                || kind == Kind::Fence
                || line_of((*earlier).address) == line_of(address))
    })
}

/// Would a store of the running thread have to wait for nothing?
pub(super) unsafe fn goes_past(stream: u8, address: usize) -> bool {
    let me = (*threads()).current;
    is_empty(me) || may_leave(me, (*of(me)).tail, Kind::Store, stream, address)
}

/// The oldest entry of a stream (or of what waits in order).
unsafe fn oldest(thread: usize, stream: u8) -> Option<usize> {
    let buffer = of(thread);
    ((*buffer).head..(*buffer).tail).find(|&at| {
        let entry = &raw const (*buffer).entries[at];
        !(*entry).gone && (*entry).stream == stream
    })
}

/// What can leave store buffers, a bit for each process.
pub(super) unsafe fn leaving() -> u64 {
    let threads = threads();
    let buffers = (*threads).buffers;
    let companions = (*threads).companions;
    if (*buffers).streaming == 0 {
        return u64::from((*buffers).waiting) << companions;
    }
    let mut mask = 0;
    for thread in 0..MOST {
        if (*buffers).waiting >> thread & 1 == 0 {
            continue;
        }
        for stream in 0..=(*threads).streams {
            if let Some(at) = oldest(thread, stream) {
                let entry = &raw const (*of(thread)).entries[at];
                if may_leave(thread, at, (*entry).kind, stream, (*entry).address) {
                    mask |= 1 << process(thread, stream);
                }
            }
        }
    }
    mask
}

/// The number of a store buffer or stream among processes.
unsafe fn process(thread: usize, stream: u8) -> u8 {
    let Threads {
        companions,
        streams,
        ..
    } = &*threads();
    match stream {
        0 => companions + thread as u8,
        stream => 2 * companions + thread as u8 * streams + stream - 1,
    }
}

/// The thread and the stream that a process number above the threads' stands for.
pub(super) unsafe fn of_process(process: u8) -> (usize, u8) {
    let Threads {
        companions,
        streams,
        ..
    } = &*threads();
    match process.checked_sub(2 * companions) {
        Some(number) => {
            let streams = (*streams).max(1);
            (usize::from(number / streams), number % streams + 1)
        }
        None => (usize::from(process - companions), 0),
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
            && !(*entry).gone
            && ((*entry).address..(*entry).address + (*entry).length).contains(&byte)
    })
}

/// The running thread stores.
pub(super) unsafe fn push(
    to: usize,
    from: *const u8,
    length: usize,
    (visible, stream): (bool, u8),
    flags: u8,
    origin: Origin,
) {
    let me = (*threads()).current;
    show(me);
    let entry = new(me, Kind::Store, to, origin);
    ((*entry).length, (*entry).visible, (*entry).flags) = (length, visible, flags);
    if stream != 0 {
        (*entry).stream = stream;
        (*of(me)).streaming += 1;
        (*(*threads()).buffers).streaming |= 1 << me;
    }
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
    ((*entry).stream, (*entry).gone) = (0, false);
    (*entry).outdated = 0;
    (*buffer).tail += 1;
    (*(*threads()).buffers).waiting |= 1 << me;
    entry
}

/// The running thread flushes or fences.
pub(super) unsafe fn push_order(kind: Kind, address: usize, origin: Origin) {
    let me = (*threads()).current;
    show(me);
    new(me, kind, address, origin);
    if kind == Kind::Fence {
        (*of(me)).streamed = 0;
    }
}

/// The running thread begins to write a line back; true if that waits for something in its buffer.
pub(super) unsafe fn write_back(kind: record::Kind, address: usize, origin: Origin) -> bool {
    let buffer = of((*threads()).current);
    let last = ((*buffer).head..(*buffer).tail).rev().find(|&at| {
        let entry = &raw const (*buffer).entries[at];
        !(*entry).gone
            && ((*entry).kind == Kind::Fence || line_of((*entry).address) == line_of(address))
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

/// An entry is gone: what waited for it happens.
unsafe fn gone(thread: usize, entry: usize) {
    let buffer = of(thread);
    let buffers = (*threads()).buffers;
    let left = &raw mut (*buffer).entries[entry];
    (*left).gone = true;
    if (*left).stream != 0 {
        (*buffer).streaming -= 1;
        if (*buffer).streaming == 0 {
            (*buffers).streaming &= !(1 << thread);
        }
    }
    while (*buffer).head < (*buffer).tail && (*buffer).entries[(*buffer).head].gone {
        (*buffer).head += 1;
    }
    if (*buffer).head == (*buffer).tail {
        (*buffers).waiting &= !(1 << thread);
    }
    for behind in &(&(*buffer).behind)[..(*buffer).followers] {
        if behind.entry == entry {
            let at = crate::shadow::offset(behind.address);
            log::plain(behind.kind, at, 0, behind.origin);
        }
    }
}

/// What the next commit of a thread, or of one of its streams, is.
pub(super) unsafe fn next_step(thread: usize, stream: u8) -> Step {
    let buffer = of(thread);
    let at = oldest(thread, stream).unwrap_or((*buffer).head);
    let entry = &raw const (*buffer).entries[at];
    let (kind, object) = match (*entry).kind {
        Kind::Store => (step::COMMIT, usize::from(stream)),
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
            if !(*entry).gone {
                let old = (&raw mut (*entry).old) as *mut u8;
                copy(old, memory(entry), (*entry).length, (*entry).outdated);
                put_new(entry);
            }
        }
    }
}

/// From now on memory is what everybody sees.
unsafe fn hide() {
    let buffers = (*threads()).buffers;
    let thread = (*buffers).shown;
    if thread < MOST {
        let buffer = of(thread);
        let unused = unused_stack(thread);
        for at in ((*buffer).head..(*buffer).tail).rev() {
            let entry = &raw mut (*buffer).entries[at];
            if !(*entry).gone {
                note_outdated(entry, &unused);
                let old = (&raw const (*entry).old) as *const u8;
                copy(memory(entry), old, (*entry).length, (*entry).outdated);
            }
        }
    }
    (*buffers).shown = MOST;
}

unsafe fn put_new(entry: *const Entry) {
    let new = (&raw const (*entry).new) as *const u8;
    copy(memory(entry), new, (*entry).length, (*entry).outdated);
}

/// Copies all bytes but those of a set.
unsafe fn copy(to: *mut u8, from: *const u8, length: usize, but: u64) {
    if but == 0 {
        return bytes::copy(to, from, length);
    }
    for at in (0..length).filter(|at| but >> at & 1 == 0) {
        *to.add(at) = *from.add(at);
    }
}

/// The part of a thread's stack below its last call of ours: where functions had their variables that have returned, and where we
/// are now.
unsafe fn unused_stack(thread: usize) -> Range<usize> {
    let context = &raw mut (*threads()).contexts[thread];
    let (low, high) = (*context).stack;
    let entered = (*state()).entered;
    if (low..high).contains(&entered) {
        (*context).entered = entered;
    }
    let here = stack::frame_pointer();
    let here = if (low..high).contains(&here) {
        here
    } else {
        low
    };
    low..here.max((*context).entered)
}

/// Before an entry is taken back: not all that a thread does to its own stack is told us. A function returns, another one is
/// called, and what the first had stored in a variable is overwritten by return addresses and variables of the second.
unsafe fn note_outdated(entry: *mut Entry, unused: &Range<usize>) {
    let Entry {
        address, length, ..
    } = *entry;
    if unused.contains(&address) {
        (*entry).outdated = u64::MAX;
        return;
    }
    let new = (&raw const (*entry).new) as *const u8;
    // Nobody writes to persistent memory unseen.
    if is_persistent(address) || bytes::equal(memory(entry), new, length) {
        return;
    }
    for at in 0..length {
        if *memory(entry).add(at) != *new.add(at) {
            (*entry).outdated |= 1 << at;
        }
    }
}

/// The oldest entry of a thread's buffer, or of a stream, leaves it, and the stores behind it whose time nobody can tell.
pub(super) unsafe fn commit(thread: usize, stream: u8) {
    let buffer = of(thread);
    let at = oldest(thread, stream).unwrap_or((*buffer).head);
    let first = &raw const (*buffer).entries[at];
    if (*first).kind != Kind::Store {
        match (*first).kind {
            Kind::Flush => {
                let at = crate::shadow::offset((*first).address);
                log::plain(record::Kind::Clflush, at, 0, (*first).origin);
            }
            _ => log::plain(record::Kind::Sfence, 0, 0, (*first).origin),
        }
        gone(thread, at);
        return take_hidden(thread);
    }
    let (left, found) = take(thread, at);
    let object = super::access::pack((*first).address, (*first).length);
    log::access(thread, object, WRITE, (*first).origin, [found, left, 0]);
    sleepers::executed((*first).address as u64, (*first).length, true);
    if blocks::refuses((*first).address, (*first).length) {
        log::ended(thread, End::Heap as u64, (*first).origin);
        blocks::committed((*first).address, (*first).length, (*first).origin);
    }
    take_hidden(thread);
}

/// After something left the buffer, the stores whose time nobody can tell and that wait for nothing any more.
unsafe fn take_hidden(thread: usize) {
    let buffer = of(thread);
    let mut at = (*buffer).head;
    while at < (*buffer).tail {
        let entry = &raw const (*buffer).entries[at];
        let Entry {
            kind,
            stream,
            address,
            visible,
            gone,
            ..
        } = *entry;
        if !gone && !visible && may_leave(thread, at, kind, stream, address) {
            take(thread, at);
        } else if !gone && (*buffer).streaming == 0 {
            return;
        }
        at += 1;
    }
}

/// Takes an entry out; what it stores, and what it replaces.
unsafe fn take(thread: usize, at: usize) -> (u64, u64) {
    let buffer = of(thread);
    let entry = &raw const (*buffer).entries[at];
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
        match (*entry).outdated {
            0 => perform(
                (*entry).address,
                new,
                length,
                (*entry).flags,
                (*entry).origin,
            ),
            _ => put_new(entry),
        }
        found
    };
    gone(thread, at);
    if found != left {
        spin::changed(thread, (*entry).address as u64, length);
    }
    (left, found)
}
