//! Pool files: files under `--pm-dir` never reach the disk. A file is an entry of the table at the start of the metadata area
//! (existence and length, durable when the call returns: MODEL.md §4) and a slot of the window that every mapping of it shares
//! (PMDK maps one file more than once: RUNTIME.md). Its descriptor is an empty memfd that only holds the position.

use crate::bytes;
use crate::descriptors::{self, Kind};
use crate::flush;
use crate::forkserver;
use crate::hooks;
use crate::log::Origin;
use crate::shadow;
use crate::state::{Scratch, state};
use crate::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::{self, flag};
use landfall_vocab::window::{
    self, FILE_ENTRY, FILE_EXISTS, FILE_PATH_AT, FILE_PATH_LEN, FILE_REMOVED, FILE_SLOT, FILE_SLOTS,
};

pub(crate) const fn error(number: i32) -> isize {
    -(number as isize)
}

fn entry(file: u8) -> u64 {
    window::META.start + file as u64 * FILE_ENTRY
}

pub(crate) fn slot(file: u8) -> u64 {
    window::FILES.start + file as u64 * FILE_SLOT
}

pub(crate) fn origin(function: Builtin) -> Origin {
    Origin::library(function, 0)
}

/// Reads a word of the table, as an event.
unsafe fn word(at: u64, function: Builtin) -> u64 {
    hooks::read_word(at, 8, flag::DURABLE, origin(function));
    shadow::word(at)
}

/// Writes a word of the table: durable at once.
unsafe fn set_word(at: u64, value: u64, function: Builtin) {
    hooks::store_word(at, value, 8, flag::DURABLE, origin(function));
}

unsafe fn length_unlogged(file: u8) -> u64 {
    shadow::word(entry(file) + 8)
}

/// Is this part of a file slot mapped in this run, and inside the file?
pub(crate) unsafe fn is_mapped(offset: u64) -> bool {
    let file = ((offset - window::FILES.start) / FILE_SLOT) as u8;
    let pages = (length_unlogged(file) + window::PAGE - 1) & !(window::PAGE - 1);
    (*state()).mapped_files & 1 << file != 0 && (offset - window::FILES.start) % FILE_SLOT < pages
}

enum Found {
    Exists(u8),
    /// A free or removed entry to create it in.
    Absent(u8),
    Full,
}

unsafe fn find(path: &[u8], function: Builtin) -> Found {
    let mut free = None;
    for file in 0..FILE_SLOTS as u8 {
        let state = word(entry(file), function);
        if state == window::file_state(path, FILE_EXISTS) {
            return Found::Exists(file);
        }
        if state == window::file_state(path, FILE_REMOVED) || (state == 0 && free.is_none()) {
            free = Some(file);
        }
        if state == 0 {
            break;
        }
    }
    free.map_or(Found::Full, Found::Absent)
}

pub(crate) unsafe fn open(path: &[u8], flags: i32) -> isize {
    let file = match find(path, Builtin::open) {
        Found::Exists(_) if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 => {
            return error(libc::EEXIST);
        }
        Found::Exists(file) => {
            if flags & libc::O_TRUNC != 0 {
                set_length(file, 0, Builtin::open);
            }
            file
        }
        Found::Absent(file) if flags & libc::O_CREAT != 0 => {
            create(file, path);
            file
        }
        Found::Absent(_) => return error(libc::ENOENT),
        Found::Full => return error(libc::ENOSPC),
    };
    let fd = sys::call(
        libc::SYS_memfd_create,
        [
            c"pool".as_ptr() as usize,
            usize::from(flags & libc::O_CLOEXEC != 0),
        ],
    );
    if fd >= 0 {
        descriptors::set(fd as usize, Kind::Pool(file));
    }
    fd
}

/// Path first, state word last: the file exists from that store on.
unsafe fn create(file: u8, path: &[u8]) {
    set_path(file, path, Builtin::open);
    set_word(entry(file) + 8, 0, Builtin::open);
    set_word(
        entry(file),
        window::file_state(path, FILE_EXISTS),
        Builtin::open,
    );
}

unsafe fn set_path(file: u8, path: &[u8], function: Builtin) {
    let padded = Scratch::new(FILE_PATH_LEN as usize);
    let length = path.len().min(FILE_PATH_LEN as usize - 1);
    bytes::fill(padded.start(), 0, FILE_PATH_LEN as usize);
    bytes::copy(padded.start(), path.as_ptr(), length);
    let target = (window::BASE + entry(file) + FILE_PATH_AT) as usize;
    hooks::store_span(
        target,
        padded.start(),
        record::padded(length + 1),
        flag::DURABLE,
        origin(function),
    );
}

pub(crate) unsafe fn length(file: u8) -> u64 {
    word(entry(file) + 8, Builtin::open)
}

pub(crate) unsafe fn set_length(file: u8, length: u64, function: Builtin) -> isize {
    if length > FILE_SLOT {
        return error(libc::EFBIG);
    }
    let old = self::length(file);
    if length < old {
        clear(file, length, old, function);
    }
    if length != old {
        set_word(entry(file) + 8, length, function);
    }
    0
}

