//! Operations on ordinary files: what the overlay has is changed there, what only the disk has is copied up first.

use crate::files::descriptors::{self, Kind};
use crate::files::overlay::{self, Type};
use crate::files::resolve::{Place, Where};
use crate::files::special;
use crate::memory::own::place;
use crate::state::{run, server};
use crate::syscalls::clock;
use crate::syscalls::dispatch::refuse;
use crate::syscalls::error;
use crate::syscalls::sys;
use libc::*;

/// `lstat` of a place on disk.
///
/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn on_disk(place: &Place, to: *mut stat) -> isize {
    // SAFETY: what the caller promises.
    unsafe { sys::raw(SYS_lstat, [place.address(), to as usize]) }
}

pub(crate) fn is_directory(place: &Place) -> bool {
    matches!(kind_at(place), Ok(Some(S_IFDIR)))
}

/// Room for a `stat`.
fn room() -> core::mem::MaybeUninit<stat> {
    core::mem::MaybeUninit::uninit()
}

/// The inode of an existing place, copied up if the disk has it.
pub(super) fn own(place: &Place) -> Result<usize, isize> {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match place.whereabouts() {
            Where::Inode(number) => Ok(number),
            Where::Hidden => Err(error(ENOENT)),
            Where::Disk => {
                let mut about = room();
                match on_disk(place, about.as_mut_ptr()) {
                    0 if special::made_up(place.path()) => Err(error(EPERM)),
                    0 => overlay::copy_up(place.path(), &*about.as_ptr()),
                    number => Err(number),
                }
            }
            Where::Pool(_) => Err(error(EXDEV)),
        }
    }
}

/// What kind of thing is at a place, if anything is.
pub(super) fn kind_at(place: &Place) -> Result<Option<u32>, isize> {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match place.whereabouts() {
            Where::Inode(number) => Ok(Some((*overlay::inode(number)).mode & S_IFMT)),
            Where::Hidden => Ok(None),
            Where::Pool(_) => Err(error(EXDEV)),
            Where::Disk => {
                let mut about = room();
                match on_disk(place, about.as_mut_ptr()) {
                    0 => Ok(Some((*about.as_ptr()).st_mode & S_IFMT)),
                    number if number == error(ENOENT) => Ok(None),
                    number => Err(number),
                }
            }
        }
    }
}

/// May a file be created here? The parent must be a directory that the user may write.
pub(super) fn writable_parent(place: &Place) -> isize {
    let mut parent = Place::new();
    parent.copy(place);
    parent.pop();
    match parent.whereabouts() {
        Where::Inode(_) | Where::Pool(_) => 0,
        Where::Hidden => error(ENOENT),
        Where::Disk => sys::call(SYS_access, [parent.address(), W_OK as usize]),
    }
}

pub(crate) fn open(place: &Place, flags: i32, mode: u32) -> isize {
    let writing = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0;
    if flags & O_TMPFILE == O_TMPFILE {
        return open_inode(overlay::new_file(mode & !run().umask.get()), flags);
    }
    let exclusive = flags & O_CREAT != 0 && flags & O_EXCL != 0;
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match place.whereabouts() {
            Where::Inode(_) if exclusive => error(EEXIST),
            Where::Inode(number) => open_inode(number, flags),
            Where::Hidden => create(place, flags, mode),
            Where::Pool(_) => error(EXDEV),
            Where::Disk => {
                if let Some(fd) = special::open(place, flags) {
                    return fd;
                }
                let mut about = room();
                match on_disk(place, about.as_mut_ptr()) {
                    number if number == error(ENOENT) => create(place, flags, mode),
                    0 if exclusive => error(EEXIST),
                    0 => open_on_disk(place, &*about.as_ptr(), flags, writing),
                    number => number,
                }
            }
        }
    }
}

fn create(place: &Place, flags: i32, mode: u32) -> isize {
    if flags & O_CREAT == 0 {
        return error(ENOENT);
    }
    let allowed = writable_parent(place);
    if allowed != 0 {
        return allowed;
    }
    let number = overlay::new_file(mode & !run().umask.get());
    overlay::set(place.path(), number);
    open_inode(number, flags)
}

