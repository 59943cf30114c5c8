//! Ordinary files of a run. The disk is only ever read: what a run creates, changes, renames or removes lives in this overlay,
//! as names and inodes in memory of the run, and is gone when the run is. Contents are memory files (memfd), so the kernel does
//! positions, appending, mapping and locking; each stays reachable through a descriptor the program cannot see.

use crate::memory::bytes;
use crate::memory::own::place;
use crate::run::outcome;
use crate::state::{run, server};
use crate::syscalls::dispatch::refuse;
use crate::syscalls::sys;
use core::cell::Cell;
use landfall_vocab::digest;

const NAMES: usize = 1 << 14;
const INODES: usize = 1 << 12;
/// Descriptors of the program end here; the overlay's own begin here. The hard limit of a server leaves room for both.
pub(crate) const FIRST_HOLDER: usize = 1024;
const LAST_HOLDER: usize = 2048;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    File,
    Directory,
    Symlink,
}

/// A file of the overlay, whatever its names.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Inode {
    pub(crate) kind: Type,
    /// A directory whose entries on disk are not to be seen.
    opaque: bool,
    /// Keeps the contents of a file.
    pub(crate) holder: i32,
    pub(crate) mode: u32,
    pub(crate) links: u32,
    /// Seconds of virtual time.
    pub(crate) modified: u64,
    /// What `stat` says: of the file it was copied from, or made up.
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// The target of a link, the path of a directory.
    text: *const u8,
    text_length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Name {
    hash: u64,
    path: *const u8,
    length: usize,
    /// Zero: removed.
    inode: usize,
}

/// How much of the overlay's memory a run uses; zero is an empty one. The descriptors are closed with the run's.
#[repr(C)]
pub(crate) struct Overlay {
    names: Cell<usize>,
    inodes: Cell<usize>,
    text: Cell<usize>,
}

impl Overlay {
    pub(crate) fn is_empty(&self) -> bool {
        self.names.get() == 0 && self.inodes.get() == 0 && self.text.get() == 0
    }
}

/// What the overlay says about a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Inode(usize),
    /// It was removed, or lies below something that was.
    Hidden,
    /// Nothing: the disk decides.
    Disk,
}

fn names() -> *mut Name {
    place::OVERLAY as *mut Name
}

const INODES_AT: usize = place::OVERLAY + NAMES * size_of::<Name>();
const TEXT_AT: usize = INODES_AT + INODES * size_of::<Inode>();

pub(crate) fn inode(number: usize) -> *mut Inode {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe { (INODES_AT as *mut Inode).add(number) }
}

fn keep(text: &[u8]) -> *const u8 {
    let overlay = &run().overlay;
    let to = (TEXT_AT + overlay.text.get()) as *mut u8;
    if overlay.text.get() + text.len() > place::OVERLAY_LEN - (TEXT_AT - place::OVERLAY) {
        refuse(&[b"the program uses more file names than landfall keeps"]);
    }
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe { bytes::copy(to, text.as_ptr(), text.len()) };
    overlay.text.set(overlay.text.get() + text.len());
    to
}

fn named(hash: u64, path: &[u8]) -> Option<*mut Name> {
    let count = run().overlay.names.get();
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        (0..count).map(|i| names().add(i)).find(|name| {
            (**name).hash == hash
                && (**name).length == path.len()
                && bytes::equal((**name).path, path.as_ptr(), path.len())
        })
    }
}

/// Looks up a canonical absolute path.
pub(crate) fn find(path: &[u8]) -> Found {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        if run().overlay.names.get() == 0 {
            return Found::Disk;
        }
        let mut hash = digest::NOTHING;
        for (at, byte) in path.iter().enumerate() {
            if *byte == b'/'
                && at > 0
                && let Some(name) = named(hash, &path[..at])
                && ((*name).inode == 0 || hides((*name).inode))
            {
                // Below what is gone or new, only names of the overlay exist.
                return match exact(path) {
                    Some(name) if (*name).inode != 0 => Found::Inode((*name).inode),
                    _ => Found::Hidden,
                };
            }
            hash = digest::with(hash, u64::from(*byte));
        }
        match named(hash, path) {
            Some(name) if (*name).inode == 0 => Found::Hidden,
            Some(name) => Found::Inode((*name).inode),
            None => Found::Disk,
        }
    }
}

fn hides(number: usize) -> bool {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe { (*inode(number)).kind != Type::Directory || (*inode(number)).opaque }
}

