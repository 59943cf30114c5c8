//! Names of ordinary files come and go: links, directories, renaming. What the disk has is hidden, never removed.

use crate::files::ordinary::{kind_at, own, writable_parent};
use crate::files::overlay::{self};
use crate::files::resolve::{Place, Where};
use crate::memory::accesses;
use crate::memory::shadow::{is_persistent, view};
use crate::state::run;
use crate::syscalls::dispatch::origin;
use crate::syscalls::error;
use landfall_vocab::builtin::Builtin;
use libc::*;

pub(crate) fn unlink(place: &Place) -> isize {
    match kind_at(place) {
        Err(number) => number,
        Ok(None) => error(ENOENT),
        Ok(Some(S_IFDIR)) => error(EISDIR),
        Ok(Some(_)) => {
            let allowed = writable_parent(place);
            if allowed == 0 {
                remove(place);
            }
            allowed
        }
    }
}

fn remove(place: &Place) {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        if let Where::Inode(number) = place.whereabouts() {
            (*overlay::inode(number)).links -= 1;
        }
    }
    overlay::set(place.path(), 0);
}

/// Gives a new name to what is made for it, where there is nothing yet.
fn make(place: &Place, inode: impl FnOnce() -> usize) -> isize {
    match kind_at(place) {
        Err(number) => number,
        Ok(Some(_)) => error(EEXIST),
        Ok(None) => {
            let allowed = writable_parent(place);
            if allowed == 0 {
                overlay::set(place.path(), inode());
            }
            allowed
        }
    }
}

pub(crate) fn make_directory(place: &Place, mode: u32) -> isize {
    make(place, || {
        overlay::new_directory(place.path(), mode & !run().umask.get())
    })
}

pub(crate) fn remove_directory(place: &Place) -> isize {
    match kind_at(place) {
        Err(number) => number,
        Ok(None) => error(ENOENT),
        Ok(Some(S_IFDIR)) if !crate::files::listings::is_empty(place) => error(ENOTEMPTY),
        Ok(Some(S_IFDIR)) => {
            remove(place);
            0
        }
        Ok(Some(_)) => error(ENOTDIR),
    }
}

/// # Safety
/// The program may read `target`, as far as it asks for.
pub(crate) unsafe fn make_link(target: usize, place: &Place) -> isize {
    // SAFETY: what the caller promises.
    make(place, || overlay::new_link(unsafe { target_of(target) }))
}

/// # Safety
/// The program may read `target`, as far as it asks for.
unsafe fn target_of<'a>(target: usize) -> &'a [u8] {
    // SAFETY: what the caller promises.
    unsafe {
        let length = crate::libc::strings::text_length(target as *const u8, 4095);
        if is_persistent(target) {
            accesses::read_span(target, length, 0, origin(Builtin::open));
        }
        core::slice::from_raw_parts(view(target as *const u8), length)
    }
}

/// A second name for a file.
pub(crate) fn link(from: &Place, to: &Place) -> isize {
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        match (kind_at(from), kind_at(to)) {
            (Err(number), _) | (_, Err(number)) => number,
            (Ok(None), _) => error(ENOENT),
            (Ok(Some(S_IFDIR)), _) => error(EPERM),
            (_, Ok(Some(_))) => error(EEXIST),
            _ => match own(from) {
                Err(number) => number,
                Ok(number) => {
                    (*overlay::inode(number)).links += 1;
                    overlay::set(to.path(), number);
                    0
                }
            },
        }
    }
}

const RENAME_NOREPLACE: usize = 1;

pub(crate) fn rename(from: &Place, to: &Place, flags: usize) -> isize {
    if flags & !RENAME_NOREPLACE != 0 {
        return error(EINVAL);
    }
    let (old, new) = match (kind_at(from), kind_at(to)) {
        (Err(number), _) | (_, Err(number)) => return number,
        (Ok(None), _) => return error(ENOENT),
        (Ok(Some(old)), Ok(new)) => (old, new),
    };
    if new.is_some() && flags & RENAME_NOREPLACE != 0 {
        return error(EEXIST);
    }
    let directory = old == S_IFDIR;
    match new {
        Some(S_IFDIR) if !directory => return error(EISDIR),
        Some(S_IFDIR) if !crate::files::listings::is_empty(to) => return error(ENOTEMPTY),
        Some(kind) if directory && kind != S_IFDIR => return error(ENOTDIR),
        _ => {}
    }
    if overlay::below(from.path(), to.path()).is_some() {
        return error(EINVAL);
    }
    for place in [from, to] {
        let allowed = writable_parent(place);
        if allowed != 0 {
            return allowed;
        }
    }
    let number = match own(from) {
        Ok(number) => number,
        Err(number) => return number,
    };
    // SAFETY: inodes of the overlay stay where they are as long as the run lasts; the kernel fills what is ours.
    unsafe {
        if let Where::Inode(other) = to.whereabouts() {
            if other == number {
                return 0;
            }
            (*overlay::inode(other)).links -= 1;
        }
    }
    if !directory {
        overlay::set(from.path(), 0);
        overlay::set(to.path(), number);
    } else if overlay::is_opaque(number) {
        overlay::move_directory(number, from.path(), to.path());
    } else {
        // As overlayfs does: a directory on disk does not move, `mv` copies it.
        return error(EXDEV);
    }
    0
}
