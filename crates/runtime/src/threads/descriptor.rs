//! Thread descriptors, with the thread-local variables below them. Those of the first threads are made once, before any run, in
//! memory of the runtime: a run that uses one finds it as it was made (its pages are tracked like all others), and mostly does
//! not even write to it. Those of further threads, and of a thread that has the number of one that ended, are made when it begins.
//!
//! The dynamic linker would allocate them in the program's heap. What it does is little: for each library that was loaded at
//! the start, variables at the same distance from the descriptor as main's are from its own, and a vector of where they are.

use super::context::set_thread_pointer;
use super::{MOST, tables};
use crate::libc::real::real;
use crate::memory::bytes;
use crate::memory::own::{Scratch, place};
use crate::state::server;
use crate::syscalls::sys;
use core::cell::Cell;
use landfall_vocab::shared::FEW_THREADS;

/// Descriptor proper: libc's `struct pthread`, and more.
const DESCRIPTOR: usize = 8192;
/// Variables of one thread; with more, it is left to the dynamic linker.
const MOST_VARIABLES: usize = 64 << 10;
const PAGE: usize = 4096;
/// Libraries with variables of their own.
const MOST_LIBRARIES: usize = 64;

#[repr(C)]
pub(super) struct Descriptors {
    /// Bytes of each, and of its variables; zero where the dynamic linker has to make them.
    each: Cell<usize>,
    below: Cell<usize>,
    /// Entries of the vector that a descriptor points to.
    entries: Cell<usize>,
    variables: [Cell<Variables>; MOST_LIBRARIES],
    variable_count: Cell<usize>,
    /// Libraries that were loaded then: more of them have variables that these do not.
    libraries: Cell<usize>,
    /// Where the dynamic linker lists them.
    list: Cell<*const List>,
}

/// The beginning of `struct r_debug` and of `struct link_map` (link.h).
#[repr(C)]
struct List {
    version: i32,
    first: *const Library,
}

#[repr(C)]
struct Library {
    base: usize,
    name: *const u8,
    dynamic: usize,
    next: *const Library,
}

/// One library's variables: what they hold at first, and how far below main's descriptor they are.
#[derive(Clone, Copy)]
#[repr(C)]
struct Variables {
    number: usize,
    from: usize,
    given: usize,
    below: usize,
}

struct Found {
    all: [Variables; MOST_LIBRARIES],
    count: usize,
    sound: bool,
}

/// An entry of the vector that a descriptor points to: where variables are, and what to free.
type Entry = [usize; 2];

/// # Safety
/// `list` is the dynamic linker's, or null.
unsafe fn libraries(list: *const List) -> usize {
    let mut count = 0;
    // SAFETY: what the caller promises.
    unsafe {
        if !list.is_null() {
            let mut library = (*list).first;
            while !library.is_null() {
                count += 1;
                library = (*library).next;
            }
        }
    }
    count
}

/// Once per server.
pub(super) fn prepare() {
    // SAFETY: the dynamic linker's lists are as link.h has them, and nobody changes them now.
    unsafe {
        let descriptors = &tables().descriptors;
        descriptors
            .list
            .set(libc::dlsym(libc::RTLD_DEFAULT, c"_r_debug".as_ptr()) as *const List);
        let scratch = Scratch::new(size_of::<Found>());
        let found = scratch.start() as *mut Found;
        ((*found).count, (*found).sound) = (0, true);
        libc::dl_iterate_phdr(Some(look), found.cast());
        let found_all = &(&(*found).all)[..(*found).count];
        let below = found_all.iter().map(|one| one.below).max().unwrap_or(0);
        let main = server().thread_pointer.get();
        let vector = *((main + 8) as *const *const Entry);
        let entries = (*vector.sub(1))[0];
        let known = found_all
            .iter()
            .all(|one| one.number <= entries && (*vector.add(one.number))[0] == main - one.below);
        if !(*found).sound || !known || below > MOST_VARIABLES || entries > 4096 {
            return;
        }
        let below = below.next_multiple_of(PAGE);
        let each = below + DESCRIPTOR + ((entries + 2) * size_of::<Entry>()).next_multiple_of(PAGE);
        if sys::map(place::DESCRIPTORS, each * MOST).is_none() {
            return;
        }
        descriptors.libraries.set(libraries(descriptors.list.get()));
        descriptors.each.set(each);
        descriptors.below.set(below);
        descriptors.entries.set(entries);
        for (one, known) in found_all.iter().zip(&descriptors.variables) {
            known.set(*one);
        }
        descriptors.variable_count.set(found_all.len());
        for number in 1..FEW_THREADS {
            make(number);
        }
    }
}