fn exact(path: &[u8]) -> Option<*mut Name> {
    named(digest::of(path), path)
}

/// Gives a path to an inode, or (zero) removes it.
pub(crate) fn set(path: &[u8], number: usize) {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        let overlay = &run().overlay;
        let hash = digest::of(path);
        if let Some(name) = named(hash, path) {
            (*name).inode = number;
            return;
        }
        if overlay.names.get() == NAMES {
            refuse(&[b"the program uses more file names than landfall keeps"]);
        }
        prepare();
        *names().add(overlay.names.get()) = Name {
            hash,
            path: keep(path),
            length: path.len(),
            inode: number,
        };
        overlay.names.set(overlay.names.get() + 1);
    }
}

fn prepare() {
    if !server().overlay_mapped.get() {
        if sys::map(place::OVERLAY, place::OVERLAY_LEN).is_none() {
            outcome::internal(b"no memory for the files of a run", 0);
        }
        server().overlay_mapped.set(true);
    }
}

/// A new inode. Numbers start at one.
fn add(kind: Type, mode: u32) -> usize {
    let overlay = &run().overlay;
    prepare();
    if overlay.inodes.get() + 1 == INODES {
        refuse(&[b"the program creates more files than landfall keeps"]);
    }
    overlay.inodes.set(overlay.inodes.get() + 1);
    let number = overlay.inodes.get();
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        *inode(number) = Inode {
            kind,
            opaque: true,
            holder: -1,
            mode,
            links: 1,
            modified: crate::syscalls::clock::seconds(),
            device: 2,
            number: 1_000_000 + number as u64,
            text: core::ptr::null(),
            text_length: 0,
        }
    };
    number
}

/// A new empty file.
pub(crate) fn new_file(mode: u32) -> usize {
    let number = add(Type::File, mode & 0o7777 | libc::S_IFREG);
    let fd = sys::call(
        libc::SYS_memfd_create,
        [c"file".as_ptr() as usize, libc::MFD_CLOEXEC as usize],
    );
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe { (*inode(number)).holder = hold(fd) };
    number
}

pub(crate) fn new_directory(path: &[u8], mode: u32) -> usize {
    let number = add(Type::Directory, mode & 0o7777 | libc::S_IFDIR);
    set_text(number, path);
    number
}

pub(crate) fn new_link(target: &[u8]) -> usize {
    let number = add(Type::Symlink, 0o777 | libc::S_IFLNK);
    set_text(number, target);
    number
}

fn set_text(number: usize, text: &[u8]) {
    let kept = keep(text);
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe { ((*inode(number)).text, (*inode(number)).text_length) = (kept, text.len()) };
}

/// The target of a link, the path of a directory.
pub(crate) fn text<'a>(number: usize) -> &'a [u8] {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        let inode = inode(number);
        if (*inode).text.is_null() {
            return b"";
        }
        core::slice::from_raw_parts((*inode).text, (*inode).text_length)
    }
}

/// Moves a descriptor out of the program's reach.
pub(crate) fn hold(fd: isize) -> i32 {
    run().opened.set(true);
    let mut limit = libc::rlimit {
        rlim_cur: LAST_HOLDER as u64,
        rlim_max: LAST_HOLDER as u64,
    };
    let set = |limit: *const libc::rlimit| {
        sys::call(
            libc::SYS_setrlimit,
            [libc::RLIMIT_NOFILE as usize, limit as usize],
        )
    };
    set(&raw const limit);
    let duplicate = libc::F_DUPFD_CLOEXEC as usize;
    // SAFETY: this operation takes numbers.
    let held = unsafe { sys::raw(libc::SYS_fcntl, [fd as usize, duplicate, FIRST_HOLDER]) };
    limit.rlim_cur = FIRST_HOLDER as u64;
    set(&raw const limit);
    if fd >= 0 {
        sys::call(libc::SYS_close, [fd as usize]);
    }
    if held < 0 {
        refuse(&[b"the program writes to more than a thousand files in one run"]);
    }
    held as i32
}

