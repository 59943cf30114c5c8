//! Functions that look at strings and memory. libc's own are not instrumented: where a pointer is persistent, or other threads are there, what
//! they read and write is recorded here; elsewhere they are passed on.

use crate::caller;
use crate::libc::real::{P, real};
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::heap;
use crate::memory::shadow::{self, PAGE, is_persistent, offset, peek, recording, unview, view};
use crate::run::trace::Origin;
use crate::threads::visible;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "memcmp" => memcmp, "bcmp" => memcmp, "memchr" => memchr, "rawmemchr" => rawmemchr,
    "strlen" => strlen, "strnlen" => strnlen, "strcpy" => strcpy, "__strcpy_chk" => strcpy,
    "stpcpy" => stpcpy, "__stpcpy_chk" => stpcpy, "strncpy" => strncpy,
    "__strncpy_chk" => strncpy, "stpncpy" => stpncpy, "__stpncpy_chk" => stpncpy, "strcat" => strcat, "__strcat_chk" => strcat,
    "strncat" => strncat, "__strncat_chk" => strncat, "strcmp" => strcmp, "strncmp" => strncmp,
    "strchr" => strchr, "strrchr" => strrchr, "strstr" => strstr, "strdup" => strdup,
    "strndup" => strndup, "__strdup" => strdup, "__strndup" => strndup, "index" => strchr,
    "rindex" => strrchr, "strchrnul" => strchrnul, "__rawmemchr" => rawmemchr,
);

/// Does either pointer concern us? Other threads may change what is not persistent, too.
#[inline(always)]
fn either(a: P, b: P) -> bool {
    (is_persistent(a as usize) || is_persistent(b as usize)) && recording()
        || accesses::others_see()
}

/// Does this one?
#[inline(always)]
pub(crate) fn concerns_us(p: P) -> bool {
    is_persistent(p as usize) || accesses::others_see()
}

/// Records that `length` bytes at `p` were read, if they are persistent.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
pub(crate) unsafe fn seen(p: P, length: usize, function: Builtin, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if accesses::others_see() {
            return visible::look(p as usize, length, Origin::library(function, caller));
        }
    }
    if is_persistent(p as usize) && recording() {
        accesses::read_span(p as usize, length, 0, Origin::library(function, caller));
    }
}

/// Records that the bytes at `p` were read one after the other up to the `length`th, which decided to stop there: how many
/// are read depends on their values, so that each is a read of its own.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
pub(crate) unsafe fn seen_bytes(p: P, length: usize, function: Builtin, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if accesses::others_see() {
            return visible::look(p as usize, length, Origin::library(function, caller));
        }
    }
    if is_persistent(p as usize) && recording() {
        let origin = Origin::library(function, caller);
        for i in 0..length {
            accesses::read_span(p as usize + i, 1, 0, origin);
        }
    }
}

/// Reads bytes one after the other, up to one that is the last, or `limit` of them; returns how many were read. Where others may
/// change them, each is what it is when its turn comes: how far this goes must not depend on what was there before.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
pub(crate) unsafe fn read_until(
    p: P,
    limit: usize,
    function: Builtin,
    caller: usize,
    mut last: impl FnMut(u8) -> bool,
) -> usize {
    let alone = !accesses::others_see();
    let (mut read, mut done) = (0, false);
    // SAFETY: what the caller promises.
    unsafe {
        while read < limit && !done {
            if !alone {
                seen(p.add(read), 1, function, caller);
            }
            done = last(peek(p.add(read)));
            read += 1;
        }
        if alone {
            seen_bytes(p, read, function, caller);
        }
    }
    read
}

/// Records that a text was read to its end, or to `limit` bytes; returns its length.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
pub(crate) unsafe fn seen_text(p: P, limit: usize, function: Builtin, caller: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        if accesses::others_see() {
            let mut ended = false;
            let read = read_until(p, limit, function, caller, |byte| {
                ended = byte == 0;
                ended
            });
            return read - usize::from(ended);
        }
        let length = text_length(p, limit);
        seen_bytes(p, limit.min(length.saturating_add(1)), function, caller);
        length
    }
}

