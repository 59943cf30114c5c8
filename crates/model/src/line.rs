//! Addresses, cache lines, and the pieces in which stores persist.

use std::fmt;

/// Bytes in a cache line: the unit of write-back (docs/design/model.md §1).
pub const LINE_BYTES: usize = 64;
/// The widest store that persists as a whole (docs/design/model.md §3).
pub const PIECE_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u64);

/// A 64-byte aligned block of persistent memory, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

pub type LineBytes = [u8; LINE_BYTES];

impl Addr {
    pub fn line(self) -> Line {
        Line(self.0 / LINE_BYTES as u64)
    }

    /// Where in its line.
    pub fn offset(self) -> usize {
        (self.0 % LINE_BYTES as u64) as usize
    }
}

impl Line {
    pub fn start(self) -> Addr {
        Addr(self.0.wrapping_mul(LINE_BYTES as u64))
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {:#x}", self.start().0)
    }
}

/// A store, or the part of one, that persists atomically: at most 8 bytes inside one aligned 8-byte word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Piece {
    pub addr: Addr,
    len: u8,
    /// Bytes past `len` are zero, so that equal pieces compare equal.
    bytes: [u8; PIECE_BYTES],
}

impl Piece {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }

    pub fn write_to(&self, line: &mut LineBytes) {
        let at = self.addr.offset();
        line[at..at + self.len as usize].copy_from_slice(self.bytes());
    }
}

/// Splits a store into its atomic pieces, in ascending address order (docs/design/model.md §3, difference D2).
pub fn pieces(addr: Addr, bytes: &[u8]) -> impl Iterator<Item = Piece> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == bytes.len() {
            return None;
        }
        let addr = Addr(addr.0.wrapping_add(at as u64));
        let room = PIECE_BYTES - (addr.0 % PIECE_BYTES as u64) as usize;
        let len = room.min(bytes.len() - at);
        let mut piece = Piece {
            addr,
            len: len as u8,
            bytes: [0; PIECE_BYTES],
        };
        piece.bytes[..len].copy_from_slice(&bytes[at..at + len]);
        at += len;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_aligned_word_is_one_piece() {
        assert_eq!(pieces(Addr(64), &[1; 8]).count(), 1);
        assert_eq!(pieces(Addr(65), &[1; 8]).count(), 2);
        assert_eq!(pieces(Addr(64), &[]).count(), 0);
    }

    proptest! {
        #[test]
        fn pieces_cover_the_store_and_cross_nothing(start in 0u64..200, bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut next = start;
            let mut seen = Vec::new();
            for piece in pieces(Addr(start), &bytes) {
                prop_assert_eq!(piece.addr.0, next);
                prop_assert_eq!(piece.addr.0 / 8, (piece.addr.0 + piece.bytes().len() as u64 - 1) / 8);
                next += piece.bytes().len() as u64;
                seen.extend_from_slice(piece.bytes());
            }
            prop_assert_eq!(seen, bytes);
        }
    }
}
