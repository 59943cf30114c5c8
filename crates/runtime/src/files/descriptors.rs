//! Which descriptors are not what the kernel thinks: captured output, given input, random sources, pool files, channels.

use crate::channels;
use crate::channels::streams::{self, Manner};
use crate::files::holders;
use crate::files::pool_io;
use crate::memory::accesses;
use crate::memory::bytes;
use crate::memory::own::Scratch;
use crate::memory::shadow::{is_persistent, view};
use crate::run::shared;
use crate::state::run;
use crate::syscalls::dispatch::{origin, refuse};
use crate::syscalls::random;
use crate::syscalls::sys;
use core::cell::Cell;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::Outcome;

pub(crate) const COUNT: usize = crate::files::overlay::FIRST_HOLDER;
/// First numbers of pool files and of inodes of the overlay.
const POOL: u16 = 16;
const OVERLAY: u16 = 256;
const CHANNEL: u16 = 1 << 14;

/// What a descriptor stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Input,
    Output(u8),
    Random,
    /// A file or directory on disk, open for reading.
    Disk,
    Pool(u8),
    /// A file or directory of the run's overlay.
    Overlay(usize),
    /// A pipe, a socket or the like: an object of the run.
    Channel(u16),
}

#[repr(C)]
pub(crate) struct Descriptors {
    kinds: [Cell<u16>; COUNT],
}

impl Descriptors {
    /// What a run starts with.
    pub(crate) fn begin(&self) {
        self.set(0, Kind::Input);
        self.set(1, Kind::Output(0));
        self.set(2, Kind::Output(1));
    }

    pub(crate) fn get(&self, fd: usize) -> Kind {
        match self.kinds.get(fd).map_or(0, Cell::get) {
            1 => Kind::Input,
            2 => Kind::Output(0),
            3 => Kind::Output(1),
            4 => Kind::Random,
            5 => Kind::Disk,
            number if number >= CHANNEL => Kind::Channel(number - CHANNEL),
            number if number >= OVERLAY => Kind::Overlay((number - OVERLAY) as usize),
            pool if pool >= POOL => Kind::Pool((pool - POOL) as u8),
            _ => Kind::Real,
        }
    }

    pub(crate) fn set(&self, fd: usize, kind: Kind) {
        if let Some(slot) = self.kinds.get(fd) {
            slot.set(match kind {
                Kind::Real => 0,
                Kind::Input => 1,
                Kind::Output(stream) => 2 + stream as u16,
                Kind::Random => 4,
                Kind::Disk => 5,
                Kind::Pool(file) => POOL + file as u16,
                Kind::Overlay(number) => OVERLAY + number as u16,
                Kind::Channel(number) => CHANNEL + number,
            });
        }
    }
}

pub(crate) fn kind(fd: usize) -> Kind {
    run().descriptors.get(fd)
}

/// Records what a descriptor stands for. Also how a restart learns that there are descriptors to close.
pub(crate) fn set(fd: usize, kind: Kind) {
    run().opened.set(true);
    if kind != Kind::Real {
        holders::opened(fd);
    }
    let before = run().descriptors.get(fd);
    if let Kind::Channel(number) = kind {
        channels::hold(number);
    }
    run().descriptors.set(fd, kind);
    if let Kind::Channel(number) = before {
        channels::let_go(number);
    }
}

/// The descriptor stands for nothing any more.
pub(crate) fn close(fd: usize) -> isize {
    set(fd, Kind::Real);
    sys::call(libc::SYS_close, [fd])
}

/// Does it stand for anything?
pub(crate) fn is_open(fd: usize) -> bool {
    fd < COUNT && (kind(fd) != Kind::Real || sys::fcntl(fd, libc::F_GETFD, 0) >= 0)
}

/// Bytes a program may write to ordinary files in one run, and to its output.
const FILE_BYTES: u64 = 1 << 30;
const OUTPUT_BYTES: u64 = 1 << 32;
const CHUNK: usize = 64 << 10;

/// A read into a buffer of the program: into persistent memory it is a store. `at` is a file position, or -1.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn read(fd: usize, to: usize, length: usize, at: i64) -> isize {
    let length = length.min(0x7fff_f000);
    // SAFETY: what the caller promises.
    unsafe {
        match kind(fd) {
            Kind::Input => {
                shared::outcome(|outcome| outcome.read_input = 1);
                let length = length.min(run().input_left.get() as usize);
                give(to, run().input.get(), length);
                run().input.set(run().input.get().add(length));
                run()
                    .input_left
                    .set(run().input_left.get() - (length as u64));
                length as isize
            }
            Kind::Random => {
                give_random(to, length);
                length as isize
            }
            Kind::Output(_) => -(libc::EBADF as isize),
            Kind::Channel(_) if at >= 0 => -(libc::ESPIPE as isize),
            Kind::Channel(number) => streams::read(number.into(), to, length, Manner::PLAIN),
            Kind::Pool(file) => pool_io::read(file, fd, to, length, at),
            _ if fd >= COUNT => -(libc::EBADF as isize),
            kind => {
                if kind == Kind::Real && !crate::syscalls::waiting::ready(fd, libc::POLLIN, b"read")
                {
                    return -(libc::EINTR as isize);
                }
                if is_persistent(to) {
                    return read_persistent(fd, to, length, at);
                }
                crate::run::tracked::warm(to, length);
                if at >= 0 {
                    sys::raw(libc::SYS_pread64, [fd, to, length, at as usize])
                } else {
                    sys::raw(libc::SYS_read, [fd, to, length])
                }
            }
        }
    }
}

