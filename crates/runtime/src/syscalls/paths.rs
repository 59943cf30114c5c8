//! The system calls that take paths. Each path is resolved once (`files::resolve`); what lies under `--pm-dir` is a pool file (`files::pool`),
//! everything else is ordinary (`files::ordinary`).

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::files::descriptors::{self, Kind};
use crate::files::names;
use crate::files::ordinary;
use crate::files::pool;
use crate::files::resolve::{self, Last, Place, Where};
use crate::files::status;
use crate::memory::own::Scratch;
use crate::memory::shadow;
use crate::syscalls::dispatch::{Call, refuse};
use crate::syscalls::error;
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;
use libc::*;

const HERE: usize = AT_FDCWD as usize;

/// Performs a call that takes a path; `None` when this is none.
pub(crate) fn perform(call: &Call) -> Option<isize> {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        let [a, b, c, d, e, _] = call.arguments;
        let keep = |flags: usize| {
            if flags as i32 & AT_SYMLINK_NOFOLLOW != 0 {
                Last::Keep
            } else {
                Last::Follow
            }
        };
        let result = match call.number {
            SYS_open => open(HERE, a, b as i32, c as u32),
            SYS_openat => open(a, b, c as i32, d as u32),
            SYS_creat => open(HERE, a, O_CREAT | O_WRONLY | O_TRUNC, b as u32),
            SYS_openat2 => open(
                a,
                b,
                *(c as *const u64) as i32,
                *(c as *const u64).add(1) as u32,
            ),
            SYS_stat => status::give(b, |to| of_path(HERE, a, Last::Follow, to)),
            SYS_lstat => status::give(b, |to| of_path(HERE, a, Last::Keep, to)),
            SYS_newfstatat if is_empty(b, d) => status::give(c, |to| of_directory(a, to)),
            SYS_newfstatat => status::give(c, |to| of_path(a, b, keep(d), to)),
            SYS_fstat => status::give(b, |to| status::of_descriptor(a, to)),
            SYS_statx if is_empty(b, c) => status::give_extended(e, |to| of_directory(a, to)),
            SYS_statx => status::give_extended(e, |to| of_path(a, b, keep(c), to)),
            SYS_access => on(HERE, a, Last::Follow, |place| access(place, b)),
            SYS_faccessat => on(a, b, Last::Follow, |place| access(place, c)),
            SYS_faccessat2 => on(a, b, keep(d), |place| access(place, c)),
            SYS_unlink => on(HERE, a, Last::Keep, unlink),
            SYS_unlinkat if c as i32 & AT_REMOVEDIR != 0 => on(a, b, Last::Keep, remove_directory),
            SYS_unlinkat => on(a, b, Last::Keep, unlink),
            SYS_rmdir => on(HERE, a, Last::Keep, remove_directory),
            SYS_mkdir => on(HERE, a, Last::Keep, |place| make_directory(place, b)),
            SYS_mkdirat => on(a, b, Last::Keep, |place| make_directory(place, c)),
            SYS_rename => rename((HERE, a), (HERE, b), 0),
            SYS_renameat => rename((a, b), (c, d), 0),
            SYS_renameat2 => rename((a, b), (c, d), e),
            SYS_link => link((HERE, a, Last::Keep), (HERE, b)),
            SYS_linkat => {
                let follow = e as i32 & AT_SYMLINK_FOLLOW != 0;
                let last = if follow { Last::Follow } else { Last::Keep };
                link((a, b, last), (c, d))
            }
            SYS_symlink => on(HERE, b, Last::Keep, |place| names::make_link(a, place)),
            SYS_symlinkat => on(b, c, Last::Keep, |place| names::make_link(a, place)),
            SYS_readlink => read_link(HERE, a, b, c),
            SYS_readlinkat => read_link(a, b, c, d),
            SYS_truncate => on(HERE, a, Last::Follow, |place| truncate(place, b)),
            SYS_chmod => on(HERE, a, Last::Follow, |place| set_mode(place, b)),
            SYS_fchmodat => on(a, b, Last::Follow, |place| set_mode(place, c)),
            SYS_chown | SYS_lchown => on(HERE, a, Last::Keep, exists),
            SYS_fchownat if is_empty(b, e) => 0,
            SYS_fchownat => on(a, b, Last::Keep, exists),
            SYS_utimensat if b == 0 => 0,
            SYS_utimensat => on(a, b, keep(d), |place| set_time(place, c, 1)),
            SYS_utimes => on(HERE, a, Last::Follow, |place| set_time(place, b, 1)),
            SYS_utime => on(HERE, a, Last::Follow, |place| set_time(place, b, 0)),
            SYS_futimesat => on(a, b, Last::Follow, |place| set_time(place, c, 1)),
            SYS_mknod => make_node(HERE, a, b),
            SYS_mknodat => make_node(a, b, c),
            SYS_statfs => on(HERE, a, Last::Follow, |place| match exists(place) {
                0 => status::give_file_system(b),
                number => number,
            }),
            SYS_fstatfs => status::give_file_system(b),
            SYS_chdir => on(HERE, a, Last::Follow, ordinary::enter),
            SYS_fchdir => {
                let mut place = Place::new();
                match place.of_descriptor(a) {
                    Ok(()) => ordinary::enter(&place),
                    Err(number) => number,
                }
            }
            SYS_getcwd => {
                let directory = resolve::working_directory();
                if directory.len() + 1 > b {
                    return Some(error(ERANGE));
                }
                descriptors::give(a, directory.as_ptr(), directory.len());
                descriptors::give(a + directory.len(), c"".as_ptr() as *const u8, 1);
                directory.len() as isize + 1
            }
            SYS_getxattr | SYS_lgetxattr | SYS_fgetxattr => error(ENODATA),
            SYS_listxattr | SYS_llistxattr | SYS_flistxattr => 0,
            SYS_setxattr | SYS_lsetxattr | SYS_fsetxattr | SYS_removexattr | SYS_lremovexattr
            | SYS_fremovexattr => error(ENOTSUP),
            SYS_name_to_handle_at | SYS_open_by_handle_at => error(ENOTSUP),
            SYS_chroot => refuse(&[b"chroot: this system call reaches outside the program"]),
            _ => return None,
        };
        Some(result)
    }
}

