//! The persistent heap: `lf_alloc`, and `malloc` under `--pm-heap`. Its words live in persistent memory and are written like any
//! program would have to write them: one aligned word at a time, flushed and fenced. After a failure at any point every word is
//! either old or new, and the worst outcome is a leaked block. With `--pm-heap` the words can instead be durable at once.
//!
//! Of what `malloc` gives, each thread has a part of its own: where a block lies does not depend on what others do, and nobody waits
//! for anybody. A block belongs to whoever frees it.

use crate::hooks::flushes;
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::heap::{CLASSES, class, zero_volatile};
use crate::memory::shadow::{self, asked, is_persistent, offset, recording};
use crate::run::trace::{self, Origin};
use crate::state::{run, server};
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{RecordKind, flag};
use landfall_vocab::shared::{FEW_THREADS, option};
use landfall_vocab::window;

const ROOTS: u64 = 256;
const HEADER: u64 = 16;

/// What threads other than main have of `malloc`'s heap each; the first few have, and the others share main's part. Their words are
/// where main's are not: its part begins with them.
const EACH: u64 = 128 << 20;
const THREADS: u64 = FEW_THREADS as u64 * EACH;
const WORDS: u64 = 4096;
const _: () = assert!(FEW_THREADS as u64 * WORDS <= window::MALLOC_META.len);
const _: () = assert!(THREADS < window::MALLOC.len);

/// Where one heap keeps what. Offsets in the window.
struct Layout {
    /// Where its blocks end.
    end: u64,
    /// End of the used part, then one free list per class.
    words: u64,
    first_block: u64,
    durable: bool,
}

const END: u64 = 0;
const FREE: u64 = 64;
const ROOTS_AT: u64 = FREE + CLASSES as u64 * 8;

fn heap() -> Layout {
    let words = window::HEAP.start;
    const USED: u64 = (ROOTS_AT + ROOTS * 8).div_ceil(64) * 64;
    const { assert!(USED == window::HEAP_BLOCKS - window::HEAP.start) };
    let first_block = window::HEAP_BLOCKS + server().heap_offset.get();
    Layout {
        end: window::HEAP.end(),
        words,
        first_block,
        durable: false,
    }
}

/// The running thread's part, if it has one.
fn own_part() -> Option<Layout> {
    let thread = crate::threads::current();
    (1..FEW_THREADS).contains(&thread).then(|| {
        let thread = thread as u64;
        let end = window::MALLOC.end() - (thread - 1) * EACH;
        Layout {
            end,
            words: window::MALLOC_META.start + thread * WORDS,
            first_block: end - EACH + server().heap_offset.get(),
            durable: server().options.get() & option::PM_HEAP_DURABLE_META != 0,
        }
    })
}

/// Is this in a part that a thread other than main has?
pub(crate) fn is_of_thread(address: usize) -> bool {
    let end = window::BASE + window::MALLOC.end();
    (end - THREADS..end).contains(&(address as u64))
}

/// Main's part.
fn malloc_heap() -> Layout {
    let durable = server().options.get() & option::PM_HEAP_DURABLE_META != 0;
    let words = if durable {
        window::MALLOC_META.start
    } else {
        window::MALLOC.start
    };
    const USED: u64 = (FREE + CLASSES as u64 * 8).div_ceil(64) * 64;
    const { assert!(USED == window::MALLOC_BLOCKS - window::MALLOC.start) };
    let used = if durable { 64 } else { USED };
    Layout {
        end: window::MALLOC.end() - THREADS,
        words,
        first_block: window::MALLOC.start + used + server().heap_offset.get(),
        durable,
    }
}

impl Layout {
    fn read(&self, at: u64, origin: Origin) -> u64 {
        if recording() {
            accesses::read_word(at, 8, if self.durable { flag::DURABLE } else { 0 }, origin);
        }
        shadow::word(at)
    }

    /// Stores a word and makes it persistent before anything else happens.
    fn write(&self, at: u64, value: u64, origin: Origin) {
        // SAFETY: the words lie in the window, and a touched page has its content.
        unsafe {
            if !recording() {
                *((window::BASE + at) as *mut u64) = value;
            } else if self.durable {
                accesses::store_word(at, value, 8, flag::DURABLE, origin);
            } else if accesses::others_see() {
                let address = (window::BASE + at) as usize;
                let from = (&raw const value) as *const u8;
                crate::threads::visible::store(address, from, 8, 0, origin);
                flushes::flush(RecordKind::Clwb, address, origin);
                flushes::fence(RecordKind::Sfence, origin);
            } else {
                // In one piece, whatever compilers do to the program.
                accesses::store_word(at, value, 8, flag::RELEASE, origin);
                flushes::flush(RecordKind::Clwb, (window::BASE + at) as usize, origin);
                flushes::fence(RecordKind::Sfence, origin);
            }
        }
    }

