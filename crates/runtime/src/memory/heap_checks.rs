//! Which bytes of the volatile heap the program may touch, where that is asked for (`--checks heap`): a byte of shadow for every
//! 16 bytes, a red zone behind every block, and freed blocks that nobody gets again in the same run.

use crate::memory::bytes;
use crate::memory::heap::HEADER;
use crate::memory::marked;
use crate::memory::own::{Scratch, place};
use crate::run::call_stack;
use crate::run::outcome::{self, Report};
use crate::run::trace::Origin;
use crate::state::{run, server};
use crate::syscalls::sys;
use crate::threads::{frames, visible};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::{End, heap_error, option};

/// Bytes that one byte of shadow speaks for.
pub(crate) const GRAIN: usize = 16;
/// At least so much behind a block belongs to nobody.
pub(crate) const RED_ZONE: usize = 16;
/// Shadow: `1..=16` bytes of the grain may be touched; 0, none; this, none any more.
const FREED: u8 = 0xff;

/// Frames kept of whoever allocated a block, and of whoever freed it.
const KEPT: usize = 12;
/// Once the heap is this large, freed blocks are given out again.
const KEEP_FREED_UP_TO: usize = 256 << 20;

/// In front of a block's own header.
#[repr(C)]
pub(crate) struct Record {
    pub(crate) allocated: [u64; KEPT],
    pub(crate) freed: [u64; KEPT],
    /// What was asked for.
    pub(crate) length: usize,
    pub(crate) state: usize,
}

/// Where a block begins, and what is known of it.
pub(crate) type KnownBlock = (usize, *mut Record);

impl Record {
    pub(crate) fn begin(&mut self, length: usize, state: usize) {
        self.allocated = [0; KEPT];
        self.freed = [0; KEPT];
        self.length = length;
        self.state = state;
    }
}

pub(crate) const RECORD: usize = size_of::<Record>();
pub(crate) const LIVE: usize = 0x6c69_7665_626c_6f63;
pub(crate) const DEAD: usize = 0x6465_6164_626c_6f63;

pub(crate) const SHADOW_LEN: usize = place::HEAP_LEN / GRAIN;

/// Are accesses to the heap looked at?
#[inline(always)]
pub(crate) fn on() -> bool {
    server().options.get() & option::HEAP != 0
}

/// Once per process, before the first block that is looked at: what was given out before, to libraries, may all be touched.
pub(crate) fn prepare(used_to: usize) -> bool {
    if sys::map(place::HEAP_SHADOW, SHADOW_LEN).is_none() {
        return false;
    }
    let used = used_to.saturating_sub(place::HEAP);
    // SAFETY: the shadow of all of the heap is mapped before it is looked at.
    unsafe {
        bytes::fill(
            place::HEAP_SHADOW as *mut u8,
            GRAIN as u8,
            used.div_ceil(GRAIN),
        )
    };
    true
}

pub(crate) fn shadow(address: usize) -> *mut u8 {
    (place::HEAP_SHADOW + (address - place::HEAP) / GRAIN) as *mut u8
}

fn record(block: usize) -> *mut Record {
    (block - HEADER - RECORD) as *mut Record
}

/// A block was taken from `from` on, which ends with its red zone at `end`.
///
/// # Safety
/// `from` to `end` is memory of the heap that was just taken, for a block.
pub(crate) unsafe fn taken(from: usize, block: usize, length: usize, end: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let record = record(block);
        (*record).begin(length, LIVE);
        call_stack::walk(call_stack::frame_pointer(), &mut (*record).allocated);
        bytes::fill(shadow(from), 0, (end - from) / GRAIN);
        bytes::fill(shadow(block), GRAIN as u8, length / GRAIN);
        if !length.is_multiple_of(GRAIN) {
            *shadow(block + length) = (length % GRAIN) as u8;
        }
    }
}

/// What was asked for when the block was taken.
///
/// # Safety
/// `block` is a block with a record.
pub(crate) unsafe fn length(block: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe { (*record(block)).length }
}

/// The block is as if it had been given back long ago.
///
/// # Safety
/// `block` is a block with a record.
pub(crate) unsafe fn never_taken(block: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let record = record(block);
        (*record).state = DEAD;
        bytes::fill(shadow(block), FREED, (*record).length.div_ceil(GRAIN));
    }
}

/// A block is given back; ends the run if it is none. Returns whether it may be given out again.
///
/// # Safety
/// Where `known` says so, `block` is a block with a record.
pub(crate) unsafe fn given_back(block: usize, known: bool, end: usize, caller: usize) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let is_block = known
            && block.is_multiple_of(GRAIN)
            && block >= place::HEAP + RECORD + HEADER
            && matches!((*record(block)).state, LIVE | DEAD);
        if !is_block {
            error(heap_error::INVALID_FREE, block, 0, None);
        }
        let record = record(block);
        let gone = || {
            // Somebody else may have been faster.
            if (*record).state == DEAD {
                error(heap_error::DOUBLE_FREE, block, 0, Some((block, record)));
            }
            crate::threads::given_stacks::taken_away(block, (*record).length);
            (*record).state = DEAD;
            call_stack::walk(call_stack::frame_pointer(), &mut (*record).freed);
            bytes::fill(shadow(block), FREED, (*record).length.div_ceil(GRAIN));
        };
        if (*record).state == LIVE && crate::state::watching() {
            let origin = Origin::library(Builtin::free, caller);
            visible::give_back(block, (*record).length, origin, gone);
        } else {
            gone();
        }
        end - place::HEAP > KEEP_FREED_UP_TO
    }
}

