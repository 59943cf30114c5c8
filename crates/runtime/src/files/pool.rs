//! Pool files: files under `--pm-dir` never reach the disk. A file is an entry of the table at the start of the metadata area
//! (`pool_table`) and a slot of the window that every mapping of it shares (PMDK maps one file more than once: docs/design/runtime.md).
//! Its descriptors are of an empty memfd that holds positions, flags and locks.

use crate::files::descriptors::{self, Kind};
use crate::files::pool_table::{self, Found, entry, find, set_word, word};
use crate::files::reach::{Reach, reach, withdraw};
use crate::files::status::of_pool;
use crate::hooks::flushes;
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::memory::shadow;
use crate::run::fork_server;
use crate::run::shared::pool_directory;
use crate::state::run;
use crate::syscalls::dispatch::{origin, refuse};
use crate::syscalls::error;
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record;
use landfall_vocab::window::{self, FILE_DIRECTORY, FILE_EXISTS, FILE_SLOT};

pub(crate) fn slot(file: u8) -> u64 {
    window::FILES.start + file as u64 * FILE_SLOT
}

fn length_unlogged(file: u8) -> u64 {
    shadow::word(entry(file) + 8)
}

/// Is this part of a file slot mapped in this run, and inside the file?
pub(crate) fn is_mapped(offset: u64) -> bool {
    let file = ((offset - window::FILES.start) / FILE_SLOT) as u8;
    let reach = run().reach.get();
    let length = length_unlogged(file).max(reach.growing_to);
    let pages = (length + window::PAGE - 1) & !(window::PAGE - 1);
    (run().mapped_files.get() | reach.files) & 1 << file != 0
        && (offset - window::FILES.start) % FILE_SLOT < pages
}

pub(crate) fn open(path: &[u8], flags: i32) -> isize {
    let creating = flags & libc::O_CREAT != 0;
    if path.len() as u64 >= window::FILE_PATH_LEN {
        return error(libc::ENAMETOOLONG);
    }
    let file = match find(path, Builtin::open) {
        Found::Exists(_) if creating && flags & libc::O_EXCL != 0 => return error(libc::EEXIST),
        Found::Exists(_) if flags & libc::O_DIRECTORY != 0 => return error(libc::ENOTDIR),
        Found::Exists(file) => {
            if flags & libc::O_TRUNC != 0 {
                set_length(file, 0, Builtin::open);
            }
            file
        }
        found => {
            if let Found::Exists(_) = pool_table::find_directory(path, Builtin::open) {
                return open_directory(path, flags);
            }
            match found {
                Found::Full if creating => refuse(&[
                    b"open: landfall keeps 31 pool files at a time, and the program creates more",
                ]),
                Found::Absent(file) if creating => {
                    let parent = pool_table::parent_exists(path, Builtin::open);
                    if parent != 0 {
                        return parent;
                    }
                    pool_table::create(file, path, FILE_EXISTS, Builtin::open);
                    file
                }
                _ => return error(libc::ENOENT),
            }
        }
    };
    open_slot(file, flags)
}

/// A directory of pool files stands for its path; what is in it comes from the table.
fn open_directory(path: &[u8], flags: i32) -> isize {
    // SAFETY: a slot lies in the window, and the text in memory of the run's own.
    unsafe {
        let directory = pool_directory();
        let length = directory.len();
        let whole = Scratch::new(length + 1 + path.len());
        bytes::copy(whole.start(), directory.as_ptr(), length);
        *whole.start().add(length) = b'/';
        bytes::copy(whole.start().add(length + 1), path.as_ptr(), path.len());
        let whole = core::slice::from_raw_parts(whole.start(), length + 1 + path.len());
        let number = crate::files::overlay::new_directory(whole, 0o777);
        crate::files::ordinary::open_inode(number, flags)
    }
}

