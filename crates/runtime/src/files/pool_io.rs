//! Reading and writing pool files through descriptors: the slot is the file, the memfd behind the descriptor its position.

use crate::files::pool::{is_writable, length as length_of, set_length, slot};
use crate::files::reach::{Reach, reach, withdraw};
use crate::memory::accesses;
use crate::syscalls::dispatch::origin;
use crate::syscalls::error;
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::window::{self, FILE_SLOT};

fn position(fd: usize, at: i64) -> u64 {
    if at >= 0 {
        at as u64
    } else {
        sys::call(libc::SYS_lseek, [fd, 0, libc::SEEK_CUR as usize]) as u64
    }
}

pub(crate) fn seek(file: u8, fd: usize, offset: i64, whence: i32) -> isize {
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

/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn read(file: u8, fd: usize, to: usize, length: usize, at: i64) -> isize {
    let access = sys::access_mode(fd);
    if access == libc::O_WRONLY {
        return error(libc::EBADF);
    }
    let from = position(fd, at);
    let length = length.min(length_of(file).saturating_sub(from) as usize);
    // SAFETY: what the caller promises.
    unsafe {
        if length > 0 {
            reach(Reach::reading(file));
            accesses::copy(
                to as *mut u8,
                (window::BASE + slot(file) + from) as *const u8,
                length,
                0,
                origin(Builtin::read),
            );
            withdraw();
            if at < 0 {
                sys::call(libc::SYS_lseek, [fd, length, libc::SEEK_CUR as usize]);
            }
        }
    }
    length as isize
}

/// Writing a pool file: stores that `fsync` writes back.
///
/// # Safety
/// The program may read `from`, as far as it asks for.
pub(crate) unsafe fn write(file: u8, fd: usize, from: usize, length: usize, at: i64) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        if !is_writable(fd) {
            return error(libc::EBADF);
        }
        let appending = sys::fcntl(fd, libc::F_GETFL, 0) as i32 & libc::O_APPEND;
        let start = if appending != 0 {
            length_of(file)
        } else {
            position(fd, at)
        };
        // What cannot be read is not written, and the file does not grow.
        for page in (from..from.saturating_add(length)).step_by(window::PAGE as usize) {
            (page as *const u8).read_volatile();
        }
        let end = start.saturating_add(length as u64);
        if end > FILE_SLOT {
            return error(libc::EFBIG);
        }
        if end > length_of(file) {
            set_length(file, end, Builtin::write);
        }
        if length > 0 {
            reach(Reach::writing(file));
            accesses::copy(
                (window::BASE + slot(file) + start) as *mut u8,
                from as *const u8,
                length,
                0,
                origin(Builtin::write),
            );
            withdraw();
            if at < 0 {
                sys::call(libc::SYS_lseek, [fd, end as usize, libc::SEEK_SET as usize]);
            }
        }
        length as isize
    }
}
