//! Files that are nowhere but in memory: for what other processes print.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: a fresh descriptor, owned by the file from here on.
    unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        match fd < 0 {
            true => Err(io::Error::last_os_error()),
            false => Ok(File::from_raw_fd(fd)),
        }
    }
}
