//! Copying, filling and comparing without calling `memcpy` and friends: the program may have replaced those.

use core::arch::asm;

/// # Safety
/// All of `to` can be written and all of `from` can be read.
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        // What most programs access; starting `rep` takes longer than all of it.
        match length {
            4 => return (to as *mut u32).write_unaligned((from as *const u32).read_unaligned()),
            8 => return (to as *mut u64).write_unaligned((from as *const u64).read_unaligned()),
            1 => return *to = *from,
            _ => {}
        }
        asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
    }
}

/// Copies between ranges that may overlap.
///
/// # Safety
/// All of `to` can be written and all of `from` can be read.
pub(crate) unsafe fn shift(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= length {
            return copy(to, from, length);
        }
        asm!("std", "rep movsb", "cld", inout("rcx") length => _,
        inout("rdi") to.wrapping_add(length).wrapping_sub(1) => _,
        inout("rsi") from.wrapping_add(length).wrapping_sub(1) => _, options(nostack));
    }
}

/// # Safety
/// All of `to` can be written.
#[inline(always)]
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, length: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        asm!("rep stosb", inout("rcx") length => _, inout("rdi") to => _, in("al") byte, options(nostack, preserves_flags));
    }
}

/// Copies whole 64-bit words; both addresses aligned.
///
/// # Safety
/// All of `to` can be written and all of `from` can be read.
#[inline(always)]
pub(crate) unsafe fn copy_words(to: *mut u64, from: *const u64, words: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        asm!("rep movsq", inout("rcx") words => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
    }
}

/// Makes `to` what `from` is, or zero where `from` is null, writing only where it is not so already: of a page that a run wrote to,
/// most is as it was, and reading that takes less time than writing it. The length is a multiple of 128.
///
/// # Safety
/// All of `to` can be written, and all of `from` be read unless it is null.
#[inline(always)]
pub(crate) unsafe fn put_back(to: *mut u64, from: *const u64, length: usize) {
    const WORDS: usize = 16;
    let mut at = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while at < length / 8 {
            let to = to.add(at);
            let mut different = 0;
            if from.is_null() {
                for i in 0..WORDS {
                    different |= *to.add(i);
                }
                if different != 0 {
                    for i in 0..WORDS {
                        *to.add(i) = 0;
                    }
                }
            } else {
                let from = from.add(at);
                for i in 0..WORDS {
                    different |= *to.add(i) ^ *from.add(i);
                }
                if different != 0 {
                    for i in 0..WORDS {
                        *to.add(i) = *from.add(i);
                    }
                }
            }
            at += WORDS;
        }
    }
}

/// # Safety
/// All of `a` and `b` can be read.
pub(crate) unsafe fn equal(a: *const u8, b: *const u8, length: usize) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        let mut i = 0;
        while i + 8 <= length {
            if (a.add(i) as *const u64).read_unaligned()
                != (b.add(i) as *const u64).read_unaligned()
            {
                return false;
            }
            i += 8;
        }
        while i < length {
            if *a.add(i) != *b.add(i) {
                return false;
            }
            i += 1;
        }
        true
    }
}

/// Are these texts the same? By hand: comparing slices would call `memcmp`, which may be the program's.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    // SAFETY: both are so long.
    a.len() == b.len() && unsafe { equal(a.as_ptr(), b.as_ptr(), a.len()) }
}

/// Does a text begin with another one?
pub(crate) fn starts(text: &[u8], with: &[u8]) -> bool {
    text.len() >= with.len() && same(&text[..with.len()], with)
}

/// Length of a C string, at most `limit`.
///
/// # Safety
/// `text` can be read up to its end, or up to the limit.
pub(crate) unsafe fn length(text: *const u8, limit: usize) -> usize {
    let mut n = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while n < limit && text.add(n).read_volatile() != 0 {
            n += 1;
        }
    }
    n
}

/// A C string as bytes.
///
/// # Safety
/// `text` can be read up to its end, or up to the limit.
pub(crate) unsafe fn text<'a>(text: *const u8, limit: usize) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: what the caller promises.
    unsafe { core::slice::from_raw_parts(text, length(text, limit)) }
}

/// Writes a number in decimal at the end of `buffer`; returns its digits.
pub(crate) fn decimal(mut number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}
