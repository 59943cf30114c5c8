//! System calls on descriptors: reading, writing, locking, duplicating. What a descriptor stands for decides.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::files::descriptors::{self, COUNT, Kind};
use crate::files::holders;
use crate::files::overlay;
use crate::files::pool;
use crate::files::pool_io;
use crate::memory::limits;
use crate::memory::own::Scratch;
use crate::memory::shadow::view;
use crate::syscalls::calls::{alters_kernel, as_it_is};
use crate::syscalls::channels;
use crate::syscalls::clock;
use crate::syscalls::dispatch::{Call, caller, refuse};
use crate::syscalls::error;
use crate::syscalls::paths;
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;
use libc::*;

/// Performs a call on a descriptor; `None` when this is none.
pub(crate) fn perform(call: &Call) -> Option<isize> {
    let [a, b, c, d, ..] = call.arguments;
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    let result = unsafe {
        match call.number {
            SYS_read => descriptors::read(a, b, c, -1),
            SYS_pread64 => positioned(d, |at| descriptors::read(a, b, c, at)),
            SYS_write => write(call, a, b, c, -1),
            SYS_pwrite64 => positioned(d, |at| write(call, a, b, c, at)),
            SYS_readv | SYS_writev => vectored(call, -1),
            SYS_preadv | SYS_pwritev => positioned(d, |at| vectored(call, at)),
            SYS_preadv2 | SYS_pwritev2 => vectored(call, d as i64),
            SYS_sendfile => copied(call, (b, c), (a, 0), d),
            SYS_copy_file_range => copied(call, (a, b), (c, d), call.arguments[4]),
            SYS_splice | SYS_tee | SYS_vmsplice => {
                if descriptors::kind(a) != Kind::Real || descriptors::kind(c) != Kind::Real {
                    refuse(&[b"splice: landfall does not see what it moves"]);
                }
                alters_kernel(call);
                as_it_is(call)
            }
            SYS_lseek => match descriptors::kind(a) {
                Kind::Pool(file) => pool_io::seek(file, a, b as i64, c as i32),
                Kind::Input | Kind::Output(_) | Kind::Random | Kind::Channel(_) => error(ESPIPE),
                _ if a >= COUNT => error(EBADF),
                _ => {
                    crate::files::listings::forget(a);
                    sys::call(SYS_lseek, [a, b, c])
                }
            },
            SYS_close => close(call, a),
            SYS_close_range => {
                alters_kernel(call);
                let last = b.min(COUNT - 1);
                for fd in a..=last {
                    descriptors::set(fd, Kind::Real);
                }
                if a <= last {
                    sys::call(SYS_close_range, [a, last, c])
                } else {
                    0
                }
            }
            SYS_dup | SYS_dup2 | SYS_dup3 => {
                if call.number != SYS_dup && b < 3 {
                    alters_kernel(call);
                }
                if a >= COUNT {
                    return Some(error(EBADF));
                }
                duplicated(a, as_it_is(call))
            }
            SYS_fcntl => control(call),
            SYS_flock => lock(call, a, b as i32),
            SYS_ioctl => device_control(call),
            SYS_ftruncate => {
                if (b as isize) < 0 {
                    error(EINVAL)
                } else {
                    paths::resize(a, b)
                }
            }
            SYS_fallocate => match descriptors::kind(a) {
                Kind::Pool(_) if !pool::is_writable(a) => error(EBADF),
                Kind::Pool(file) => pool::allocate(file, b as i32, c as u64, d as u64),
                _ if a >= COUNT => error(EBADF),
                _ if !limits::take(d) => error(ENOSPC),
                _ => as_it_is(call),
            },
            SYS_fsync | SYS_fdatasync | SYS_sync_file_range => match descriptors::kind(a) {
                Kind::Pool(file) => pool::sync_file(file),
                _ => 0,
            },
            SYS_sync | SYS_syncfs => 0,
            SYS_fchmod => match descriptors::kind(a) {
                Kind::Overlay(number) => {
                    let inode = overlay::inode(number);
                    (*inode).mode = (*inode).mode & S_IFMT | b as u32 & 0o7777;
                    0
                }
                Kind::Disk => {
                    let mut place = crate::files::resolve::Place::new();
                    match place.of_descriptor(a) {
                        Ok(()) => crate::files::ordinary::set_mode(&place, b as u32),
                        Err(number) => number,
                    }
                }
                _ => 0,
            },
            SYS_fchown | SYS_fadvise64 | SYS_readahead => 0,
            _ => return None,
        }
    };
    Some(result)
}

fn positioned(at: usize, then: impl FnOnce(i64) -> isize) -> isize {
    if (at as i64) < 0 {
        error(EINVAL)
    } else {
        then(at as i64)
    }
}

/// # Safety
/// The program may read `from`, as far as it asks for.
unsafe fn write(call: &Call, fd: usize, from: usize, length: usize, at: i64) -> isize {
    if descriptors::kind(fd) == Kind::Real && descriptors::is_open(fd) {
        alters_kernel(call);
    }
    // SAFETY: what the caller promises.
    unsafe { descriptors::write(fd, from, length, at) }
}