fn open_on_disk(place: &Place, about: &stat, flags: i32, writing: bool) -> isize {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match about.st_mode & S_IFMT {
            S_IFREG if writing => {
                let allowed = sys::call(SYS_access, [place.address(), W_OK as usize]);
                if allowed != 0 {
                    return allowed;
                }
                match overlay::copy_up(place.path(), about) {
                    Ok(number) => open_inode(number, flags),
                    Err(number) => number,
                }
            }
            S_IFREG | S_IFDIR | S_IFLNK => {
                if writing {
                    return error(if about.st_mode & S_IFMT == S_IFDIR {
                        EISDIR
                    } else {
                        ELOOP
                    });
                }
                let fd = sys::call(
                    SYS_open,
                    [
                        place.address(),
                        (flags & !(O_CREAT | O_EXCL | O_NOATIME)) as usize,
                    ],
                );
                if fd >= 0 {
                    descriptors::set(fd as usize, Kind::Disk);
                }
                fd
            }
            S_IFSOCK => error(ENXIO),
            S_IFIFO if flags & O_ACCMODE == O_WRONLY && flags & O_NONBLOCK != 0 => error(ENXIO),
            S_IFIFO if flags & O_NONBLOCK == 0 && flags & O_ACCMODE != O_RDWR => {
                clock::wait_forever(b"open of a FIFO", crate::syscalls::dispatch::context());
                error(EINTR)
            }
            _ => refuse(&[b"open: the program uses the device or FIFO ", place.path()]),
        }
    }
}

/// A new descriptor of a file or directory of the overlay.
pub(crate) fn open_inode(number: usize, flags: i32) -> isize {
    let inode = overlay::inode(number);
    let writing = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0;
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    let fd = unsafe {
        match (*inode).kind {
            Type::Symlink => return error(ELOOP),
            Type::Directory if writing || flags & O_CREAT != 0 => return error(EISDIR),
            // Any directory does: what the program asks of it is answered from the overlay.
            Type::Directory => sys::call(
                SYS_open,
                [
                    c"/".as_ptr() as usize,
                    (O_RDONLY | O_DIRECTORY | flags & O_CLOEXEC) as usize,
                ],
            ),
            Type::File if flags & O_DIRECTORY != 0 && flags & O_TMPFILE != O_TMPFILE => {
                return error(ENOTDIR);
            }
            Type::File => {
                if flags & O_TRUNC != 0 {
                    sys::call(SYS_ftruncate, [(*inode).holder as usize, 0]);
                }
                overlay::reopen((*inode).holder, flags)
            }
        }
    };
    if fd >= 0 {
        descriptors::set(fd as usize, Kind::Overlay(number));
    }
    fd
}

/// A file of the disk was copied up: descriptors that read it on disk now read the copy.
pub(crate) fn now_copied(number: usize) {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        let inode = overlay::inode(number);
        if (*inode).kind != Type::File {
            return;
        }
        if (&server().shared)[..run().shared_count.get()]
            .iter()
            .any(|shared| shared.get() == ((*inode).device, (*inode).number))
        {
            refuse(&[b"the program changes a file that it has mapped shared for reading"]);
        }
        for fd in 0..descriptors::COUNT {
            if descriptors::kind(fd) != Kind::Disk {
                continue;
            }
            let mut about = core::mem::MaybeUninit::<stat>::uninit();
            if sys::raw(SYS_fstat, [fd, about.as_mut_ptr() as usize]) != 0
                || (*about.as_ptr()).st_ino != (*inode).number
                || (*about.as_ptr()).st_dev != (*inode).device
            {
                continue;
            }
            let at = sys::call(SYS_lseek, [fd, 0, SEEK_CUR as usize]);
            let close = sys::fcntl(fd, F_GETFD, 0);
            let copy = overlay::reopen((*inode).holder, O_RDONLY);
            if copy < 0 {
                refuse(&[b"the program has too many files open to change one"]);
            }
            sys::call(SYS_lseek, [copy as usize, at as usize, SEEK_SET as usize]);
            let flags = if close & FD_CLOEXEC as isize != 0 {
                O_CLOEXEC
            } else {
                0
            };
            sys::call(SYS_dup3, [copy as usize, fd, flags as usize]);
            sys::call(SYS_close, [copy as usize]);
            descriptors::set(fd, Kind::Overlay(number));
        }
    }
}

