//! What has arrived and nobody has read yet: bytes, in chunks that are linked to each other.

use super::{CHUNKS_AT, used};
use crate::memory::bytes;
use crate::memory::own::place;
use crate::run::outcome;
use core::cell::Cell;

/// A chunk: which one comes next, then bytes.
const CHUNK: usize = 4096;
const ROOM: usize = CHUNK - 8;
const MOST_CHUNKS: usize = (place::CHANNELS + place::CHANNELS_LEN - CHUNKS_AT) / CHUNK;

#[repr(C)]
pub(crate) struct Arrivals {
    /// Chunks by their number plus one.
    first: Cell<u32>,
    last: Cell<u32>,
    /// Where bytes begin in the first one, and end in the last.
    from: Cell<u32>,
    to: Cell<u32>,
    length: Cell<usize>,
}

fn chunk(number: u32) -> *mut u8 {
    (CHUNKS_AT + (number as usize - 1) * CHUNK) as *mut u8
}

fn next(number: u32) -> *mut u32 {
    chunk(number).cast()
}

fn take_chunk() -> u32 {
    let used = used();
    match used.free_chunk.get() {
        0 => {
            let number = used.chunks.get() + 1;
            if number as usize > MOST_CHUNKS {
                outcome::internal(b"no memory for what channels hold", 0)
            }
            used.chunks.set(number);
            number
        }
        free => {
            // SAFETY: a chunk that was in use: its first word is its successor.
            used.free_chunk.set(unsafe { *next(free) });
            free
        }
    }
}

impl Arrivals {
    pub(super) fn begin(&self) {
        let Arrivals {
            first,
            last,
            from,
            to,
            length,
        } = self;
        for number in [first, last, from, to] {
            number.set(0);
        }
        length.set(0);
    }

    pub(crate) fn length(&self) -> usize {
        self.length.get()
    }

    /// Bytes arrive. They are memory of ours: nothing faults halfway.
    ///
    /// # Safety
    /// All of it can be read.
    pub(crate) unsafe fn push(&self, mut from: *const u8, mut length: usize) {
        while length > 0 {
            if self.last.get() == 0 || self.to.get() as usize == ROOM {
                let fresh = take_chunk();
                // SAFETY: chunks are memory of ours.
                unsafe { *next(fresh) = 0 };
                match self.last.get() {
                    0 => {
                        self.first.set(fresh);
                        self.from.set(0);
                    }
                    // SAFETY: as above.
                    last => unsafe { *next(last) = fresh },
                }
                self.last.set(fresh);
                self.to.set(0);
            }
            let at = self.to.get() as usize;
            let piece = length.min(ROOM - at);
            // SAFETY: inside of the chunk; of the source, what the caller promises.
            unsafe {
                bytes::copy(chunk(self.last.get()).add(8 + at), from, piece);
                from = from.add(piece);
            }
            self.to.set((at + piece) as u32);
            self.length.set(self.length.get() + piece);
            length -= piece;
        }
    }

    /// Goes through the first so many bytes, piece by piece: where each lies, how long it is, how many came before.
    pub(crate) fn each(&self, most: usize, mut each: impl FnMut(*const u8, usize, usize)) -> usize {
        let most = most.min(self.length.get());
        let (mut number, mut at, mut done) = (self.first.get(), self.from.get() as usize, 0);
        while done < most {
            let piece = (most - done).min(ROOM - at);
            each(chunk(number).wrapping_add(8 + at).cast_const(), piece, done);
            done += piece;
            at = 0;
            if done < most {
                // SAFETY: there are more bytes, so there is a next chunk.
                number = unsafe { *next(number) };
            }
        }
        done
    }

    /// The byte at a place, if there is one.
    pub(crate) fn find(&self, byte: u8) -> Option<usize> {
        let mut found = None;
        self.each(self.length.get(), |piece, length, before| {
            if found.is_none() {
                // SAFETY: a piece of a chunk.
                let piece = unsafe { core::slice::from_raw_parts(piece, length) };
                found = piece
                    .iter()
                    .position(|&other| other == byte)
                    .map(|at| before + at);
            }
        });
        found
    }

    /// The first so many bytes are read.
    pub(crate) fn drop_first(&self, most: usize) {
        let mut left = most.min(self.length.get());
        self.length.set(self.length.get() - left);
        while left > 0 {
            let number = self.first.get();
            let is_last = number == self.last.get();
            let end = if is_last {
                self.to.get() as usize
            } else {
                ROOM
            };
            let piece = left.min(end - self.from.get() as usize);
            self.from.set(self.from.get() + piece as u32);
            left -= piece;
            if self.from.get() as usize == end {
                // SAFETY: chunks are memory of ours.
                unsafe {
                    self.first.set(*next(number));
                    *next(number) = used().free_chunk.get();
                }
                used().free_chunk.set(number);
                self.from.set(0);
                if is_last {
                    self.begin();
                }
            }
        }
    }

    pub(super) fn empty(&self) {
        self.drop_first(self.length.get());
    }
}
