//! Arrays of variable length, and what `alloca` gave. A function keeps which of them there are, also while it is alone, in a table on its stack: some
//! live on when others come.

use super::{Local, is_on, variable_begins, variable_ends};
use crate::caller;
use landfall_vocab::builtin::Builtin;

/// Part of an instrumented function's table; of length zero if there is none.
#[repr(C)]
struct Array {
    start: usize,
    length: usize,
}

/// An array begins (ABI).
///
/// # Safety
/// Instrumented code calls it, with an entry of its table.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_array_begins(entry: *mut Array, start: usize, length: usize) {
    let caller = caller!();
    // SAFETY: what the caller promises.
    let entry = unsafe { &mut *entry };
    let mut now = Local { start, length };
    // In a loop `alloca` gives again, below.
    if entry.length != 0 && start < entry.start {
        now.length = entry.start + entry.length - start;
    }
    entry.start = now.start;
    entry.length = now.length;
    if is_on() {
        variable_begins(Local { start, length }, caller);
    }
}

/// The stack pointer is set back: arrays below are gone (ABI).
///
/// # Safety
/// Instrumented code calls it, with its table.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_arrays_end(table: *mut Array, count: usize, back_to: usize) {
    let caller = caller!();
    // SAFETY: what the caller promises.
    let arrays = unsafe { core::slice::from_raw_parts_mut(table, count) };
    for array in arrays {
        if array.length != 0 && array.start < back_to {
            array.ends(Builtin::block_end, caller);
        }
    }
}

/// The function returns (ABI).
///
/// # Safety
/// Instrumented code calls it, with its table.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_arrays_return(table: *mut Array, count: usize) {
    let caller = caller!();
    // SAFETY: what the caller promises.
    let arrays = unsafe { core::slice::from_raw_parts_mut(table, count) };
    for array in arrays {
        if array.length != 0 {
            array.ends(Builtin::function_return, caller);
        }
    }
}

impl Array {
    fn ends(&mut self, how: Builtin, caller: usize) {
        let Array { start, length } = *self;
        self.length = 0;
        if is_on() {
            variable_ends(Local { start, length }, how, caller);
        }
    }
}
