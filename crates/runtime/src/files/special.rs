//! Files that are not files: devices, and what the kernel says about processes and the machine. A program sees what is the
//! same in every run, or is told that it cannot be.

use crate::files::descriptors::{self, Kind};
use crate::files::overlay;
use crate::files::resolve::Place;
use crate::memory::bytes::{self, same, starts};
use crate::syscalls::dispatch::refuse;
use crate::syscalls::random;
use crate::syscalls::sys;

/// The descriptor a path under /proc/self/fd names.
fn descriptor(path: &[u8]) -> Option<usize> {
    let digits = &path[starts(path, b"/proc/self/fd/").then_some(14)?..];
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| (byte - b'0') as usize);
    let number = |sum: usize, byte| Some(sum.saturating_mul(10).saturating_add(digit(byte)?));
    (!digits.is_empty() && digits.len() < 6).then_some(())?;
    digits.iter().try_fold(0, number)
}

/// A link of the kernel's that is not followed: what it says has the process in it.
pub(crate) fn stays(place: &mut Place) -> bool {
    let path = place.path();
    if !starts(path, b"/proc/") {
        return false;
    }
    if same(path, b"/proc/1000") || same(path, b"/proc/thread-self") {
        // The number the program knows itself by.
        place.set(b"/proc/self");
        return true;
    }
    if same(path, b"/proc/self/cwd") {
        place.set(crate::files::resolve::working_directory());
        return true;
    }
    same(path, b"/proc/self") || descriptor(path).is_some()
}

/// What a link of the kernel's says, where that has the process or a number of the kernel's in it.
///
/// # Safety
/// `to` has room for the longest path.
pub(crate) unsafe fn read_link(place: &Place, to: *mut u8) -> Option<usize> {
    // SAFETY: what the caller promises.
    unsafe {
        let path = place.path();
        if same(path, b"/proc/self") {
            bytes::copy(to, b"1000".as_ptr(), 4);
            return Some(4);
        }
        let fd = descriptor(path)?;
        if !matches!(
            descriptors::kind(fd),
            Kind::Real | Kind::Input | Kind::Output(_) | Kind::Channel(_)
        ) {
            return None;
        }
        if sys::fcntl(fd, libc::F_GETFD, 0) < 0 {
            return None;
        }
        let mut digits = [0u8; 20];
        let digits = bytes::decimal(fd as u64 + 1, &mut digits);
        bytes::copy(to, b"pipe:[".as_ptr(), 6);
        bytes::copy(to.add(6), digits.as_ptr(), digits.len());
        *to.add(6 + digits.len()) = b']';
        Some(7 + digits.len())
    }
}

/// Is this something whose numbers and times mean nothing?
pub(crate) fn made_up(path: &[u8]) -> bool {
    starts(path, b"/proc/") || starts(path, b"/sys/")
}

/// Opens what is special on disk; `None` for ordinary places.
pub(crate) fn open(place: &Place, flags: i32) -> Option<isize> {
    let path = place.path();
    if starts(path, b"/dev/") {
        return device(place, flags);
    }
    if !starts(path, b"/proc/") {
        return None;
    }
    if let Some(fd) = descriptor(path) {
        return Some(again(fd, place, flags));
    }
    if flags & libc::O_ACCMODE != libc::O_RDONLY {
        refuse(&[b"open: the program writes to ", path]);
    }
    if passes(path) || is_own_directory(place) {
        return Some(sys::call(libc::SYS_open, [place.address(), flags as usize]));
    }
    match contents(path) {
        Some(text) => Some(made(text, flags)),
        None => refuse(&[b"open: what ", path, b" says is not the same in every run"]),
    }
}

fn device(place: &Place, flags: i32) -> Option<isize> {
    let path = place.path();
    let random = same(path, b"/dev/urandom") || same(path, b"/dev/random");
    let harmless = [&b"/dev/null"[..], b"/dev/zero", b"/dev/full"];
    if same(path, b"/dev/tty") {
        return Some(-(libc::ENXIO as isize));
    }
    if !random && !harmless.iter().any(|name| same(path, name)) {
        return None;
    }
    let fd = sys::call(libc::SYS_open, [place.address(), flags as usize]);
    if fd >= 0 {
        descriptors::set(fd as usize, if random { Kind::Random } else { Kind::Disk });
    }
    Some(fd)
}

