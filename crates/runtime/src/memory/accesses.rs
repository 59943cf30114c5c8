//! Reads and stores of persistent memory, as events: each is recorded in the trace, then performed on the content. Hooks, functions
//! of libc and system calls all come here; where other threads could see it they go on to `threads::visible`.

use crate::memory::bytes;
use crate::memory::heap_checks;
use crate::memory::shadow::{
    self, content, is_persistent, known, offset, recording, touch, touch_span, view,
};
use crate::run::trace::{self, Origin};
use crate::state::watching;
use crate::threads::visible;
use landfall_vocab::record::{RecordKind, flag};

/// Bytes `at..at + length` of a word.
#[inline(always)]
pub(crate) fn mask(at: u64, length: u64) -> u8 {
    (0xffu32 >> (8 - length) << at) as u8
}

/// Does an access of `length` bytes stay inside its word?
#[inline(always)]
pub(crate) fn fits(at: u64, length: u64) -> bool {
    (at & 7) + length <= 8
}

/// Records the first read of bytes inside one word.
#[inline(always)]
pub(crate) fn read_word(at: u64, length: u64, flags: u8, origin: Origin) {
    let wanted = mask(at & 7, length);
    // SAFETY: the bytes are inside the window, and a touched page has its content and its shadow.
    unsafe {
        if *known(at) & wanted != wanted {
            first_read(at & !7, wanted, flags, origin);
        }
    }
}

#[inline(never)]
fn first_read(word: u64, wanted: u8, flags: u8, origin: Origin) {
    // SAFETY: the bytes are inside the window, and a touched page has its content and its shadow.
    unsafe {
        touch(word);
        let known = known(word);
        let missing = wanted & !*known;
        if missing == 0 {
            return;
        }
        *known |= wanted;
        let value = *(content(word) as *const u64) & spread(missing);
        trace::read(word, missing, value, flags, origin);
    }
}

/// A byte mask as a bit mask.
#[inline(always)]
pub(crate) fn spread(mask: u8) -> u64 {
    let bits = (mask as u64).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    ((bits.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) | bits) & 0x8080_8080_8080_8080) / 0x80 * 0xff
}

/// Records and performs a store inside one word.
#[inline(always)]
pub(crate) fn store_word(at: u64, value: u64, length: u64, flags: u8, origin: Origin) {
    // SAFETY: the bytes are inside the window, and a touched page has its content and its shadow.
    unsafe {
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
        trace::store(at & !7, bytes, value << shift, flags, origin);
        put(content(at), value, length);
    }
}

/// Writes the low `length` bytes of a value.
///
/// # Safety
/// `to` can be written, for `length` bytes.
#[inline(always)]
unsafe fn put(to: *mut u8, value: u64, length: u64) {
    // SAFETY: what the caller promises.
    unsafe {
        match length {
            1 => to.write(value as u8),
            2 => (to as *mut u16).write_unaligned(value as u16),
            4 => (to as *mut u32).write_unaligned(value as u32),
            8 => (to as *mut u64).write_unaligned(value),
            _ => bytes::copy(to, (&raw const value) as *const u8, length as usize),
        }
    }
}

/// Has this run read or written all of a range, which lies in one page that is touched?
pub(crate) fn is_known(start: u64, length: usize) -> bool {
    let (mut at, end) = (start, start + length as u64);
    while at < end {
        let piece = (8 - (at & 7)).min(end - at);
        let wanted = mask(at & 7, piece);
        // SAFETY: the bytes are inside the window, and a touched page has its shadow.
        if unsafe { *known(at) } & wanted != wanted {
            return false;
        }
        at += piece;
    }
    true
}

/// First reads of a range, word by word.
pub(crate) fn read_span(address: usize, length: usize, flags: u8, origin: Origin) {
    let (mut at, end) = (offset(address), offset(address) + length as u64);
    while at < end {
        let piece = (8 - (at & 7)).min(end - at);
        read_word(at, piece, flags, origin);
        at += piece;
    }
}

/// Stores longer than this are one `Run` record instead of pieces.
const PIECEWISE: usize = 16;

/// Stores a range, split at words (docs/design/model.md §3). `source` is no address of the window, but may be a view of it, and overlap.
///
/// # Safety
/// The program may read `address` and `source`, as far as it asks for.
pub(crate) unsafe fn store_span(
    address: usize,
    source: *const u8,
    length: usize,
    flags: u8,
    origin: Origin,
) {
    // SAFETY: what the caller promises.
    unsafe {
        if length == 0 {
            return;
        }
        if length <= PIECEWISE {
            let mut staged = [0u8; PIECEWISE];
            bytes::copy(staged.as_mut_ptr(), source, length);
            return store_pieces(address, &staged[..length], flags, origin);
        }
        touch_span(address, length);
        let payload = trace::copied(offset(address), length as u64, flags, origin);
        bytes::copy(payload, source, length);
        // Memory first: if it may not be written, nothing was stored and nothing is logged.
        bytes::copy(content(offset(address)), payload, length);
        trace::copy_done(length as u64);
        mark_written(offset(address), length as u64);
    }
}

