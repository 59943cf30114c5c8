//! Copying, filling and comparing without calling `memcpy` and friends: the program may have replaced those.

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128,
    _mm_store_si128, _mm_xor_si128,
};

#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, length: usize) {
    // What most programs access; starting `rep` takes longer than all of it.
    match length {
        4 => return (to as *mut u32).write_unaligned((from as *const u32).read_unaligned()),
        8 => return (to as *mut u64).write_unaligned((from as *const u64).read_unaligned()),
        1 => return *to = *from,
        _ => {}
    }
    asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
}

/// Copies between ranges that may overlap.
pub(crate) unsafe fn shift(to: *mut u8, from: *const u8, length: usize) {
    if (to as usize).wrapping_sub(from as usize) >= length {
        return copy(to, from, length);
    }
    asm!("std", "rep movsb", "cld", inout("rcx") length => _,
        inout("rdi") to.wrapping_add(length).wrapping_sub(1) => _,
        inout("rsi") from.wrapping_add(length).wrapping_sub(1) => _, options(nostack));
}

#[inline(always)]
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, length: usize) {
    asm!("rep stosb", inout("rcx") length => _, inout("rdi") to => _, in("al") byte, options(nostack, preserves_flags));
}

/// Copies whole 64-bit words; both addresses aligned.
#[inline(always)]
pub(crate) unsafe fn copy_words(to: *mut u64, from: *const u64, words: usize) {
    asm!("rep movsq", inout("rcx") words => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
}

/// Makes `to` what `from` is, or zero where `from` is null, writing only where it is not so already: of a page that a run wrote to,
/// most is as it was, and reading that takes half the time of writing it. Both are aligned to 64 bytes, the length is a multiple of 128.
#[inline(always)]
pub(crate) unsafe fn put_back(to: *mut u8, from: *const u8, length: usize) {
    let mut at = 0;
    while at < length {
        let to = to.add(at) as *mut __m128i;
        let mut different = _mm_setzero_si128();
        if from.is_null() {
            for i in 0..8 {
                different = _mm_or_si128(different, _mm_load_si128(to.add(i)));
            }
        } else {
            let from = from.add(at) as *const __m128i;
            for i in 0..8 {
                let both = _mm_xor_si128(_mm_load_si128(to.add(i)), _mm_load_si128(from.add(i)));
                different = _mm_or_si128(different, both);
            }
        }
        let same = _mm_cmpeq_epi8(different, _mm_setzero_si128());
        if _mm_movemask_epi8(same) != 0xffff {
            for i in 0..8 {
                let word = match from.is_null() {
                    true => _mm_setzero_si128(),
                    false => _mm_load_si128((from.add(at) as *const __m128i).add(i)),
                };
                _mm_store_si128(to.add(i), word);
            }
        }
        at += 128;
    }
}

pub(crate) unsafe fn equal(a: *const u8, b: *const u8, length: usize) -> bool {
    let mut i = 0;
    while i + 8 <= length {
        if (a.add(i) as *const u64).read_unaligned() != (b.add(i) as *const u64).read_unaligned() {
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

/// Length of a C string, at most `limit`.
pub(crate) unsafe fn length(text: *const u8, limit: usize) -> usize {
    let mut n = 0;
    while n < limit && text.add(n).read_volatile() != 0 {
        n += 1;
    }
    n
}

/// A C string as bytes.
pub(crate) unsafe fn text<'a>(text: *const u8, limit: usize) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    core::slice::from_raw_parts(text, length(text, limit))
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
