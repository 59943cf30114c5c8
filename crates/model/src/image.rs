//! Concrete bytes of persistent memory, by line. What is not there is zero.

use crate::line::{Addr, LINE_BYTES, Line, LineBytes};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Image {
    lines: BTreeMap<Line, LineBytes>,
}

impl Image {
    pub fn line(&self, line: Line) -> LineBytes {
        self.lines.get(&line).copied().unwrap_or([0; LINE_BYTES])
    }

    /// Those that are not all zero.
    pub fn lines(&self) -> impl Iterator<Item = (Line, LineBytes)> + '_ {
        self.lines.iter().map(|(line, bytes)| (*line, *bytes))
    }

    pub fn set_line(&mut self, line: Line, bytes: LineBytes) {
        if bytes == [0; LINE_BYTES] {
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
