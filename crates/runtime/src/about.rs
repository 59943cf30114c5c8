//! `stat` and its kin: the same answers in every run. Times of access are left out (reading a file changes them), and what the
//! kernel makes up for its own file systems is made up here.

use crate::bytes;
use crate::clock;
use crate::descriptors::{self, Kind};
use crate::files;
use crate::ordinary::on_disk;
use crate::overlay::{self, Type};
use crate::special;
use crate::sys;
use crate::walk::{Place, Where};
use core::mem::MaybeUninit;
use libc::*;

const fn error(number: i32) -> isize {
    -(number as isize)
}

pub(crate) unsafe fn of_place(place: &Place) -> Result<stat, isize> {
    match place.whereabouts() {
        Where::Pool(path) => files::about(path),
        Where::Hidden => Err(error(ENOENT)),
        Where::Inode(number) => Ok(of_inode(number)),
        Where::Disk => {
            let mut about = on_disk(place)?;
            if special::made_up(place.path()) {
                (about.st_ino, about.st_dev, about.st_mtime) = (1, 3, clock::START as i64);
                about.st_mtime_nsec = 0;
            }
            Ok(settled(about))
        }
    }
}

/// Without what changes by itself.
fn settled(mut about: stat) -> stat {
    (about.st_atime, about.st_atime_nsec) = (about.st_mtime, about.st_mtime_nsec);
    (about.st_ctime, about.st_ctime_nsec) = (about.st_mtime, about.st_mtime_nsec);
    about
}

unsafe fn empty() -> stat {
    let mut about = MaybeUninit::<stat>::uninit();
    bytes::fill(about.as_mut_ptr() as *mut u8, 0, size_of::<stat>());
    let mut about = about.assume_init();
    about.st_uid = sys::call(SYS_getuid, []) as u32;
    about.st_gid = sys::call(SYS_getgid, []) as u32;
    about.st_blksize = 4096;
    about.st_nlink = 1;
    about
}

unsafe fn of_inode(number: usize) -> stat {
    let inode = overlay::inode(number);
    let mut about = empty();
    if (*inode).kind == Type::File {
        let mut kernel = MaybeUninit::<stat>::uninit();
        if sys::call(
            SYS_fstat,
            [(*inode).holder as usize, kernel.as_mut_ptr() as usize],
        ) == 0
        {
            about.st_size = (*kernel.as_ptr()).st_size;
        }
    } else {
        about.st_size = overlay::text(number).len() as i64;
    }
    about.st_blocks = (about.st_size + 511) / 512;
    about.st_mode = (*inode).mode;
    about.st_nlink = (*inode).links as u64;
    (about.st_dev, about.st_ino) = ((*inode).device, (*inode).number);
    about.st_mtime = (*inode).modified as i64;
    settled(about)
}

/// A pool file or directory of the given length.
pub(crate) unsafe fn of_pool(number: u64, kind: u32, length: u64) -> stat {
    let mut about = empty();
    (about.st_dev, about.st_ino, about.st_mode) = (1, number + 1, kind);
    about.st_size = length as i64;
    about.st_blocks = (length as i64 + 511) / 512;
    about
}

pub(crate) unsafe fn of_descriptor(fd: usize) -> Result<stat, isize> {
    match descriptors::kind(fd) {
        Kind::Pool(file) => Ok(files::about_slot(file)),
        Kind::Overlay(number) => Ok(of_inode(number)),
        Kind::Input | Kind::Output(_) => {
            // Something that is no terminal and has no position: a pipe.
            let mut about = empty();
            (about.st_dev, about.st_ino, about.st_mode) = (3, fd as u64 + 1, S_IFIFO | 0o600);
            Ok(about)
        }
        _ if fd >= descriptors::COUNT => Err(error(EBADF)),
        kind => {
            let mut about = MaybeUninit::<stat>::uninit();
            let got = sys::call(SYS_fstat, [fd, about.as_mut_ptr() as usize]);
            if got != 0 {
                return Err(got);
            }
            let mut about = about.assume_init();
            if kind == Kind::Real {
                // Pipes, sockets and the like: numbered by the kernel as they come.
                (about.st_ino, about.st_dev) = (fd as u64 + 1, 3);
                (about.st_mtime, about.st_mtime_nsec) = (clock::START as i64, 0);
            }
            Ok(settled(about))
        }
    }
}

/// Hands a `stat` to the program.
pub(crate) unsafe fn give(about: Result<stat, isize>, to: usize) -> isize {
    match about {
        Ok(about) => {
            descriptors::give(to, &raw const about as *const u8, size_of::<stat>());
            0
        }
        Err(number) => number,
    }
}

/// The same as a `statx`.
pub(crate) unsafe fn give_extended(about: Result<stat, isize>, to: usize) -> isize {
    let about = match about {
        Ok(about) => about,
        Err(number) => return number,
    };
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
    (extended.stx_dev_major, extended.stx_dev_minor) = (major(about.st_dev), minor(about.st_dev));
    (extended.stx_rdev_major, extended.stx_rdev_minor) =
        (major(about.st_rdev), minor(about.st_rdev));
    descriptors::give(
        to,
        extended as *const statx as *const u8,
        size_of::<statx>(),
    );
    0
}

/// `statfs`: a file system in memory with room, whatever the disk has.
pub(crate) unsafe fn give_file_system(to: usize) -> isize {
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
