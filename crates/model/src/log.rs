//! The log of one execution: what reached the cache and what was written back, in commit order.

use crate::line::{Addr, Line, LineBytes, Piece};
use crate::order::Platform;
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// A position in a log: the number of entries before it. A power failure at a cut loses the entries from there on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cut(pub u32);

/// The content of a line after its i-th logged store; 0 is what the execution began with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// A piece left its thread's store buffer for the cache.
    Store { piece: Piece, thread: u16 },
    /// The line is written back at least up to this version, whatever happens.
    Durable { line: Line, version: Version },
}

/// Append-only; everything else is derived from it.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    lines: FxHashMap<Line, LineLog>,
    platform: Platform,
}

/// Two logs are equal if they say the same; the rest follows.
impl PartialEq for Log {
    fn eq(&self, other: &Log) -> bool {
        self.platform == other.platform && self.entries == other.entries
    }
}

impl Eq for Log {}

impl Hash for Log {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries.hash(state);
    }
}

/// One line's share of the log.
#[derive(Clone, Debug, Default)]
struct LineLog {
    /// The entry that made version `i + 1`.
    stores: Vec<u32>,
    /// Where the frontier rose, and to which version: both ascending.
    frontier: Vec<(u32, Version)>,
}

impl Log {
    pub fn new(platform: Platform) -> Log {
        Log {
            platform,
            ..Log::default()
        }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn end(&self) -> Cut {
        Cut(self.entries.len() as u32)
    }

    /// Lines stored to, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.lines.keys().copied()
    }

    /// A store reaches the cache. Under eADR that is durable at once.
    pub fn store(&mut self, thread: u16, piece: Piece) -> Version {
        let version = self.append_store(thread, piece);
        if self.platform == Platform::Eadr {
            self.durable(piece.addr.line(), version);
        }
        version
    }

    /// A non-temporal store reaches memory's side of the write-combining buffer; its thread's next fence makes it durable
    /// on every platform.
    pub fn nt_store(&mut self, thread: u16, piece: Piece) -> Version {
        self.append_store(thread, piece)
    }

    fn append_store(&mut self, thread: u16, piece: Piece) -> Version {
        let line = self.lines.entry(piece.addr.line()).or_default();
        line.stores.push(self.entries.len() as u32);
        self.entries.push(Entry::Store { piece, thread });
        Version(line.stores.len() as u32)
    }

    /// The line is now guaranteed written back up to `version`. Says nothing where that was known.
    pub fn durable(&mut self, line: Line, version: Version) {
        let Some(log) = self.lines.get_mut(&line) else {
            return; // Never stored to: version 0 is all there is.
        };
        let known = log.frontier.last().map_or(Version(0), |&(_, v)| v);
        if version > known {
            log.frontier.push((self.entries.len() as u32, version));
            self.entries.push(Entry::Durable { line, version });
        }
    }

    /// The newest version of the line whose store is before the cut.
    pub fn newest(&self, line: Line, cut: Cut) -> Version {
        let stores = self.lines.get(&line).map_or(&[][..], |l| &l.stores);
        Version(stores.partition_point(|&entry| entry < cut.0) as u32)
    }

    /// `begin(line)`: the newest version guaranteed written back by entries before the cut.
    pub fn frontier(&self, line: Line, cut: Cut) -> Version {
        let rises = self.lines.get(&line).map_or(&[][..], |l| &l.frontier);
        let before = rises.partition_point(|&(entry, _)| entry < cut.0);
        before.checked_sub(1).map_or(Version(0), |i| rises[i].1)
    }

    /// Cuts at which every crash state of this execution is found (MODEL.md §4): right before each rise of a frontier,
    /// and the end. Several rises with no store between them need only the first: the later ones only remove.
    pub fn sufficient_cuts(&self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let mut stored_since_cut = true;
        for (i, entry) in self.entries.iter().enumerate() {
            match entry {
                Entry::Store { .. } => stored_since_cut = true,
                Entry::Durable { .. } if stored_since_cut => {
                    cuts.push(Cut(i as u32));
                    stored_since_cut = false;
                }
                Entry::Durable { .. } => {}
            }
        }
        if stored_since_cut {
            cuts.push(self.end());
        }
        cuts
    }

    /// The store that made a version; `None` for version 0.
    pub fn store_of(&self, line: Line, version: Version) -> Option<(Cut, &Piece)> {
        let index = version.0.checked_sub(1)? as usize;
        let entry = *self.lines.get(&line)?.stores.get(index)?;
        match &self.entries[entry as usize] {
            Entry::Store { piece, .. } => Some((Cut(entry), piece)),
            Entry::Durable { .. } => None,
        }
    }

    /// Applies the line's stores up to `version` to what the execution began with.
    pub fn apply(&self, line: Line, version: Version, bytes: &mut LineBytes) {
        let Some(log) = self.lines.get(&line) else {
            return;
        };
        for &entry in &log.stores[..version.0 as usize] {
            if let Entry::Store { piece, .. } = &self.entries[entry as usize] {
                piece.write_to(bytes);
            }
        }
    }

    /// Overwrites `bytes` with what the cache holds of them now.
    pub fn read_newest(&self, addr: Addr, bytes: &mut [u8]) {
        for (i, byte) in bytes.iter_mut().enumerate() {
            let at = Addr(addr.0.wrapping_add(i as u64));
            let Some(log) = self.lines.get(&at.line()) else {
                continue;
            };
            for &entry in log.stores.iter().rev() {
                if let Entry::Store { piece, .. } = &self.entries[entry as usize]
                    && let Some(value) =
                        at.0.checked_sub(piece.addr.0)
                            .and_then(|offset| piece.bytes().get(offset as usize))
                {
                    *byte = *value;
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::pieces;

    fn store(log: &mut Log, addr: u64, value: u8) -> Version {
        let piece = pieces(Addr(addr), &[value]).next().unwrap();
        log.store(0, piece)
    }

    #[test]
    fn versions_and_frontier_follow_the_log() {
        let mut log = Log::new(Platform::Adr);
        let line = Addr(0).line();
        assert_eq!(store(&mut log, 0, 1), Version(1));
        assert_eq!(store(&mut log, 1, 2), Version(2));
        log.durable(line, Version(1));
        log.durable(line, Version(1)); // known already
        store(&mut log, 64, 3);
        assert_eq!(log.newest(line, log.end()), Version(2));
        assert_eq!(log.frontier(line, Cut(2)), Version(0));
        assert_eq!(log.frontier(line, Cut(3)), Version(1));
        assert_eq!(log.entries().len(), 4);
        assert_eq!(log.sufficient_cuts(), [Cut(2), log.end()]);
        let mut bytes = [9; 2];
        log.read_newest(Addr(0), &mut bytes);
        assert_eq!(bytes, [1, 2]);
    }

    #[test]
    fn eadr_makes_stores_durable_and_non_temporal_ones_not() {
        let mut log = Log::new(Platform::Eadr);
        store(&mut log, 0, 1);
        assert_eq!(log.frontier(Line(0), log.end()), Version(1));
        log.nt_store(0, pieces(Addr(8), &[1]).next().unwrap());
        assert_eq!(log.frontier(Line(0), log.end()), Version(1));
    }

    #[test]
    fn an_execution_without_flushes_needs_one_cut() {
        let mut log = Log::new(Platform::Adr);
        for i in 0..10 {
            store(&mut log, i * 64, 1);
        }
        assert_eq!(log.sufficient_cuts(), [log.end()]);
        assert_eq!(Log::default().sufficient_cuts(), [Cut(0)]);
    }
}