/// May the program touch these bytes? If they are of the heap, and that is looked at, and it may not, the run ends here.
#[inline(always)]
pub(crate) fn look_if_asked(address: usize, length: usize, writes: bool) {
    if on() && crate::state::running() {
        look(address, length, writes);
    }
}

/// The same of a store that goes into the buffer. Whether it meets a variable that is gone turns out when it leaves that, if that is a step.
pub(crate) fn look_before_push(address: usize, length: usize, leaves_in_step: bool) {
    if on() && crate::state::running() {
        match leaves_in_step {
            true => {
                look_at_heap(address, length, true);
                frames::touches_own(address, length);
            }
            false => look(address, length, true),
        }
    }
}

/// Would it?
pub(crate) fn refuses(address: usize, length: usize) -> bool {
    if !on() || !crate::state::running() {
        return false;
    }
    is_heap(address) && first_bad(address, length).is_some()
        || run().marked.get() != 0 && marked::refuses(address, length)
}

/// How much from here on, up to so much, is of one block; nothing where that is not known.
pub(crate) fn room(address: usize, most: usize) -> usize {
    if !on() || !crate::state::running() || !is_heap(address) {
        return 0;
    }
    first_bad(address, most).map_or(most, |bad| bad - address)
}

/// A store that was buffered has reached memory that was freed meanwhile: whose turn it is has nothing to do with it.
pub(crate) fn committed(address: usize, length: usize, origin: Origin) {
    // SAFETY: the shadow of all of the heap is mapped before it is looked at.
    unsafe {
        if is_heap(address)
            && let Some(bad) = first_bad(address, length)
        {
            let kind = match *shadow(bad) {
                FREED => heap_error::WRITE_AFTER_FREE,
                _ => heap_error::WRITE_OUTSIDE,
            };
            report(kind, address, length, find(bad), Some(origin))
        }
    }
    marked::committed(address, length, origin);
}

/// The same, of a block that the program has marked.
pub(crate) fn committed_late(
    address: usize,
    length: usize,
    block: KnownBlock,
    origin: Origin,
) -> ! {
    committed_to(heap_error::WRITE_AFTER_FREE, address, length, block, origin)
}

/// The same, of any kind.
pub(crate) fn committed_to(
    kind: i32,
    address: usize,
    length: usize,
    block: KnownBlock,
    origin: Origin,
) -> ! {
    // SAFETY: the caller has the block's record.
    unsafe { report(kind, address, length, Some(block), Some(origin)) }
}

/// The stack of a thread that has not ended is taken away.
pub(crate) fn live_stack(address: usize, thread: usize) -> ! {
    error(heap_error::LIVE_STACK, address, thread, None)
}

/// Where the block begins that ends at, or reaches over, an address. None where that is not known.
pub(crate) fn beginning(end: usize) -> Option<usize> {
    if !on() || !is_heap(end) {
        return None;
    }
    let mut at = end & !(GRAIN - 1);
    // SAFETY: the shadow of all of the heap is mapped.
    while at > place::HEAP && unsafe { usize::from(*shadow(at - GRAIN)) } == GRAIN {
        at -= GRAIN;
    }
    (at != end & !(GRAIN - 1)).then_some(at)
}

fn is_heap(address: usize) -> bool {
    address.wrapping_sub(place::HEAP) < place::HEAP_LEN
}

#[inline(always)]
pub(crate) fn look(address: usize, length: usize, writes: bool) {
    look_at_heap(address, length, writes);
    frames::look(address, length, writes);
}

#[inline(always)]
fn look_at_heap(address: usize, length: usize, writes: bool) {
    // SAFETY: the shadow of all of the heap is mapped before it is looked at.
    unsafe {
        if is_heap(address) {
            let room = *shadow(address);
            if room == FREED || address % GRAIN + length > usize::from(room) {
                look_closely(address, length, writes);
            }
        }
    }
    if run().marked.get() != 0 {
        marked::look(address, length, writes);
    }
}

/// May the program touch these bytes, where they are not just a few in the middle of a block?
#[cold]
#[inline(never)]
fn look_closely(address: usize, length: usize, writes: bool) {
    // SAFETY: the shadow of all of the heap is mapped before it is looked at.
    unsafe {
        if let Some(bad) = first_bad(address, length) {
            touched(bad, address, length, writes);
        }
    }
}

