//! What leaves a store buffer, and when it may: in order, or stream by stream.

use super::super::sets::ProcessSet;
use super::super::visible::{self, digest, pack};
use super::super::{frames, sleep_sets, threads, turns};
use super::overlay::hide;
use super::{Kind, buffers, line_of, of};
use crate::memory::accesses;
use crate::memory::heap_checks;
use crate::memory::protections;
use crate::memory::shadow::{is_persistent, offset, recording};
use crate::run::trace;
use crate::threads::context::Step;
use landfall_vocab::record::access::WRITE;
use landfall_vocab::record::{self, step};
use landfall_vocab::shared::End;
use landfall_vocab::window::LINE;

/// Can an entry of this kind leave, with those before this place still there?
fn may_leave(thread: usize, place: usize, kind: Kind, stream: u8, address: usize) -> bool {
    let buffer = of(thread);
    if buffer.streaming.get() == 0 && stream == 0 {
        return buffer.head.get() >= place;
    }
    !(buffer.head.get()..place).any(|at| {
        let earlier = &buffer.entries[at];
        !earlier.gone.get()
            && (earlier.stream.get() == stream
                || earlier.kind.get() == Kind::Fence
                || kind == Kind::Fence
                || line_of(earlier.address.get()) == line_of(address))
    })
}

/// Would a store of the running thread have to wait for nothing?
pub(in super::super) fn goes_past(stream: u8, address: usize) -> bool {
    let me = threads().current.get();
    super::is_empty(me) || may_leave(me, of(me).tail.get(), Kind::Store, stream, address)
}

/// The oldest entry of a stream (or of what waits in order).
fn oldest(thread: usize, stream: u8) -> Option<usize> {
    let buffer = of(thread);
    buffer.places().find(|&at| {
        let entry = &buffer.entries[at];
        !entry.gone.get() && entry.stream.get() == stream
    })
}

/// Adds to a set the processes by which something can leave store buffers.
pub(in super::super) fn leaving(to: &ProcessSet) {
    if buffers().waiting_count.get() == 0 {
        return;
    }
    let (waiting, words) = (&buffers().waiting, threads().thread_words.get());
    if buffers().streaming.get() == 0 {
        let companions = usize::from(threads().companions.get());
        for at in (0..words).filter(|&at| waiting.word(at) != 0) {
            to.add(companions + 64 * at, waiting.word(at));
        }
        return;
    }
    for thread in waiting.iter(words) {
        for stream in 0..=threads().streams.get() {
            if let Some(at) = oldest(thread, stream) {
                let entry = &of(thread).entries[at];
                if may_leave(thread, at, entry.kind.get(), stream, entry.address.get()) {
                    to.insert(process(thread, stream));
                }
            }
        }
    }
}

/// The number of a store buffer or stream among processes.
fn process(thread: usize, stream: u8) -> usize {
    let companions = usize::from(threads().companions.get());
    let streams = usize::from(threads().streams.get());
    match usize::from(stream) {
        0 => companions + thread,
        stream => 2 * companions + thread * streams + stream - 1,
    }
}

/// The thread and the stream that a process number above the threads' stands for.
pub(in super::super) fn of_process(process: u16) -> (usize, u8) {
    let companions = threads().companions.get();
    let streams = u16::from(threads().streams.get());
    match process.checked_sub(2 * companions) {
        Some(number) => {
            let streams = streams.max(1);
            (usize::from(number / streams), (number % streams) as u8 + 1)
        }
        None => (usize::from(process - companions), 0),
    }
}

/// What the next commit of a thread, or of one of its streams, is.
pub(in super::super) fn next_step(thread: usize, stream: u8) -> Step {
    let buffer = of(thread);
    let at = oldest(thread, stream).unwrap_or(buffer.head.get());
    let entry = &buffer.entries[at];
    let (kind, object) = match entry.kind.get() {
        Kind::Store => (step::COMMIT, usize::from(stream)),
        Kind::Flush => {
            let line = line_of(entry.address.get());
            (step::FLUSH, pack(line, LINE as usize) as usize)
        }
        Kind::Fence => (step::ORDER, 0),
    };
    Step {
        kind,
        object,
        origin: entry.origin.get(),
    }
}

