//! Store buffers, as an overlay: a thread's stores are in memory while it runs, and what they cover is kept. When another
//! thread goes on they are taken back, newest first; when this one does, they are put there again. So everything a
//! thread does, in libc or anywhere, finds its own stores, and nobody else's.
//!
//! Non-temporal stores keep no order with stores to other lines, so they leave from where they are: each line of them has a
//! *stream*, from one fence of the thread to the next. Which one does not depend on the schedule.

mod leaving;
mod overlay;

use super::context::Step;
use super::sets::{ThreadSet, words};
use super::{MOST, tables, threads};
use crate::memory::shadow::{is_persistent, touch_span, view};
use crate::memory::{bytes, protections};
use crate::run::outcome;
use crate::run::trace::Origin;
use core::cell::Cell;
use core::ops::Range;
use landfall_vocab::record::{self, step};
use landfall_vocab::window::LINE;
pub(super) use leaving::{commit, goes_past, leaving, next_step, of_process};
pub(super) use overlay::{seen_by, show};

/// Stores one thread may have waiting: far more than any processor has.
const ROOM: usize = 1024;

/// Lines of non-temporal stores that are told apart between two fences; there are never that many streams.
pub(super) const LINES: usize = 32;

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

#[repr(C)]
struct Entry {
    kind: Cell<Kind>,
    address: Cell<usize>,
    length: Cell<usize>,
    origin: Cell<Origin>,
    flags: Cell<u8>,
    /// Its commit is a step; of others, nobody can see when they happen.
    visible: Cell<bool>,
    /// The stream that it is in, from 1 on; 0 for all that waits in order.
    stream: Cell<u8>,
    /// It has left, but an older one has not.
    gone: Cell<bool>,
    /// Bytes that the thread has overwritten since without a word to us, a bit each: what is there is newer.
    outdated: Cell<u64>,
    stored: [Cell<u8>; LINE as usize],
    /// What is under it, while it is in memory.
    covered: [Cell<u8>; LINE as usize],
}

#[repr(C)]
struct Buffer {
    /// Entries from `head` to `tail` wait; both only grow, and start over when they meet.
    head: Cell<usize>,
    tail: Cell<usize>,
    entries: [Entry; ROOM],
    /// Write-backs that come right behind an entry.
    behind: [Cell<Behind>; ROOM],
    followers: Cell<usize>,
    /// Entries that wait in streams.
    streaming: Cell<usize>,
    /// The lines of non-temporal stores since the last fence, and how many. Their places are their streams.
    lines: [Cell<usize>; LINES],
    streamed: Cell<usize>,
    /// Stores, flushes and fences since the thread last waited for its stores, whether they waited here or went past: how many had to wait
    /// is a question of the schedule, when there are too many is none.
    unfenced: Cell<usize>,
    /// All that ever went in here, but for what was taken out again.
    pushed: Cell<u32>,
    /// Write-backs since then, whether they waited for an entry or not.
    written_back: Cell<usize>,
}

/// A `clwb` or `clflushopt` that waits for an entry: the last store to its line, or the last fence.
#[derive(Clone, Copy)]
#[repr(C)]
struct Behind {
    entry: usize,
    kind: record::RecordKind,
    address: usize,
    origin: Origin,
}

#[repr(C)]
pub(super) struct Buffers {
    /// Whose stores are in memory.
    shown: Cell<usize>,
    /// Those that hold something, and how many these are.
    waiting: ThreadSet,
    waiting_count: Cell<usize>,
    /// Those of which some are in streams: how many.
    streaming: Cell<usize>,
    all: [Buffer; MOST],
}

fn buffers() -> &'static Buffers {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().buffers.get() }
}

fn of(thread: usize) -> &'static Buffer {
    &buffers().all[thread]
}

/// At the start of a run; the last one had `before` threads.
pub(super) fn begin(before: usize) {
    let buffers = buffers();
    buffers.shown.set(0);
    buffers.waiting.clear(words(before));
    buffers.waiting_count.set(0);
    buffers.streaming.set(0);
    for buffer in &buffers.all[..before] {
        buffer.head.set(0);
        buffer.tail.set(0);
        buffer.followers.set(0);
        buffer.streaming.set(0);
        buffer.streamed.set(0);
        buffer.unfenced.set(0);
        buffer.pushed.set(0);
        buffer.written_back.set(0);
    }
}

