//! Fences and write-backs of threads: what waits in a store buffer is waited for, or goes behind it.

use super::context::Step;
use super::steps::point;
use super::store_buffer;
use super::visible::{BUFFERED, LOCKED, SWAP, pack};
use super::{repeated, threads, turns};
use crate::run::trace::{self, Origin};
use landfall_vocab::record::{RecordKind, step};
use landfall_vocab::window::LINE;

/// A full fence: goes on when the store buffer is empty.
pub(crate) fn fence(origin: Origin) {
    if super::block::is_inside() {
        return;
    }
    let kind = if threads().persistency.get() {
        step::ORDER
    } else if threads().buffered.get() && store_buffer::is_unfenced(threads().current.get()) {
        step::FENCE
    } else {
        return;
    };
    point(Step {
        kind,
        object: 0,
        origin,
    });
    if kind == step::ORDER {
        turns::lasts(threads().current.get());
    }
}

/// An `sfence`: behind the stores before it. False where nobody asks when.
pub(crate) fn store_fence(origin: Origin) -> bool {
    // Between ordinary stores it orders nothing that is not ordered.
    let streams =
        threads().streams.get() != 0 && store_buffer::is_unfenced(threads().current.get());
    if !(threads().persistency.get() || streams) || crate::syscalls::dispatch::uninterrupted() {
        return false;
    }
    turns::lasts(threads().current.get());
    if threads().buffered.get() {
        store_buffer::make_room(origin);
        repeated::moved(threads().current.get(), origin);
        trace::access(
            threads().current.get(),
            0,
            BUFFERED | LOCKED,
            origin,
            [0, 0, 0],
        );
        store_buffer::push_order(store_buffer::Kind::Fence, 0, origin);
        return true;
    }
    point(Step {
        kind: step::ORDER,
        object: step::STORES_ONLY as usize,
        origin,
    });
    false
}

/// A `clwb` or `clflushopt` of the running thread; true if it happens later.
pub(crate) fn write_back(kind: RecordKind, address: usize, origin: Origin) -> bool {
    if !threads().persistency.get() || crate::syscalls::dispatch::uninterrupted() {
        return false;
    }
    turns::lasts(threads().current.get());
    if threads().buffered.get() {
        store_buffer::make_room_behind(origin);
    }
    writes_back(address, origin);
    threads().buffered.get() && store_buffer::write_back(kind, address, origin)
}

/// The running thread begins to write a line back: a fence will complete it.
fn writes_back(address: usize, origin: Origin) {
    let me = threads().current.get();
    let object = pack(address & !(LINE as usize - 1), LINE as usize);
    repeated::moved(me, origin);
    trace::access(me, object, BUFFERED | LOCKED | SWAP, origin, [0, 0, 0]);
}

/// A `clflush`: behind the stores before it. False where nobody asks when.
pub(crate) fn flush(address: usize, origin: Origin) -> bool {
    if !threads().persistency.get() || crate::syscalls::dispatch::uninterrupted() {
        return false;
    }
    turns::lasts(threads().current.get());
    let object = pack(address & !(LINE as usize - 1), LINE as usize);
    if threads().buffered.get() {
        store_buffer::make_room(origin);
        repeated::moved(threads().current.get(), origin);
        trace::access(
            threads().current.get(),
            object,
            BUFFERED | SWAP,
            origin,
            [0, 0, 0],
        );
        store_buffer::push_order(store_buffer::Kind::Flush, address, origin);
        return true;
    }
    point(Step {
        kind: step::FLUSH,
        object: object as usize,
        origin,
    });
    false
}