/// Records that a wide text was read to its end, or to `limit` characters; returns its length.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
pub(crate) unsafe fn seen_wide(
    p: *const u32,
    limit: usize,
    function: Builtin,
    caller: usize,
) -> usize {
    let mut length = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while length < limit {
            seen(p.add(length) as P, 4, function, caller);
            if *view(p.add(length)) == 0 {
                break;
            }
            length += 1;
        }
    }
    length
}

/// Length of a text, at most `limit`. Looking is no event.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
pub(crate) unsafe fn text_length(p: P, limit: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        if !is_persistent(p as usize) || !recording() {
            return match real().strlen() {
                Some(strlen) if limit == usize::MAX => strlen(p),
                _ => bytes::length(p, limit),
            };
        }
        let mut length = 0;
        while length < limit {
            shadow::touch(offset(p as usize + length));
            let rest = (PAGE - (p as usize + length) % PAGE).min(limit - length);
            let here = bytes::length(view(p.add(length)), rest);
            length += here;
            if here < rest {
                break;
            }
        }
        length
    }
}

/// Compares byte by byte; returns the difference and the bytes looked at.
///
/// # Safety
/// The program may read `a` and `b`, as far as it asks for.
unsafe fn compare(a: P, b: P, limit: usize, stop_at_zero: bool) -> (i32, usize) {
    let mut i = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while i < limit {
            let (x, y) = (peek(a.add(i)), peek(b.add(i)));
            i += 1;
            if x != y {
                return (x as i32 - y as i32, i);
            }
            if stop_at_zero && x == 0 {
                break;
            }
        }
    }
    (0, i)
}

