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
fn is_ordinary(address: usize) -> bool {
    !is_persistent(address) && !accesses::others_see()
}

macro_rules! copies {
    ($($weak:ident, $name:ident;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $weak(to: *mut u8, from: P, length: usize) -> *mut u8 {
            // SAFETY: the program calls it: its arguments are what libc's own function takes.
            unsafe {
                match real().$name() {
                    Some(copy) if is_ordinary(to as usize) && is_ordinary(from as usize) => copy(to, from, length),
                    _ => {
                        accesses::copy(to, from, length, 0, Origin::library(Builtin::$name, caller!()));
                        to
                    }
                }
            }
        }
    )* };
}

copies! {
    __lf_weak_memcpy, memcpy;
    __lf_weak_memmove, memmove;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_mempcpy(to: *mut u8, from: P, length: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        accesses::copy(
            to,
            from,
            length,
            0,
            Origin::library(Builtin::memcpy, caller!()),
        );
        to.add(length)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_bcopy(from: P, to: *mut u8, length: usize) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        accesses::copy(
            to,
            from,
            length,
            0,
            Origin::library(Builtin::memmove, caller!()),
        );
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_memset(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        match real().memset() {
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
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_bzero(to: *mut u8, length: usize) {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        accesses::fill(
            to,
            0,
            length,
            0,
            Origin::library(Builtin::memset, caller!()),
        );
    }
}
