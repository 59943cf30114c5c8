//! Loads and stores of instrumented code (ABI). The pass tests the window inline; the test is repeated here because atomics
//! and memory functions call for every address.

use crate::bytes;
use crate::log::{self, Origin, Site};
use crate::shadow::{self, is_persistent, offset, page};
use landfall_vocab::record::flag;
use landfall_vocab::record::Kind;

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

/// Records the first read of bytes inside one word.
#[inline(always)]
pub(crate) unsafe fn read_word(at: u64, length: u64, flags: u8, origin: Origin) {
    let page = page(at);
    let known = &mut (*page).known[(at & 4095) as usize / 8];
    let wanted = mask(at & 7, length);
    if *known & wanted != wanted {
        first_read(at & !7, wanted, known, flags, origin);
    }
}

#[inline(never)]
unsafe fn first_read(word: u64, wanted: u8, known: &mut u8, flags: u8, origin: Origin) {
    let missing = wanted & !*known;
    *known |= wanted;
    let value = ((landfall_vocab::window::BASE + word) as *const u64).read_volatile() & spread(missing);
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
    let page = page(at);
    let word = (at & 4095) as usize / 8;
    let shift = (at & 7) * 8;
    let bytes = mask(at & 7, length);
    (*page).known[word] |= bytes;
    let bits = if length == 8 { u64::MAX } else { ((1u64 << (length * 8)) - 1) << shift };
    let placed = value << shift & bits;
    let updated = (*page).mirror[word] & !bits | placed;
    log::store(at & !7, bytes, placed, flags, origin);
    (*page).mirror[word] = updated;
    let memory = (landfall_vocab::window::BASE + at) as *mut u8;
    match length {
        1 => memory.write_volatile(value as u8),
        2 => (memory as *mut u16).write_unaligned(value as u16),
        4 => (memory as *mut u32).write_unaligned(value as u32),
        8 => (memory as *mut u64).write_unaligned(value),
        _ => bytes::copy(memory, (&raw const value) as *const u8, length as usize),
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

/// Stores a range, split at words (MODEL.md §3). `source` may overlap it, or be it: then the bytes are there already.
pub(crate) unsafe fn store_span(address: usize, source: *const u8, length: usize, flags: u8, origin: Origin) {
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
    log::run_done(length as u64);
    mark_written(address, length, |page, at, done, piece| {
        bytes::copy(((*page).mirror.as_mut_ptr() as *mut u8).add(at), payload.add(done), piece);
    });
    bytes::copy(address as *mut u8, payload, length);
}

unsafe fn store_pieces(address: usize, bytes: &[u8], flags: u8, origin: Origin) {
    let (mut at, mut done) = (offset(address), 0);
    while done < bytes.len() {
        let piece = ((8 - (at & 7)) as usize).min(bytes.len() - done);
        let mut value = 0u64;
        for (i, byte) in bytes[done..done + piece].iter().enumerate() {
            value |= (*byte as u64) << (8 * i);
        }
        store_word(at, value, piece as u64, flags, origin);
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
    log::with_value(Kind::Fill, offset(address), (length as u64) << 8 | byte as u64, flags, origin);
    mark_written(address, length, |page, at, _, piece| {
        bytes::fill(((*page).mirror.as_mut_ptr() as *mut u8).add(at), byte, piece);
    });
    bytes::fill(address as *mut u8, byte, length);
}

/// Makes sure that all of a range is live before anything is logged about it.
unsafe fn touch_span(address: usize, length: usize) {
    let (mut at, end) = (offset(address) & !4095, offset(address) + length as u64);
    while at < end {
        page(at);
        at += 4096;
    }
}

/// Marks a range as written and calls `mirror` for the part of it on each page: page, position in it, bytes done, length.
unsafe fn mark_written(address: usize, length: usize, mirror: impl Fn(*mut shadow::Page, usize, usize, usize)) {
    let mut done = 0;
    while done < length {
        let at = offset(address + done);
        let inside = (at & 4095) as usize;
        let piece = (4096 - inside).min(length - done);
        let page = page(at);
        mirror(page, inside, done, piece);
        let (first, last) = (inside / 8, (inside + piece - 1) / 8);
        for word in first..=last {
            let from = if word == first { inside as u64 & 7 } else { 0 };
            let to = if word == last { (inside + piece - 1) as u64 % 8 + 1 } else { 8 };
            (*page).known[word] |= mask(from, to - from);
        }
        done += piece;
    }
}

macro_rules! accesses {
    ($($type:ty, $n:literal, $load:ident, $store:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(p: *const $type, abi: u32, site: *const Site) -> $type {
            let at = offset(p as usize);
            if is_persistent(p as usize) && shadow::recording() {
                if at & 7 <= 8 - $n {
                    read_word(at, $n, flags(abi), Origin::source(site));
                } else {
                    read_span(p as usize, $n, flags(abi), Origin::source(site));
                }
            }
            p.read_unaligned()
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(p: *mut $type, value: $type, abi: u32, site: *const Site) {
            let at = offset(p as usize);
            if is_persistent(p as usize) && shadow::recording() {
                // A sequentially consistent store is compiled to xchg (MODEL.md §2).
                let locked = if abi & 7 == SEQ_CST { flag::LOCKED } else { 0 };
                if at & 7 <= 8 - $n {
                    store_word(at, value as u64, $n, flags(abi) | locked, Origin::source(site));
                } else {
                    let value = value.to_le_bytes();
                    store_pieces(p as usize, &value, flags(abi) | locked, Origin::source(site));
                }
                return;
            }
            p.write_unaligned(value);
            if abi & 7 == SEQ_CST && crate::state::running() {
                log::locked_elsewhere(Origin::source(site));
            }
        }
    )* };
}

accesses! {
    u8, 1, __lf_load1, __lf_store1;
    u16, 2, __lf_load2, __lf_store2;
    u32, 4, __lf_load4, __lf_store4;
    u64, 8, __lf_load8, __lf_store8;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_load16(p: *const u128, abi: u32, site: *const Site) -> u128 {
    if is_persistent(p as usize) && shadow::recording() {
        read_span(p as usize, 16, flags(abi), Origin::source(site));
    }
    p.read_unaligned()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_store16(p: *mut u128, value: u128, abi: u32, site: *const Site) {
    let locked = abi & 7 == SEQ_CST;
    if is_persistent(p as usize) && shadow::recording() {
        let flags = flags(abi) | if locked { flag::LOCKED } else { 0 };
        return store_pieces(p as usize, &value.to_le_bytes(), flags, Origin::source(site));
    }
    p.write_unaligned(value);
    if locked && crate::state::running() {
        log::locked_elsewhere(Origin::source(site));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_load_n(to: *mut u8, p: *const u8, length: u64, abi: u32, site: *const Site) {
    if is_persistent(p as usize) && shadow::recording() {
        read_span(p as usize, length as usize, flags(abi), Origin::source(site));
    }
    bytes::shift(to, p, length as usize);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_store_n(p: *mut u8, from: *const u8, length: u64, abi: u32, site: *const Site) {
    if is_persistent(p as usize) && shadow::recording() {
        return store_span(p as usize, from, length as usize, flags(abi), Origin::source(site));
    }
    bytes::shift(p, from, length as usize);
}

/// A copy by any function: reads of persistent sources, stores to persistent targets.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, length: usize, flags: u8, origin: Origin) {
    if length == 0 {
        return;
    }
    let persistent = is_persistent(to as usize) || is_persistent(from as usize);
    if persistent && shadow::recording() {
        if is_persistent(from as usize) {
            read_span(from as usize, length, 0, origin);
        }
        if is_persistent(to as usize) {
            return store_span(to as usize, from, length, flags, origin);
        }
    }
    bytes::shift(to, from, length);
}

pub(crate) unsafe fn fill(to: *mut u8, byte: u8, length: usize, flags: u8, origin: Origin) {
    if length != 0 && is_persistent(to as usize) && shadow::recording() {
        return fill_span(to as usize, byte, length, flags, origin);
    }
    bytes::fill(to, byte, length);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memcpy(to: *mut u8, from: *const u8, length: u64, site: *const Site) {
    copy(to, from, length as usize, 0, Origin::source(site));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memmove(to: *mut u8, from: *const u8, length: u64, site: *const Site) {
    copy(to, from, length as usize, 0, Origin::source(site));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lf_memset(to: *mut u8, byte: i32, length: u64, site: *const Site) {
    fill(to, byte as u8, length as usize, 0, Origin::source(site));
}
