//! Copies, fills and comparisons of bytes.

use super::access::AccessWay;
use super::library::LibraryAnswer;
use super::machine::{CMachine, CState, CValue, Go};
use crate::term::{Op, Term};

impl CMachine<'_> {
    /// Copies in the pieces in which copies reach memory: words, lowest first.
    pub(super) fn copy(
        &mut self,
        state: &mut CState,
        to: Term,
        from: Term,
        size: u64,
        way: AccessWay,
    ) -> Go<()> {
        // What is read first is not changed by what is written (memmove).
        let mut pieces = Vec::new();
        for (offset, length) in self.pieces(state, to, size)? {
            let by = self.program.terms.constant(64, offset);
            let source = self.program.terms.add(from, by);
            pieces.push((by, self.load(state, source, length)?));
        }
        for (by, value) in pieces {
            let target = self.program.terms.add(to, by);
            self.store(state, target, value, way)?;
        }
        Ok(())
    }

    pub(super) fn fill(
        &mut self,
        state: &mut CState,
        to: Term,
        byte: Term,
        size: u64,
        way: AccessWay,
    ) -> Go<()> {
        let byte = self.program.terms.extract(byte, 0, 8);
        for (offset, length) in self.pieces(state, to, size)? {
            let value = self.concatenate(&vec![byte; length as usize]);
            let by = self.program.terms.constant(64, offset);
            let target = self.program.terms.add(to, by);
            self.store(state, target, value, way)?;
        }
        Ok(())
    }

    pub(super) fn pieces(
        &mut self,
        state: &mut CState,
        to: Term,
        size: u64,
    ) -> Go<Vec<(u64, u64)>> {
        if size == 0 {
            return Ok(Vec::new());
        }
        let targets = self.targets(state, to, size)?;
        let start = targets[0].1 % 8;
        let alike = targets.iter().all(|(_, address)| address % 8 == start);
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < size {
            let length = match alike {
                true => (8 - (start + at) % 8).min(size - at),
                false => 1,
            };
            pieces.push((at, length));
            at += length;
        }
        Ok(pieces)
    }

    pub(super) fn compare_bytes(
        &mut self,
        state: &mut CState,
        values: &[CValue],
    ) -> Go<LibraryAnswer> {
        let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
        let size = self.length(values, 2, "the length")?;
        let mut result = self.program.terms.constant(32, 0);
        for at in (0..size).rev() {
            let by = self.program.terms.constant(64, at);
            let (pa, pb) = (self.program.terms.add(a, by), self.program.terms.add(b, by));
            let (x, y) = (self.load(state, pa, 1)?, self.load(state, pb, 1)?);
            let terms = &mut self.program.terms;
            let (same, less) = (terms.eq(x, y), terms.binary(Op::Ult, x, y));
            let (below, above) = (terms.constant(32, u64::MAX), terms.constant(32, 1));
            let differ = terms.choose(less, below, above);
            result = terms.choose(same, result, differ);
        }
        self.answers(result)
    }

    pub(super) fn text_length(
        &mut self,
        state: &mut CState,
        values: &[CValue],
    ) -> Go<LibraryAnswer> {
        let p = self.number(values, 0)?;
        for at in 0..4096 {
            let by = self.program.terms.constant(64, at);
            let place = self.program.terms.add(p, by);
            let letter = self.load(state, place, 1)?;
            match self.program.terms.constant_of(letter) {
                Some(0) => return self.gives(64, at),
                Some(_) => {}
                None => return self.refuse("the length of a text that is not a constant"),
            }
        }
        self.refuse("a text that does not end")
    }
}