/// The first of these bytes that may not be touched.
fn first_bad(address: usize, length: usize) -> Option<usize> {
    let mut at = address;
    let end = address + length;
    // SAFETY: the shadow of all of the heap is mapped before it is looked at.
    unsafe {
        while at < end {
            let (grain, room) = (at / GRAIN * GRAIN, *shadow(at));
            if room == FREED {
                return Some(at);
            }
            if end.min(grain + GRAIN) > grain + usize::from(room) {
                return Some(at.max(grain + usize::from(room)));
            }
            at = grain + GRAIN;
        }
    }
    None
}

/// # Safety
/// `bad` is in the heap.
unsafe fn touched(bad: usize, address: usize, length: usize, writes: bool) {
    // SAFETY: what the caller promises.
    unsafe {
        let near = find(bad);
        let freed = *shadow(bad) == FREED;
        let kind = match (freed, writes) {
            (true, false) => heap_error::READ_AFTER_FREE,
            (true, true) => heap_error::WRITE_AFTER_FREE,
            (false, false) => heap_error::READ_OUTSIDE,
            (false, true) => heap_error::WRITE_OUTSIDE,
        };
        error(kind, address, length, near)
    }
}

/// The block that an address belongs to, or the one before it: records say which, and lie right before their blocks.
///
/// # Safety
/// `address` is in the heap.
unsafe fn find(address: usize) -> Option<(usize, *mut Record)> {
    // SAFETY: what the caller promises.
    unsafe {
        const FAR: usize = 1 << 24;
        let lowest = address
            .saturating_sub(FAR)
            .max(place::HEAP + RECORD + HEADER);
        let mut block = address / GRAIN * GRAIN;
        // An access right before a block is about that one.
        let before = (RECORD + HEADER) / GRAIN + 1;
        let after = (1..=before).map(|grain| address / GRAIN * GRAIN + grain * GRAIN);
        while block >= lowest {
            let record = record(block);
            if matches!((*record).state, LIVE | DEAD) && is_block(block, record) {
                return Some((block, record));
            }
            block -= GRAIN;
        }
        for block in after {
            let record = record(block);
            if is_block(block, record) {
                return Some((block, record));
            }
        }
        None
    }
}

/// Not just the same bytes by chance: the shadow begins there too.
///
/// # Safety
/// `record` is where the record of `block` would be, in the heap.
unsafe fn is_block(block: usize, record: *const Record) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let shade = *shadow(block);
        matches!((*record).state, LIVE | DEAD)
            && (*record).length < place::HEAP_LEN
            && match (*record).state {
                LIVE => shade != FREED && (shade != 0 || (*record).length == 0),
                _ => shade == FREED || (*record).length == 0,
            }
    }
}

/// Ends the run. The text says where the block begins, how long it is, and who allocated and freed it, in hexadecimal.
pub(crate) fn error(kind: i32, address: usize, length: usize, near: Option<KnownBlock>) -> ! {
    // SAFETY: whoever has a block has its record.
    unsafe { report(kind, address, length, near, None) }
}

/// # Safety
/// `near` is a block and its record.
unsafe fn report(
    kind: i32,
    address: usize,
    length: usize,
    near: Option<KnownBlock>,
    origin: Option<Origin>,
) -> ! {
    // SAFETY: what the caller promises.
    unsafe {
        const ROOM: usize = 600;
        let scratch = Scratch::new(ROOM);
        let text = core::slice::from_raw_parts_mut(scratch.start(), ROOM);
        let mut at = 0;
        let mut put = |number: u64, separator: u8| {
            let mut digits = [0u8; 16];
            let mut count = 0;
            let mut rest = number;
            loop {
                digits[15 - count] = b"0123456789abcdef"[(rest & 15) as usize];
                rest >>= 4;
                count += 1;
                if rest == 0 {
                    break;
                }
            }
            if at + count < text.len() {
                bytes::copy(
                    text.as_mut_ptr().add(at),
                    digits.as_ptr().add(16 - count),
                    count,
                );
                text[at + count] = separator;
                at += count + 1;
            }
        };
        put(length as u64, b' ');
        if let Some((block, record)) = near {
            put(block as u64, b' ');
            put((*record).length as u64, b'\0');
            for frames in [&(*record).allocated, &(*record).freed] {
                for &frame in frames.iter().filter(|frame| **frame != 0) {
                    put(frame, b' ');
                }
                // Ends the list.
                put(0, b'\0');
            }
        }
        let text: &[&[u8]] = &[&text[..at]];
        // Nobody comes back here to give it back; until it is copied, nobody takes any.
        drop(scratch);
        let report = Report {
            code: kind,
            address: address as u64,
            text,
            ..Report::default()
        };
        match origin {
            None => {
                let frame = call_stack::frame_pointer();
                outcome::end(End::Heap, Report { frame, ..report })
            }
            Some(origin) => {
                let site = origin.number() & u64::from(u32::MAX);
                outcome::end_for_all(End::Heap, Report { site, ..report })
            }
        }
    }
}