/// A shared mapping of a file on disk shows what is written to it later: remembered, to refuse that.
pub(crate) fn note_shared_mapping(fd: usize) {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        let mut about = core::mem::MaybeUninit::<stat>::uninit();
        if sys::raw(SYS_fstat, [fd, about.as_mut_ptr() as usize]) != 0 {
            return;
        }
        if run().shared_count.get() == server().shared.len() {
            refuse(&[b"the program maps too many files shared"]);
        }
        server().shared[run().shared_count.get()]
            .set(((*about.as_ptr()).st_dev, (*about.as_ptr()).st_ino));
        run().shared_count.set(run().shared_count.get() + 1);
    }
}

/// Cuts or extends a file by its path.
pub(crate) fn truncate(place: &Place, length: usize) -> isize {
    match kind_at(place) {
        Err(number) => return number,
        Ok(None) => return error(ENOENT),
        Ok(Some(S_IFREG)) => {}
        Ok(Some(S_IFDIR)) => return error(EISDIR),
        Ok(Some(_)) => return error(EINVAL),
    }
    if let Where::Disk = place.whereabouts() {
        let allowed = sys::call(SYS_access, [place.address(), W_OK as usize]);
        if allowed != 0 {
            return allowed;
        }
    }
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match own(place) {
            Ok(number) => sys::call(
                SYS_ftruncate,
                [(*overlay::inode(number)).holder as usize, length],
            ),
            Err(number) => number,
        }
    }
}

/// `chmod`.
pub(crate) fn set_mode(place: &Place, mode: u32) -> isize {
    change(place, |inode| {
        inode.mode = inode.mode & S_IFMT | mode & 0o7777
    })
}

/// `utimensat` and its kin, in seconds.
pub(crate) fn set_time(place: &Place, seconds: Option<u64>) -> isize {
    let seconds = seconds.unwrap_or(clock::seconds());
    change(place, |inode| inode.modified = seconds)
}

fn change(place: &Place, change: impl FnOnce(&mut overlay::Inode)) -> isize {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match own(place) {
            Ok(number) => {
                change(&mut *overlay::inode(number));
                0
            }
            Err(number) => number,
        }
    }
}

pub(crate) fn access(place: &Place, wanted: usize) -> isize {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match place.whereabouts() {
            Where::Inode(number) => {
                let mode = (*overlay::inode(number)).mode;
                let executable = mode & 0o111 != 0 || wanted & X_OK as usize == 0;
                if executable { 0 } else { error(EACCES) }
            }
            Where::Hidden => error(ENOENT),
            _ => sys::call(SYS_access, [place.address(), wanted]),
        }
    }
}

/// `readlink`: the bytes go to the program.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn read_link(place: &Place, to: usize, room: usize) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let buffer = crate::memory::own::Scratch::new(4096);
        if let Where::Disk = place.whereabouts()
            && let Some(length) = special::read_link(place, buffer.start())
        {
            descriptors::give(to, buffer.start(), length.min(room));
            return length.min(room) as isize;
        }
        let (text, length) = match place.whereabouts() {
            Where::Hidden => return error(ENOENT),
            Where::Inode(number) if (*overlay::inode(number)).kind == Type::Symlink => {
                let text = overlay::text(number);
                (text.as_ptr(), text.len())
            }
            Where::Inode(_) => return error(EINVAL),
            _ => {
                let got = sys::raw(
                    SYS_readlink,
                    [place.address(), buffer.start() as usize, 4096],
                );
                if got < 0 {
                    return got;
                }
                (buffer.start() as *const u8, got as usize)
            }
        };
        let length = length.min(room);
        descriptors::give(to, text, length);
        length as isize
    }
}

/// Changes the working directory of the run.
pub(crate) fn enter(place: &Place) -> isize {
    match kind_at(place) {
        Err(number) => number,
        Ok(None) => error(ENOENT),
        Ok(Some(S_IFDIR)) => {
            crate::files::resolve::set_directory(place);
            0
        }
        Ok(Some(_)) => error(ENOTDIR),
    }
}

const _: () = assert!(place::OVERLAY > place::SCRATCH);