/// A new descriptor of a file. All descriptors of one file are of one memfd, so that the kernel sees one file to lock.
pub(crate) fn open_slot(file: u8, flags: i32) -> isize {
    // SAFETY: a slot lies in the window, and the text in memory of the run's own.
    unsafe {
        let holder = run().pool_holders[file as usize].as_ptr();
        if *holder == 0 {
            let name = c"pool".as_ptr() as usize;
            let fd = sys::call(libc::SYS_memfd_create, [name, libc::MFD_CLOEXEC as usize]);
            *holder = crate::files::overlay::hold(fd);
        }
        let fd = crate::files::overlay::reopen(*holder, flags);
        if fd >= 0 {
            descriptors::set(fd as usize, Kind::Pool(file));
            run().used_files.set(run().used_files.get() | (1 << file));
        }
        fd
    }
}

/// May this descriptor be written through?
pub(crate) fn is_writable(fd: usize) -> bool {
    let flags = sys::fcntl(fd, libc::F_GETFL, 0);
    flags >= 0 && flags as i32 & libc::O_ACCMODE != libc::O_RDONLY
}

pub(crate) fn length(file: u8) -> u64 {
    word(entry(file) + 8, Builtin::open)
}

pub(crate) fn set_length(file: u8, length: u64, function: Builtin) -> isize {
    if length > FILE_SLOT {
        return error(libc::EFBIG);
    }
    let old = self::length(file);
    // What comes to lie inside the file again reads as zero. What is cut off need not: nobody sees it. Only the rest of the
    // last page is in a mapping, and the kernel zeroes it too.
    if length > old {
        clear(file, old, length, function);
    } else if length < old {
        let page = (length + window::PAGE - 1) & !(window::PAGE - 1);
        clear(file, length, page.min(old), function);
    }
    if length != old {
        set_word(entry(file) + 8, length, function);
    }
    0
}

/// Zeroes part of a file, durably: cut-off bytes and holes read as zero. Only lines that hold something need it.
fn clear(file: u8, from: u64, to: u64, function: Builtin) {
    // The slot is the file, mapped by the program or not.
    reach(Reach {
        growing_to: to,
        ..Reach::writing(file)
    });
    for page in (from & !(window::PAGE - 1)..to).step_by(window::PAGE as usize) {
        if shadow::is_touched(slot(file) + page) || fork_server::is_given(slot(file) + page) {
            // A file that grows does not reach there yet.
            shadow::touch_anyway(slot(file) + page);
            for line in (page..page + window::PAGE).step_by(window::LINE as usize) {
                clear_line(
                    slot(file),
                    line.max(from),
                    (line + window::LINE).min(to),
                    function,
                );
            }
        }
    }
    withdraw();
}

fn clear_line(slot: u64, from: u64, to: u64, function: Builtin) {
    let zero = [0u8; window::LINE as usize];
    // SAFETY: a slot lies in the window, and the text in memory of the run's own.
    unsafe {
        if from < to {
            let start = (window::BASE + slot + from) as usize;
            shadow::touch(slot + from);
            let held = shadow::content(slot + from);
            if !bytes::equal(held, zero.as_ptr(), (to - from) as usize) {
                accesses::store_durably(
                    start,
                    zero.as_ptr(),
                    (to - from) as usize,
                    origin(function),
                );
            }
        }
    }
}

/// `fallocate` and `posix_fallocate`: the file grows, or a hole is zeroed.
pub(crate) fn allocate(file: u8, mode: i32, at: u64, length: u64) -> isize {
    if mode & libc::FALLOC_FL_KEEP_SIZE == 0 {
        let end = at.saturating_add(length);
        return if end > self::length(file) {
            set_length(file, end, Builtin::ftruncate)
        } else {
            0
        };
    }
    if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0 {
        let end = at.saturating_add(length).min(self::length(file));
        if at < end {
            clear(file, at, end, Builtin::ftruncate);
        }
    }
    0
}