/// Calls of this file, and others that hand everything over by stores: persistent paths and buffers are no matter to them.
pub(crate) fn sees_to_it(number: i64) -> bool {
    matches!(
        number,
        SYS_open
            | SYS_openat
            | SYS_creat
            | SYS_stat
            | SYS_lstat
            | SYS_newfstatat
            | SYS_fstat
            | SYS_statx
            | SYS_access
            | SYS_faccessat
            | SYS_faccessat2
            | SYS_unlink
            | SYS_unlinkat
            | SYS_rmdir
            | SYS_mkdir
            | SYS_mkdirat
            | SYS_rename
            | SYS_renameat
            | SYS_renameat2
            | SYS_link
            | SYS_linkat
            | SYS_symlink
            | SYS_symlinkat
            | SYS_readlink
            | SYS_readlinkat
            | SYS_truncate
            | SYS_chmod
            | SYS_fchmodat
            | SYS_chown
            | SYS_lchown
            | SYS_fchownat
            | SYS_mknod
            | SYS_mknodat
            | SYS_statfs
            | SYS_fstatfs
            | SYS_chdir
            | SYS_getcwd
            | SYS_getdents64
            | SYS_pipe
            | SYS_pipe2
    )
}

/// # Safety
/// The program may read `path`, as far as it asks for.
unsafe fn is_empty(path: usize, flags: usize) -> bool {
    // SAFETY: what the caller promises.
    unsafe {
        flags as i32 & AT_EMPTY_PATH != 0 && (path == 0 || shadow::peek(path as *const u8) == 0)
    }
}

/// Resolves a path and goes on with it.
///
/// # Safety
/// The program may read `path`, as far as it asks for.
unsafe fn on(
    directory: usize,
    path: usize,
    last: Last,
    then: impl FnOnce(&Place) -> isize,
) -> isize {
    let mut place = Place::new();
    // SAFETY: what the caller promises.
    unsafe {
        match place.resolve(directory, path, last) {
            Ok(()) => then(&place),
            Err(number) => number,
        }
    }
}

/// # Safety
/// The program may write to `to` and read `path`, as far as it asks for.
unsafe fn of_path(directory: usize, path: usize, last: Last, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe { on(directory, path, last, |place| status::of_place(place, to)) }
}

/// `AT_EMPTY_PATH`: the descriptor itself, or the working directory.
///
/// # Safety
/// `to` has room for all of it.
unsafe fn of_directory(fd: usize, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        if fd as i32 == AT_FDCWD {
            return of_path(HERE, c".".as_ptr() as usize, Last::Follow, to);
        }
        status::of_descriptor(fd, to)
    }
}

/// # Safety
/// The program may read `path`, as far as it asks for.
unsafe fn open(directory: usize, path: usize, flags: i32, mode: u32) -> isize {
    let keep = flags & O_NOFOLLOW != 0 || flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL;
    let last = if keep { Last::Keep } else { Last::Follow };
    // SAFETY: what the caller promises.
    unsafe {
        on(directory, path, last, |place| match place.whereabouts() {
            Where::Pool(inside) => pool::open(inside, flags),
            _ => ordinary::open(place, flags, mode),
        })
    }
}

