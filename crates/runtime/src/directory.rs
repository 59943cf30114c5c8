//! Directories in name order: the kernel's order depends on the file system and its history.

use crate::bytes;
use crate::dispatch::Call;
use crate::state::{Scratch, state};
use crate::sys;

const OPEN: usize = 8;
/// Directories larger than this are listed as the kernel lists them.
const ROOM: usize = 1 << 20;

/// A directory being listed.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Listing {
    /// Its descriptor plus one; zero for a free place.
    descriptor: usize,
    sorted: *const u8,
    length: usize,
    at: usize,
}

pub(crate) type Listings = [Listing; OPEN];

unsafe fn find(descriptor: usize) -> Option<*mut Listing> {
    let all = &raw mut (*state()).listings;
    (0..OPEN)
        .map(|i| &raw mut (*all)[i])
        .find(|listing| (**listing).descriptor == descriptor)
}

/// The descriptor was closed or rewound: the next listing starts over.
pub(crate) unsafe fn forget(fd: usize) {
    if let Some(listing) = find(fd + 1) {
        (*listing).descriptor = 0;
    }
}

/// `getdents64`.
pub(crate) unsafe fn entries(call: &Call) -> isize {
    let [fd, to, room, ..] = call.arguments;
    let listing = match find(fd + 1) {
        Some(listing) => listing,
        None => {
            let Some(free) = find(0) else {
                return crate::syscalls::as_it_is(call);
            };
            match list(fd) {
                Ok((sorted, length)) => {
                    *free = Listing {
                        descriptor: fd + 1,
                        sorted,
                        length,
                        at: 0,
                    }
                }
                Err(error) => return error,
            }
            free
        }
    };
    let mut done = 0;
    while (*listing).at < (*listing).length {
        let entry = (*listing).sorted.add((*listing).at);
        let length = entry_length(entry);
        if done + length > room {
            break;
        }
        bytes::copy((to + done) as *mut u8, entry, length);
        done += length;
        (*listing).at += length;
    }
    done as isize
}

unsafe fn entry_length(entry: *const u8) -> usize {
    (entry.add(16) as *const u16).read_unaligned() as usize
}

unsafe fn name<'a>(entry: *const u8) -> &'a [u8] {
    bytes::text(entry.add(19), 256)
}

/// Reads a whole directory and sorts it; the copy lives until the end of the run.
unsafe fn list(fd: usize) -> Result<(*const u8, usize), isize> {
    let sorted = Scratch::new(ROOM).keep();
    let raw = Scratch::new(ROOM);
    let mut length = 0;
    loop {
        let got = sys::call(
            libc::SYS_getdents64,
            [fd, raw.start() as usize + length, ROOM - length],
        );
        if got < 0 {
            return Err(got);
        }
        if got == 0 {
            break;
        }
        length += got as usize;
    }
    // Smallest remaining name first; a taken entry is marked by an empty name.
    let mut done = 0;
    while done < length {
        let mut smallest: *mut u8 = core::ptr::null_mut();
        let mut at = 0;
        while at < length {
            let entry = raw.start().add(at);
            if *entry.add(19) != 0 && (smallest.is_null() || less(name(entry), name(smallest))) {
                smallest = entry;
            }
            at += entry_length(entry);
        }
        if smallest.is_null() {
            break;
        }
        let size = entry_length(smallest);
        bytes::copy(sorted.add(done), smallest, size);
        done += size;
        (sorted.add(done - size + 8) as *mut u64).write_unaligned(done as u64);
        *smallest.add(19) = 0;
    }
    Ok((sorted, done))
}

/// By hand: comparing slices would call `memcmp`, which may be the program's.
fn less(a: &[u8], b: &[u8]) -> bool {
    for (x, y) in a.iter().zip(b) {
        if x != y {
            return x < y;
        }
    }
    a.len() < b.len()
}
