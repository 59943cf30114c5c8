//! What each line may hold at the present point of a log, and which live reads of the tree ask for it.

use crate::subject::FirstRead;
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes};
use landfall_model::log::Log;
use rustc_hash::FxHashMap;

/// The lines that a log stores to; reads of all others have one value for good.
#[derive(Debug)]
pub(super) struct ReadLines {
    numbers: FxHashMap<Line, u32>,
    all: Vec<LineWalk>,
}

impl ReadLines {
    pub(super) fn new(log: &Log, base: &Image) -> ReadLines {
        let mut names: Vec<Line> = log.lines().collect();
        names.sort_unstable();
        let all = names
            .iter()
            .map(|&line| LineWalk {
                line,
                first: 0,
                contents: vec![base.line(line)],
                stores_left: log.newest(line, log.end()).0,
                given: 0,
                readers: Vec::new(),
                crowded: FEW,
            })
            .collect();
        let numbers = names.iter().zip(0..).map(|(&line, n)| (line, n)).collect();
        ReadLines { numbers, all }
    }

    pub(super) fn number(&self, line: Line) -> Option<u32> {
        self.numbers.get(&line).copied()
    }

    pub(super) fn at(&self, number: u32) -> &LineWalk {
        &self.all[number as usize]
    }

    pub(super) fn at_mut(&mut self, number: u32) -> &mut LineWalk {
        &mut self.all[number as usize]
    }
}

/// Readers kept before dead ones are looked for.
pub(super) const FEW: usize = 8;

/// A line at the present point of the log.
#[derive(Debug)]
pub(super) struct LineWalk {
    pub(super) line: Line,
    /// The frontier: the version that `contents[0]` is.
    pub(super) first: u32,
    /// What each feasible version holds.
    pub(super) contents: Vec<LineBytes>,
    /// Stores to come.
    pub(super) stores_left: u32,
    /// Versions up to here have been given to the readers.
    pub(super) given: u32,
    /// Reads of the line that the present crash state can reach, in the order they were reached; some are dead by now.
    pub(super) readers: Vec<LineReader>,
    crowded: usize,
}

impl LineWalk {
    pub(super) fn newest(&self) -> u32 {
        self.first + self.contents.len() as u32 - 1
    }

    pub(super) fn newest_bytes(&self) -> &LineBytes {
        &self.contents[self.contents.len() - 1]
    }

    pub(super) fn content(&self, version: u32) -> &LineBytes {
        &self.contents[(version - self.first) as usize]
    }

    /// It can never hold anything but what it holds.
    pub(super) fn settled(&self) -> bool {
        self.contents.len() == 1 && self.stores_left == 0
    }

    /// Versions whose content agrees with what is known, oldest first.
    pub(super) fn agreeing<'a>(
        &'a self,
        known: Option<&'a KnownValues>,
    ) -> impl DoubleEndedIterator<Item = (u32, &'a LineBytes)> {
        self.contents
            .iter()
            .enumerate()
            .map(|(i, bytes)| (self.first + i as u32, bytes))
            .filter(move |(_, bytes)| known.is_none_or(|known| known.agrees(bytes)))
    }

    /// Adds a reader; once there are many, those for which `alive` is false are dropped.
    pub(super) fn add_reader(&mut self, reader: LineReader, alive: impl Fn(&LineReader) -> bool) {
        if self.readers.len() >= self.crowded {
            self.readers.retain(alive);
            self.crowded = (2 * self.readers.len()).max(FEW);
        }
        self.readers.push(reader);
    }
}

/// A read of a line that some feasible image comes to. There may be one for each distinct recovery.
#[derive(Debug)]
pub(super) struct LineReader {
    /// Its name in the tree.
    pub(super) run: u32,
    pub(super) depth: u32,
    /// Where in the line, and which bytes there.
    at: u8,
    mask: u8,
    /// What it returned to the run that brought it.
    pub(super) value: u64,
    /// What the reads above it say about the line.
    pub(super) known: Option<Box<KnownValues>>,
}

impl LineReader {
    pub(super) fn new(
        (run, depth): (u32, u32),
        read: FirstRead,
        value: u64,
        known: Option<KnownValues>,
    ) -> LineReader {
        LineReader {
            run,
            depth,
            at: read.word.offset() as u8,
            mask: read.mask,
            value,
            known: known.map(Box::new),
        }
    }

    /// What it reads, as if its line were the first.
    pub(super) fn read(&self) -> FirstRead {
        FirstRead {
            word: Addr(self.at.into()),
            mask: self.mask,
        }
    }
}

/// Bytes of a line that are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KnownValues {
    mask: u64,
    bytes: LineBytes,
}

impl KnownValues {
    /// One more read.
    pub(super) fn and(known: Option<KnownValues>, read: FirstRead, value: u64) -> KnownValues {
        let mut known = known.unwrap_or(KnownValues {
            mask: 0,
            bytes: [0; 64],
        });
        let at = read.word.offset();
        for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
            if read.mask & (1 << i) != 0 {
                known.bytes[at + i] = byte;
            }
        }
        known.mask |= u64::from(read.mask) << at;
        known
    }

    pub(super) fn agrees(&self, line: &LineBytes) -> bool {
        (0..64).all(|i| self.mask & (1 << i) == 0 || self.bytes[i] == line[i])
    }
}
