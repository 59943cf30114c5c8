//! More functions that look at texts: numbers, sets of bytes, tokens; and the few others of libc that write arrays.

use crate::caller;
use crate::libc::real::{P, real};
use crate::libc::strings::{concerns_us, read_until, seen, seen_text, text_length};
use crate::memory::accesses;
use crate::memory::own::Scratch;
use crate::memory::shadow::{is_persistent, peek, recording, unview, view};
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "strcasecmp" => strcasecmp, "strncasecmp" => strncasecmp, "strspn" => strspn,
    "strcspn" => strcspn, "strpbrk" => strpbrk, "strtok" => strtok, "strtok_r" => strtok_r,
    "__strtok_r" => strtok_r, "strsep" => strsep, "memccpy" => memccpy, "memrchr" => memrchr,
    "memmem" => memmem, "swab" => swab, "qsort" => qsort, "inet_pton" => inet_pton,
);

/// Records what a function reads that makes a number of a text: space, whatever can belong to one, and the byte after it.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
unsafe fn number(p: P, function: Builtin, caller: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if !concerns_us(p) {
            return;
        }
        let mut begun = false;
        read_until(p, usize::MAX, function, caller, |byte| {
            begun |= !matches!(byte, b' ' | 9..=13);
            begun
                && !byte.is_ascii_alphanumeric()
                && !matches!(byte, b'+' | b'-' | b'.' | b'(' | b')' | b'_')
        });
    }
}

