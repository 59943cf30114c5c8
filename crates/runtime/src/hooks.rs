//! Loads and stores of instrumented code (ABI). The pass tests the window inline; the test is repeated here because atomics
//! and memory functions call for every address.

use crate::blocks;
use crate::bytes;
use crate::log::{self, Origin, Site};
use crate::shadow::{
    self, content, is_persistent, known, offset, recording, touch, touch_span, view,
};
use crate::state::{looking_at_heap, watching};
use crate::threads::access;
use landfall_vocab::record::{Kind, flag};
use landfall_vocab::window;

/// Ordering of a sequentially consistent access, in LLVM's numbering.
pub(crate) const SEQ_CST: u32 = 7;

/// Flags of the ABI are the low five flags of a record.
#[inline(always)]
pub(crate) fn flags(abi: u32) -> u8 {
    (abi & 0x1f) as u8
}

/// Bytes `at..at + length` of a word.
#[inline(always)]
fn mask(at: u64, length: u64) -> u8 {
    (0xffu32 >> (8 - length) << at) as u8
}

/// Does an access of `length` bytes stay inside its word?
#[inline(always)]
fn fits(at: u64, length: u64) -> bool {
    (at & 7) + length <= 8
}

/// Records the first read of bytes inside one word.
#[inline(always)]
pub(crate) unsafe fn read_word(at: u64, length: u64, flags: u8, origin: Origin) {
    let wanted = mask(at & 7, length);
    if *known(at) & wanted != wanted {
        first_read(at & !7, wanted, flags, origin);
    }
}

#[inline(never)]
unsafe fn first_read(word: u64, wanted: u8, flags: u8, origin: Origin) {
    touch(word);
    let known = known(word);
    let missing = wanted & !*known;
    if missing == 0 {
        return;
    }
    *known |= wanted;
    let value = *(content(word) as *const u64) & spread(missing);
    log::read(word, missing, value, flags, origin);
}

/// A byte mask as a bit mask.
#[inline(always)]
pub(crate) fn spread(mask: u8) -> u64 {
    let bits = (mask as u64).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    ((bits.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) | bits) & 0x8080_8080_8080_8080) / 0x80 * 0xff
}

/// Records and performs a store inside one word.
#[inline(always)]
pub(crate) unsafe fn store_word(at: u64, value: u64, length: u64, flags: u8, origin: Origin) {
    let bytes = mask(at & 7, length);
    let known = known(at);
    if *known & bytes != bytes {
        touch(at);
        *known |= bytes;
    }
    let shift = (at & 7) * 8;
    let value = if length == 8 {
        value
    } else {
        value & ((1 << (length * 8)) - 1)
    };
    log::store(at & !7, bytes, value << shift, flags, origin);
    put(content(at), value, length);
}

/// Writes the low `length` bytes of a value.
#[inline(always)]
unsafe fn put(to: *mut u8, value: u64, length: u64) {
    match length {
        1 => to.write(value as u8),
        2 => (to as *mut u16).write_unaligned(value as u16),
        4 => (to as *mut u32).write_unaligned(value as u32),
        8 => (to as *mut u64).write_unaligned(value),
        _ => bytes::copy(to, (&raw const value) as *const u8, length as usize),
    }
}

/// First reads of a range, word by word.
pub(crate) unsafe fn read_span(address: usize, length: usize, flags: u8, origin: Origin) {
    let (mut at, end) = (offset(address), offset(address) + length as u64);
    while at < end {
        let piece = (8 - (at & 7)).min(end - at);
        read_word(at, piece, flags, origin);
        at += piece;
    }
}

/// Stores longer than this are one `Run` record instead of pieces.
const PIECEWISE: usize = 16;