fn access(place: &Place, wanted: usize) -> isize {
    match place.whereabouts() {
        Where::Pool(_) => exists(place),
        _ => ordinary::access(place, wanted),
    }
}

fn exists(place: &Place) -> isize {
    let about = Scratch::new(size_of::<stat>());
    // SAFETY: there is room for a `stat`.
    unsafe { status::of_place(place, about.start() as *mut stat) }
}

fn unlink(place: &Place) -> isize {
    match place.whereabouts() {
        Where::Pool(path) => pool::unlink(path),
        _ => names::unlink(place),
    }
}

fn make_directory(place: &Place, mode: usize) -> isize {
    match place.whereabouts() {
        Where::Pool(path) => pool::make_directory(path),
        _ => names::make_directory(place, mode as u32),
    }
}

fn remove_directory(place: &Place) -> isize {
    match place.whereabouts() {
        Where::Pool(path) => pool::remove_directory(path),
        _ => names::remove_directory(place),
    }
}

fn truncate(place: &Place, length: usize) -> isize {
    if (length as isize) < 0 {
        return error(EINVAL);
    }
    match place.whereabouts() {
        Where::Pool(path) => pool::truncate(path, length as u64),
        _ => ordinary::truncate(place, length),
    }
}

fn set_mode(place: &Place, mode: usize) -> isize {
    match place.whereabouts() {
        Where::Pool(_) => exists(place),
        _ => ordinary::set_mode(place, mode as u32),
    }
}

/// Times come in pairs, access first; `at` is the index of the second half's seconds in pairs of words, or in words.
fn set_time(place: &Place, times: usize, pairs: usize) -> isize {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    let seconds = unsafe { (times != 0).then(|| *(times as *const u64).add(1 + pairs)) };
    match place.whereabouts() {
        Where::Pool(_) => exists(place),
        _ => ordinary::set_time(place, seconds),
    }
}

/// # Safety
/// The program may read `path`, as far as it asks for.
unsafe fn make_node(directory: usize, path: usize, mode: usize) -> isize {
    if mode as u32 & S_IFMT != S_IFREG && mode as u32 & S_IFMT != 0 {
        refuse(&[b"mknod: the program creates a FIFO or a device"]);
    }
    // SAFETY: what the caller promises.
    let fd = unsafe { open(directory, path, O_CREAT | O_EXCL | O_WRONLY, mode as u32) };
    if fd < 0 {
        return fd;
    }
    descriptors::set(fd as usize, Kind::Real);
    sys::call(SYS_close, [fd as usize])
}

/// # Safety
/// The program may write to `to` and read `path`, as far as it asks for.
unsafe fn read_link(directory: usize, path: usize, to: usize, room: usize) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        on(directory, path, Last::Keep, |place| {
            match place.whereabouts() {
                Where::Pool(_) => match exists(place) {
                    0 => error(EINVAL),
                    number => number,
                },
                _ => ordinary::read_link(place, to, room),
            }
        })
    }
}

fn rename(from: (usize, usize), to: (usize, usize), flags: usize) -> isize {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        on(from.0, from.1, Last::Keep, |old| {
            on(to.0, to.1, Last::Keep, |new| {
                match (old.whereabouts(), new.whereabouts()) {
                    (Where::Pool(old), Where::Pool(new)) => pool::rename(old, new, flags),
                    (Where::Pool(_), _) | (_, Where::Pool(_)) => error(EXDEV),
                    _ => names::rename(old, new, flags),
                }
            })
        })
    }
}

fn link(from: (usize, usize, Last), to: (usize, usize)) -> isize {
    // SAFETY: the program asks for it: what the kernel would do at these addresses is done.
    unsafe {
        on(from.0, from.1, from.2, |old| {
            on(to.0, to.1, Last::Keep, |new| {
                match (old.whereabouts(), new.whereabouts()) {
                    (Where::Pool(_), Where::Pool(_)) => {
                        refuse(&[b"link: a pool file has one name"])
                    }
                    _ => names::link(old, new),
                }
            })
        })
    }
}

/// Changing a file through a descriptor.
pub(crate) fn resize(fd: usize, length: usize) -> isize {
    match descriptors::kind(fd) {
        Kind::Pool(_) if !pool::is_writable(fd) => error(EINVAL),
        Kind::Pool(file) => pool::set_length(file, length as u64, Builtin::ftruncate),
        _ => sys::call(SYS_ftruncate, [fd, length]),
    }
}
