//! Appending records to the trace. The cursor lives in shared memory: whatever kills the program, the trace stands.

use crate::run::call_stack;
use crate::run::outcome;
use crate::run::shared::trace_len;
use crate::state::{run, server, watching};
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{self, RecordKind};

/// A source site as the pass lays it out (ABI).
#[repr(C)]
pub struct Site {
    file: *const u8,
    function: *const u8,
    line: u32,
    column: u32,
}

/// Who caused an event.
#[derive(Clone, Copy)]
pub(crate) struct Origin(u64);

impl Origin {
    pub(crate) const NONE: Origin = Origin(0);

    /// As one word.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Asked in the hook itself.
    #[inline(always)]
    pub(crate) fn source(site: *const Site) -> Origin {
        call_stack::enter();
        Origin(record::origin(crate::run::sites::id(site), 0))
    }

    /// A library function, called from the instruction before `return_address`.
    pub(crate) fn library(function: Builtin, return_address: usize) -> Origin {
        let base = server().exe_base.get();
        let mut offset = return_address.wrapping_sub(base);
        if offset >= record::LIBRARY_CALL as usize && return_address != 0 {
            if crate::run::sites::in_own_library(return_address)
                && let Some(caller) = record::library_call(return_address as u64)
            {
                return Origin(record::origin(function.site(), caller));
            }
            if crate::run::sites::in_pmdk(return_address) {
                return Origin(record::origin(Builtin::pmdk.site(), 0));
            }
            if watching() {
                // A library called it: whoever called the library.
                offset = call_stack::program_behind(return_address).wrapping_sub(base);
            }
        }
        let caller = if return_address != 0 && offset < record::LIBRARY_CALL as usize {
            offset as u32
        } else {
            0
        };
        Origin(record::origin(function.site(), caller))
    }

    /// A function of a library that is among the sites, called from the instruction before `return_address`.
    pub(crate) fn import(site: u32, return_address: usize) -> Origin {
        let caller = Origin::library(Builtin::unknown, return_address).0 >> 32;
        Origin(record::origin(site, caller as u32))
    }
}

/// Reserves `length` bytes of trace and returns where they go.
#[inline(always)]
fn reserve(length: u64) -> *mut u64 {
    if run().stacks.get() {
        call_stack::log_if_changed();
    }
    reserve_plain(length)
}

#[inline(always)]
fn reserve_plain(length: u64) -> *mut u64 {
    let cursor = trace_len();
    let mut at = cursor.load(Relaxed);
    if at + length > run().trace_limit.get() {
        extend(length);
        at = cursor.load(Relaxed);
    }
    run().trace.get().wrapping_add(at as usize) as *mut u64
}

/// Bytes of trace before the kernel is asked to map more of it at once: a page fault per four kilobytes would cost more than
/// writing them.
pub(crate) const FIRST_PART: u64 = 64 << 10;
const LARGEST_PART: u64 = 4 << 20;

/// The mapped part of the trace is used up: map the next one, or end the run.
#[cold]
#[inline(never)]
fn extend(more: u64) {
    const MADV_POPULATE_WRITE: usize = 23;
    let cursor = trace_len();
    let mut wanted = cursor.load(Relaxed) + more;
    if wanted > run().compact_at.get() {
        crate::run::compaction::squeeze();
        wanted = cursor.load(Relaxed) + more;
        if wanted <= run().trace_limit.get() {
            return;
        }
    }
    if wanted > run().trace_end.get() {
        outcome::trace_full();
    }
    let from = run().trace_limit.get();
    let to = (from + from.min(LARGEST_PART))
        .max(wanted + LARGEST_PART / 4)
        .min(run().compact_at.get().max(wanted))
        .min(run().trace_end.get());
    let slot = crate::run::shared::slot_index();
    let there = &server().traces_there[slot];
    if server().in_place.get() {
        if to <= there.get() {
            run().trace_limit.set(to);
            return;
        }
        there.set(to.min(landfall_vocab::shared::trace_kept(slot)));
    }
    // Only a hint: on an older kernel the pages come one by one.
    let start = (run().trace.get() as usize + from as usize) & !4095;
    let end = run().trace.get() as usize + to as usize;
    // SAFETY: pages of the trace are made ready to be written, whatever they hold.
    unsafe {
        crate::syscalls::sys::raw(libc::SYS_madvise, [start, end - start, MADV_POPULATE_WRITE])
    };
    run().trace_limit.set(to);
}

