//! Which paths of the program are pool files, and the system calls that take paths.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::bytes;
use crate::descriptors::{self, Kind};
use crate::dispatch::Call;
use crate::files;
use crate::state::{running, state};
use crate::sys;
use crate::syscalls::{altering, as_it_is};
use core::mem::MaybeUninit;
use libc::*;

/// Room for an absolute path; not cleared, because clearing would call a `memset` that may be the program's.
type PathBuffer = MaybeUninit<[u8; 4096]>;

/// A path inside `--pm-dir`, relative to it; `None` for every other path.
unsafe fn inside(path: *const u8, buffer: &mut PathBuffer) -> Option<&[u8]> {
    let control = (*state()).control;
    if control.is_null() || (*control).pm_dir_len == 0 || path.is_null() || !running() {
        return None;
    }
    let start = buffer.as_mut_ptr() as *mut u8;
    let mut at = 0;
    if *path != b'/' {
        let got = sys::call(libc::SYS_getcwd, [start as usize, 4096]);
        if got <= 1 {
            return None;
        }
        at = got as usize - 1;
    }
    at = normalise(start, at, bytes::text(path, 4095))?;
    let directory = (*control).pm_dir_len as usize;
    let below = at > directory + 1
        && *start.add(directory) == b'/'
        && bytes::equal(
            start,
            (&raw const (*control).pm_dir) as *const u8,
            directory,
        );
    below.then(|| core::slice::from_raw_parts(start.add(directory + 1), at - directory - 1))
}

/// Appends `path` to the absolute path of length `at`, resolving `.` and `..` by name.
unsafe fn normalise(buffer: *mut u8, mut at: usize, path: &[u8]) -> Option<usize> {
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                while at > 0 && *buffer.add(at - 1) != b'/' {
                    at -= 1;
                }
                at = at.saturating_sub(1);
            }
            part => {
                if at + 1 + part.len() > size_of::<PathBuffer>() {
                    return None;
                }
                *buffer.add(at) = b'/';
                bytes::copy(buffer.add(at + 1), part.as_ptr(), part.len());
                at += 1 + part.len();
            }
        }
    }
    Some(at)
}

pub(crate) unsafe fn on_path(call: &Call, path: usize, pool: impl FnOnce(&[u8]) -> isize) -> isize {
    let mut buffer = PathBuffer::uninit();
    match inside(path as *const u8, &mut buffer) {
        Some(path) => pool(path),
        None => as_it_is(call),
    }
}

pub(crate) unsafe fn changing_path(
    call: &Call,
    path: usize,
    pool: impl FnOnce(&[u8]) -> isize,
) -> isize {
    let mut buffer = PathBuffer::uninit();
    match inside(path as *const u8, &mut buffer) {
        Some(path) => pool(path),
        None => altering(call),
    }
}

pub(crate) unsafe fn rename(call: &Call, from: usize, to: usize) -> isize {
    let (mut old, mut new) = (PathBuffer::uninit(), PathBuffer::uninit());
    let old = inside(from as *const u8, &mut old);
    let new = inside(to as *const u8, &mut new);
    match (old, new) {
        (Some(old), Some(new)) => files::rename(old, new),
        (None, None) => altering(call),
        _ => -(EXDEV as isize),
    }
}

pub(crate) unsafe fn open(
    call: &Call,
    directory: usize,
    path: usize,
    flags: i32,
    _mode: usize,
) -> isize {
    let mut buffer = PathBuffer::uninit();
    let absolute = path != 0 && *(path as *const u8) == b'/';
    if (absolute || directory as i32 == AT_FDCWD)
        && let Some(pool) = inside(path as *const u8, &mut buffer)
    {
        return files::open(pool, flags);
    }
    let name = crate::bytes::text(path as *const u8, 64);
    (*state()).opened = true;
    let fd = if flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) == 0 {
        as_it_is(call)
    } else {
        open_writing(call, name)
    };
    if fd >= 0 && (name == b"/dev/urandom" || name == b"/dev/random") {
        descriptors::set(fd as usize, Kind::Random);
    }
    fd
}

pub(crate) unsafe fn open_writing(call: &Call, name: &[u8]) -> isize {
    if name == b"/dev/null" {
        as_it_is(call)
    } else {
        altering(call)
    }
}

pub(crate) unsafe fn stat_descriptor(call: &Call, fd: usize, to: usize) -> isize {
    match descriptors::kind(fd) {
        Kind::Pool(file) => {
            files::stat(file, to as *mut stat);
            0
        }
        _ => as_it_is(call),
    }
}