fn line_of(address: usize) -> usize {
    address & !(LINE as usize - 1)
}

impl Buffer {
    /// Where those are that wait, and some that have left among them.
    fn places(&self) -> Range<usize> {
        self.head.get()..self.tail.get()
    }
}

/// The stream of the running thread that a non-temporal store belongs to, and how many streams there would have to be for each
/// line since the last fence to have one.
pub(super) fn stream(address: usize) -> (u8, u64) {
    let me = threads().current.get();
    if !tables().contexts[me].among_others.get() {
        return (0, 0);
    }
    let (buffer, line) = (of(me), line_of(address));
    let streamed = buffer.streamed.get();
    let known = (0..streamed).find(|&at| buffer.lines[at].get() == line);
    let number = known.unwrap_or(streamed);
    if number == LINES {
        return (0, LINES as u64 + 1);
    }
    buffer.lines[number].set(line);
    buffer.streamed.set(streamed.max(number + 1));
    let stream = if number < usize::from(threads().streams.get()) {
        number as u8 + 1
    } else {
        0
    };
    (stream, number as u64 + 1)
}

/// Has the thread made non-temporal stores since its last fence that others could see late?
pub(super) fn has_streamed(thread: usize) -> bool {
    threads().streams.get() != 0 && of(thread).streamed.get() != 0
}

/// Has it stored since its last fence?
pub(super) fn is_unfenced(thread: usize) -> bool {
    of(thread).unfenced.get() != 0
}

/// All that a thread has stored so far comes before what it will store.
pub(super) fn fenced(thread: usize) {
    super::turns::drained(thread);
    of(thread).streamed.set(0);
    of(thread).unfenced.set(0);
    of(thread).written_back.set(0);
}

/// The running thread is about to store, perhaps into its buffer. No processor has room for that many stores; which one is too many does
/// not depend on the schedule.
pub(super) fn make_room(origin: Origin) {
    let buffer = of(threads().current.get());
    one_more(&buffer.unfenced, origin);
}

/// The running thread is about to write a line back, perhaps behind an entry.
pub(super) fn make_room_behind(origin: Origin) {
    let buffer = of(threads().current.get());
    // With nothing stored since, there is nothing to be behind.
    if buffer.unfenced.get() != 0 {
        one_more(&buffer.written_back, origin);
    }
}

/// Counts what is done since the last fence; where that is too much, the buffer is waited for.
fn one_more(since_fence: &Cell<usize>, origin: Origin) {
    if since_fence.get() == ROOM - 1 {
        super::steps::point(Step {
            kind: step::FENCE,
            object: 0,
            origin,
        });
    }
    since_fence.set(since_fence.get() + 1);
}

pub(super) fn is_empty(thread: usize) -> bool {
    !buffers().waiting.contains(thread)
}

/// Does any store buffer hold something?
pub(super) fn any_waits() -> bool {
    buffers().waiting_count.get() != 0
}

/// Does a store to this byte wait there?
pub(super) fn holds(thread: usize, byte: usize) -> bool {
    let buffer = of(thread);
    buffer.entries[buffer.places()].iter().any(|entry| {
        let start = entry.address.get();
        entry.kind.get() == Kind::Store
            && !entry.gone.get()
            && (start..start + entry.length.get()).contains(&byte)
    })
}

/// Do stores of other threads than the running one wait for these bytes?
pub(super) fn others_hold(address: usize, length: usize) -> bool {
    let me = threads().current.get();
    let inside = |entry: &Entry| {
        let start = entry.address.get();
        !entry.gone.get() && start < address + length && address < start + entry.length.get().max(1)
    };
    let mut others = (0..threads().count.get()).filter(|&thread| thread != me && !is_empty(thread));
    others.any(|thread| {
        let buffer = of(thread);
        buffer.entries[buffer.places()].iter().any(inside)
    })
}

/// Do stores to all of these bytes wait there? Then a load sees nothing else.
pub(super) fn covers(thread: usize, address: usize, length: usize) -> bool {
    !is_empty(thread) && (address..address + length).all(|byte| holds(thread, byte))
}