/// Random bytes for the program.
///
/// # Safety
/// The program may write to `to`, as far as it asks for.
pub(crate) unsafe fn give_random(to: usize, length: usize) {
    let chunk = Scratch::new(CHUNK);
    let mut done = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while done < length {
            let piece = CHUNK.min(length - done);
            random::fill(chunk.start(), piece);
            give(to + done, chunk.start(), piece);
            done += piece;
        }
    }
}

/// Hands bytes to the program, as stores where its buffer is persistent.
///
/// # Safety
/// The program may write to `to` and read `from`, as far as it asks for.
pub(crate) unsafe fn give(to: usize, from: *const u8, length: usize) {
    // SAFETY: what the caller promises.
    unsafe {
        if accesses::others_see() && !is_persistent(to) {
            // What it comes from is ours, and nobody's to see.
            accesses::hand_over(to, from, length, origin(Builtin::read));
        } else {
            accesses::copy(to as *mut u8, from, length, 0, origin(Builtin::read));
        }
    }
}

/// # Safety
/// The program may write to `to`, as far as it asks for.
unsafe fn read_persistent(fd: usize, to: usize, length: usize, at: i64) -> isize {
    let scratch = Scratch::new(CHUNK);
    let chunk = scratch.start();
    let mut done = 0;
    // SAFETY: what the caller promises.
    unsafe {
        while done < length {
            let piece = CHUNK.min(length - done);
            let got = if at >= 0 {
                sys::raw(
                    libc::SYS_pread64,
                    [fd, chunk as usize, piece, at as usize + done],
                )
            } else {
                sys::raw(libc::SYS_read, [fd, chunk as usize, piece])
            };
            if got <= 0 {
                return if done == 0 { got } else { done as isize };
            }
            give(to + done, chunk, got as usize);
            done += got as usize;
            if (got as usize) < piece {
                break;
            }
        }
    }
    done as isize
}

/// # Safety
/// The program may read `from`, as far as it asks for.
pub(crate) unsafe fn write(fd: usize, from: usize, length: usize, at: i64) -> isize {
    let length = length.min(0x7fff_f000);
    if is_persistent(from) {
        accesses::read_span(from, length, 0, origin(Builtin::write));
    }
    let from = view(from as *const u8) as usize;
    // SAFETY: what the caller promises.
    unsafe {
        match kind(fd) {
            Kind::Output(stream) => {
                capture(stream, from as *const u8, length);
                length as isize
            }
            Kind::Input | Kind::Random => -(libc::EBADF as isize),
            Kind::Channel(_) if at >= 0 => -(libc::ESPIPE as isize),
            Kind::Channel(number) => streams::write(number.into(), from, length, Manner::PLAIN),
            Kind::Pool(file) => pool_io::write(file, fd, from, length, at),
            _ if fd >= COUNT => -(libc::EBADF as isize),
            kind => {
                run().written.set(run().written.get() + (length as u64));
                if run().written.get() > FILE_BYTES {
                    refuse(&[b"write: the program writes without end"]);
                }
                if kind == Kind::Real
                    && !crate::syscalls::waiting::ready(fd, libc::POLLOUT, b"write")
                {
                    return -(libc::EINTR as isize);
                }
                if at >= 0 {
                    sys::call(libc::SYS_pwrite64, [fd, from, length, at as usize])
                } else {
                    sys::call(libc::SYS_write, [fd, from, length])
                }
            }
        }
    }
}

/// How much was printed to a stream so far.
fn printed(outcome: &mut Outcome, stream: u8) -> &mut u64 {
    match stream {
        0 => &mut outcome.stdout_len,
        _ => &mut outcome.stderr_len,
    }
}

/// Keeps what the program prints: the beginning, and of a long output the end, in a ring behind it.
///
/// # Safety
/// The program may read `from`, as far as it asks for.
unsafe fn capture(stream: u8, mut from: *const u8, mut length: usize) {
    let buffer = run().output.get()[stream as usize];
    let limit = run().output_limit.get();
    let head = landfall_vocab::shared::output_head(limit);
    // SAFETY: what the caller promises.
    unsafe {
        while length > 0 {
            let at = shared::outcome(|outcome| *printed(outcome, stream));
            // In the head, up to its end; in the ring, up to where it starts over.
            let (place, room) = if at < head {
                (at, head - at)
            } else if limit == head {
                (0, u64::MAX)
            } else {
                let place = head + (at - head) % (limit - head);
                (place, limit - place)
            };
            let piece = length.min(room as usize);
            if limit > head || at < head {
                bytes::copy(buffer.add(place as usize), from, piece);
            }
            shared::outcome(|outcome| *printed(outcome, stream) += piece as u64);
            (from, length) = (from.add(piece), length - piece);
        }
    }
    if shared::outcome(|outcome| outcome.stdout_len + outcome.stderr_len) > OUTPUT_BYTES {
        refuse(&[b"write: the program writes without end"]);
    }
}
