//! What a thread finds behind its step, before it comes to the next one, in bytes that others store to: nobody else goes on meanwhile, so
//! that is what memory held when it took the step, but for what it has stored since. It says where the thread comes next, like what
//! the step found.

use super::memory::Span;

/// In a number that says where a way goes on: a look at memory comes before that.
pub(super) const LOOK: u32 = 1 << 31;

/// What is known of a line.
#[derive(Clone, Copy, Debug)]
struct Seen {
    line: u32,
    /// Bytes that it has found, and bytes that it has stored, since its step.
    found: u64,
    stored: u64,
}

/// Of the way that a thread is on.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    /// In order: bytes that it looked at, and what they were.
    pub(super) all: Vec<(Span, u64)>,
    seen: Vec<Seen>,
    /// Something was stored that the trace does not say.
    pub(super) stores_unsaid: bool,
    /// Something was stored that others look at, besides by steps.
    pub(super) stores: bool,
}

impl Looks {
    pub(super) fn begin(&mut self) {
        self.all.clear();
        self.seen.clear();
        (self.stores_unsaid, self.stores) = (false, false);
    }

    fn line(&mut self, line: u32) -> &mut Seen {
        let known = self.seen.iter().position(|seen| seen.line == line);
        let at = known.unwrap_or_else(|| {
            self.seen.push(Seen {
                line,
                found: 0,
                stored: 0,
            });
            self.seen.len() - 1
        });
        &mut self.seen[at]
    }

    /// It is known what these bytes are: the step says so.
    pub(super) fn knows(&mut self, span: Span) {
        self.line(span.line).found |= span.mask();
    }

    /// It has stored there.
    pub(super) fn stores(&mut self, span: Span) {
        self.line(span.line).stored |= span.mask();
    }

    /// It finds this value there, part of which may be its own.
    pub(super) fn finds(&mut self, span: Span, value: u64) {
        let seen = self.line(span.line);
        let unknown = span.mask() & !seen.stored & !seen.found;
        if unknown == 0 {
            return;
        }
        seen.found |= span.mask();
        let new = span.mask() & !seen.stored;
        for (piece, shift) in span.pieces(new) {
            let bits = 8 * piece.length();
            let all = u64::MAX >> (64 - bits.clamp(1, 64));
            self.all.push((piece, value >> shift & all));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::SteppedMemory;
    use super::*;

    #[test]
    fn only_what_nobody_told_is_looked_at() {
        let mut memory = SteppedMemory::default();
        let mut span = |at: u64, length: u64| memory.span((0x1000 + at) | (length << 56));
        let (word, half, byte) = (span(8, 8), span(10, 2), span(8, 1));
        let (word, half, byte) = (
            word.expect("a span"),
            half.expect("a span"),
            byte.expect("a span"),
        );
        let mut looks = Looks::default();
        looks.stores(half);
        looks.finds(word, 0x8877_6655_ffff_2211);
        let found: Vec<(usize, u64)> = { looks.all.iter() }
            .map(|(span, value)| (span.length(), *value))
            .collect();
        assert_eq!(found, [(2, 0x2211), (4, 0x8877_6655)]);
        looks.finds(byte, 0x11);
        assert_eq!(looks.all.len(), 2);
        looks.begin();
        looks.knows(byte);
        looks.finds(byte, 0x11);
        assert!(looks.all.is_empty());
        looks.finds(half, 7);
        assert_eq!(looks.all, [(half, 7)]);
    }
}