/// The running thread stores.
///
/// # Safety
/// The program may write to `to`, and `from` can be read, for `length` bytes.
pub(super) unsafe fn push(
    to: usize,
    from: *const u8,
    length: usize,
    (visible, stream): (bool, u8),
    flags: u8,
    origin: Origin,
) {
    let me = threads().current.get();
    show(me);
    if is_persistent(to) && protections::any() {
        // What may not be written faults here, before anybody is told.
        touch_span(to, length);
        let memory = view(to as *mut u8);
        // SAFETY: what the caller promises; where that does not hold the program's own store faults.
        unsafe { memory.write_volatile(memory.read_volatile()) };
    }
    let entry = add(me, Kind::Store, to, origin);
    entry.length.set(length);
    entry.visible.set(visible);
    entry.flags.set(flags);
    if stream != 0 {
        entry.stream.set(stream);
        if of(me).streaming.get() == 0 {
            buffers().streaming.set(buffers().streaming.get() + 1);
        }
        of(me).streaming.set(of(me).streaming.get() + 1);
    }
    if is_persistent(to) {
        touch_span(to, length);
    }
    // SAFETY: what the caller promises; a store is no longer than a line, as an entry has room for.
    unsafe {
        bytes::copy(entry.stored(), from, length);
        bytes::copy(entry.covered(), entry.memory(), length);
        bytes::copy(entry.memory(), from, length);
    }
}

/// A place for one more of the running thread's.
fn add(me: usize, kind: Kind, address: usize, origin: Origin) -> &'static Entry {
    let buffer = of(me);
    if buffer.head.get() == buffer.tail.get() {
        buffer.head.set(0);
        buffer.tail.set(0);
        buffer.followers.set(0);
    }
    if buffer.tail.get() == ROOM {
        outcome::internal(b"a store buffer is full", 0);
    }
    let entry = &buffer.entries[buffer.tail.get()];
    entry.kind.set(kind);
    entry.address.set(address);
    entry.origin.set(origin);
    entry.length.set(0);
    entry.visible.set(true);
    entry.stream.set(0);
    entry.gone.set(false);
    entry.outdated.set(0);
    buffer.tail.set(buffer.tail.get() + 1);
    buffer.pushed.set(buffer.pushed.get() + 1);
    if is_empty(me) {
        buffers().waiting.insert(me);
        buffers()
            .waiting_count
            .set(buffers().waiting_count.get() + 1);
    }
    entry
}

/// How much a thread has put in here.
pub(super) fn pushed(thread: usize) -> u32 {
    of(thread).pushed.get()
}

/// Is so much that the running thread put in last still here?
pub(super) fn may_take_out(me: usize, count: usize) -> bool {
    let buffer = of(me);
    let places = buffer.places();
    let newest = places.end.saturating_sub(count).max(places.start)..places.end;
    let waits = |entry: &Entry| entry.kind.get() == Kind::Store && !entry.gone.get();
    buffer.streaming.get() == 0
        && newest.len() == count
        && buffer.followers.get() == 0
        && buffer.entries[newest].iter().all(waits)
}

/// Takes that out: memory holds what it would with these stores behind each other, and nobody has seen it without them.
pub(super) fn take_out(me: usize, count: usize) {
    let buffer = of(me);
    show(me);
    buffer.tail.set(buffer.tail.get() - count);
    buffer.pushed.set(buffer.pushed.get() - count as u32);
    buffer
        .unfenced
        .set(buffer.unfenced.get().saturating_sub(count));
    if buffer.head.get() == buffer.tail.get() {
        buffers().waiting.remove(me);
        buffers()
            .waiting_count
            .set(buffers().waiting_count.get() - 1);
    }
}

/// The running thread flushes or fences.
pub(super) fn push_order(kind: Kind, address: usize, origin: Origin) {
    let me = threads().current.get();
    show(me);
    add(me, kind, address, origin);
    if kind == Kind::Fence {
        of(me).streamed.set(0);
    }
}

/// The running thread begins to write a line back; true if that waits for something in its buffer.
pub(super) fn write_back(kind: record::RecordKind, address: usize, origin: Origin) -> bool {
    let buffer = of(threads().current.get());
    let last = buffer.places().rev().find(|&at| {
        let entry = &buffer.entries[at];
        !entry.gone.get()
            && (entry.kind.get() == Kind::Fence || line_of(entry.address.get()) == line_of(address))
    });
    let Some(entry) = last else {
        return false;
    };
    let followers = buffer.followers.get();
    if followers == ROOM {
        outcome::internal(b"too many write-backs in a store buffer", 0);
    }
    buffer.behind[followers].set(Behind {
        entry,
        kind,
        address,
        origin,
    });
    buffer.followers.set(followers + 1);
    true
}
