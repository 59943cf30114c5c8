//! Where functions that are being called keep their variables, for who tells people what lies on a stack.

use crate::memory::own::Scratch;
use crate::outside::crossing::is_return;
use crate::run::call_stack::{frame_pointer, is_inside};
use crate::run::start::{in_executable, in_runtime};
use crate::run::trace;
use crate::state::{run, server};
use landfall_vocab::shared::{ACTIVATION, FRAMES};

/// Writes, of each function of the program that the running thread is in: the return address into it, the stack pointer there, and its
/// frame (zero if nobody knows).
#[inline(never)]
pub(crate) fn log_of(thread: usize) {
    let scratch = Scratch::new(FRAMES * ACTIVATION * 8);
    // SAFETY: there is room for so many.
    let found = unsafe {
        core::slice::from_raw_parts_mut(scratch.start() as *mut [u64; ACTIVATION], FRAMES)
    };
    let count = walk(frame_pointer(), found);
    trace::activations(found[..count].as_flattened(), thread);
}

fn walk(mut frame: usize, into: &mut [[u64; ACTIVATION]]) -> usize {
    let mut count = 0;
    while count < into.len() {
        if !is_inside(frame) || !frame.is_multiple_of(8) {
            break;
        }
        // SAFETY: this is on the stack, which is mapped.
        let [outer, back] = unsafe { *(frame as *const [usize; 2]) };
        if back == 0 {
            break;
        }
        let known = match in_executable(back) {
            true => Some((back, frame + 16)),
            // SAFETY: the stack is mapped up to the outer frame.
            false => unsafe { behind_library(back, frame + 16, outer) },
        };
        if let Some((code, pointer)) = known
            && !in_runtime(code)
        {
            let own = if is_inside(outer) { outer } else { 0 };
            into[count] = [code as u64, pointer as u64, own as u64];
            count += 1;
        }
        let aside = run().alternate.get();
        let crosses = aside.has(frame) && !aside.has(outer);
        if outer <= frame && !crosses {
            break;
        }
        frame = outer;
    }
    count
}

/// Libraries keep no frame pointers: the function of the program that has called one, and where its stack ends. That is the first return
/// address behind a call of that library.
///
/// # Safety
/// The stack from `from` up to `outer` is mapped if `outer` lies on it.
unsafe fn behind_library(inside: usize, from: usize, outer: usize) -> Option<(usize, usize)> {
    const FAR: usize = 4 << 10;
    if !is_inside(outer) {
        return None;
    }
    let mut at = from;
    while at < outer.min(from + FAR) {
        // SAFETY: what the caller promises.
        let word = unsafe { *(at as *const usize) };
        let returns_there = in_executable(word.wrapping_sub(LONGEST_CALL))
            && in_executable(word)
            && !is_return(word)
            && !in_runtime(word);
        if returns_there {
            // SAFETY: code of the executable, with enough of it before.
            let called = unsafe { called(word) };
            if called.is_some_and(|called| called.abs_diff(inside) < LARGE) {
                return Some((word, at + 8));
            }
        }
        at += 8;
    }
    None
}

const LONGEST_CALL: usize = 7;

/// A library is not larger than that.
const LARGE: usize = 16 << 20;

/// What was called before a return address, if it lies in a library.
///
/// # Safety
/// `after` lies in code of the executable.
unsafe fn called(after: usize) -> Option<usize> {
    // SAFETY: what the caller promises; the entry of the table lies in the executable's image.
    unsafe {
        let byte = |at: usize| *(at as *const u8);
        let distance = |at: usize| (at as *const i32).read_unaligned() as isize;
        let table = |at: usize| {
            let entry = (at + 4).wrapping_add_signed(distance(at));
            let inside = server().exe_base.get()..server().exe_end.get().saturating_sub(8);
            let known = entry.is_multiple_of(8) && inside.contains(&entry);
            known.then(|| *(entry as *const usize))
        };
        if byte(after - 6) == 0xff && byte(after - 5) == 0x15 {
            return table(after - 4).filter(|&to| !in_executable(to));
        }
        if byte(after - 5) != 0xe8 {
            return None;
        }
        let mut stub = after.wrapping_add_signed(distance(after - 4));
        if !in_executable(stub) || !in_executable(stub + 16) {
            return None;
        }
        // `endbr64`, `bnd`.
        if (stub as *const u32).read_unaligned() == 0xfa1e_0ff3 {
            stub += 4;
        }
        if byte(stub) == 0xf2 {
            stub += 1;
        }
        let jumps = byte(stub) == 0xff && byte(stub + 1) == 0x25;
        let to = jumps.then(|| table(stub + 2)).flatten();
        to.filter(|&to| !in_executable(to))
    }
}