/// Makes a thread's descriptor, where there is nothing yet.
///
/// # Safety
/// All of them are mapped, and no thread uses this one.
unsafe fn make(number: usize) {
    // SAFETY: what the caller promises; libraries keep what their variables hold at first.
    unsafe {
        let descriptors = &tables().descriptors;
        let made = place_of(number);
        let vector = *((server().thread_pointer.get() + 8) as *const *const Entry);
        let own = ((made + DESCRIPTOR) as *mut Entry).add(1);
        for entry in 0..descriptors.entries.get() + 2 {
            *own.sub(1).add(entry) = *vector.sub(1).add(entry);
        }
        for one in &descriptors.variables[..descriptors.variable_count.get()] {
            let one = one.get();
            (*own.add(one.number))[0] = made - one.below;
            let to = (made - one.below) as *mut u8;
            bytes::copy(to, one.from as *const u8, one.given);
        }
        *((made + 8) as *mut usize) = own as usize;
        complete(made, number);
    }
}

fn place_of(number: usize) -> usize {
    let descriptors = &tables().descriptors;
    place::DESCRIPTORS + descriptors.each.get() * number + descriptors.below.get()
}

/// Is it a thread-local variable of this thread, or its descriptor?
pub(super) fn is_variable_of(number: usize, address: usize) -> bool {
    let each = tables().descriptors.each.get();
    let offset = address.wrapping_sub(place::DESCRIPTORS + each * number);
    number != 0 && offset < each
}

unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _: usize,
    found: *mut libc::c_void,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        let found = found as *mut Found;
        let main = server().thread_pointer.get();
        let number = (*info).dlpi_tls_modid;
        let here = (*info).dlpi_tls_data as usize;
        if number == 0 {
            return 0;
        }
        let headers = core::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
        let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_TLS) else {
            return 0;
        };
        // Variables that are not there yet are made when somebody asks for them.
        if here == 0 {
            return 0;
        }
        if here >= main || (*found).count == (*found).all.len() {
            (*found).sound = false;
            return 1;
        }
        (*found).all[(*found).count] = Variables {
            number,
            from: (*info).dlpi_addr as usize + header.p_vaddr as usize,
            given: header.p_filesz as usize,
            below: main - here,
        };
        (*found).count += 1;
        0
    }
}

/// Memory that a restart has to restore: up to the first of these it is what it was, up to the second it was zero.
pub(crate) fn all() -> (usize, usize, usize) {
    let (start, each) = (place::DESCRIPTORS, tables().descriptors.each.get());
    (start, start + each * FEW_THREADS, start + each * MOST)
}

/// Memory of the descriptors of so many threads.
pub(crate) fn of_first(threads: usize) -> (usize, usize) {
    let each = tables().descriptors.each.get();
    (place::DESCRIPTORS, place::DESCRIPTORS + each * threads)
}

/// The descriptor that a thread will have, where that is known before it is created.
pub(super) fn made(number: usize) -> Option<usize> {
    let descriptors = &tables().descriptors;
    // SAFETY: the dynamic linker's lists are as link.h has them, and nobody changes them now.
    unsafe {
        (descriptors.each.get() != 0
            && libraries(descriptors.list.get()) == descriptors.libraries.get())
        .then(|| place_of(number))
    }
}

/// The descriptor of a new thread, which has its number `again` after another one. `None` when libc has no room for one.
pub(super) fn take(number: usize, again: bool) -> Option<usize> {
    // SAFETY: the dynamic linker's lists are as link.h has them, and nobody changes them now. The thread that had the number has ended.
    unsafe {
        if let Some(made) = made(number) {
            let descriptors = &tables().descriptors;
            if again {
                let start = made - descriptors.below.get();
                bytes::fill(start as *mut u8, 0, descriptors.below.get() + DESCRIPTOR);
            }
            if again || number >= FEW_THREADS {
                make(number);
            }
            return Some(made);
        }
        let made = real()._dl_allocate_tls()?(0);
        if made == 0 {
            return None;
        }
        complete(made, number);
        Some(made)
    }
}

/// What libc does for its own.
///
/// # Safety
/// `made` is a thread descriptor in the making.
unsafe fn complete(made: usize, number: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        let main = server().thread_pointer.get();
        let word = |at: usize| (made + at) as *mut usize;
        *word(0) = made; // tcb
        *word(16) = made; // self
        *word(40) = *((main + 40) as *const usize); // stack guard
        *word(48) = *((main + 48) as *const usize); // pointer guard
        let id = server().thread_id_at.get();
        if id != 0 {
            *((made + id) as *mut u32) = 1000 + number as u32;
        }
        if let Some(initialise) = real().__ctype_init() {
            let here: usize;
            core::arch::asm!("mov {}, fs:[16]", out(reg) here, options(nostack, preserves_flags));
            set_thread_pointer(made);
            initialise();
            set_thread_pointer(here);
        }
    }
}