/// # Safety
/// The program may read `a` and `b`, as far as it asks for.
unsafe fn compared(
    a: P,
    b: P,
    limit: usize,
    stop_at_zero: bool,
    function: Builtin,
    caller: usize,
) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..limit {
            let (a, b) = (a.add(i), b.add(i));
            seen(a, 1, function, caller);
            seen(b, 1, function, caller);
            let (x, y) = (peek(a), peek(b));
            if x != y || stop_at_zero && x == 0 {
                return x as i32 - y as i32;
            }
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memcmp(a: P, b: P, length: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().memcmp() {
            Some(memcmp) => {
                seen(a, length, Builtin::memcmp, caller!());
                seen(b, length, Builtin::memcmp, caller!());
                memcmp(view(a), view(b), length)
            }
            None => compare(a, b, length, false).0,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strcmp(a: P, b: P) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().strcmp() {
            Some(strcmp) if !either(a, b) => strcmp(a, b),
            _ => compared(a, b, usize::MAX, true, Builtin::strcmp, caller!()),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strncmp(a: P, b: P, length: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().strncmp() {
            Some(strncmp) if !either(a, b) => strncmp(a, b, length),
            _ => compared(a, b, length, true, Builtin::strncmp, caller!()),
        }
    }
}

/// Position of a byte among the first `limit`, stopping after a zero if asked to; and how many were read.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
unsafe fn search(
    p: P,
    byte: i32,
    limit: usize,
    stop_at_zero: bool,
    function: Builtin,
    caller: usize,
) -> (Option<usize>, usize) {
    let mut found = false;
    // SAFETY: what the caller promises.
    let read = unsafe {
        read_until(p, limit, function, caller, |here| {
            found = here == byte as u8;
            found || stop_at_zero && here == 0
        })
    };
    (found.then(|| read - 1), read)
}

/// # Safety
/// The program may read `p`, as far as it asks for.
unsafe fn searched(
    p: P,
    byte: i32,
    limit: usize,
    stop_at_zero: bool,
    function: Builtin,
    caller: usize,
) -> P {
    // SAFETY: what the caller promises.
    unsafe {
        let (found, _) = search(p, byte, limit, stop_at_zero, function, caller);
        found.map_or(core::ptr::null(), |at| p.add(at))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memchr(p: P, byte: i32, length: usize) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().memchr() {
            Some(memchr) if !concerns_us(p) => memchr(p, byte, length),
            _ => searched(p, byte, length, false, Builtin::memchr, caller!()),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_rawmemchr(p: P, byte: i32) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { searched(p, byte, usize::MAX, false, Builtin::memchr, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strchr(p: P, byte: i32) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().strchr() {
            Some(strchr) if !concerns_us(p) => strchr(p, byte),
            _ => searched(p, byte, usize::MAX, true, Builtin::strchr, caller!()),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strchrnul(p: P, byte: i32) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let (found, read) = search(p, byte, usize::MAX, true, Builtin::strchr, caller!());
        p.add(found.unwrap_or(read - 1))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strrchr(p: P, byte: i32) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if concerns_us(p) {
            seen_text(p, usize::MAX, Builtin::strrchr, caller!());
        }
        match real().strrchr() {
            Some(strrchr) => unview(strrchr(view(p), byte)),
            None => core::ptr::null(),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strstr(p: P, needle: P) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(strstr) = real().strstr() else {
            return core::ptr::null();
        };
        if !either(p, needle) {
            return strstr(p, needle);
        }
        let wanted = seen_text(needle, usize::MAX, Builtin::strstr, caller!());
        let length = text_length(p, usize::MAX);
        let found = unview(strstr(view(p), view(needle)));
        let looked = match found.is_null() {
            true => length + 1,
            false => found as usize - p as usize + wanted,
        };
        seen_bytes(p, looked, Builtin::strstr, caller!());
        found
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strlen(p: P) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { seen_text(p, usize::MAX, Builtin::strlen, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strnlen(p: P, limit: usize) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { seen_text(p, limit, Builtin::strlen, caller!()) }
}

/// Copies a text with its zero; returns its length.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
unsafe fn copy_text(to: *mut u8, from: P, caller: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        let length = seen_text(from, usize::MAX, Builtin::strcpy, caller);
        accesses::copy(
            to,
            from,
            length + 1,
            0,
            Origin::library(Builtin::strcpy, caller),
        );
        length
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strcpy(to: *mut u8, from: P) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { copy_text(to, from, caller!()) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_stpcpy(to: *mut u8, from: P) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { to.add(copy_text(to, from, caller!())) }
}

/// Copies a text into exactly `limit` bytes, zeros after it; returns its length.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
unsafe fn copy_padded(to: *mut u8, from: P, limit: usize, caller: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        let origin = Origin::library(Builtin::strncpy, caller);
        let length = seen_text(from, limit, Builtin::strncpy, caller);
        accesses::copy(to, from, limit.min(length + 1), 0, origin);
        if length + 1 < limit {
            accesses::fill(to.add(length + 1), 0, limit - length - 1, 0, origin);
        }
        length
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strncpy(to: *mut u8, from: P, limit: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { copy_padded(to, from, limit, caller!()) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_stpncpy(to: *mut u8, from: P, limit: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { to.add(copy_padded(to, from, limit, caller!())) }
}

/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
unsafe fn append(to: *mut u8, from: P, limit: usize, function: Builtin, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let origin = Origin::library(function, caller);
        let end = seen_text(to, usize::MAX, function, caller);
        let length = seen_text(from, limit, function, caller);
        accesses::copy(to.add(end), from, length, 0, origin);
        accesses::fill(to.add(end + length), 0, 1, 0, origin);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strcat(to: *mut u8, from: P) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { append(to, from, usize::MAX, Builtin::strcat, caller!()) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strncat(to: *mut u8, from: P, limit: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { append(to, from, limit, Builtin::strncat, caller!()) };
    to
}

/// # Safety
/// The program may read `from`, as far as it asks for.
unsafe fn duplicate(from: P, limit: usize, caller: usize) -> *mut u8 {
    // SAFETY: what the caller promises.
    unsafe {
        let length = seen_text(from, limit, Builtin::strdup, caller);
        let block = heap::obtain(length + 1, 16, caller);
        if !block.is_null() {
            let origin = Origin::library(Builtin::strdup, caller);
            accesses::copy(block, from, length, 0, origin);
            accesses::fill(block.add(length), 0, 1, 0, origin);
        }
        block
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strdup(from: P) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { duplicate(from, usize::MAX, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strndup(from: P, limit: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { duplicate(from, limit, caller!()) }
}
