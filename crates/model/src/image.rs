//! Concrete bytes of persistent memory, by line. What is not there is as it was when it was new: zero, or garbage.

use crate::line::{Addr, LINE_BYTES, Line, LineBytes};
use std::collections::BTreeMap;
use std::ops::Range;

/// What memory holds that nobody ever wrote to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FreshMemory {
    /// Lines that hold garbage; all others are zero.
    pub garbage: [Range<u64>; 2],
    /// Each byte of it.
    pub byte: u8,
}

impl FreshMemory {
    fn line(&self, line: Line) -> LineBytes {
        match self.is_garbage(line) {
            true => [self.byte; LINE_BYTES],
            false => [0; LINE_BYTES],
        }
    }

    pub fn is_garbage(&self, line: Line) -> bool {
        self.garbage.iter().any(|lines| lines.contains(&line.0))
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Image {
    lines: BTreeMap<Line, LineBytes>,
    fresh: FreshMemory,
}

impl Image {
    /// Memory that nobody wrote to.
    pub fn new(fresh: FreshMemory) -> Image {
        Image {
            lines: BTreeMap::new(),
            fresh,
        }
    }

    /// What it was before anybody wrote to it.
    pub fn untouched(&self) -> Image {
        Image::new(self.fresh.clone())
    }

    pub fn fresh(&self) -> &FreshMemory {
        &self.fresh
    }

    pub fn line(&self, line: Line) -> LineBytes {
        let known = self.lines.get(&line).copied();
        known.unwrap_or_else(|| self.fresh.line(line))
    }

    /// Those that are not all zero.
    pub fn lines(&self) -> impl Iterator<Item = (Line, LineBytes)> + '_ {
        self.lines.iter().map(|(line, bytes)| (*line, *bytes))
    }

    pub fn set_line(&mut self, line: Line, bytes: LineBytes) {
        if bytes == self.fresh.line(line) {
            self.lines.remove(&line);
        } else {
            self.lines.insert(line, bytes);
        }
    }

    pub fn read(&self, addr: Addr, bytes: &mut [u8]) {
        for (i, byte) in bytes.iter_mut().enumerate() {
            let at = Addr(addr.0.wrapping_add(i as u64));
            *byte = self.line(at.line())[at.offset()];
        }
    }

    pub fn write(&mut self, addr: Addr, bytes: &[u8]) {
        for (i, &byte) in bytes.iter().enumerate() {
            let at = Addr(addr.0.wrapping_add(i as u64));
            let mut line = self.line(at.line());
            line[at.offset()] = byte;
            self.set_line(at.line(), line);
        }
    }

    /// The lines in which `self` differs from `base`: what a run on it has to be given.
    pub fn delta<'a>(&'a self, base: &'a Image) -> impl Iterator<Item = (Line, LineBytes)> + 'a {
        let mut lines: Vec<Line> = self
            .lines
            .keys()
            .chain(base.lines.keys())
            .copied()
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
            .into_iter()
            .map(|line| (line, self.line(line)))
            .filter(|&(line, bytes)| bytes != base.line(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_names_the_lines_that_differ() {
        let mut base = Image::default();
        base.write(Addr(0), &[1, 2]);
        let mut image = base.clone();
        image.write(Addr(64), &[7]);
        image.write(Addr(0), &[1, 2]);
        let delta: Vec<Line> = image.delta(&base).map(|(line, _)| line).collect();
        assert_eq!(delta, [Line(1)]);
        let back: Vec<Line> = base.delta(&image).map(|(line, _)| line).collect();
        assert_eq!(back, [Line(1)]);
        let mut bytes = [0; 3];
        image.read(Addr(63), &mut bytes);
        assert_eq!(bytes, [0, 7, 0]);
    }
}
