//! `memcpy`, `memset` and their kin, called as functions.

use crate::caller;
use crate::libc::real::{P, real};
use crate::memory::accesses;
use crate::memory::shadow::is_persistent;
use crate::run::trace::Origin;
use landfall_vocab::builtin::Builtin;

crate::weak!(
    "memcpy" => memcpy, "memmove" => memmove, "memset" => memset, "mempcpy" => mempcpy,
    "bcopy" => bcopy, "bzero" => bzero, "__memcpy_chk" => memcpy, "__memmove_chk" => memmove,
    "__memset_chk" => memset, "__mempcpy_chk" => mempcpy,
);

/// Neither persistent nor seen by other threads: libc's own functions are faster.
unsafe fn is_ordinary(address: usize) -> bool {
    !is_persistent(address) && !accesses::others_see()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memcpy(to: *mut u8, from: P, length: usize) -> *mut u8 {
    match (*real()).memcpy {
        Some(memcpy) if is_ordinary(to as usize) && is_ordinary(from as usize) => {
            memcpy(to, from, length)
        }
        _ => {
            accesses::copy(
                to,
                from,
                length,
                0,
                Origin::library(Builtin::memcpy, caller!()),
            );
            to
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memmove(to: *mut u8, from: P, length: usize) -> *mut u8 {
    match (*real()).memmove {
        Some(memmove) if is_ordinary(to as usize) && is_ordinary(from as usize) => {
            memmove(to, from, length)
        }
        _ => {
            accesses::copy(
                to,
                from,
                length,
                0,
                Origin::library(Builtin::memmove, caller!()),
            );
            to
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mempcpy(to: *mut u8, from: P, length: usize) -> *mut u8 {
    accesses::copy(
        to,
        from,
        length,
        0,
        Origin::library(Builtin::memcpy, caller!()),
    );
    to.add(length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_bcopy(from: P, to: *mut u8, length: usize) {
    accesses::copy(
        to,
        from,
        length,
        0,
        Origin::library(Builtin::memmove, caller!()),
    );
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memset(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    match (*real()).memset {
        Some(memset) if is_ordinary(to as usize) => memset(to, byte, length),
        _ => {
            accesses::fill(
                to,
                byte as u8,
                length,
                0,
                Origin::library(Builtin::memset, caller!()),
            );
            to
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_bzero(to: *mut u8, length: usize) {
    accesses::fill(
        to,
        0,
        length,
        0,
        Origin::library(Builtin::memset, caller!()),
    );
}
