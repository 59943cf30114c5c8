//! Blocks of allocators that the program has of its own, where it says so (`lf_alloc_mark`, `lf_free_mark`): what was given back is not to
//! be touched until it is handed out again, but where the program asks not to be judged (an allocator keeps its links there).

use super::bytes;
use super::heap_checks::{self, DEAD, KnownBlock, LIVE, Record};
use super::own::allocate;
use crate::caller;
use crate::run::outcome;
use crate::run::trace::Origin;
use crate::state::{self, run, server};
use crate::threads::{said, visible};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::{End, heap_error};

/// Blocks that are told apart.
const ROOM: usize = 2048;

#[repr(C)]
pub(crate) struct MarkedBlock {
    start: usize,
    record: Record,
}

impl MarkedBlock {
    fn end(&self) -> usize {
        self.start + self.record.length
    }
}

/// In the order of their addresses; none overlaps another one.
fn blocks() -> &'static mut [MarkedBlock] {
    if server().marked.get().is_null() {
        return &mut [];
    }
    // SAFETY: allocated before the first is counted, and never freed; only the functions below look at it, one at a time.
    unsafe { core::slice::from_raw_parts_mut(server().marked.get(), run().marked.get()) }
}

/// The first block that ends behind an address.
fn behind(address: usize) -> usize {
    blocks().partition_point(|block| block.end() <= address)
}

/// Room for one more block at this place, a copy of the one that is there.
fn insert(at: usize) -> &'static mut MarkedBlock {
    let count = run().marked.get();
    if count == ROOM {
        outcome::fail(
            End::Forbidden,
            &[b"lf_alloc_mark, lf_free_mark: more than 2048 blocks; mark fewer, or larger ones"],
        )
    }
    if server().marked.get().is_null() {
        server()
            .marked
            .set(allocate(ROOM * size_of::<MarkedBlock>()).cast());
    }
    run().marked.set(count + 1);
    // SAFETY: there is room for so many.
    unsafe {
        let place = server().marked.get().add(at);
        let behind = (count - at) * size_of::<MarkedBlock>();
        bytes::shift(place.add(1).cast(), place.cast(), behind);
        &mut *place
    }
}

fn remove(at: usize) {
    let count = run().marked.get();
    // SAFETY: both are in the table.
    unsafe {
        let place = server().marked.get().add(at);
        let behind = (count - at - 1) * size_of::<MarkedBlock>();
        bytes::shift(place.cast(), place.add(1).cast(), behind);
    }
    run().marked.set(count - 1);
}

/// Whatever was known of these bytes is not true any more. Where a block of them goes.
fn clear(start: usize, end: usize) -> usize {
    let mut at = behind(start);
    while at < blocks().len() && blocks()[at].start < end {
        let (first, last) = (blocks()[at].start, blocks()[at].end());
        let splits = first < start && end < last;
        if splits {
            insert(at);
            let rest = &mut blocks()[at + 1];
            (rest.start, rest.record.length) = (end, last - end);
        }
        let block = &mut blocks()[at];
        if splits {
            block.record.length = start - first;
            return at + 1;
        }
        if first < start {
            block.record.length = start - first;
            at += 1;
        } else if end < last {
            (block.start, block.record.length) = (end, last - end);
            break;
        } else {
            remove(at);
        }
    }
    at
}

/// A block with this content is handed out, or given back.
fn mark(start: usize, length: usize, state: usize) {
    let known = blocks().get(behind(start));
    let known = known.filter(|block| (block.start, block.record.length) == (start, length));
    let allocated = known.map(|block| block.record.allocated);
    let at = clear(start, start + length);
    let block = insert(at);
    block.start = start;
    block.record.begin(length, state);
    let frames = match (state, allocated) {
        (DEAD, Some(allocated)) => {
            block.record.allocated = allocated;
            &mut block.record.freed
        }
        (DEAD, None) => &mut block.record.freed,
        _ => &mut block.record.allocated,
    };
    crate::run::call_stack::walk(crate::run::call_stack::frame_pointer(), frames);
}

/// The first block of these bytes that was given back, and where.
fn first_freed(address: usize, length: usize) -> Option<(usize, &'static mut MarkedBlock)> {
    let blocks = blocks()[behind(address)..].iter_mut();
    blocks
        .take_while(|block| block.start < address + length)
        .find(|block| block.record.state == DEAD)
        .map(|block| (block.start.max(address), block))
}

/// Who touches it, before or after, is in conflict with that.
fn touch(start: usize, length: usize, caller: usize, mut marked: impl FnMut()) {
    if !state::watching() {
        return marked();
    }
    let origin = Origin::library(Builtin::free, caller);
    // SAFETY: the program says that it is memory of its own.
    unsafe { visible::give_back(start, length, origin, marked) };
}

fn is_on(length: usize) -> bool {
    state::running() && heap_checks::on() && length != 0
}

#[unsafe(no_mangle)]
extern "C" fn lf_alloc_mark(start: usize, length: usize) {
    let caller = caller!();
    if is_on(length) {
        touch(start, length, caller, || mark(start, length, LIVE));
    }
}

#[unsafe(no_mangle)]
extern "C" fn lf_free_mark(start: usize, length: usize) {
    let caller = caller!();
    if is_on(length) {
        touch(start, length, caller, || {
            if let Some((at, block)) = first_freed(start, length) {
                heap_checks::error(heap_error::DOUBLE_FREE, at, 0, Some(block.near()));
            }
            mark(start, length, DEAD);
        });
        // From now on the program is looked at, be it alone or not.
        if !state::watching() {
            state::watch(false);
        }
    }
}

impl MarkedBlock {
    fn near(&mut self) -> KnownBlock {
        (self.start, &raw mut self.record)
    }
}

/// May these bytes not be touched?
#[inline(never)]
pub(crate) fn refuses(address: usize, length: usize) -> bool {
    said::is_judged() && first_freed(address, length).is_some()
}

/// Ends the run if they may not.
#[inline(never)]
pub(crate) fn look(address: usize, length: usize, writes: bool) {
    if refuses(address, length)
        && let Some((_, block)) = first_freed(address, length)
    {
        let kind = match writes {
            true => heap_error::WRITE_AFTER_FREE,
            false => heap_error::READ_AFTER_FREE,
        };
        heap_checks::error(kind, address, length, Some(block.near()));
    }
}

/// A store that was buffered has reached bytes that were given back meanwhile.
pub(crate) fn committed(address: usize, length: usize, origin: Origin) {
    if let Some((_, block)) = first_freed(address, length) {
        heap_checks::committed_late(address, length, block.near(), origin);
    }
}