/// Stores a range, split at words (MODEL.md §3). `source` is no address of the window, but may be a view of it, and overlap.
pub(crate) unsafe fn store_span(
    address: usize,
    source: *const u8,
    length: usize,
    flags: u8,
    origin: Origin,
) {
    if length == 0 {
        return;
    }
    if length <= PIECEWISE {
        let mut staged = [0u8; PIECEWISE];
        bytes::copy(staged.as_mut_ptr(), source, length);
        return store_pieces(address, &staged[..length], flags, origin);
    }
    touch_span(address, length);
    let payload = log::run(offset(address), length as u64, flags, origin);
    bytes::copy(payload, source, length);
    // Memory first: if it may not be written, nothing was stored and nothing is logged.
    bytes::copy(content(offset(address)), payload, length);
    log::run_done(length as u64);
    mark_written(offset(address), length as u64);
}

pub(crate) unsafe fn store_pieces(address: usize, bytes: &[u8], flags: u8, origin: Origin) {
    let (mut at, mut done) = (offset(address), 0);
    let first = match flags & flag::ORDERING {
        flag::COPIED => flags & !flag::ORDERING,
        _ => flags,
    };
    while done < bytes.len() {
        let piece = ((8 - (at & 7)) as usize).min(bytes.len() - done);
        let mut value = 0u64;
        for (i, byte) in bytes[done..done + piece].iter().enumerate() {
            value |= (*byte as u64) << (8 * i);
        }
        let flags = if done == 0 { first } else { flags };
        store_word(at, value, piece as u64, flags, origin);
        at += piece as u64;
        done += piece;
    }
}

/// Records a store of at most a line that is in memory already.
pub(crate) unsafe fn note_store(
    address: usize,
    from: *const u8,
    length: usize,
    flags: u8,
    origin: Origin,
) {
    let (mut at, mut done) = (offset(address), 0);
    while done < length {
        let piece = ((8 - (at & 7)) as usize).min(length - done);
        let mut value = 0u64;
        bytes::copy((&raw mut value) as *mut u8, from.add(done), piece);
        let bytes = mask(at & 7, piece as u64);
        touch(at);
        *known(at) |= bytes;
        log::store(at & !7, bytes, value << ((at & 7) * 8), flags, origin);
        at += piece as u64;
        done += piece;
    }
}

pub(crate) unsafe fn fill_span(address: usize, byte: u8, length: usize, flags: u8, origin: Origin) {
    if length == 0 {
        return;
    }
    if length <= PIECEWISE {
        return store_pieces(address, &[byte; PIECEWISE][..length], flags, origin);
    }
    touch_span(address, length);
    bytes::fill(content(offset(address)), byte, length);
    log::with_value(
        Kind::Fill,
        offset(address),
        (length as u64) << 8 | byte as u64,
        flags,
        origin,
    );
    mark_written(offset(address), length as u64);
}

/// Marks a touched range as written.
unsafe fn mark_written(start: u64, length: u64) {
    let end = start + length;
    let (first, last) = ((start + 7) & !7, end & !7);
    if start < first {
        *known(start) |= mask(start & 7, first.min(end) - start);
    }
    if first < last {
        bytes::fill(known(first), 0xff, ((last - first) / 8) as usize);
    }
    if last < end && last >= first {
        *known(last) |= mask(0, end - last);
    }
}

/// After a store to memory that is not persistent: if the instruction locks, it completes what is pending like a fence.
unsafe fn locked_outside(locked: bool, address: usize, site: *const Site) {
    if locked && !is_persistent(address) && crate::state::running() {
        log::locked_elsewhere(Origin::source(site));
    }
}

