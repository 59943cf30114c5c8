//! `mmap`: pool files are mapped already, the runtime's own memory is out of reach, the rest is the program's business.

use crate::files::descriptors::{self, Kind};
use crate::files::pool;
use crate::memory::limits;
use crate::memory::own::place;
use crate::state::{run, server};
use crate::syscalls::calls::{altering, alters_kernel, as_it_is};
use crate::syscalls::dispatch::{Call, refuse};
use crate::syscalls::sys;
use crate::threads::forked;
use core::cell::Cell;
use landfall_vocab::window;
use libc::*;

/// Is any of this the runtime's or persistent? The program has no business unmapping it.
pub(crate) fn own_memory(address: usize, length: usize) -> bool {
    let end = address.saturating_add(length);
    let (state, state_len) = crate::state::range();
    let within = |start: usize, size: usize| address < start + size && end > start;
    within(window::BASE as usize, window::LEN as usize)
        || within(place::HEAP, place::HEAP_LEN)
        || within(place::STACK - place::GUARD, place::STACK_LEN + place::GUARD)
        || within(place::SIGNAL_STACK, place::SIGNAL_STACK_LEN)
        || within(place::ARENA, 1 << 45)
        || within(crate::memory::shadow::KNOWN, (window::LEN / 8) as usize)
        || within(state, state_len)
}

pub(crate) fn map(call: &Call) -> isize {
    let [address, length, protection, flags, fd, at] = call.arguments;
    // SAFETY: the program asks for it, and what is the runtime's own was left out.
    unsafe {
        if flags as i32 & MAP_ANONYMOUS == 0
            && let Kind::Pool(file) = descriptors::kind(fd)
        {
            if let Some(mapped) = pool::map(file, fd, call) {
                return mapped;
            }
            alters_kernel(call);
            return pool::map_copy(file, length, at as u64, address, flags as i32);
        }
    }
    if flags as i32 & MAP_FIXED != 0 && own_memory(address, length) {
        return -(ENOMEM as isize);
    }
    if flags as i32 & MAP_FIXED != 0 {
        forked::remaps(address, length);
    }
    if forked::several()
        && flags as i32 & MAP_ANONYMOUS == 0
        && flags as i32 & MAP_TYPE != MAP_PRIVATE
    {
        refuse(&[b"mmap: one of several processes maps a file that others may map, too; let the parent map it before it forks"]);
    }
    if flags as i32 & MAP_ANONYMOUS == 0 && flags as i32 & MAP_TYPE != MAP_PRIVATE {
        match descriptors::kind(fd) {
            Kind::Disk => crate::files::ordinary::note_shared_mapping(fd),
            Kind::Overlay(_) if !limits::take(length) => return -(ENOMEM as isize),
            _ => {}
        }
    }
    // A mapping of a file or one that cannot be written takes no memory of its own; nor does a reservation, yet.
    let counted = flags as i32 & MAP_ANONYMOUS != 0
        && flags as i32 & MAP_NORESERVE == 0
        && protection as i32 & PROT_WRITE != 0;
    if counted && !limits::take(length) {
        return -(ENOMEM as isize);
    }
    if !is_plain(flags as i32) || !run().mappings.has_room() {
        return altering(call);
    }
    let got = as_it_is(call);
    if got > 0 {
        let end = got as usize + length.next_multiple_of(PAGE);
        let writable = protection as i32 & PROT_WRITE != 0;
        run().mappings.add(got as usize, end, writable);
    }
    got
}

const PAGE: usize = 4096;

/// Fresh memory at a place of the kernel's choice, for one thread: taken away again, nothing is left of it.
fn is_plain(flags: i32) -> bool {
    const KNOWN: i32 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    let fresh = flags & MAP_ANONYMOUS != 0 && flags & MAP_TYPE == MAP_PRIVATE;
    server().in_place.get() && !crate::threads::on() && fresh && flags & !KNOWN == 0
}

/// A mapping of a run in place.
#[derive(Clone, Copy)]
struct RunMapping {
    start: usize,
    end: usize,
    writable: bool,
}

const MOST: usize = 16;

/// The mappings of a run in place that are there now. libpmemobj maps memory to find a free place, and takes it away again.
pub(crate) struct RunMappings {
    count: Cell<usize>,
    all: [Cell<RunMapping>; MOST],
}

impl RunMappings {
    pub(crate) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    fn has_room(&self) -> bool {
        self.count.get() < MOST
    }

    fn add(&self, start: usize, end: usize, writable: bool) {
        let mapping = RunMapping {
            start,
            end,
            writable,
        };
        self.all[self.count.get()].set(mapping);
        self.count.set(self.count.get() + 1);
    }

    fn present(&self) -> impl Iterator<Item = &Cell<RunMapping>> {
        self.all[..self.count.get().min(MOST)].iter()
    }

    /// Forgets the one that is exactly this; false if there is none.
    fn remove(&self, start: usize, end: usize) -> bool {
        let is_it =
            |mapping: &&Cell<RunMapping>| (mapping.get().start, mapping.get().end) == (start, end);
        let Some(found) = self.present().find(is_it) else {
            return false;
        };
        let last = self.count.get() - 1;
        found.set(self.all[last].get());
        self.count.set(last);
        true
    }

    /// Those that the program may have written to.
    pub(crate) fn each_writable(&self, mut each: impl FnMut(usize, usize) -> bool) -> bool {
        let mut written = self.present().filter(|mapping| mapping.get().writable);
        written.all(|mapping| each(mapping.get().start, mapping.get().end))
    }

    /// The run is over: takes away what it left.
    pub(crate) fn undo(&self) {
        for mapping in self.present() {
            let RunMapping { start, end, .. } = mapping.get();
            // SAFETY: the run mapped it, nobody else knows it, and the run is over.
            unsafe { sys::raw(SYS_munmap, [start, end - start]) };
        }
        self.count.set(0);
    }
}

pub(crate) fn unmap(call: &Call) -> isize {
    let [address, length, ..] = call.arguments;
    if own_memory(address, length) {
        return -(EINVAL as isize);
    }
    forked::remaps(address, length);
    let whole = address.saturating_add(length.next_multiple_of(PAGE));
    let result = match run().mappings.remove(address, whole) {
        true => as_it_is(call),
        false => altering(call),
    };
    if result == 0 {
        limits::give_back(length);
    }
    result
}

/// `brk`; the kernel's way of saying no is to answer with the end as it is.
pub(crate) fn set_break(call: &Call) -> isize {
    // SAFETY: nothing is asked for but where it is.
    let end = unsafe { sys::raw(SYS_brk, [0]) };
    let wanted = call.arguments[0];
    if wanted != 0 && forked::several() {
        refuse(&[b"brk: not modelled while there are several processes"]);
    }
    if wanted > end as usize && !limits::take(wanted - end as usize) {
        return end;
    }
    altering(call)
}
