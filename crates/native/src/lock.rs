//! Locks on files that die with their holders.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Who else may hold the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    /// Nobody.
    Alone,
    /// Those who want no more than that.
    Shared,
}

/// Takes a lock that lasts until the file is closed. False if somebody has one that does not allow it.
pub fn try_lock(file: &File, lock: Lock) -> io::Result<bool> {
    let kind = match lock {
        Lock::Alone => libc::LOCK_EX,
        Lock::Shared => libc::LOCK_SH,
    };
    loop {
        // SAFETY: a system call on a descriptor that is open.
        if unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock => return Ok(false),
            io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}
