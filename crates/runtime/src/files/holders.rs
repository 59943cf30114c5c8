//! Which of several processes has a descriptor: from a fork on, each closes and duplicates for itself. What is behind it is closed when nobody
//! has it any more. A number that the kernel gives is one that no process has, not the lowest that the running one has not.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

use super::descriptors::{self, COUNT, Kind};
use crate::state::server;
use crate::syscalls::dispatch::{Call, refuse};
use crate::threads::forked;
use core::cell::Cell;
use libc::*;

/// By descriptor, a bit for each process that has it; zero where nobody keeps account, as before the first fork.
pub(crate) type Holders = [Cell<u16>; COUNT];

fn holders() -> &'static Holders {
    &server().holders
}

fn bit(process: usize) -> u16 {
    1 << process
}

/// There is one process, which forks.
pub(crate) fn begin(process: usize) {
    for (fd, holders) in holders().iter().enumerate() {
        let is_known = descriptors::kind(fd) != Kind::Real;
        holders.set(if is_known { bit(process) } else { 0 });
    }
}

/// What the parent has, its child has as well.
pub(crate) fn inherit(parent: usize, child: usize) {
    for holders in holders() {
        if holders.get() & bit(parent) != 0 {
            holders.set(holders.get() | bit(child));
        }
    }
}

/// The running process has opened this, or has put something else there.
pub(super) fn opened(fd: usize) {
    if let Some(holders) = holders().get(fd)
        && forked::several()
    {
        let mine = bit(forked::current());
        if holders.get() & !mine != 0 {
            refuse(&[b"dup2: onto a descriptor that another process has as well: not modelled"]);
        }
        holders.set(mine);
    }
}

/// The running process closes this. Is that all, because others still have it?
pub(crate) fn closes(fd: usize) -> bool {
    let Some(holders) = holders().get(fd).filter(|_| forked::several()) else {
        return false;
    };
    holders.set(holders.get() & !bit(forked::current()));
    holders.get() != 0
}

/// Is the call on a descriptor that only others have?
pub(crate) fn lacks(call: &Call) -> bool {
    if !forked::several() || !is_on_descriptor(call.number) {
        return false;
    }
    if call.number == SYS_close_range {
        refuse(&[b"close_range: not modelled while there are several processes"]);
    }
    let held = holders().get(call.arguments[0]).map_or(0, Cell::get);
    held != 0 && held & bit(forked::current()) == 0
}

fn is_on_descriptor(number: i64) -> bool {
    matches!(
        number,
        SYS_read
            | SYS_write
            | SYS_readv
            | SYS_writev
            | SYS_pread64
            | SYS_pwrite64
            | SYS_lseek
            | SYS_close
            | SYS_close_range
            | SYS_fstat
            | SYS_fcntl
            | SYS_ioctl
            | SYS_dup
            | SYS_dup2
            | SYS_dup3
            | SYS_ftruncate
            | SYS_fsync
            | SYS_fdatasync
            | SYS_epoll_ctl
            | SYS_epoll_wait
            | SYS_epoll_pwait
            | SYS_sendto
            | SYS_recvfrom
            | SYS_sendmsg
            | SYS_recvmsg
            | SYS_shutdown
            | SYS_accept
            | SYS_accept4
    )
}

/// What a process is the only one to have, of `kind`.
fn only_of(process: usize) -> impl Iterator<Item = usize> {
    (0..COUNT).filter(move |&fd| holders()[fd].get() == bit(process))
}

/// Would others find that it has gone?
pub(crate) fn is_last_of_channel(process: usize) -> bool {
    only_of(process).any(|fd| matches!(descriptors::kind(fd), Kind::Channel(_)))
}

/// A process ends: what nobody else has is closed.
pub(crate) fn leave(process: usize) {
    for fd in 3..COUNT {
        let holders = &holders()[fd];
        let before = holders.get();
        holders.set(before & !bit(process));
        if before == bit(process) {
            descriptors::close(fd);
        }
    }
}