/// Makes an inode of what is on disk, so that it can be changed. `about` is its `lstat`.
pub(crate) fn copy_up(path: &[u8], about: &libc::stat) -> Result<usize, isize> {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        let number = match about.st_mode & libc::S_IFMT {
            libc::S_IFREG => copy_file(path, about)?,
            libc::S_IFDIR => {
                let number = new_directory(path, about.st_mode);
                (*inode(number)).opaque = false;
                number
            }
            libc::S_IFLNK => {
                let target = crate::memory::own::Scratch::new(4096);
                let got = sys::raw(
                    libc::SYS_readlink,
                    [path.as_ptr() as usize, target.start() as usize, 4096],
                );
                if got < 0 {
                    return Err(got);
                }
                new_link(core::slice::from_raw_parts(target.start(), got as usize))
            }
            _ => refuse(&[b"the program changes a device or a pipe in the file system"]),
        };
        let inode = inode(number);
        (*inode).mode = about.st_mode;
        ((*inode).device, (*inode).number) = (about.st_dev, about.st_ino);
        (*inode).modified = about.st_mtime as u64;
        set(path, number);
        crate::files::ordinary::now_copied(number);
        Ok(number)
    }
}

fn copy_file(path: &[u8], about: &libc::stat) -> Result<usize, isize> {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        if !crate::memory::limits::take(about.st_size as usize) {
            refuse(&[b"the program changes a file too large to copy"]);
        }
        let from = sys::call(
            libc::SYS_open,
            [
                path.as_ptr() as usize,
                (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW) as usize,
            ],
        );
        if from < 0 {
            return Err(from);
        }
        let number = new_file(about.st_mode);
        let to = (*inode(number)).holder as usize;
        loop {
            let got = sys::raw(libc::SYS_sendfile, [to, from as usize, 0, 1 << 30]);
            if got <= 0 {
                sys::call(libc::SYS_close, [from as usize]);
                sys::call(libc::SYS_lseek, [to, 0, libc::SEEK_SET as usize]);
                return if got < 0 { Err(got) } else { Ok(number) };
            }
        }
    }
}

/// A descriptor of its own for the contents of a file.
pub(crate) fn reopen(holder: i32, flags: i32) -> isize {
    let mut path = *b"/proc/self/fd/\0\0\0\0\0\0\0\0";
    let mut digits = [0u8; 20];
    let digits = bytes::decimal(holder as u64, &mut digits);
    // SAFETY: there is room for seven digits.
    unsafe {
        bytes::copy(
            path.as_mut_ptr().add(14),
            digits.as_ptr(),
            digits.len().min(7),
        )
    };
    let kept = libc::O_ACCMODE | libc::O_APPEND | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_PATH;
    sys::call(
        libc::SYS_open,
        [path.as_ptr() as usize, (flags & kept) as usize],
    )
}

/// The entries the overlay has directly in a directory: last part of the path, inode (zero: removed).
pub(crate) fn children(directory: &[u8], mut each: impl FnMut(&[u8], usize)) {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        for i in 0..run().overlay.names.get() {
            let name = names().add(i);
            let path = core::slice::from_raw_parts((*name).path, (*name).length);
            if let Some(last) = below(directory, path)
                && !last.contains(&b'/')
            {
                each(last, (*name).inode);
            }
        }
    }
}

/// The part of `path` below `directory`.
pub(crate) fn below<'a>(directory: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    let start = if directory.len() == 1 {
        0
    } else {
        directory.len()
    };
    let inside =
        path.len() > start + 1 && path[start] == b'/' && bytes::starts(path, &directory[..start]);
    inside.then(|| &path[start + 1..])
}

/// Is nothing of this directory on disk to be seen?
pub(crate) fn is_opaque(number: usize) -> bool {
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe { (*inode(number)).opaque }
}

/// Renames a directory of the overlay with all it holds.
pub(crate) fn move_directory(number: usize, from: &[u8], to: &[u8]) {
    let buffer = crate::memory::own::Scratch::new(8192);
    // SAFETY: names and inodes up to the run's counts are in the overlay's memory, which is never unmapped.
    unsafe {
        for i in 0..run().overlay.names.get() {
            let name = names().add(i);
            let path = core::slice::from_raw_parts((*name).path, (*name).length);
            let Some(rest) = below(from, path) else {
                continue;
            };
            let moved = (*name).inode;
            if moved == 0 || to.len() + 1 + rest.len() > 8192 {
                continue;
            }
            bytes::copy(buffer.start(), to.as_ptr(), to.len());
            *buffer.start().add(to.len()) = b'/';
            bytes::copy(buffer.start().add(to.len() + 1), rest.as_ptr(), rest.len());
            let new = core::slice::from_raw_parts(buffer.start(), to.len() + 1 + rest.len());
            (*name).inode = 0;
            set(new, moved);
            if (*inode(moved)).kind == Type::Directory {
                set_text(moved, new);
            }
        }
    }
    set(from, 0);
    set(to, number);
    set_text(number, to);
}
