//! What processes have for themselves, of those that do not run. It is compared page by page before it is copied: most of it is as the parent had
//! it, and a page that nobody writes to costs no memory.

use super::{Family, MOST, family, found, of, refuse};
use crate::memory::bytes;
use crate::memory::heap;
use crate::memory::heap_checks;
use crate::memory::own::place;
use crate::run::outcome;
use crate::run::tracked;
use crate::state::run;
use crate::syscalls::sys;
use crate::threads::{tables, threads};
use core::cell::Cell;

const PAGE: usize = 4096;
const RANGES: usize = 96;
/// Room for one process.
const EACH: usize = place::FORKED_LEN / MOST;

/// A range of memory that each process has for itself, and where it is in an image.
#[derive(Clone, Copy)]
#[repr(C)]
struct Part {
    start: usize,
    end: usize,
    at: usize,
}

#[repr(C)]
pub(super) struct Images {
    parts: [Cell<Part>; RANGES],
    count: Cell<usize>,
    length: Cell<usize>,
    mapped: Cell<bool>,
}

fn images() -> &'static Images {
    let Family { images, .. } = family();
    images
}

fn parts() -> &'static [Cell<Part>] {
    &images().parts[..images().count.get()]
}

/// Does any of it lie where that says?
pub(super) fn any_in(meets: &dyn Fn((usize, usize)) -> bool) -> bool {
    parts()
        .iter()
        .any(|part| meets((part.get().start, part.get().end)))
}

fn place_of(process: usize, at: usize) -> *mut u8 {
    (place::FORKED + process * EACH + at) as *mut u8
}

/// The running process has forked: what it has for itself, the child has as well. `stack` is how far down its stack is in use.
pub(super) fn copied(child: usize, stack: usize) {
    let images = images();
    if !images.mapped.replace(true) && sys::map(place::FORKED, place::FORKED_LEN).is_none() {
        outcome::internal(b"no memory for processes", 0);
    }
    // Some more than is in use: it will be.
    const MORE: usize = 16 * PAGE;
    let (low, high) = run().stack.get();
    add(stack.saturating_sub(MORE).max(low), high);
    heap::each_used(|start, end| {
        add(start, end);
        if heap_checks::on() && heap::shadowed() {
            let shadow = |at| heap_checks::shadow(at) as usize;
            add(shadow(start), shadow(end));
        }
    });
    tracked::each_of_program(add, found);
    let actions = &raw const run().actions as usize;
    add_exactly(actions, actions + size_of_val(&run().actions));
    for part in parts() {
        let Part { start, end, at } = part.get();
        // SAFETY: it is memory of the program's, and has a place in every image.
        unsafe { bytes::copy(place_of(child, at), start as *const u8, end - start) };
    }
}

/// Whole pages of a range that is not known yet.
fn add(start: usize, end: usize) {
    let (mut at, end) = (start & !(PAGE - 1), end.next_multiple_of(PAGE));
    while at < end {
        let inside = |part: &&Cell<Part>| (part.get().start..part.get().end).contains(&at);
        if let Some(known) = parts().iter().find(inside) {
            at = known.get().end;
            continue;
        }
        let next = parts()
            .iter()
            .map(|part| part.get().start)
            .filter(|&start| start > at);
        let until = next.min().unwrap_or(end).min(end);
        add_exactly(at, until);
        at = until;
    }
}

/// Processes that there are already have what is there: nobody else has used it.
fn add_exactly(start: usize, end: usize) {
    let images = images();
    if parts().iter().any(|part| part.get().start == start) {
        return;
    }
    let (count, at) = (images.count.get(), images.length.get());
    if count == RANGES || at + (end - start) > EACH {
        refuse(b"fork: the process has too much memory of its own for copies to be kept (128 MiB, 96 mappings)");
    }
    images.parts[count].set(Part { start, end, at });
    images.count.set(count + 1);
    images.length.set((at + (end - start)).next_multiple_of(64));
    for process in 0..=family().count.get() {
        // SAFETY: it is memory of the program's, and has a place in every image.
        unsafe { bytes::copy(place_of(process, at), start as *const u8, end - start) };
    }
}

/// Another thread goes on: if it is of another process, with what that has for itself.
pub(in super::super) fn switched(from: usize, to: usize) {
    let (from, to) = (of(from), of(to));
    if family().count.get() == 0 || from == to {
        return;
    }
    reaches_down();
    for part in parts() {
        let Part { start, end, at } = part.get();
        let mut page = start;
        while page < end {
            let length = (end - page).min(PAGE);
            let at = at + page - start;
            // SAFETY: as above; the program's memory is written to only where a process has done so.
            unsafe {
                put(place_of(from, at), page as *mut u8, length);
                put(page as *mut u8, place_of(to, at), length);
            }
            page += length;
        }
    }
}

/// # Safety
/// Both are so long, and may be read; where they differ, `to` may be written to.
unsafe fn put(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if !bytes::equal(to, from, length) {
            bytes::copy(to, from, length);
        }
    }
}

/// The stack of the process that stops to run may be in use further down than before.
fn reaches_down() {
    let me = threads().current.get();
    let context = &tables().contexts[me];
    let (low, high) = context.stack.get();
    let pointer = context.stack_pointer.get();
    if (low..high).contains(&pointer) {
        add(pointer, high);
    }
}