macro_rules! numbers {
    ($($weak:ident, $name:ident, $as:ident, $result:ty, ($($argument:ident),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $weak(p: P $(, $argument: usize)*) -> $result {
                // SAFETY: the program calls it: its arguments are what libc's own function takes.
                unsafe {
                let Some(convert) = real().$name() else {
                    return Default::default();
                };
                number(p, Builtin::$as, caller!());
                numbers!(@call convert, Origin::library(Builtin::$as, caller!()), p $(, $argument)*)
                }
            }
        )*
    };
    (@call $convert:ident, $origin:expr, $p:ident) => { $convert(view($p)) };
    (@call $convert:ident, $origin:expr, $p:ident, $end:ident $(, $base:ident)?) => {{
        let mut end = 0usize;
        let result = $convert(view($p), &raw mut end $(, $base as i32)?);
        end = unview(end as P) as usize;
        if $end != 0 {
            accesses::copy($end as *mut u8, (&raw const end) as P, 8, 0, $origin);
        }
        result
    }};
}

crate::weak!(
    "atoi" => atoi,
    "atol" => atol,
    "atoll" => atoll,
    "atof" => atof,
    "strtol" => strtol,
    "strtoll" => strtoll,
    "strtoul" => strtoul,
    "strtoull" => strtoull,
    "strtoimax" => strtoll,
    "strtoumax" => strtoull,
    "__isoc23_strtol" => __isoc23_strtol,
    "__isoc23_strtoll" => __isoc23_strtoll,
    "__isoc23_strtoul" => __isoc23_strtoul,
    "__isoc23_strtoull" => __isoc23_strtoull,
    "strtod" => strtod,
    "strtof" => strtof,
);

numbers! {
    __lf_weak_atoi, atoi, atoi, i32, ();
    __lf_weak_atol, atol, atoi, i64, ();
    __lf_weak_atoll, atoll, atoi, i64, ();
    __lf_weak_atof, atof, atof, f64, ();
    __lf_weak_strtol, strtol, strtol, i64, (end, base);
    __lf_weak_strtoll, strtoll, strtol, i64, (end, base);
    __lf_weak_strtoul, strtoul, strtol, u64, (end, base);
    __lf_weak_strtoull, strtoull, strtol, u64, (end, base);
    __lf_weak___isoc23_strtol, __isoc23_strtol, strtol, i64, (end, base);
    __lf_weak___isoc23_strtoll, __isoc23_strtoll, strtol, i64, (end, base);
    __lf_weak___isoc23_strtoul, __isoc23_strtoul, strtol, u64, (end, base);
    __lf_weak___isoc23_strtoull, __isoc23_strtoull, strtol, u64, (end, base);
    __lf_weak_strtod, strtod, strtod, f64, (end);
    __lf_weak_strtof, strtof, strtod, f32, (end);
}

/// # Safety
/// The program may read `a` and `b`, as far as it asks for.
unsafe fn compare_folded(a: P, b: P, limit: usize, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..limit {
            let (a, b) = (a.add(i), b.add(i));
            seen(a, 1, Builtin::strcasecmp, caller);
            seen(b, 1, Builtin::strcasecmp, caller);
            let (x, y) = (peek(a).to_ascii_lowercase(), peek(b).to_ascii_lowercase());
            if x != y || x == 0 {
                return x as i32 - y as i32;
            }
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strcasecmp(a: P, b: P) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().strcasecmp() {
            Some(strcasecmp) if !concerns_us(a) && !concerns_us(b) => strcasecmp(a, b),
            _ => compare_folded(a, b, usize::MAX, caller!()),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strncasecmp(a: P, b: P, limit: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().strncasecmp() {
            Some(strncasecmp) if !concerns_us(a) && !concerns_us(b) => strncasecmp(a, b, limit),
            _ => compare_folded(a, b, limit, caller!()),
        }
    }
}

/// # Safety
/// The program may read `set`, as far as it asks for.
unsafe fn among(byte: u8, set: P) -> bool {
    let mut i = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while peek(set.add(i)) != 0 {
            if peek(set.add(i)) == byte {
                return true;
            }
            i += 1;
        }
    }
    false
}

/// How many bytes from `p` on are in the set, or are not.
///
/// # Safety
/// The program may read `p` and `set`, as far as it asks for.
unsafe fn span(p: P, set: P, inside: bool, function: Builtin, caller: usize) -> usize {
    // SAFETY: what the caller promises.
    unsafe {
        seen_text(set, usize::MAX, function, caller);
        let read = read_until(p, usize::MAX, function, caller, |byte| {
            byte == 0 || among(byte, set) != inside
        });
        read - 1
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strspn(p: P, set: P) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { span(p, set, true, Builtin::strspn, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strcspn(p: P, set: P) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { span(p, set, false, Builtin::strspn, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strpbrk(p: P, set: P) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let found = p.add(span(p, set, false, Builtin::strpbrk, caller!()));
        if peek(found) == 0 {
            return core::ptr::null();
        }
        found
    }
}

/// Stores a pointer of the program.
///
/// # Safety
/// The program may write to `to` and `value`, as far as it asks for.
unsafe fn set_pointer(to: *mut *mut u8, value: *mut u8, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        accesses::copy(to as *mut u8, (&raw const value) as P, 8, 0, origin);
    }
}

/// Ends the token at `start`; returns where the next one starts, or null after the last.
///
/// # Safety
/// The program may write to `start` and read `set`, as far as it asks for.
unsafe fn end_token(start: *mut u8, set: P, function: Builtin, caller: usize) -> *mut u8 {
    // SAFETY: what the caller promises.
    unsafe {
        let end = start.add(span(start, set, false, function, caller));
        if peek(end) == 0 {
            return core::ptr::null_mut();
        }
        accesses::fill(end, 0, 1, 0, Origin::library(function, caller));
        end.add(1)
    }
}

/// # Safety
/// The program may write to `text` and `next` and read `set`, as far as it asks for.
unsafe fn token(text: *mut u8, set: P, next: *mut *mut u8, caller: usize) -> *mut u8 {
    // SAFETY: what the caller promises.
    unsafe {
        let origin = Origin::library(Builtin::strtok, caller);
        let mut start = text;
        if start.is_null() {
            seen(next as P, 8, Builtin::strtok, caller);
            start = *view(next);
        }
        if start.is_null() {
            return start;
        }
        start = start.add(span(start, set, true, Builtin::strtok, caller));
        if peek(start) == 0 {
            set_pointer(next, start, origin);
            return core::ptr::null_mut();
        }
        let mut after = end_token(start, set, Builtin::strtok, caller);
        if after.is_null() {
            after = start.add(text_length(start, usize::MAX));
        }
        set_pointer(next, after, origin);
        start
    }
}

/// Where `strtok` goes on. Part of the program's own data: a restart puts it back with those.
static mut NEXT_TOKEN: *mut u8 = core::ptr::null_mut();

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strtok(text: *mut u8, set: P) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { token(text, set, &raw mut NEXT_TOKEN, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strtok_r(text: *mut u8, set: P, next: *mut *mut u8) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { token(text, set, next, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_strsep(next: *mut *mut u8, set: P) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        seen(next as P, 8, Builtin::strsep, caller!());
        let start = *view(next);
        if !start.is_null() {
            let after = end_token(start, set, Builtin::strsep, caller!());
            set_pointer(next, after, Origin::library(Builtin::strsep, caller!()));
        }
        start
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memccpy(to: *mut u8, from: P, byte: i32, limit: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let mut found = false;
        let length = read_until(from, limit, Builtin::memccpy, caller!(), |here| {
            found = here == byte as u8;
            found
        });
        let origin = Origin::library(Builtin::memccpy, caller!());
        accesses::copy(to, from, length, 0, origin);
        if found {
            to.add(length)
        } else {
            core::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memrchr(p: P, byte: i32, length: usize) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        for i in (0..length).rev() {
            seen(p.add(i), 1, Builtin::memrchr, caller!());
            if peek(p.add(i)) == byte as u8 {
                return p.add(i);
            }
        }
    }
    core::ptr::null()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memmem(p: P, length: usize, wanted: P, size: usize) -> P {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        seen(wanted, size, Builtin::memmem, caller!());
        seen(p, length, Builtin::memmem, caller!());
        match real().memmem() {
            Some(memmem) => unview(memmem(view(p), length, view(wanted), size)),
            None => core::ptr::null(),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_swab(from: P, to: *mut u8, length: isize) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let length = length.max(0) as usize & !1;
        seen(from, length, Builtin::swab, caller!());
        let scratch = Scratch::new(length);
        for i in 0..length {
            *scratch.start().add(i) = peek(from.add(i ^ 1));
        }
        let origin = Origin::library(Builtin::swab, caller!());
        accesses::copy(to, scratch.start(), length, 0, origin);
    }
}

/// An array in persistent memory, or one that others may look at, is read, sorted elsewhere and stored.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_qsort(array: *mut u8, count: usize, each: usize, order: usize) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(qsort) = real().qsort() else {
            return;
        };
        let length = count.saturating_mul(each);
        let concerns_us = is_persistent(array as usize) && recording() || accesses::others_see();
        if !concerns_us || length == 0 {
            return qsort(array, count, each, order);
        }
        let origin = Origin::library(Builtin::qsort, caller!());
        let copy = libc::malloc(length) as *mut u8;
        if copy.is_null() {
            return qsort(array, count, each, order);
        }
        accesses::copy(copy, array, length, 0, origin);
        qsort(copy, count, each, order);
        accesses::copy(array, copy, length, 0, origin);
        libc::free(copy as *mut libc::c_void);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_inet_pton(family: i32, text: P, to: *mut u8) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let Some(inet_pton) = real().inet_pton() else {
            return -1;
        };
        if concerns_us(text) {
            seen_text(text, usize::MAX, Builtin::inet_pton, caller!());
        }
        let mut address = [0u8; 16];
        let result = inet_pton(family, view(text), address.as_mut_ptr());
        if result == 1 {
            let length = if family == libc::AF_INET { 4 } else { 16 };
            let origin = Origin::library(Builtin::inet_pton, caller!());
            accesses::copy(to, address.as_ptr(), length, 0, origin);
        }
        result
    }
}