/// Zeroes part of a file, durably: cut-off bytes and holes read as zero. Only lines that hold something need it.
unsafe fn clear(file: u8, from: u64, to: u64, function: Builtin) {
    // The slot is the file, mapped by the program or not.
    let mapped = (*state()).mapped_files;
    (*state()).mapped_files |= 1 << file;
    for page in (from & !(window::PAGE - 1)..to).step_by(window::PAGE as usize) {
        if shadow::is_touched(slot(file) + page) || forkserver::is_given(slot(file) + page) {
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
    (*state()).mapped_files = mapped;
}

unsafe fn clear_line(slot: u64, from: u64, to: u64, function: Builtin) {
    let zero = [0u8; window::LINE as usize];
    if from < to {
        let start = (window::BASE + slot + from) as usize;
        shadow::touch(slot + from);
        let held = shadow::content(slot + from);
        if !bytes::equal(held, zero.as_ptr(), (to - from) as usize) {
            hooks::fill_span(
                start,
                0,
                (to - from) as usize,
                flag::DURABLE,
                origin(function),
            );
        }
    }
}

/// `fallocate` and `posix_fallocate`: the file grows, or a hole is zeroed.
pub(crate) unsafe fn allocate(file: u8, mode: i32, at: u64, length: u64) -> isize {
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
pub(crate) unsafe fn map(
    file: u8,
    length: usize,
    protection: i32,
    flags: i32,
    at: u64,
) -> Option<isize> {
    if !at.is_multiple_of(window::PAGE) || length == 0 || at + length as u64 > FILE_SLOT {
        return Some(error(libc::EINVAL));
    }
    if flags & libc::MAP_TYPE == libc::MAP_PRIVATE && protection & libc::PROT_WRITE != 0 {
        return None;
    }
    self::length(file);
    (*state()).mapped_files |= 1 << file;
    Some((window::BASE + slot(file) + at) as isize)
}

/// A private copy of part of a file, in memory of the program's own.
pub(crate) unsafe fn map_copy(
    file: u8,
    length: usize,
    at: u64,
    address: usize,
    flags: i32,
) -> isize {
    let all = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (flags & !libc::MAP_TYPE) | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let got = sys::call(
        libc::SYS_mmap,
        [address, length, all, flags as usize, usize::MAX, 0],
    );
    let present = (self::length(file).saturating_sub(at) as usize).min(length);
    if got > 0 && present > 0 {
        (*state()).mapped_files |= 1 << file;
        let from = (window::BASE + slot(file) + at) as *const u8;
        hooks::copy(got as *mut u8, from, present, 0, origin(Builtin::mmap));
    }
    got
}

/// `msync`, `fsync`: write back every line of a range that this execution touched, then fence.
pub(crate) unsafe fn sync(at: u64, length: u64, function: Builtin) -> isize {
    let length = length.min(window::LEN - at);
    let mut page = at & !(window::PAGE - 1);
    while page < at + length {
        if shadow::is_touched(page) {
            for line in (page..page + window::PAGE).step_by(window::LINE as usize) {
                // Eight words, eight bytes of shadow: none known means that nobody wrote here.
                if *(shadow::known(line) as *const u64) != 0 {
                    flush::flush(
                        record::Kind::Clwb,
                        (window::BASE + line) as usize,
                        origin(function),
                    );
                }
            }
        }
        page += window::PAGE;
    }
    flush::fence(record::Kind::Sfence, origin(function));
    0
}

pub(crate) unsafe fn sync_file(file: u8) -> isize {
    sync(slot(file), length(file), Builtin::fsync)
}

pub(crate) unsafe fn unlink(path: &[u8]) -> isize {
    match find(path, Builtin::unlink) {
        Found::Exists(file) => {
            set_length(file, 0, Builtin::unlink);
            set_word(
                entry(file),
                window::file_state(path, FILE_REMOVED),
                Builtin::unlink,
            );
            0
        }
        _ => error(libc::ENOENT),
    }
}

pub(crate) unsafe fn rename(from: &[u8], to: &[u8]) -> isize {
    let Found::Exists(file) = find(from, Builtin::rename) else {
        return error(libc::ENOENT);
    };
    if let Found::Exists(replaced) = find(to, Builtin::rename) {
        if replaced == file {
            return 0;
        }
        set_word(
            entry(replaced),
            window::file_state(to, FILE_REMOVED),
            Builtin::rename,
        );
    }
    set_path(file, to, Builtin::rename);
    set_word(
        entry(file),
        window::file_state(to, FILE_EXISTS),
        Builtin::rename,
    );
    0
}

/// Fills a `struct stat` the same way in every run.
pub(crate) unsafe fn stat(file: u8, to: *mut libc::stat) {
    bytes::fill(to as *mut u8, 0, size_of::<libc::stat>());
    (*to).st_dev = 1;
    (*to).st_ino = file as u64 + 1;
    (*to).st_mode = libc::S_IFREG | 0o666;
    (*to).st_nlink = 1;
    (*to).st_uid = sys::call(libc::SYS_getuid, []) as u32;
    (*to).st_gid = sys::call(libc::SYS_getgid, []) as u32;
    (*to).st_size = length(file) as i64;
    (*to).st_blksize = 4096;
    (*to).st_blocks = (length(file) as i64 + 511) / 512;
}

pub(crate) unsafe fn stat_path(path: &[u8], to: *mut libc::stat) -> isize {
    match find(path, Builtin::open) {
        Found::Exists(file) => {
            if !to.is_null() {
                stat(file, to);
            }
            0
        }
        _ => error(libc::ENOENT),
    }
}
