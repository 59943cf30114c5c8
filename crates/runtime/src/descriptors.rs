//! Which descriptors are not what the kernel thinks: captured output, given input, random sources, pool files.

use crate::bytes;
use crate::hooks;
use crate::log::Origin;
use crate::pool_io;
use crate::random;
use crate::shadow::{is_persistent, view};
use crate::state::{Scratch, state};
use crate::sys;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::End;

pub(crate) const COUNT: usize = 1024;

/// What a descriptor stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Input,
    Output(u8),
    Random,
    Pool(u8),
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Descriptors {
    kinds: [u8; COUNT],
}

impl Descriptors {
    pub(crate) unsafe fn reset(&mut self) {
        bytes::fill(self.kinds.as_mut_ptr(), 0, COUNT);
        self.set(0, Kind::Input);
        self.set(1, Kind::Output(0));
        self.set(2, Kind::Output(1));
    }

    pub(crate) fn get(&self, fd: usize) -> Kind {
        match self.kinds.get(fd).copied().unwrap_or(0) {
            1 => Kind::Input,
            2 => Kind::Output(0),
            3 => Kind::Output(1),
            4 => Kind::Random,
            pool if pool >= 16 => Kind::Pool(pool - 16),
            _ => Kind::Real,
        }
    }

    pub(crate) fn set(&mut self, fd: usize, kind: Kind) {
        if let Some(slot) = self.kinds.get_mut(fd) {
            *slot = match kind {
                Kind::Real => 0,
                Kind::Input => 1,
                Kind::Output(stream) => 2 + stream,
                Kind::Random => 4,
                Kind::Pool(file) => 16 + file,
            };
        }
    }
}

pub(crate) unsafe fn kind(fd: usize) -> Kind {
    (*state()).descriptors.get(fd)
}

/// Records what a descriptor stands for. Also how a restart learns that there are descriptors to close.
pub(crate) unsafe fn set(fd: usize, kind: Kind) {
    (*state()).opened = true;
    (*state()).descriptors.set(fd, kind);
}

/// Bytes a program may write to ordinary files in one run.
const FILE_BYTES: u64 = 1 << 30;
const CHUNK: usize = 64 << 10;
/// Where the memory of a process can be: the kernel maps nothing below or above.
const LOWEST: usize = 4096;
const HIGHEST: usize = 1 << 47;

/// A read into a buffer of the program: into persistent memory it is a store. `at` is a file position, or -1.
pub(crate) unsafe fn read(fd: usize, to: usize, length: usize, at: i64) -> isize {
    let state = state();
    let length = length.min(0x7fff_f000);
    match kind(fd) {
        Kind::Input => {
            let length = length.min((*state).input_left as usize);
            give(to, (*state).input, length);
            (*state).input = (*state).input.add(length);
            (*state).input_left -= length as u64;
            length as isize
        }
        Kind::Random => {
            give_random(to, length);
            length as isize
        }
        Kind::Output(_) => -(libc::EBADF as isize),
        Kind::Pool(file) => pool_io::read(file, fd, to, length, at),
        Kind::Real if is_persistent(to) => read_persistent(fd, to, length, at),
        Kind::Real => {
            crate::tracked::warm(to, length);
            if at >= 0 {
                sys::call(libc::SYS_pread64, [fd, to, length, at as usize])
            } else {
                sys::call(libc::SYS_read, [fd, to, length])
            }
        }
    }
}

/// Random bytes for the program.
pub(crate) unsafe fn give_random(to: usize, length: usize) {
    let chunk = Scratch::new(CHUNK);
    let mut done = 0;
    while done < length {
        let piece = CHUNK.min(length - done);
        random::fill(chunk.start(), piece);
        give(to + done, chunk.start(), piece);
        done += piece;
    }
}

/// Hands bytes to the program, as stores where its buffer is persistent.
pub(crate) unsafe fn give(to: usize, from: *const u8, length: usize) {
    hooks::copy(
        to as *mut u8,
        from,
        length,
        0,
        Origin::library(Builtin::read, 0),
    );
}

unsafe fn read_persistent(fd: usize, to: usize, length: usize, at: i64) -> isize {
    let scratch = Scratch::new(CHUNK);
    let chunk = scratch.start();
    let mut done = 0;
    while done < length {
        let piece = CHUNK.min(length - done);
        let got = if at >= 0 {
            sys::call(
                libc::SYS_pread64,
                [fd, chunk as usize, piece, at as usize + done],
            )
        } else {
            sys::call(libc::SYS_read, [fd, chunk as usize, piece])
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
    done as isize
}

pub(crate) unsafe fn write(fd: usize, from: usize, length: usize, at: i64) -> isize {
    let state = state();
    let length = length.min(0x7fff_f000);
    let kind = kind(fd);
    if is_persistent(from) {
        hooks::read_span(from, length, 0, Origin::library(Builtin::write, 0));
    }
    let from = view(from as *const u8) as usize;
    match kind {
        Kind::Output(_) if length != 0 && !(LOWEST..HIGHEST).contains(&from) => {
            -(libc::EFAULT as isize)
        }
        Kind::Output(stream) => {
            let outcome = &raw mut (*(*state).slot).outcome;
            let total = if stream == 0 {
                &raw mut (*outcome).stdout_len
            } else {
                &raw mut (*outcome).stderr_len
            };
            let room = (*state).output_limit.saturating_sub(*total) as usize;
            bytes::copy(
                (*state).output[stream as usize].add(*total as usize),
                from as *const u8,
                length.min(room),
            );
            // Counts everything, keeps what fits: a reader sees that something is missing.
            *total += length.min(room) as u64;
            (*state).written += length as u64;
            if (*state).written > (1 << 32) {
                too_much()
            }
            length as isize
        }
        Kind::Input | Kind::Random => -(libc::EBADF as isize),
        Kind::Pool(file) => pool_io::write(file, fd, from, length, at),
        Kind::Real => {
            (*state).written += length as u64;
            if (*state).written > FILE_BYTES {
                too_much()
            }
            if at >= 0 {
                sys::call(libc::SYS_pwrite64, [fd, from, length, at as usize])
            } else {
                sys::call(libc::SYS_write, [fd, from, length])
            }
        }
    }
}

unsafe fn too_much() -> ! {
    let text: &[&[u8]] = &[b"write: the program writes without end"];
    crate::outcome::end(
        End::Forbidden,
        crate::outcome::Report {
            code: libc::SYS_write as i32,
            text,
            ..Default::default()
        },
    )
}