/// Every mapping of a file is the same memory; `None` for a private writable one, which must be a copy.
pub(crate) fn map(file: u8, fd: usize, call: &crate::syscalls::dispatch::Call) -> Option<isize> {
    let [address, length, protection, flags, _, at] = call.arguments;
    let (protection, flags, at) = (protection as i32, flags as i32, at as u64);
    if !at.is_multiple_of(window::PAGE) || length == 0 {
        return Some(error(libc::EINVAL));
    }
    if length as u64 > FILE_SLOT || at > FILE_SLOT - length as u64 {
        return Some(error(libc::ENOMEM));
    }
    let writable = protection & libc::PROT_WRITE != 0;
    let private = flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
    if private && writable {
        return None;
    }
    let access = sys::access_mode(fd);
    if access == libc::O_WRONLY || (writable && access != libc::O_RDWR) {
        return Some(error(libc::EACCES));
    }
    let place = (window::BASE + slot(file) + at) as usize;
    if flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0 && address != place {
        refuse(&[b"mmap: landfall maps a pool file where it wants, not where MAP_FIXED says"]);
    }
    self::length(file);
    // All mappings are one: it is writable once one of them is.
    let mapped = run().mapped_files.get() & 1 << file != 0;
    if writable || !mapped {
        crate::memory::protections::protect(place, length, protection);
    }
    run()
        .mapped_files
        .set(run().mapped_files.get() | (1 << file));
    run().used_files.set(run().used_files.get() | (1 << file));
    Some(place as isize)
}

/// A private copy of part of a file, in memory of the program's own.
///
/// # Safety
/// The program asks for a mapping at `address`: what is there is its own.
pub(crate) unsafe fn map_copy(
    file: u8,
    length: usize,
    at: u64,
    address: usize,
    flags: i32,
) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let all = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let flags = (flags & !libc::MAP_TYPE) | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let got = sys::raw(
            libc::SYS_mmap,
            [address, length, all, flags as usize, usize::MAX, 0],
        );
        let present = (self::length(file).saturating_sub(at) as usize).min(length);
        if got > 0 && present > 0 {
            run()
                .mapped_files
                .set(run().mapped_files.get() | (1 << file));
            let from = (window::BASE + slot(file) + at) as *const u8;
            accesses::copy(got as *mut u8, from, present, 0, origin(Builtin::mmap));
        }
        got
    }
}

/// `msync`.
pub(crate) fn sync_mapping(address: usize, length: usize, flags: i32) -> isize {
    if address & 4095 != 0 || flags & libc::MS_ASYNC != 0 && flags & libc::MS_SYNC != 0 {
        return error(libc::EINVAL);
    }
    // MS_ASYNC promises nothing.
    if flags & libc::MS_SYNC == 0 {
        return 0;
    }
    sync(address as u64 - window::BASE, length as u64, Builtin::msync)
}

/// Writes back every line of a range that this execution touched, then fences.
pub(crate) fn sync(at: u64, length: u64, function: Builtin) -> isize {
    let length = length.min(window::LEN - at);
    let mut page = at & !(window::PAGE - 1);
    // SAFETY: a slot lies in the window, and the text in memory of the run's own.
    unsafe {
        while page < at + length {
            if shadow::is_touched(page) {
                for line in (page..page + window::PAGE).step_by(window::LINE as usize) {
                    // Eight words, eight bytes of shadow: none known means that nobody wrote here.
                    if *(shadow::known(line) as *const u64) != 0 {
                        flushes::flush(
                            record::RecordKind::Clwb,
                            (window::BASE + line) as usize,
                            origin(function),
                        );
                    }
                }
            }
            page += window::PAGE;
        }
    }
    flushes::fence(record::RecordKind::Sfence, origin(function));
    0
}

pub(crate) fn sync_file(file: u8) -> isize {
    sync(slot(file), length(file), Builtin::fsync)
}

pub(crate) fn unlink(path: &[u8]) -> isize {
    match find(path, Builtin::unlink) {
        Found::Exists(file) => {
            pool_table::remove(file, path, Builtin::unlink);
            0
        }
        _ => match pool_table::find_directory(path, Builtin::unlink) {
            Found::Exists(_) => error(libc::EISDIR),
            _ => error(libc::ENOENT),
        },
    }
}