/// The oldest entry of a thread's buffer, or of a stream, leaves it, and the stores behind it whose time nobody can tell.
pub(in super::super) fn commit(thread: usize, stream: u8) {
    let buffer = of(thread);
    let at = oldest(thread, stream).unwrap_or(buffer.head.get());
    let first = &buffer.entries[at];
    let (address, length) = (first.address.get(), first.length.get());
    let origin = first.origin.get();
    match first.kind.get() {
        Kind::Store => {
            let (left, mut found) = take(thread, at);
            turns::committed(thread, (address, length), (found, left));
            let object = pack(address, length);
            let dead = frames::refuses(thread, address, length);
            if dead {
                // Whatever calls have left there.
                found = 0;
            }
            trace::access(thread, object, WRITE, origin, [found, left, 0]);
            sleep_sets::executed(address as u64, length, true);
            if heap_checks::refuses(address, length) {
                trace::ended(thread, End::Heap as u64, origin);
                heap_checks::committed(address, length, origin);
            }
            if dead {
                trace::ended(thread, End::Heap as u64, origin);
                frames::committed(thread, address, length, origin);
            }
        }
        Kind::Flush => {
            trace::plain(record::RecordKind::Clflush, offset(address), 0, origin);
            gone(thread, at);
        }
        Kind::Fence => {
            trace::plain(record::RecordKind::Sfence, 0, 0, origin);
            gone(thread, at);
        }
    }
    take_hidden(thread);
}

/// After something left the buffer, the stores whose time nobody can tell and that wait for nothing any more.
fn take_hidden(thread: usize) {
    let buffer = of(thread);
    let mut at = buffer.head.get();
    while at < buffer.tail.get() {
        let entry = &buffer.entries[at];
        let (gone, visible) = (entry.gone.get(), entry.visible.get());
        let (kind, stream) = (entry.kind.get(), entry.stream.get());
        if !gone && !visible && may_leave(thread, at, kind, stream, entry.address.get()) {
            take(thread, at);
        } else if !gone && buffer.streaming.get() == 0 {
            return;
        }
        at += 1;
    }
}

/// Takes an entry out; what it stores, and what it replaces.
fn take(thread: usize, at: usize) -> (u64, u64) {
    let entry = &of(thread).entries[at];
    let (address, length) = (entry.address.get(), entry.length.get());
    let (flags, origin) = (entry.flags.get(), entry.origin.get());
    // SAFETY: the program stored so many bytes there, and an entry has room for them.
    let (left, found) = unsafe {
        let left = digest(entry.stored(), length);
        let found = if buffers().shown.get() == thread {
            if is_persistent(address) && recording() {
                accesses::note_store(address, entry.stored(), length, flags, origin);
            }
            digest(entry.covered(), length)
        } else {
            hide();
            let found = visible::found(address, length);
            protections::without(|| match entry.outdated.get() {
                0 => visible::perform(address, entry.stored(), length, flags, origin),
                _ => entry.put_new(),
            });
            found
        };
        (left, found)
    };
    gone(thread, at);
    turns::touched(thread, address as u64, length, Some(found));
    if found != left {
        turns::changed(thread, address as u64, length);
    }
    (left, found)
}

/// An entry is gone: what waited for it happens.
fn gone(thread: usize, entry: usize) {
    let (buffer, buffers) = (of(thread), buffers());
    let left = &buffer.entries[entry];
    left.gone.set(true);
    if left.stream.get() != 0 {
        buffer.streaming.set(buffer.streaming.get() - 1);
        if buffer.streaming.get() == 0 {
            buffers.streaming.set(buffers.streaming.get() - 1);
        }
    }
    while buffer.head.get() < buffer.tail.get() && buffer.entries[buffer.head.get()].gone.get() {
        buffer.head.set(buffer.head.get() + 1);
    }
    if buffer.head.get() == buffer.tail.get() {
        buffers.waiting.remove(thread);
        buffers.waiting_count.set(buffers.waiting_count.get() - 1);
    }
    for behind in &buffer.behind[..buffer.followers.get()] {
        let behind = behind.get();
        if behind.entry == entry {
            trace::plain(behind.kind, offset(behind.address), 0, behind.origin);
        }
    }
}