#[inline(always)]
fn commit(length: u64) {
    // Written after the record, so that a reader never sees a record that is not there (one thread; x86 keeps the order).
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::Release);
    let cursor = trace_len();
    cursor.store(cursor.load(Relaxed) + length, Relaxed);
}

/// Writes a record of so many words.
#[inline(always)]
fn append<const N: usize>(words: [u64; N]) {
    let length = size_of_val(&words) as u64;
    let at = reserve(length);
    for (i, word) in words.into_iter().enumerate() {
        // SAFETY: `reserve` has made room for all of them.
        unsafe { *at.add(i) = word };
    }
    commit(length);
}

#[inline(always)]
pub(crate) fn store(word: u64, mask: u8, value: u64, flags: u8, origin: Origin) {
    append([
        record::head(RecordKind::Store, mask, flags, word),
        origin.0,
        value,
    ]);
}

/// A store on the hot path; false when it is not as simple as that: no run, stacks wanted, a library's site, a full trace.
#[inline(always)]
pub(crate) fn store_quickly(word: u64, mask: u8, value: u64, flags: u8, site: *const Site) -> bool {
    let site = (site as usize).wrapping_sub(server().sites_low.get());
    if !run().quick.get() || site >= server().sites_len.get() {
        return false;
    }
    let cursor = trace_len();
    let length = cursor.load(Relaxed);
    if length + 24 > run().trace_limit.get() {
        return false;
    }
    // SAFETY: there is room up to the limit.
    unsafe {
        let at = run().trace.get().add(length as usize) as *mut u64;
        *at = record::head(RecordKind::Store, mask, flags, word);
        *at.add(1) = (site / size_of::<Site>()) as u32 as u64;
        *at.add(2) = value;
    }
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::Release);
    cursor.store(length + 24, Relaxed);
    true
}

#[inline(always)]
pub(crate) fn read(word: u64, mask: u8, value: u64, flags: u8, origin: Origin) {
    append([
        record::head(RecordKind::Read, mask, flags, word),
        origin.0,
        value,
    ]);
}

/// A record without a value: flushes, fences.
#[inline(always)]
pub(crate) fn plain(kind: RecordKind, offset: u64, flags: u8, origin: Origin) {
    append([
        record::head(kind, (offset & 7) as u8, flags, offset),
        origin.0,
    ]);
}

pub(crate) fn with_value(kind: RecordKind, offset: u64, value: u64, flags: u8, origin: Origin) {
    append([
        record::head(kind, (offset & 7) as u8, flags, offset),
        origin.0,
        value,
    ]);
}

/// Starts a copy of `length` bytes; the caller fills the returned payload and calls [`copy_done`].
pub(crate) fn copied(offset: u64, length: u64, flags: u8, origin: Origin) -> *mut u8 {
    // SAFETY: there is room: `reserve` has seen to it.
    unsafe {
        let at = reserve(24 + record::padded(length as usize) as u64);
        *at = record::head(RecordKind::Run, (offset & 7) as u8, flags, offset);
        *at.add(1) = origin.0;
        *at.add(2) = length;
        if !length.is_multiple_of(8) {
            *at.add(3 + length as usize / 8) = 0; // padding must not depend on what an earlier run left
        }
        at.add(3) as *mut u8
    }
}

pub(crate) fn copy_done(length: u64) {
    commit(24 + record::padded(length as usize) as u64);
}

/// A locked instruction on volatile memory: it completes pending write-backs like a fence. Two in a row with nothing
/// between them say nothing new.
pub(crate) fn locked_elsewhere(origin: Origin) {
    let length = trace_len().load(Relaxed);
    if length != run().last_locked.get() && length != 0 {
        plain(RecordKind::Mfence, 0, record::flag::LOCKED, origin);
        run().last_locked.set(trace_len().load(Relaxed));
    }
}

pub(crate) fn length() -> u64 {
    trace_len().load(Relaxed)
}

/// The checker knows the trace up to here: its digest is all it needs of that.
pub(crate) fn keep() {
    let length = trace_len().load(Relaxed);
    // SAFETY: the trace up to its length was written by this run, and the slot is the run's until it is handed back.
    unsafe {
        let known = core::slice::from_raw_parts(run().trace.get(), length as usize);
        let before = crate::run::checkpoint::digest();
        let digest = before.and(&known[before.length()..]);
        let slot = run().slot.get();
        ((*slot).kept, (*slot).kept_digest) = (length, digest);
    }
}