pub(crate) fn store_pieces(address: usize, bytes: &[u8], flags: u8, origin: Origin) {
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
///
/// # Safety
/// The program may read `address` and `from`, as far as it asks for.
pub(crate) unsafe fn note_store(
    address: usize,
    from: *const u8,
    length: usize,
    flags: u8,
    origin: Origin,
) {
    let (mut at, mut done) = (offset(address), 0);
    // SAFETY: what the caller promises.
    unsafe {
        while done < length {
            let piece = ((8 - (at & 7)) as usize).min(length - done);
            let mut value = 0u64;
            bytes::copy((&raw mut value) as *mut u8, from.add(done), piece);
            let bytes = mask(at & 7, piece as u64);
            touch(at);
            *known(at) |= bytes;
            trace::store(at & !7, bytes, value << ((at & 7) * 8), flags, origin);
            at += piece as u64;
            done += piece;
        }
    }
}

pub(crate) fn fill_span(address: usize, byte: u8, length: usize, flags: u8, origin: Origin) {
    if length == 0 {
        return;
    }
    if length <= PIECEWISE {
        return store_pieces(address, &[byte; PIECEWISE][..length], flags, origin);
    }
    touch_span(address, length);
    // SAFETY: the bytes are inside the window, and a touched page has its content and its shadow.
    unsafe { bytes::fill(content(offset(address)), byte, length) };
    trace::with_value(
        RecordKind::Fill,
        offset(address),
        (length as u64) << 8 | byte as u64,
        flags,
        origin,
    );
    mark_written(offset(address), length as u64);
}

/// Marks a touched range as written.
fn mark_written(start: u64, length: u64) {
    // SAFETY: the bytes are inside the window, and a touched page has its content and its shadow.
    unsafe {
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
}

/// Could other threads see what happens now? Not inside a system call, which is not interrupted.
#[inline(always)]
pub(crate) fn others_see() -> bool {
    watching() && !crate::syscalls::dispatch::uninterrupted()
}

/// A store of the program's by a function of libc.
///
/// # Safety
/// The program may read `address` and `source`, as far as it asks for.
pub(crate) unsafe fn library_store(
    address: usize,
    source: *const u8,
    length: usize,
    origin: Origin,
) {
    // SAFETY: what the caller promises.
    unsafe {
        if others_see() {
            visible::store(address, source, length, 0, origin);
        } else {
            store_span(address, source, length, 0, origin);
        }
    }
}

/// What a function of libc answers through a pointer of the program's, wherever that points to.
///
/// # Safety
/// The program may read `address` and `source`, as far as it asks for.
pub(crate) unsafe fn hand_over(address: usize, source: *const u8, length: usize, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        if others_see() || is_persistent(address) && recording() {
            library_store(address, source, length, origin);
        } else {
            bytes::copy(address as *mut u8, source, length);
        }
    }
}

/// What a function of a library reads of the program's, at most a word, wherever it lies.
///
/// # Safety
/// The program may read `address`, as far as it asks for.
pub(crate) unsafe fn fetch(address: usize, length: usize, origin: Origin) -> u64 {
    let mut word = 0u64;
    // SAFETY: what the caller promises.
    unsafe {
        if others_see() {
            visible::load(address, (&raw mut word).cast(), length, 0, origin);
        } else {
            if is_persistent(address) && recording() {
                read_span(address, length, 0, origin);
            }
            bytes::copy((&raw mut word).cast(), view(address as *const u8), length);
        }
    }
    word
}

/// What is durable when its call returns: file metadata, what a file that changes its length reads as.
///
/// # Safety
/// The program may read `address` and `source`, as far as it asks for.
pub(crate) unsafe fn store_durably(
    address: usize,
    source: *const u8,
    length: usize,
    origin: Origin,
) {
    // SAFETY: what the caller promises.
    unsafe {
        if others_see() && crate::syscalls::dispatch::is_deferred() {
            crate::threads::direct::store(address, source, length, flag::DURABLE, origin);
        } else {
            store_span(address, source, length, flag::DURABLE, origin);
        }
    }
}

/// A copy by any function: reads of persistent sources, stores to persistent targets.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, length: usize, flags: u8, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        if length == 0 {
            return;
        }
        if others_see() {
            if crate::syscalls::dispatch::is_deferred() && is_persistent(to as usize) {
                return crate::threads::direct::copy(to as usize, from, length, flags, origin);
            }
            return visible::copy(to as usize, from as usize, length, flags.into(), origin);
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
        heap_checks::look_if_asked(from as usize, length, false);
        heap_checks::look_if_asked(to as usize, length, true);
        bytes::shift(to, view(from), length);
    }
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, length: usize, flags: u8, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        if others_see() {
            return visible::fill(to as usize, byte, length, flags.into(), origin);
        }
        if length != 0 && is_persistent(to as usize) && shadow::recording() {
            return fill_span(to as usize, byte, length, flags | flag::COPIED, origin);
        }
        heap_checks::look_if_asked(to as usize, length, true);
        bytes::fill(to, byte, length);
    }
}
