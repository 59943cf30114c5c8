//! What the machine looks like to a program: the same in every run, on every machine.

use crate::syscalls::calls::as_it_is;
use crate::syscalls::dispatch::Call;
use libc::*;

/// # Safety
/// `to` has room for all of it.
pub(crate) unsafe fn uname(to: *mut utsname) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        crate::memory::bytes::fill(to as *mut u8, 0, size_of::<utsname>());
        let fields: [(*mut u8, &[u8]); 5] = [
            ((&raw mut (*to).sysname) as *mut u8, b"Linux"),
            ((&raw mut (*to).nodename) as *mut u8, b"landfall"),
            ((&raw mut (*to).release) as *mut u8, b"6.1.0"),
            ((&raw mut (*to).version) as *mut u8, b"#1"),
            ((&raw mut (*to).machine) as *mut u8, b"x86_64"),
        ];
        for (field, text) in fields {
            crate::memory::bytes::copy(field, text.as_ptr(), text.len());
        }
        0
    }
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn system_information(to: usize) -> isize {
    // SAFETY: what the caller promises.
    unsafe {
        let information = to as *mut sysinfo;
        crate::memory::bytes::fill(to as *mut u8, 0, size_of::<sysinfo>());
        (*information).totalram = 8 << 30;
        (*information).freeram = 4 << 30;
        (*information).procs = 1;
        (*information).mem_unit = 1;
        0
    }
}

pub(crate) fn prctl(call: &Call) -> isize {
    match call.arguments[0] as i32 {
        PR_SET_NAME | PR_SET_DUMPABLE | PR_SET_NO_NEW_PRIVS => 0,
        0x53564d41 => 0, // PR_SET_VMA: names for mappings
        PR_GET_NAME | PR_GET_DUMPABLE => as_it_is(call),
        _ => -(EINVAL as isize),
    }
}
