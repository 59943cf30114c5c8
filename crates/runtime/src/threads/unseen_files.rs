//! Threads that meet in files, pipes and sockets, and in what signals do: what one leaves there another finds, and no step of a schedule says in which order.
//! (Pool files are looked at: `syscalls::deferred`.) Output that nobody reads concerns nobody.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use crate::files::descriptors::{self, Kind};
use crate::memory::bytes;
use crate::syscalls::dispatch::{self, Call};
use crate::threads::unseen::{self, Use, key};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::unseen::{FILE, SIGNAL};
use libc::*;

/// A system call is about to be performed.
pub(crate) fn look(call: &Call) {
    // SAFETY: the program made this call: its arguments are what the kernel would take.
    unsafe {
        if !unseen::matters() {
            return;
        }
        let [a, b, c, d, e, _] = call.arguments;
        // libc's functions were noted when they were called; assembly of the program's calls none.
        let at = (*call.context).uc_mcontext.gregs[REG_RIP as usize] as usize;
        if crate::run::start::in_executable(at) {
            unseen::system_call(call.number, [a, b, c, d, e], at);
        }
        match call.number {
            // Position and content.
            SYS_read | SYS_readv => descriptor(a, Use::Both, Use::Looks),
            SYS_pread64 | SYS_preadv | SYS_preadv2 | SYS_fstat => {
                descriptor(a, Use::Looks, Use::Looks)
            }
            SYS_lseek => descriptor(a, Use::Both, Use::Looks),
            SYS_getdents64 => descriptor(a, Use::Both, Use::Looks),
            SYS_write | SYS_writev | SYS_pwrite64 | SYS_pwritev | SYS_pwritev2 | SYS_ftruncate
            | SYS_fallocate => descriptor(a, Use::Changes, Use::Changes),
            SYS_sendfile => {
                descriptor(b, Use::Both, Use::Looks);
                descriptor(a, Use::Changes, Use::Changes);
            }
            SYS_copy_file_range => {
                descriptor(a, Use::Both, Use::Looks);
                descriptor(c, Use::Changes, Use::Changes);
            }
            // The next file that has this number is another one.
            SYS_close => unseen::forget(key::DESCRIPTOR | a as u64),
            SYS_flock => descriptor(a, Use::Both, Use::Both),
            SYS_poll | SYS_ppoll | SYS_select | SYS_pselect6 | SYS_epoll_wait | SYS_epoll_pwait
            | SYS_epoll_pwait2 | SYS_recvfrom | SYS_recvmsg | SYS_sendto | SYS_sendmsg
            | SYS_accept | SYS_accept4 | SYS_connect => {
                unseen::note(FILE, dispatch::origin(Builtin::system_call))
            }
            SYS_open => name(a, opens(b)),
            SYS_openat => name(b, opens(c)),
            SYS_creat | SYS_unlink | SYS_rmdir | SYS_mkdir | SYS_truncate | SYS_chmod => {
                name(a, Use::Changes)
            }
            SYS_stat | SYS_lstat | SYS_access | SYS_readlink => name(a, Use::Looks),
            SYS_unlinkat | SYS_mkdirat | SYS_fchmodat => name(b, Use::Changes),
            SYS_newfstatat | SYS_statx | SYS_faccessat | SYS_faccessat2 | SYS_readlinkat => {
                name(b, Use::Looks)
            }
            SYS_rename | SYS_link | SYS_symlink => {
                name(a, Use::Changes);
                name(b, Use::Changes);
            }
            SYS_renameat | SYS_renameat2 | SYS_linkat => {
                name(b, Use::Changes);
                name(d, Use::Changes);
            }
            SYS_rt_sigaction if b != 0 => action(a, Use::Changes),
            SYS_kill | SYS_tkill => action(b, Use::Looks),
            SYS_tgkill => action(c, Use::Looks),
            // Whoever names a file without a directory means another one from now on.
            SYS_chdir | SYS_fchdir => unseen::note(FILE, dispatch::origin(Builtin::system_call)),
            SYS_umask => name_of(b"/umask/", Use::Both),
            _ => {}
        }
    }
}

fn opens(flags: usize) -> Use {
    match flags as i32 & (O_CREAT | O_TRUNC) {
        0 => Use::Looks,
        _ => Use::Both,
    }
}

/// What it does to the position that all who have the descriptor share, and to the file behind it.
fn descriptor(fd: usize, position: Use, file: Use) {
    let origin = dispatch::origin(Builtin::system_call);
    match descriptors::kind(fd) {
        Kind::Output(_) | Kind::Random | Kind::Pool(_) => {}
        // A pipe, a socket, an event: its other end has another number.
        Kind::Real | Kind::Channel(_) => unseen::note(FILE, origin),
        Kind::Input | Kind::Disk => {
            unseen::used(key::DESCRIPTOR | fd as u64, position, FILE, origin)
        }
        Kind::Overlay(number) => {
            unseen::used(key::DESCRIPTOR | fd as u64, position, FILE, origin);
            unseen::used(key::FILE | number as u64, file, FILE, origin);
        }
    }
}

/// What happens where a signal arrives is everybody's.
fn action(signal: usize, how: Use) {
    let origin = dispatch::origin(Builtin::system_call);
    unseen::used(key::ACTION | signal as u64, how, SIGNAL, origin);
}

/// # Safety
/// The program may read `path`, as far as it asks for.
unsafe fn name(path: usize, how: Use) {
    // SAFETY: what the caller promises.
    unsafe {
        if path != 0 {
            name_of(bytes::text(path as *mut u8, PATH_MAX as usize), how);
        }
    }
}

/// A name, and the directories on the way, which must be there.
fn name_of(path: &[u8], how: Use) {
    let origin = dispatch::origin(Builtin::system_call);
    let use_name = |digest: u32, how| {
        unseen::used(key::NAME | u64::from(digest), how, FILE, origin);
    };
    let mut way = None;
    for part in parts(path) {
        if let Some(directory) = way {
            use_name(directory, Use::Looks);
        }
        let before = way.unwrap_or(0x811c_9dc5u32);
        let digest = part.iter().chain(b"/").fold(before, |digest, byte| {
            (digest ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        way = Some(digest);
    }
    if let Some(name) = way {
        use_name(name, how);
    }
}

/// The parts of a path that mean something. (One that begins at the root, and one that does not, are taken for two files.)
fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let root = path.starts_with(b"/").then_some(&b"/"[..]);
    let rest = path.split(|&byte| byte == b'/');
    root.into_iter()
        .chain(rest.filter(|part| !part.is_empty() && *part != b"."))
}
