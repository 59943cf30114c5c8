//! Reading and writing pool files through descriptors: the slot is the file, the memfd behind the descriptor its position.

use crate::files::{error, length as length_of, origin, set_length, slot};
use crate::hooks;
use crate::state::state;
use crate::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::window::{self, FILE_SLOT};

unsafe fn position(fd: usize, at: i64) -> u64 {
    if at >= 0 {
        at as u64
    } else {
        sys::call(libc::SYS_lseek, [fd, 0, libc::SEEK_CUR as usize]) as u64
    }
}

pub(crate) unsafe fn seek(file: u8, fd: usize, offset: i64, whence: i32) -> isize {
    if whence == libc::SEEK_END {
        return sys::call(
            libc::SYS_lseek,
            [
                fd,
                (length_of(file) as i64 + offset) as usize,
                libc::SEEK_SET as usize,
            ],
        );
    }
    sys::call(libc::SYS_lseek, [fd, offset as usize, whence as usize])
}

pub(crate) unsafe fn read(file: u8, fd: usize, to: usize, length: usize, at: i64) -> isize {
    let from = position(fd, at);
    let length = length.min(length_of(file).saturating_sub(from) as usize);
    if length > 0 {
        (*state()).mapped_files |= 1 << file;
        hooks::copy(
            to as *mut u8,
            (window::BASE + slot(file) + from) as *const u8,
            length,
            0,
            origin(Builtin::read),
        );
        if at < 0 {
            sys::call(libc::SYS_lseek, [fd, length, libc::SEEK_CUR as usize]);
        }
    }
    length as isize
}

/// Writing a pool file: stores that `fsync` writes back.
pub(crate) unsafe fn write(file: u8, fd: usize, from: usize, length: usize, at: i64) -> isize {
    let start = position(fd, at);
    let end = start + length as u64;
    if end > FILE_SLOT {
        return error(libc::EFBIG);
    }
    if end > length_of(file) {
        set_length(file, end, Builtin::write);
    }
    if length > 0 {
        (*state()).mapped_files |= 1 << file;
        hooks::copy(
            (window::BASE + slot(file) + start) as *mut u8,
            from as *const u8,
            length,
            0,
            origin(Builtin::write),
        );
        if at < 0 {
            sys::call(libc::SYS_lseek, [fd, length, libc::SEEK_CUR as usize]);
        }
    }
    length as isize
}
