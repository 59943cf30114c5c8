//! From a path of the program to the one canonical path it means: `.`, `..` and symbolic links resolved component by
//! component, through the overlay where it has something to say and on disk otherwise, from a working directory that is the
//! run's own.

use crate::files::descriptors::{self, Kind};
use crate::files::overlay::{self, Found, Type};
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::memory::shadow::{is_persistent, view};
use crate::run::shared::pool_directory;
use crate::state::{run, server};
use crate::syscalls::dispatch::origin;
use crate::syscalls::sys;
use landfall_vocab::builtin::Builtin;

const ROOM: usize = 4096;
const MOST_LINKS: usize = 40;

/// Does a link in last place stand for itself?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Follow,
    Keep,
}

/// A canonical absolute path, followed by a zero byte. In scratch memory: an array would be cleared by a `memset` that may be the
/// program's.
pub(crate) struct Place {
    text: Scratch,
    length: usize,
}

/// Where a place is.
#[derive(Clone, Copy)]
pub(crate) enum Where<'a> {
    /// Inside `--pm-dir`, relative to it.
    Pool(&'a [u8]),
    Inode(usize),
    Hidden,
    Disk,
}

/// The part of a path still to be walked, at the end of its buffer so that links can be put in front.
struct Rest {
    text: Scratch,
    start: usize,
}

impl Rest {
    fn at(&mut self) -> *mut u8 {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe { self.text.start().add(self.start) }
    }

    /// # Safety
    /// The program may read `path`, as far as it asks for.
    unsafe fn put_in_front(&mut self, path: *const u8, length: usize) -> Result<(), isize> {
        // SAFETY: what the caller promises.
        unsafe {
            if length + 1 > self.start {
                return Err(-(libc::ENAMETOOLONG as isize));
            }
            self.start -= length + 1;
            bytes::copy(self.at(), path, length);
            *self.at().add(length) = b'/';
            Ok(())
        }
    }

    /// The next component, and whether it is the last.
    fn next(&mut self) -> Option<(&[u8], bool)> {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe {
            let end = 2 * ROOM;
            while self.start < end && *self.at() == b'/' {
                self.start += 1;
            }
            let part = self.at();
            let mut length = 0;
            while self.start < end && *self.at() != b'/' {
                (self.start, length) = (self.start + 1, length + 1);
            }
            while self.start < end && *self.at() == b'/' {
                self.start += 1;
            }
            (length > 0).then(|| (core::slice::from_raw_parts(part, length), self.start == end))
        }
    }
}

impl Place {
    pub(crate) fn new() -> Place {
        Place {
            text: Scratch::new(ROOM + 1),
            length: 0,
        }
    }

    fn start(&self) -> *mut u8 {
        self.text.start()
    }

    /// Without the zero byte, which is there all the same.
    pub(crate) fn path(&self) -> &[u8] {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe { core::slice::from_raw_parts(self.start(), self.length) }
    }

    /// For system calls of ours.
    pub(crate) fn address(&self) -> usize {
        self.start() as usize
    }

    pub(crate) fn set(&mut self, path: &[u8]) {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe {
            self.length = path.len().min(ROOM - 1);
            bytes::copy(self.start(), path.as_ptr(), self.length);
            *self.start().add(self.length) = 0;
        }
    }

    pub(crate) fn copy(&mut self, other: &Place) {
        self.set(other.path());
    }

    fn push(&mut self, part: &[u8]) -> Result<(), isize> {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe {
            if self.length == 1 {
                self.length = 0; // the root
            }
            if self.length + 1 + part.len() >= ROOM {
                return Err(-(libc::ENAMETOOLONG as isize));
            }
            *self.start().add(self.length) = b'/';
            bytes::copy(self.start().add(self.length + 1), part.as_ptr(), part.len());
            self.length += 1 + part.len();
            *self.start().add(self.length) = 0;
            Ok(())
        }
    }

    /// To the parent; the root is its own.
    pub(crate) fn pop(&mut self) {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe {
            while self.length > 1 && *self.start().add(self.length - 1) != b'/' {
                self.length -= 1;
            }
            self.length = (self.length - 1).max(1);
            *self.start().add(self.length) = 0;
        }
    }

    /// The path a program's call means. `directory` is a descriptor or `AT_FDCWD`.
    ///
    /// # Safety
    /// The program may read `path`, as far as it asks for.
    pub(crate) unsafe fn resolve(
        &mut self,
        directory: usize,
        path: usize,
        last: Last,
    ) -> Result<(), isize> {
        // SAFETY: what the caller promises.
        unsafe {
            let length = crate::libc::strings::text_length(path as *const u8, ROOM);
            if is_persistent(path) {
                accesses::read_span(path, (length + 1).min(ROOM), 0, origin(Builtin::open));
            }
            let path = view(path as *const u8) as *const u8;
            if length == 0 || length == ROOM {
                let number = if length == 0 {
                    libc::ENOENT
                } else {
                    libc::ENAMETOOLONG
                };
                return Err(-(number as isize));
            }
            if *path == b'/' {
                self.set(b"/");
            } else {
                self.base(directory)?;
            }
            let mut rest = Rest {
                text: Scratch::new(2 * ROOM),
                start: 2 * ROOM,
            };
            rest.put_in_front(path, length)?;
            let mut links = 0;
            while let Some((part, is_last)) = rest.next() {
                if part.len() == 1 && part[0] == b'.' {
                    continue;
                }
                if part.len() == 2 && part[0] == b'.' && part[1] == b'.' {
                    self.pop();
                    continue;
                }
                self.push(part)?;
                let follow = !is_last || last == Last::Follow;
                let scratch = Scratch::new(ROOM);
                let target = scratch.start();
                let Some(length) = self.link(target, is_last, follow)? else {
                    continue;
                };
                links += 1;
                if links > MOST_LINKS {
                    return Err(-(libc::ELOOP as isize));
                }
                rest.put_in_front(target, length)?;
                if *target == b'/' {
                    self.set(b"/");
                } else {
                    self.pop();
                }
            }
            Ok(())
        }
    }

