//! Directories in name order: the kernel's order depends on the file system and its history.

use crate::files::descriptors::{self, Kind};
use crate::files::overlay;
use crate::files::resolve::{Place, Where};
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::state::run;
use crate::syscalls::dispatch::Call;
use crate::syscalls::sys;
use core::cell::Cell;

const OPEN: usize = 8;
/// Bytes of the largest directory that can be listed.
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

pub(crate) type Listings = [Cell<Listing>; OPEN];

fn find(descriptor: usize) -> Option<&'static Cell<Listing>> {
    run()
        .listings
        .iter()
        .find(|listing| listing.get().descriptor == descriptor)
}

/// The descriptor was closed or rewound: the next listing starts over.
pub(crate) fn forget(fd: usize) {
    if let Some(listing) = find(fd + 1) {
        listing.set(Listing {
            descriptor: 0,
            ..listing.get()
        });
    }
}

/// `getdents64`.
pub(crate) fn entries(call: &Call) -> isize {
    let [fd, to, room, ..] = call.arguments;
    let listing = match find(fd + 1) {
        Some(listing) => listing,
        None => {
            let Some(free) = find(0) else {
                crate::syscalls::dispatch::refuse(&[
                    b"the program lists too many directories at once",
                ]);
            };
            match list(fd) {
                Ok((sorted, length)) => {
                    free.set(Listing {
                        descriptor: fd + 1,
                        sorted,
                        length,
                        at: 0,
                    });
                }
                Err(error) => return error,
            }
            free
        }
    };
    let mut done = 0;
    let Listing {
        sorted,
        length: all,
        mut at,
        ..
    } = listing.get();
    // SAFETY: entries lie behind each other in memory of the run's own, up to a length that is kept.
    unsafe {
        while at < all {
            let entry = sorted.add(at);
            let length = entry_length(entry);
            if done + length > room {
                break;
            }
            descriptors::give(to + done, entry, length);
            done += length;
            at += length;
        }
    }
    listing.set(Listing {
        at,
        ..listing.get()
    });
    if done == 0 && at < all {
        return -(libc::EINVAL as isize);
    }
    done as isize
}

/// # Safety
/// `entry` is an entry of a directory, as `getdents64` writes it.
unsafe fn entry_length(entry: *const u8) -> usize {
    // SAFETY: what the caller promises.
    unsafe { (entry.add(16) as *const u16).read_unaligned() as usize }
}

/// # Safety
/// `entry` is an entry of a directory, as `getdents64` writes it; it stays there for as long as its name is used.
unsafe fn name<'a>(entry: *const u8) -> &'a [u8] {
    // SAFETY: what the caller promises.
    unsafe { bytes::text(entry.add(19), 256) }
}

/// A directory's listing being put together, unsorted: what the disk has, then what the overlay says about it.
struct Gathering {
    raw: Scratch,
    length: usize,
}

impl Gathering {
    fn add(&mut self, name: &[u8], number: u64, kind: u8) {
        // SAFETY: entries lie behind each other in memory of the run's own, up to a length that is kept.
        unsafe {
            let size = (19 + name.len() + 1 + 7) & !7;
            if self.length + size > ROOM {
                return;
            }
            let entry = self.raw.start().add(self.length);
            bytes::fill(entry, 0, size);
            (entry as *mut u64).write_unaligned(number);
            (entry.add(16) as *mut u16).write_unaligned(size as u16);
            *entry.add(18) = kind;
            bytes::copy(entry.add(19), name.as_ptr(), name.len());
            self.length += size;
        }
    }

    /// A taken or removed entry has an empty name.
    fn remove(&mut self, wanted: &[u8]) {
        let mut at = 0;
        // SAFETY: entries lie behind each other in memory of the run's own, up to a length that is kept.
        unsafe {
            while at < self.length {
                let entry = self.raw.start().add(at);
                if bytes::same(name(entry), wanted) {
                    *entry.add(19) = 0;
                }
                at += entry_length(entry);
            }
        }
    }
}

/// Everything in a directory. `fd` is open on it if it exists on disk.
fn gather(place: &Place, fd: Option<usize>) -> Result<Gathering, isize> {
    // SAFETY: entries lie behind each other in memory of the run's own, up to a length that is kept.
    unsafe {
        let mut all = Gathering {
            raw: Scratch::new(ROOM),
            length: 0,
        };
        let pool = crate::files::pool::listing(place.path(), |name, number, kind| {
            all.add(name, number, kind)
        });
        let mut opaque = pool;
        if let Where::Inode(number) = place.whereabouts() {
            opaque |= overlay::is_opaque(number);
        }
        if opaque {
            all.add(b".", 1, libc::DT_DIR);
            all.add(b"..", 1, libc::DT_DIR);
        } else if let Some(fd) = fd {
            loop {
                let to = all.raw.start() as usize + all.length;
                let got = sys::raw(libc::SYS_getdents64, [fd, to, ROOM - all.length]);
                match got {
                    0 => break,
                    got if got < 0 => return Err(got),
                    got => all.length += got as usize,
                }
            }
        }
        overlay::children(place.path(), |name, number| {
            all.remove(name);
            if number != 0 {
                let inode = overlay::inode(number);
                all.add(name, (*inode).number, ((*inode).mode >> 12) as u8);
            }
        });
        Ok(all)
    }
}

/// Nothing but `.` and `..`?
pub(crate) fn is_empty(place: &Place) -> bool {
    let flags = (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
    let fd = sys::call(libc::SYS_open, [place.address(), flags]);
    let on_disk = (fd >= 0).then_some(fd as usize);
    let mut count = 0;
    // SAFETY: entries lie behind each other in memory of the run's own, up to a length that is kept.
    unsafe {
        if let Ok(all) = gather(place, on_disk) {
            let mut at = 0;
            while at < all.length {
                let entry = all.raw.start().add(at);
                count += usize::from(*entry.add(19) != 0 && !matches!(name(entry), b"." | b".."));
                at += entry_length(entry);
            }
        }
    }
    if let Some(fd) = on_disk {
        sys::call(libc::SYS_close, [fd]);
    }
    count == 0
}

/// Reads a whole directory and sorts it; the copy lives until the end of the run.
fn list(fd: usize) -> Result<(*const u8, usize), isize> {
    let sorted = Scratch::new(ROOM).keep();
    let mut place = Place::new();
    place.of_descriptor(fd)?;
    let made_up = crate::files::special::made_up(place.path());
    let real = descriptors::kind(fd);
    let all = gather(
        &place,
        matches!(real, Kind::Real | Kind::Disk).then_some(fd),
    )?;
    let (raw, length) = (all.raw.start(), all.length);
    // Smallest remaining name first.
    let mut done = 0;
    // SAFETY: entries lie behind each other in memory of the run's own, up to a length that is kept.
    unsafe {
        while done < length {
            let mut smallest: *mut u8 = core::ptr::null_mut();
            let mut at = 0;
            while at < length {
                let entry = raw.add(at);
                if *entry.add(19) != 0 && (smallest.is_null() || less(name(entry), name(smallest)))
                {
                    smallest = entry;
                }
                at += entry_length(entry);
            }
            if smallest.is_null() {
                break;
            }
            let size = entry_length(smallest);
            bytes::copy(sorted.add(done), smallest, size);
            if made_up {
                (sorted.add(done) as *mut u64).write_unaligned(1);
            }
            done += size;
            (sorted.add(done - size + 8) as *mut u64).write_unaligned(done as u64);
            *smallest.add(19) = 0;
        }
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