/// A step of a thread; `head` says which.
pub(crate) fn step(head: u64, origin: Origin, object: u64, enabled: u64) {
    append([head, origin.0, object, enabled]);
}

/// Who could have gone besides the first 64 processes: a word of the set.
pub(crate) fn others(word: u16, flags: u8, enabled: u64) {
    let head = record::head_of(RecordKind::Others, word, flags, 0);
    append([head, Origin::NONE.0, enabled]);
}

/// A step that waits still; `head` says whose and what.
pub(crate) fn blocked(head: u64, origin: Origin, object: u64) {
    append([head, origin.0, object]);
}

/// What an access of a thread did: found, left, expected.
pub(crate) fn access(thread: usize, object: u64, flags: u8, origin: Origin, did: [u64; 3]) {
    let [found, left, expected] = did;
    let head = record::head_of(RecordKind::Access, thread as u16, flags, 0);
    append([head, origin.0, object, found, left, expected]);
}

/// Memory that a thread hands to a function nobody knows.
pub(crate) fn foreign(thread: usize, object: u64, flags: u8, origin: Origin) {
    let head = record::head_of(RecordKind::Foreign, thread as u16, flags, 0);
    append([head, origin.0, object]);
}

/// A block of the heap was handed out to a thread.
pub(crate) fn block(thread: usize, address: usize, length: usize) {
    let length = (length as u64).next_multiple_of(8).min(1 << 32);
    let head = record::head_of(RecordKind::Block, thread as u16, 0, length);
    append([head, Origin::NONE.0, address as u64]);
}

/// A thread begins, with what.
pub(crate) fn started(thread: usize, what: u64, origin: Origin) {
    let head = record::head_of(RecordKind::Started, thread as u16, 0, 0);
    append([head, origin.0, what]);
}

/// A thread looked at what tells it from others.
pub(crate) fn identity(thread: usize, how: u64) {
    let head = record::head_of(RecordKind::Identity, thread as u16, 0, 0);
    append([head, Origin::NONE.0, how]);
}

/// A thread ended the process while others could go on.
pub(crate) fn ended(thread: usize, end: u64, last: Origin) {
    append([
        record::head_of(RecordKind::Ended, thread as u16, 0, 0),
        last.0,
        end,
    ]);
}

/// Bytes that a spinning thread watches.
pub(crate) fn watched(thread: usize, object: u64) {
    let head = record::head_of(RecordKind::Watched, thread as u16, 0, 0);
    append([head, Origin::NONE.0, object]);
}

/// A lock used against its rules.
pub(crate) fn misuse(thread: usize, kind: u8, caller: usize, lock: usize) {
    let head = record::head_of(RecordKind::Misuse, thread as u16, kind, 0);
    let origin = Origin::library(Builtin::thread, caller);
    append([head, origin.0, lock as u64]);
}

/// A call stack, innermost first; of the next step of a thread where one is named.
/// Where the functions that a thread is in keep their variables.
pub(crate) fn activations(words: &[u64], thread: usize) {
    // SAFETY: there is room: `reserve` has seen to it.
    unsafe {
        let length = 24 + words.len() as u64 * 8;
        let at = reserve_plain(length);
        *at = record::head_of(RecordKind::Activations, thread as u16, 0, 0);
        *at.add(1) = 0;
        *at.add(2) = words.len() as u64;
        crate::memory::bytes::copy_words(at.add(3), words.as_ptr(), words.len());
        commit(length);
    }
}

pub(crate) fn stack(frames: &[u64], of: Option<usize>) {
    // SAFETY: there is room: `reserve` has seen to it.
    unsafe {
        let length = 24 + frames.len() as u64 * 8;
        let at = reserve_plain(length);
        *at = match of {
            Some(thread) => record::head_of(RecordKind::Stack, thread as u16, 1, 0),
            None => record::head_of(RecordKind::Stack, 0, 0, 0),
        };
        *at.add(1) = 0;
        *at.add(2) = frames.len() as u64;
        crate::memory::bytes::copy_words(at.add(3), frames.as_ptr(), frames.len());
        commit(length);
    }
}