    fn allocate(&self, length: usize, align: u64, origin: Origin) -> *mut u8 {
        let control = server().control.get();
        // SAFETY: the control block stays where it is once it is there.
        unsafe {
            if !control.is_null() {
                (*control).allocates.store(1, Relaxed);
            }
        }
        let (class, size) = class(length);
        let list = self.words + FREE + class as u64 * 8;
        let head = self.read(list, origin);
        if head != 0 && align <= 16 {
            // One word decides: before it the block is free, after it the program's.
            let next = self.read(head, origin);
            self.write(list, next, origin);
            return (window::BASE + head) as *mut u8;
        }
        let end = match self.read(self.words + END, origin) {
            0 => self.first_block,
            end => end,
        };
        let block = (end + HEADER + align - 1) & !(align - 1);
        if block + size as u64 > self.end {
            return core::ptr::null_mut();
        }
        // The header first: a block below the end always has one.
        self.write(block - HEADER, class as u64, origin);
        self.write(self.words + END, block + size as u64, origin);
        (window::BASE + block) as *mut u8
    }

    fn free(&self, block: u64, origin: Origin) {
        let class = self.read(block - HEADER, origin);
        if class as usize >= CLASSES {
            return;
        }
        let list = self.words + FREE + class * 8;
        let head = self.read(list, origin);
        self.write(block, head, origin);
        self.write(list, block, origin);
    }
}

fn logged(kind: RecordKind, block: *mut u8, length: usize, origin: Origin) {
    if !block.is_null() && recording() {
        if kind == RecordKind::Free {
            trace::plain(kind, offset(block as usize), 0, origin);
        } else {
            trace::with_value(kind, offset(block as usize), length as u64, 0, origin);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_alloc(length: usize) -> *mut u8 {
    let origin = Origin::library(Builtin::lf_alloc, crate::caller!());
    asked();
    run().heap_used.set(true);
    let caller = crate::caller!();
    crate::threads::lock_heap(caller);
    let block = heap().allocate(length, 16, origin);
    logged(RecordKind::Alloc, block, length, origin);
    crate::threads::unlock_heap(caller);
    block
}

#[unsafe(no_mangle)]
pub extern "C" fn lf_free(block: *mut u8) {
    let origin = Origin::library(Builtin::lf_free, crate::caller!());
    if !window::HEAP.contains(offset(block as usize)) {
        return;
    }
    asked();
    run().heap_used.set(true);
    let caller = crate::caller!();
    crate::threads::lock_heap(caller);
    logged(RecordKind::Free, block, 0, origin);
    heap().free(offset(block as usize), origin);
    crate::threads::unlock_heap(caller);
}

/// One of 256 pointers that survive: where a recovery starts looking.
#[unsafe(no_mangle)]
pub extern "C" fn lf_root(index: u32) -> *mut *mut u8 {
    asked();
    run().heap_used.set(true);
    if index as u64 >= ROOTS {
        return core::ptr::null_mut();
    }
    (window::BASE + window::HEAP.start + ROOTS_AT + index as u64 * 8) as *mut *mut u8
}

pub(crate) fn malloc(length: usize, align: usize, caller: usize) -> *mut u8 {
    let origin = Origin::library(Builtin::malloc, caller);
    run().malloc_used.set(true);
    asked();
    if let Some(own) = own_part() {
        let block = own.allocate(length, align as u64, origin);
        if !block.is_null() {
            logged(RecordKind::Alloc, block, length, origin);
            return block;
        }
    }
    crate::threads::lock_heap(caller);
    let block = malloc_heap().allocate(length, align as u64, origin);
    logged(RecordKind::Alloc, block, length, origin);
    crate::threads::unlock_heap(caller);
    block
}

pub(crate) fn free_malloced(block: usize, caller: usize) {
    if !window::MALLOC.contains(offset(block)) || !recording() {
        return;
    }
    let origin = Origin::library(Builtin::free, caller);
    run().malloc_used.set(true);
    if let Some(own) = own_part() {
        logged(RecordKind::Free, block as *mut u8, 0, origin);
        own.free(offset(block), origin);
        return;
    }
    crate::threads::lock_heap(caller);
    logged(RecordKind::Free, block as *mut u8, 0, origin);
    malloc_heap().free(offset(block), origin);
    crate::threads::unlock_heap(caller);
}

/// Bytes a block holds; its class is fixed for good, so this is not an event.
pub(crate) fn size(block: usize) -> usize {
    let class = shadow::word(offset(block) - HEADER) as usize;
    if class <= 64 {
        return class * 16;
    }
    let (power, quarter) = ((class - 65) / 4 + 10, (class - 65) % 4);
    (1 << power) + (quarter + 1) * (1 << (power - 2))
}

/// Zeroes a fresh block, as stores where it is persistent.
///
/// # Safety
/// The program may write to `block`, as far as it asks for.
pub(crate) unsafe fn zero(block: *mut u8, length: usize, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if is_persistent(block as usize) {
            accesses::fill(
                block,
                0,
                length,
                0,
                Origin::library(Builtin::calloc, caller),
            );
        } else {
            zero_volatile(block, length);
        }
    }
}

/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(crate) unsafe fn move_block(to: *mut u8, from: *const u8, length: usize, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if is_persistent(to as usize) || is_persistent(from as usize) {
            accesses::copy(
                to,
                from,
                length,
                0,
                Origin::library(Builtin::realloc, caller),
            );
        } else {
            bytes::copy(to, from, length);
        }
    }
}