/// Opens an open file again.
fn again(fd: usize, place: &Place, flags: i32) -> isize {
    // SAFETY: paths are texts of ours that end in zero.
    unsafe {
        match descriptors::kind(fd) {
            Kind::Overlay(number) if (*overlay::inode(number)).holder >= 0 => {
                crate::files::ordinary::open_inode(number, flags)
            }
            Kind::Pool(file) => crate::files::pool::open_slot(file, flags),
            Kind::Disk if flags & libc::O_ACCMODE != libc::O_RDONLY => -(libc::EACCES as isize),
            Kind::Real | Kind::Disk => {
                let kind = descriptors::kind(fd);
                let fd = sys::call(libc::SYS_open, [place.address(), flags as usize]);
                if fd >= 0 {
                    descriptors::set(fd as usize, kind);
                }
                fd
            }
            kind => {
                let fd = sys::call(libc::SYS_dup, [fd]);
                if fd >= 0 {
                    descriptors::set(fd as usize, kind);
                }
                fd
            }
        }
    }
}

/// Says the same in every run already.
fn passes(path: &[u8]) -> bool {
    const WHOLE: [&[u8]; 8] = [
        b"/proc/self/cmdline",
        b"/proc/self/mounts",
        b"/proc/self/mountinfo",
        b"/proc/self/cgroup",
        b"/proc/filesystems",
        b"/proc/cmdline",
        b"/proc/devices",
        b"/proc/self/fd",
    ];
    WHOLE.iter().any(|name| same(path, name))
        || (starts(path, b"/proc/sys/") && !starts(path, b"/proc/sys/kernel/random/"))
}

/// A directory about the process itself; the others list processes.
fn is_own_directory(place: &Place) -> bool {
    starts(place.path(), b"/proc/self/") && crate::files::ordinary::is_directory(place)
}

const MACHINE: [(&[u8], &[u8]); 9] = [
    (b"/proc/uptime", b"1000.00 1000.00\n"),
    (b"/proc/loadavg", b"0.00 0.00 0.00 1/1 1000\n"),
    (b"/proc/version", b"Linux version 6.1.0 (landfall)\n"),
    (
        b"/proc/meminfo",
        b"MemTotal:        8388608 kB\nMemFree:         4194304 kB\nMemAvailable:    4194304 kB\n",
    ),
    (
        b"/proc/cpuinfo",
        b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: landfall\ncpu MHz\t\t: 1000.000\nflags\t\t: fpu tsc cx8 cmov clflush sse sse2 clflushopt clwb\n",
    ),
    (
        b"/proc/self/stat",
        b"1000 (program) R 999 1000 1000 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 100000 8388608 1024 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
    ),
    (b"/proc/self/statm", b"2048 1024 512 128 0 512 0\n"),
    (
        b"/proc/self/status",
        b"Name:\tprogram\nState:\tR (running)\nTgid:\t1000\nPid:\t1000\nPPid:\t999\nTracerPid:\t0\nThreads:\t1\nVmSize:\t8192 kB\nVmRSS:\t4096 kB\n",
    ),
    (b"/proc/self/comm", b"program\n"),
];

fn contents(path: &[u8]) -> Option<&'static [u8]> {
    MACHINE
        .iter()
        .find(|(name, _)| same(path, name))
        .map(|(_, text)| *text)
        .or_else(|| {
            // Filled in below.
            (same(path, b"/proc/sys/kernel/random/uuid")
                || same(path, b"/proc/sys/kernel/random/boot_id"))
            .then_some(&b""[..])
        })
}

/// A file in memory with the given contents; a random identifier if there are none.
fn made(text: &[u8], flags: i32) -> isize {
    // SAFETY: paths are texts of ours that end in zero.
    unsafe {
        let number = overlay::new_file(0o444);
        let holder = (*overlay::inode(number)).holder as usize;
        let mut identifier = *b"00000000-0000-4000-8000-000000000000\n";
        let mut text = text;
        if text.is_empty() {
            let mut raw = [0u8; 37];
            random::fill(raw.as_mut_ptr(), raw.len());
            for (at, byte) in identifier.iter_mut().enumerate() {
                if *byte == b'0' {
                    *byte = b"0123456789abcdef"[raw[at] as usize % 16];
                }
            }
            text = &identifier;
        }
        sys::call(
            libc::SYS_pwrite64,
            [holder, text.as_ptr() as usize, text.len(), 0],
        );
        crate::files::ordinary::open_inode(number, flags)
    }
}
