//! Texts of wide characters, four bytes each.

use crate::caller;
use crate::libc::real::P;
use crate::libc::strings::{seen, seen_wide};
use crate::memory::accesses;
use crate::memory::shadow::view;
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "wcslen" => wcslen, "wcsnlen" => wcsnlen, "wcscpy" => wcscpy, "wcsncpy" => wcsncpy,
    "wcscat" => wcscat, "wcscmp" => wcscmp, "wcsncmp" => wcsncmp, "wcschr" => wcschr,
    "wmemcpy" => wmemcpy, "wmemmove" => wmemcpy, "wmemset" => wmemset, "wmemcmp" => wmemcmp,
    "wmemchr" => wmemchr, "__wcscpy_chk" => wcscpy, "__wcsncpy_chk" => wcsncpy,
    "__wcscat_chk" => wcscat, "__wmemcpy_chk" => wmemcpy, "__wmemmove_chk" => wmemcpy,
    "__wmemset_chk" => wmemset,
);

type W = *const i32;

/// One character, read.
///
/// # Safety
/// The program may read `p`, as far as it asks for.
unsafe fn one(p: W, function: Builtin, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        seen(p as P, 4, function, caller);
        *view(p)
    }
}

/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
unsafe fn copy(to: *mut i32, from: W, count: usize, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        accesses::copy(to as *mut u8, from as P, count * 4, 0, origin);
    }
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
unsafe fn set(to: *mut i32, character: i32, count: usize, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..count {
            copy(to.add(i), &raw const character, 1, origin);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcslen(p: W) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { seen_wide(p as *const u32, usize::MAX, Builtin::wcslen, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcsnlen(p: W, limit: usize) -> usize {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { seen_wide(p as *const u32, limit, Builtin::wcslen, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcscpy(to: *mut i32, from: W) -> *mut i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let length = seen_wide(from as *const u32, usize::MAX, Builtin::wcscpy, caller!());
        let origin = Origin::library(Builtin::wcscpy, caller!());
        copy(to, from, length + 1, origin);
        to
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcsncpy(to: *mut i32, from: W, limit: usize) -> *mut i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let length = seen_wide(from as *const u32, limit, Builtin::wcscpy, caller!());
        let origin = Origin::library(Builtin::wcscpy, caller!());
        copy(to, from, length, origin);
        set(to.add(length), 0, limit - length, origin);
        to
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcscat(to: *mut i32, from: W) -> *mut i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let end = seen_wide(to as *const u32, usize::MAX, Builtin::wcscpy, caller!());
        let length = seen_wide(from as *const u32, usize::MAX, Builtin::wcscpy, caller!());
        let origin = Origin::library(Builtin::wcscpy, caller!());
        copy(to.add(end), from, length + 1, origin);
        to
    }
}

/// # Safety
/// The program may read `a` and `b`, as far as it asks for.
unsafe fn compare(a: W, b: W, limit: usize, text: bool, function: Builtin, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..limit {
            let (x, y) = (
                one(a.add(i), function, caller),
                one(b.add(i), function, caller),
            );
            if x != y {
                return if x < y { -1 } else { 1 };
            }
            if text && x == 0 {
                break;
            }
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcscmp(a: W, b: W) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { compare(a, b, usize::MAX, true, Builtin::wcscmp, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcsncmp(a: W, b: W, limit: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { compare(a, b, limit, true, Builtin::wcscmp, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wmemcmp(a: W, b: W, count: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { compare(a, b, count, false, Builtin::wmemcmp, caller!()) }
}

/// # Safety
/// The program may read `p`, as far as it asks for.
unsafe fn search(p: W, wanted: i32, limit: usize, text: bool, caller: usize) -> W {
    // SAFETY: what the caller promises.
    unsafe {
        for i in 0..limit {
            let found = one(p.add(i), Builtin::wcschr, caller);
            if found == wanted {
                return p.add(i);
            }
            if text && found == 0 {
                break;
            }
        }
    }
    core::ptr::null()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wcschr(p: W, wanted: i32) -> W {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { search(p, wanted, usize::MAX, true, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wmemchr(p: W, wanted: i32, count: usize) -> W {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { search(p, wanted, count, false, caller!()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wmemcpy(to: *mut i32, from: W, count: usize) -> *mut i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        copy(
            to,
            from,
            count,
            Origin::library(Builtin::wmemcpy, caller!()),
        )
    };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_wmemset(to: *mut i32, character: i32, count: usize) -> *mut i32 {
    let origin = Origin::library(Builtin::wmemset, caller!());
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe { set(to, character, count, origin) };
    to
}
