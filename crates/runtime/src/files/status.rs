//! `stat` and its kin: the same answers in every run. Times of access are left out (reading a file changes them), and what the
//! kernel makes up for its own file systems is made up here.

use crate::channels::{Form, channel};
use crate::files::descriptors::{self, Kind};
use crate::files::ordinary::on_disk;
use crate::files::overlay::{self, Type};
use crate::files::pool;
use crate::files::resolve::{Place, Where};
use crate::files::special;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::syscalls::clock;
use crate::syscalls::error;
use crate::syscalls::sys;
use core::mem::MaybeUninit;
use libc::*;

/// Fills in what `stat` says about a place; an error number or zero.
///
/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn of_place(place: &Place, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        match place.whereabouts() {
            Where::Pool(path) => pool::about(path, to),
            Where::Hidden => error(ENOENT),
            Where::Inode(number) => of_inode(number, to),
            Where::Disk => {
                let got = on_disk(place, to);
                if got == 0 && special::made_up(place.path()) {
                    ((*to).st_ino, (*to).st_dev, (*to).st_mtime) = (1, 3, clock::START as i64);
                    (*to).st_mtime_nsec = 0;
                }
                settle(to);
                got
            }
        }
    }
}

/// Does away with what changes by itself.
///
/// # Safety
/// `to` has room for all of it.
unsafe fn settle(to: *mut stat) {
    // SAFETY: what the caller promises.
    unsafe {
        ((*to).st_atime, (*to).st_atime_nsec) = ((*to).st_mtime, (*to).st_mtime_nsec);
        ((*to).st_ctime, (*to).st_ctime_nsec) = ((*to).st_mtime, (*to).st_mtime_nsec);
    }
}

/// # Safety
/// `to` has room for all of it.
unsafe fn clear(to: *mut stat) {
    // SAFETY: what the caller promises.
    unsafe {
        bytes::fill(to as *mut u8, 0, size_of::<stat>());
        (*to).st_uid = sys::call(SYS_getuid, []) as u32;
        (*to).st_gid = sys::call(SYS_getgid, []) as u32;
        (*to).st_blksize = 4096;
        (*to).st_nlink = 1;
    }
}

/// # Safety
/// `to` has room for all of it.
unsafe fn of_inode(number: usize, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let inode = overlay::inode(number);
        let size = if (*inode).kind == Type::File {
            sys::raw(SYS_fstat, [(*inode).holder as usize, to as usize]);
            (*to).st_size
        } else {
            overlay::text(number).len() as i64
        };
        clear(to);
        (*to).st_size = size;
        (*to).st_blocks = (size + 511) / 512;
        (*to).st_mode = (*inode).mode;
        (*to).st_nlink = (*inode).links as u64;
        ((*to).st_dev, (*to).st_ino) = ((*inode).device, (*inode).number);
        (*to).st_mtime = (*inode).modified as i64;
        settle(to);
        0
    }
}

/// A pool file or directory of the given length.
///
/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn of_pool(number: u64, kind: u32, length: u64, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        clear(to);
        ((*to).st_dev, (*to).st_ino, (*to).st_mode) = (1, number + 1, kind);
        (*to).st_size = length as i64;
        (*to).st_blocks = (length as i64 + 511) / 512;
        0
    }
}

/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn of_descriptor(fd: usize, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        match descriptors::kind(fd) {
            Kind::Pool(file) => pool::about_slot(file, to),
            Kind::Overlay(number) => of_inode(number, to),
            Kind::Input | Kind::Output(_) => {
                // Something that is no terminal and has no position: a pipe.
                clear(to);
                ((*to).st_dev, (*to).st_ino, (*to).st_mode) = (3, fd as u64 + 1, S_IFIFO | 0o600);
                0
            }
            Kind::Channel(number) => {
                clear(to);
                let is_pipe = matches!(
                    channel(number.into()).form.get(),
                    Form::PipeInlet | Form::PipeOutlet
                );
                let kind = if is_pipe { S_IFIFO } else { S_IFSOCK };
                ((*to).st_dev, (*to).st_ino, (*to).st_mode) =
                    (3, u64::from(number) + 1, kind | 0o600);
                0
            }
            _ if fd >= descriptors::COUNT => error(EBADF),
            kind => {
                let got = sys::raw(SYS_fstat, [fd, to as usize]);
                if kind == Kind::Real {
                    // Pipes, sockets and the like: numbered by the kernel as they come.
                    ((*to).st_ino, (*to).st_dev) = (fd as u64 + 1, 3);
                    ((*to).st_mtime, (*to).st_mtime_nsec) = (clock::START as i64, 0);
                }
                settle(to);
                got
            }
        }
    }
}

/// Hands a `stat` to the program.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn give(to: usize, fill: impl FnOnce(*mut stat) -> isize) -> isize {
    let about = Scratch::new(size_of::<stat>());
    let got = fill(about.start() as *mut stat);
    // SAFETY: what the caller promises.
    unsafe {
        if got == 0 {
            descriptors::give(to, about.start(), size_of::<stat>());
        }
    }
    got
}

/// What `stat` says, as a `statx`.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn give_extended(to: usize, fill: impl FnOnce(*mut stat) -> isize) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let scratch = Scratch::new(size_of::<stat>());
        let about = scratch.start() as *mut stat;
        let got = fill(about);
        if got != 0 {
            return got;
        }
        let about = &*about;
        let mut extended = MaybeUninit::<statx>::uninit();
        bytes::fill(extended.as_mut_ptr() as *mut u8, 0, size_of::<statx>());
        let extended = extended.assume_init_mut();
        extended.stx_mask = STATX_BASIC_STATS;
        extended.stx_blksize = about.st_blksize as u32;
        extended.stx_nlink = about.st_nlink as u32;
        (extended.stx_uid, extended.stx_gid) = (about.st_uid, about.st_gid);
        extended.stx_mode = about.st_mode as u16;
        extended.stx_ino = about.st_ino;
        extended.stx_size = about.st_size as u64;
        extended.stx_blocks = about.st_blocks as u64;
        for time in [
            &mut extended.stx_atime,
            &mut extended.stx_mtime,
            &mut extended.stx_ctime,
        ] {
            (time.tv_sec, time.tv_nsec) = (about.st_mtime, about.st_mtime_nsec as u32);
        }
        (extended.stx_dev_major, extended.stx_dev_minor) =
            (major(about.st_dev), minor(about.st_dev));
        (extended.stx_rdev_major, extended.stx_rdev_minor) =
            (major(about.st_rdev), minor(about.st_rdev));
        descriptors::give(
            to,
            extended as *const statx as *const u8,
            size_of::<statx>(),
        );
        0
    }
}

/// `statfs`: a file system in memory with room, whatever the disk has.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn give_file_system(to: usize) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        const TMPFS: i64 = 0x0102_1994;
        let mut about = MaybeUninit::<statfs>::uninit();
        bytes::fill(about.as_mut_ptr() as *mut u8, 0, size_of::<statfs>());
        let about = about.assume_init_mut();
        (about.f_type, about.f_bsize, about.f_frsize) = (TMPFS, 4096, 4096);
        (about.f_blocks, about.f_bfree, about.f_bavail) = (1 << 22, 1 << 21, 1 << 21);
        (about.f_files, about.f_ffree, about.f_namelen) = (1 << 20, 1 << 19, 255);
        descriptors::give(to, about as *const statfs as *const u8, size_of::<statfs>());
        0
    }
}