fn vectored(call: &Call, mut at: i64) -> isize {
    let [fd, vector, count, ..] = call.arguments;
    if count > 1024 {
        return error(EINVAL);
    }
    let mut total = 0;
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        for i in 0..count {
            let entry = (vector as *const iovec).add(i);
            crate::libc::strings::seen(
                entry as *const u8,
                size_of::<iovec>(),
                Builtin::readv,
                caller(),
            );
            let part = view(entry).read_volatile();
            let (base, length) = (part.iov_base as usize, part.iov_len);
            let done = if matches!(call.number, SYS_readv | SYS_preadv | SYS_preadv2) {
                descriptors::read(fd, base, length, at)
            } else {
                write(call, fd, base, length, at)
            };
            if done < 0 {
                return if total > 0 { total } else { done };
            }
            total += done;
            if at >= 0 {
                at += done as i64;
            }
            if (done as usize) < length {
                break;
            }
        }
    }
    total
}

/// `sendfile` and `copy_file_range`: each side is a descriptor and the address of a position, or null.
fn copied(call: &Call, from: (usize, usize), to: (usize, usize), length: usize) -> isize {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        const MOST: usize = 64 << 10;
        let buffer = Scratch::new(MOST);
        let (read_at, write_at) = (position(from.1), position(to.1));
        let start = buffer.start() as usize;
        let got = descriptors::read(from.0, start, length.min(MOST), read_at);
        if got <= 0 {
            return got;
        }
        let put = write(call, to.0, start, got as usize, write_at);
        for ((_, place), at) in [(from, read_at), (to, write_at)] {
            if place != 0 && put > 0 {
                crate::syscalls::calls::store(place, at + put as i64);
            }
        }
        if from.1 == 0 && put < got {
            let back = put.max(0) - got;
            sys::call(SYS_lseek, [from.0, back as usize, SEEK_CUR as usize]);
        }
        put
    }
}

/// # Safety
/// The program may read `address`, as far as it asks for.
unsafe fn position(address: usize) -> i64 {
    // SAFETY: what the caller promises.
    unsafe {
        if address == 0 {
            -1
        } else {
            *(address as *const i64)
        }
    }
}

fn close(call: &Call, fd: usize) -> isize {
    if fd >= COUNT {
        return error(EBADF);
    }
    if fd < 3 {
        alters_kernel(call);
    }
    crate::files::listings::forget(fd);
    if holders::closes(fd) {
        return 0;
    }
    descriptors::close(fd)
}

fn duplicated(from: usize, to: isize) -> isize {
    if to >= 0 {
        descriptors::set(to as usize, descriptors::kind(from));
    }
    to
}

fn control(call: &Call) -> isize {
    const OFD_SETLK: usize = 37;
    const OFD_SETLKW: usize = 38;
    let [fd, command, argument, ..] = call.arguments;
    if fd >= COUNT {
        return error(EBADF);
    }
    if let Kind::Channel(number) = descriptors::kind(fd)
        && let Some(result) = channels::control(number.into(), command as i32, argument)
    {
        return result;
    }
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        match command as i32 {
            F_DUPFD | F_DUPFD_CLOEXEC => return duplicated(fd, as_it_is(call)),
            _ if command == OFD_SETLKW || command as i32 == F_SETLKW => {
                let once = if command == OFD_SETLKW {
                    OFD_SETLK
                } else {
                    F_SETLK as usize
                };
                let got = sys::raw(SYS_fcntl, [fd, once, argument]);
                if got == error(EAGAIN) || got == error(EACCES) {
                    clock::wait_forever(b"a file lock", call.context);
                    return error(EINTR);
                }
                return got;
            }
            _ => {}
        }
    }
    match (descriptors::kind(fd), command as i32) {
        // Shared with every other run of this server: answered, not changed.
        (Kind::Input, F_GETFL) => O_RDONLY as isize,
        (Kind::Output(_), F_GETFL) => O_WRONLY as isize,
        (Kind::Input | Kind::Output(_), F_SETFL | F_SETFD) => 0,
        _ => as_it_is(call),
    }
}

fn lock(call: &Call, fd: usize, operation: i32) -> isize {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        match descriptors::kind(fd) {
            // A lock on the disk would be shared with other runs.
            Kind::Disk => 0,
            _ if fd >= COUNT => error(EBADF),
            _ => {
                let got = sys::call(SYS_flock, [fd, (operation | LOCK_NB) as usize]);
                if got == error(EWOULDBLOCK) && operation & LOCK_NB == 0 {
                    clock::wait_forever(b"a file lock", call.context);
                    return error(EINTR);
                }
                got
            }
        }
    }
}

fn device_control(call: &Call) -> isize {
    const HARMLESS: [usize; 4] = [0x5450, 0x5451, 0x5421, 0x541b]; // FIONCLEX FIOCLEX FIONBIO FIONREAD
    let [fd, request, argument, ..] = call.arguments;
    if let Kind::Channel(number) = descriptors::kind(fd) {
        // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
        let result = unsafe { channels::device_control(number.into(), request, argument) };
        return result.unwrap_or_else(|| as_it_is(call));
    }
    match descriptors::kind(fd) {
        Kind::Real if fd < COUNT => as_it_is(call),
        Kind::Disk | Kind::Overlay(_) if HARMLESS.contains(&(request & 0xffff_ffff)) => {
            as_it_is(call)
        }
        _ if fd >= COUNT => error(EBADF),
        _ => error(ENOTTY),
    }
}