    /// The target of the link this place is, if it is one to follow.
    ///
    /// # Safety
    /// `target` has room for the longest path.
    unsafe fn link(
        &mut self,
        target: *mut u8,
        is_last: bool,
        follow: bool,
    ) -> Result<Option<usize>, isize> {
        let wrong = |number: i32| {
            if is_last {
                Ok(None)
            } else {
                Err(-(number as isize))
            }
        };
        // SAFETY: what the caller promises.
        unsafe {
            match self.whereabouts() {
                Where::Pool(_) => Ok(None),
                Where::Hidden => wrong(libc::ENOENT),
                Where::Inode(number) => match (*overlay::inode(number)).kind {
                    Type::Symlink if follow => {
                        let text = overlay::text(number);
                        bytes::copy(target, text.as_ptr(), text.len());
                        Ok(Some(text.len()))
                    }
                    Type::File => wrong(libc::ENOTDIR),
                    _ => Ok(None),
                },
                Where::Disk => {
                    if crate::files::special::stays(self) {
                        return Ok(None);
                    }
                    let got = sys::raw(
                        libc::SYS_readlink,
                        [self.address(), target as usize, ROOM - 1],
                    );
                    match -got as i32 {
                        _ if got >= 0 && follow => Ok(Some(got as usize)),
                        number @ (libc::ENOENT | libc::ENOTDIR | libc::EACCES) => wrong(number),
                        _ => Ok(None),
                    }
                }
            }
        }
    }

    fn base(&mut self, directory: usize) -> Result<(), isize> {
        if directory as i32 == libc::AT_FDCWD {
            self.set(working_directory());
            return Ok(());
        }
        self.of_descriptor(directory)?;
        Ok(())
    }

    /// The path of an open directory or file on disk, or of a directory of the overlay.
    pub(crate) fn of_descriptor(&mut self, fd: usize) -> Result<(), isize> {
        // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
        unsafe {
            match descriptors::kind(fd) {
                Kind::Overlay(number) if (*overlay::inode(number)).kind == Type::Directory => {
                    self.set(overlay::text(number));
                    Ok(())
                }
                Kind::Real | Kind::Disk => {
                    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0";
                    let mut digits = [0u8; 20];
                    let digits = bytes::decimal((fd & 0xffff) as u64, &mut digits);
                    bytes::copy(link.as_mut_ptr().add(14), digits.as_ptr(), digits.len());
                    let to = self.address();
                    let got = sys::raw(libc::SYS_readlink, [link.as_ptr() as usize, to, ROOM - 1]);
                    if got <= 0 || fd >= descriptors::COUNT {
                        return Err(-(libc::EBADF as isize));
                    }
                    self.length = got as usize;
                    *self.start().add(self.length) = 0;
                    if *self.start() == b'/' {
                        Ok(())
                    } else {
                        Err(-(libc::ENOTDIR as isize))
                    }
                }
                _ => Err(-(libc::ENOTDIR as isize)),
            }
        }
    }

    /// Pool, overlay or disk?
    pub(crate) fn whereabouts(&self) -> Where<'_> {
        let path = self.path();
        let directory = pool_directory();
        if !directory.is_empty()
            && let Some(inside) = overlay::below(directory, path)
        {
            return Where::Pool(inside);
        }
        match overlay::find(path) {
            Found::Inode(number) => Where::Inode(number),
            Found::Hidden => Where::Hidden,
            Found::Disk => Where::Disk,
        }
    }
}

/// The run's working directory: where the server was started, until the program changes it.
pub(crate) fn working_directory<'a>() -> &'a [u8] {
    let from = if run().moved.get() {
        server().directory.pointer()
    } else {
        server().start_directory.pointer()
    };
    // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
    unsafe { core::slice::from_raw_parts((*from).text.as_ptr(), (*from).length) }
}

/// A path in the state.
#[repr(C)]
pub(crate) struct Directory {
    length: usize,
    text: [u8; ROOM],
}

/// Remembers where the server was started.
pub(crate) fn note_directory() {
    // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
    unsafe {
        let start = server().start_directory.pointer();
        let to = &raw mut (*start).text as usize;
        let got = sys::raw(libc::SYS_getcwd, [to, ROOM]);
        if got > 1 {
            (*start).length = got as usize - 1;
        } else {
            (*start).text[0] = b'/';
            (*start).length = 1;
        }
    }
}

pub(crate) fn set_directory(place: &Place) {
    // SAFETY: the text of a place is memory of the run's own, with room for the longest path.
    unsafe {
        let own = server().directory.pointer();
        bytes::copy(
            &raw mut (*own).text as *mut u8,
            place.path().as_ptr(),
            place.length,
        );
        (*own).length = place.length;
        run().moved.set(true);
    }
}