pub(crate) fn rename(from: &[u8], to: &[u8], flags: usize) -> isize {
    const NOREPLACE: usize = 1;
    if flags & !NOREPLACE != 0 {
        return error(libc::EINVAL);
    }
    if to.len() as u64 >= window::FILE_PATH_LEN {
        return error(libc::ENAMETOOLONG);
    }
    let Found::Exists(file) = find(from, Builtin::rename) else {
        if let Found::Exists(_) = pool_table::find_directory(from, Builtin::rename) {
            refuse(&[b"rename: landfall does not rename directories of pool files"]);
        }
        return error(libc::ENOENT);
    };
    let parent = pool_table::parent_exists(to, Builtin::rename);
    if parent != 0 {
        return parent;
    }
    if let Found::Exists(_) = pool_table::find_directory(to, Builtin::rename) {
        return error(libc::EISDIR);
    }
    let replaced = match find(to, Builtin::rename) {
        Found::Exists(same) if same == file => return 0,
        Found::Exists(_) if flags & NOREPLACE != 0 => return error(libc::EEXIST),
        Found::Exists(replaced) => Some(replaced),
        _ => None,
    };
    pool_table::rename(file, to, replaced);
    0
}

pub(crate) fn truncate(path: &[u8], length: u64) -> isize {
    match find(path, Builtin::ftruncate) {
        Found::Exists(file) => set_length(file, length, Builtin::ftruncate),
        _ => error(libc::ENOENT),
    }
}

pub(crate) fn make_directory(path: &[u8]) -> isize {
    if path.len() as u64 >= window::FILE_PATH_LEN {
        return error(libc::ENAMETOOLONG);
    }
    if let Found::Exists(_) = find(path, Builtin::mkdir) {
        return error(libc::EEXIST);
    }
    let parent = pool_table::parent_exists(path, Builtin::mkdir);
    if parent != 0 {
        return parent;
    }
    match pool_table::find_directory(path, Builtin::mkdir) {
        Found::Exists(_) => error(libc::EEXIST),
        Found::Absent(file) => {
            pool_table::create(file, path, FILE_DIRECTORY, Builtin::mkdir);
            0
        }
        Found::Full => refuse(&[b"mkdir: landfall keeps 32 directories of pool files"]),
    }
}

pub(crate) fn remove_directory(path: &[u8]) -> isize {
    match pool_table::find_directory(path, Builtin::rmdir) {
        Found::Exists(file) => {
            let mut count = 0;
            pool_table::listing(path, |_, _, _| count += 1);
            if count > 0 {
                return error(libc::ENOTEMPTY);
            }
            pool_table::remove(file, path, Builtin::rmdir);
            0
        }
        _ => match find(path, Builtin::rmdir) {
            Found::Exists(_) => error(libc::ENOTDIR),
            _ => error(libc::ENOENT),
        },
    }
}

/// What `stat` says about a path under `--pm-dir`.
///
/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn about(path: &[u8], to: *mut libc::stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        match find(path, Builtin::open) {
            Found::Exists(file) => about_slot(file, to),
            _ => match pool_table::find_directory(path, Builtin::open) {
                Found::Exists(file) => of_pool(file as u64, libc::S_IFDIR | 0o777, 0, to),
                _ => error(libc::ENOENT),
            },
        }
    }
}

/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn about_slot(file: u8, to: *mut libc::stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe { of_pool(file as u64, libc::S_IFREG | 0o666, length(file), to) }
}

/// Entries of a directory that is `--pm-dir` or lies below it; false for any other.
pub(crate) fn listing(path: &[u8], each: impl FnMut(&[u8], u64, u8)) -> bool {
    let directory = pool_directory();
    if directory.is_empty() {
        return false;
    }
    let itself = bytes::same(path, directory);
    match crate::files::overlay::below(directory, path) {
        Some(inside) => pool_table::listing(inside, each),
        None if itself => pool_table::listing(b"", each),
        None => return false,
    }
    true
}