// The fast path of each hook is one load of shadow and, for a store, three words of trace; everything else is a tail call, so
// that the fast path saves no registers.
macro_rules! accesses {
    ($($type:ty, $n:literal, $load:ident, $slow_load:ident, $store:ident, $slow_store:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(p: *const $type, abi: u32, site: *const Site) -> $type {
            let at = offset(p as usize);
            if watching() {
                return $slow_load(p, abi, site);
            }
            if at >= window::LEN {
                if looking_at_heap() {
                    blocks::look(p as usize, $n, false);
                }
                return p.read_unaligned();
            }
            let wanted = mask(at & 7, $n);
            // A byte of the next word is not in the mask: such an access is slow.
            if fits(at, $n) && *known(at) & wanted == wanted {
                return (content(at) as *const $type).read_unaligned();
            }
            $slow_load(p, abi, site)
        }

        #[cold]
        #[inline(never)]
        unsafe extern "C" fn $slow_load(p: *const $type, abi: u32, site: *const Site) -> $type {
            if watching() {
                let mut value: $type = 0;
                access::load(p as usize, (&raw mut value) as *mut u8, $n, abi, Origin::source(site));
                return value;
            }
            if shadow::recording() {
                read_span(p as usize, $n, flags(abi), Origin::source(site));
            }
            view(p).read_unaligned()
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(p: *mut $type, value: $type, abi: u32, site: *const Site) {
            let at = offset(p as usize);
            if at >= window::LEN && abi & 7 != SEQ_CST && looking_at_heap() {
                blocks::look(p as usize, $n, true);
                return p.write_unaligned(value);
            }
            if at < window::LEN && abi & 7 != SEQ_CST && fits(at, $n) && !watching() {
                let bytes = mask(at & 7, $n);
                if *known(at) & bytes == bytes
                    && log::store_quickly(at & !7, bytes, (value as u64) << ((at & 7) * 8), flags(abi), site)
                {
                    (content(at) as *mut $type).write_unaligned(value);
                    return;
                }
            }
            $slow_store(p, value, abi, site)
        }

        #[cold]
        #[inline(never)]
        unsafe extern "C" fn $slow_store(p: *mut $type, value: $type, abi: u32, site: *const Site) {
            // A sequentially consistent store is compiled to xchg (MODEL.md §2).
            let locked = abi & 7 == SEQ_CST;
            if watching() {
                access::store(p as usize, (&raw const value) as *const u8, $n, abi, Origin::source(site));
                return locked_outside(locked, p as usize, site);
            }
            if is_persistent(p as usize) && shadow::recording() {
                let flags = flags(abi) | if locked { flag::LOCKED } else { 0 };
                return store_pieces(p as usize, &value.to_le_bytes(), flags, Origin::source(site));
            }
            blocks::look_if_asked(p as usize, $n, true);
            p.write_unaligned(value);
            locked_outside(locked, p as usize, site);
        }
    )* };
}

accesses! {
    u8, 1, __lf_load1, slow_load1, __lf_store1, slow_store1;
    u16, 2, __lf_load2, slow_load2, __lf_store2, slow_store2;
    u32, 4, __lf_load4, slow_load4, __lf_store4, slow_store4;
    u64, 8, __lf_load8, slow_load8, __lf_store8, slow_store8;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_load16(p: *const u128, abi: u32, site: *const Site) -> u128 {
    if watching() {
        let mut value = 0u128;
        let to = (&raw mut value) as *mut u8;
        access::load(p as usize, to, 16, abi, Origin::source(site));
        return value;
    }
    if is_persistent(p as usize) && shadow::recording() {
        read_span(p as usize, 16, flags(abi), Origin::source(site));
    }
    view(p).read_unaligned()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_store16(p: *mut u128, value: u128, abi: u32, site: *const Site) {
    let locked = abi & 7 == SEQ_CST;
    if watching() {
        let from = (&raw const value) as *const u8;
        access::store(p as usize, from, 16, abi, Origin::source(site));
        return locked_outside(locked, p as usize, site);
    }
    if is_persistent(p as usize) && shadow::recording() {
        let flags = flags(abi) | if locked { flag::LOCKED } else { 0 };
        return store_pieces(
            p as usize,
            &value.to_le_bytes(),
            flags,
            Origin::source(site),
        );
    }
    p.write_unaligned(value);
    locked_outside(locked, p as usize, site);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_load_n(
    to: *mut u8,
    p: *const u8,
    length: u64,
    abi: u32,
    site: *const Site,
) {
    if watching() {
        return access::load(p as usize, to, length as usize, abi, Origin::source(site));
    }
    if is_persistent(p as usize) && shadow::recording() {
        read_span(
            p as usize,
            length as usize,
            flags(abi),
            Origin::source(site),
        );
    }
    bytes::shift(to, view(p), length as usize);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_store_n(
    p: *mut u8,
    from: *const u8,
    length: u64,
    abi: u32,
    site: *const Site,
) {
    if watching() {
        let from = view(from);
        return access::store(p as usize, from, length as usize, abi, Origin::source(site));
    }
    if is_persistent(p as usize) && shadow::recording() {
        return store_span(
            p as usize,
            view(from),
            length as usize,
            flags(abi),
            Origin::source(site),
        );
    }
    blocks::look_if_asked(p as usize, length as usize, true);
    bytes::shift(p, view(from), length as usize);
}

/// Could other threads see what happens now? Not inside a system call, which is not interrupted.
#[inline(always)]
pub(crate) unsafe fn others_see() -> bool {
    watching() && !crate::dispatch::uninterrupted()
}

/// A store of the program's by a function of libc.
pub(crate) unsafe fn library_store(
    address: usize,
    source: *const u8,
    length: usize,
    origin: Origin,
) {
    if others_see() {
        access::store(address, source, length, 0, origin);
    } else {
        store_span(address, source, length, 0, origin);
    }
}

/// What a function of libc answers through a pointer of the program's, wherever that points to.
pub(crate) unsafe fn hand_over(address: usize, source: *const u8, length: usize, origin: Origin) {
    if others_see() || is_persistent(address) && recording() {
        library_store(address, source, length, origin);
    } else {
        bytes::copy(address as *mut u8, source, length);
    }
}

/// What is durable when its call returns: file metadata, what a file that changes its length reads as.
pub(crate) unsafe fn store_durably(
    address: usize,
    source: *const u8,
    length: usize,
    origin: Origin,
) {
    if others_see() && crate::dispatch::is_outside() {
        crate::threads::at_once::store(address, source, length, flag::DURABLE, origin);
    } else {
        store_span(address, source, length, flag::DURABLE, origin);
    }
}

/// A copy by any function: reads of persistent sources, stores to persistent targets.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, length: usize, flags: u8, origin: Origin) {
    if length == 0 {
        return;
    }
    if others_see() {
        if crate::dispatch::is_outside() && is_persistent(to as usize) {
            return crate::threads::at_once::copy(to as usize, from, length, flags, origin);
        }
        return access::copy(to as usize, from as usize, length, flags.into(), origin);
    }
    let persistent = is_persistent(to as usize) || is_persistent(from as usize);
    if persistent && shadow::recording() {
        if is_persistent(from as usize) {
            read_span(from as usize, length, 0, origin);
        }
        if is_persistent(to as usize) {
            let flags = flags | flag::COPIED;
            return store_span(to as usize, view(from), length, flags, origin);
        }
    }
    blocks::look_if_asked(from as usize, length, false);
    blocks::look_if_asked(to as usize, length, true);
    bytes::shift(to, view(from), length);
}

pub(crate) unsafe fn fill(to: *mut u8, byte: u8, length: usize, flags: u8, origin: Origin) {
    if others_see() {
        return access::fill(to as usize, byte, length, flags.into(), origin);
    }
    if length != 0 && is_persistent(to as usize) && shadow::recording() {
        return fill_span(to as usize, byte, length, flags | flag::COPIED, origin);
    }
    blocks::look_if_asked(to as usize, length, true);
    bytes::fill(to, byte, length);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memcpy(to: *mut u8, from: *const u8, length: u64, site: *const Site) {
    copy(to, from, length as usize, 0, Origin::source(site));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memmove(
    to: *mut u8,
    from: *const u8,
    length: u64,
    site: *const Site,
) {
    copy(to, from, length as usize, 0, Origin::source(site));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memset(to: *mut u8, byte: i32, length: u64, site: *const Site) {
    fill(to, byte as u8, length as usize, 0, Origin::source(site));
}
