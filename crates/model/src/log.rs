//! The log of one execution: what reached the cache and what was written back, in commit order.

use crate::event::EventId;
use crate::line::{Addr, LINE_BYTES, Line, LineBytes, PIECE_BYTES, Piece};
use crate::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// A position in a log: the number of entries before it. A power failure at a cut loses the entries from there on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cut(pub u32);

/// The content of a line after its i-th logged store; 0 is what the execution began with. Where copies are torn, parts of a
/// copy are versions too.
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
    /// The event that made each entry.
    events: Vec<EventId>,
    /// The event that makes what is logged now.
    by: EventId,
    lines: FxHashMap<Line, LineLog>,
    /// Entries that appeared at one moment: no power failure comes between them.
    moments: Vec<Range<u32>>,
    platform: Platform,
}

/// Two logs are equal if they say the same; the rest follows, but for how many versions copies have.
impl PartialEq for Log {
    fn eq(&self, other: &Log) -> bool {
        let versions = |log: &Log, line: &Line| log.lines.get(line).map(|l| l.versions.len());
        self.platform == other.platform
            && self.entries == other.entries
            && self
                .lines
                .keys()
                .all(|line| versions(self, line) == versions(other, line))
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
    /// The entries that store to it.
    stores: Vec<u32>,
    /// Version `i + 1`.
    versions: Vec<Made>,
    /// Where the frontier rose, and to which version: both ascending.
    frontier: Vec<(u32, Version)>,
}

/// What a version is made of: an older one, and stores on top.
#[derive(Clone, Copy, Debug)]
struct Made {
    /// The entry with which it becomes possible.
    since: u32,
    base: Version,
    /// Which of the line's stores: the first, and a mask of it and those that follow.
    first: u32,
    mask: u8,
}

impl Made {
    fn stores(self) -> impl DoubleEndedIterator<Item = usize> {
        let chosen = (0..8).filter(move |i| self.mask & (1 << i) != 0);
        chosen.map(move |i| self.first as usize + i)
    }
}

/// The most pieces of one copy on a line: one for each of its words.
const MOST_TORN: usize = LINE_BYTES / PIECE_BYTES;

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

    /// What is logged from now on is the effect of this event.
    pub fn by(&mut self, event: EventId) {
        self.by = event;
    }

    /// Are some stores versions of their lines only together with others?
    pub fn commits_together(&self) -> bool {
        !self.moments.is_empty()
    }

    /// Does nothing come between what is before a cut and what is behind it?
    pub fn is_within_moment(&self, cut: Cut) -> bool {
        let inside = |moment: &Range<u32>| moment.start < cut.0 && cut.0 < moment.end;
        self.moments.iter().any(inside)
    }

    /// The event that makes what is logged next.
    pub fn maker(&self) -> EventId {
        self.by
    }

    /// The event that made an entry.
    pub fn event_of(&self, entry: Cut) -> Option<EventId> {
        self.events.get(entry.0 as usize).copied()
    }

    /// The event that made each entry.
    pub fn events(&self) -> &[EventId] {
        &self.events
    }

    fn append(&mut self, entry: Entry) {
        self.entries.push(entry);
        self.events.push(self.by);
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
        let since = self.entries.len() as u32;
        let line = self.lines.entry(piece.addr.line()).or_default();
        line.versions.push(Made {
            since,
            base: Version(line.versions.len() as u32),
            first: line.stores.len() as u32,
            mask: 1,
        });
        line.stores.push(since);
        let version = Version(line.versions.len() as u32);
        self.append(Entry::Store { piece, thread });
        version
    }

    /// Pieces of one copy on one line, which may persist in any order (docs/design/model.md §3.2): every part of them is a version, the
    /// whole the newest. All become possible with the last one. Nothing is made durable.
    pub fn torn_stores(&mut self, thread: u16, pieces: &[(EventId, Piece)]) {
        for pieces in pieces.chunks(MOST_TORN) {
            let Some(line) = pieces.first().map(|(_, piece)| piece.addr.line()) else {
                return;
            };
            let log = self.lines.entry(line).or_default();
            let first = log.stores.len() as u32;
            for &(event, piece) in pieces {
                log.stores.push(self.entries.len() as u32);
                self.entries.push(Entry::Store { piece, thread });
                self.events.push(event);
            }
            let base = Version(log.versions.len() as u32);
            log.versions
                .extend((1..1u16 << pieces.len()).map(|mask| Made {
                    since: self.entries.len() as u32 - 1,
                    base,
                    first,
                    mask: mask as u8,
                }));
        }
    }

    /// What a transaction wrote reaches the cache at one moment: one version of each line, whichever words of it were written.
    /// Under eADR all of them are durable at once, or none.
    pub fn committed_stores(&mut self, thread: u16, pieces: &[(EventId, Piece)]) {
        let begin = self.entries.len() as u32;
        let mut lines: SmallVec<[Line; 4]> = SmallVec::new();
        for line in pieces.iter().map(|(_, piece)| piece.addr.line()) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        for &line in &lines {
            let on_line = pieces.iter();
            let on_line = on_line.filter(|(_, piece)| piece.addr.line() == line);
            let log = self.lines.entry(line).or_default();
            let first = log.stores.len() as u32;
            let mut mask = 0;
            for (i, &(event, piece)) in on_line.take(MOST_TORN).enumerate() {
                mask |= 1 << i;
                log.stores.push(self.entries.len() as u32);
                self.entries.push(Entry::Store { piece, thread });
                self.events.push(event);
            }
            log.versions.push(Made {
                since: self.entries.len() as u32 - 1,
                base: Version(log.versions.len() as u32),
                first,
                mask,
            });
        }
        if self.platform == Platform::Eadr {
            for line in lines {
                self.durable(line, self.newest(line, self.end()));
            }
        }
        self.moments.push(begin..self.entries.len() as u32);
    }

    /// The versions of its line that the store at this entry makes possible: most often one.
    pub fn versions_since(&self, entry: u32, line: Line) -> Range<u32> {
        let versions = self.lines.get(&line).map_or(&[][..], |l| &l.versions);
        let from = versions.partition_point(|made| made.since < entry);
        let to = from + versions[from..].partition_point(|made| made.since == entry);
        from as u32 + 1..to as u32 + 1
    }

    /// An older version, and what makes this one of it. Version 0 is made of itself.
    pub fn made_of(&self, line: Line, version: Version) -> (Version, SmallVec<[Piece; 1]>) {
        let log = self.lines.get(&line);
        let made = version
            .0
            .checked_sub(1)
            .and_then(|i| log?.versions.get(i as usize));
        let (Some(log), Some(made)) = (log, made) else {
            return (version, SmallVec::new());
        };
        let pieces = made
            .stores()
            .filter_map(|store| self.piece(log.stores[store]));
        (made.base, pieces.collect())
    }

    fn piece(&self, entry: u32) -> Option<Piece> {
        match self.entries[entry as usize] {
            Entry::Store { piece, .. } => Some(piece),
            Entry::Durable { .. } => None,
        }
    }

    /// The line is now guaranteed written back up to `version`. Says nothing where that was known.
    pub fn durable(&mut self, line: Line, version: Version) {
        let Some(log) = self.lines.get_mut(&line) else {
            return; // Never stored to: version 0 is all there is.
        };
        let known = log.frontier.last().map_or(Version(0), |&(_, v)| v);
        if version > known {
            log.frontier.push((self.entries.len() as u32, version));
            self.append(Entry::Durable { line, version });
        }
    }

    /// The newest version of the line whose store is before the cut.
    pub fn newest(&self, line: Line, cut: Cut) -> Version {
        let versions = self.lines.get(&line).map_or(&[][..], |l| &l.versions);
        Version(versions.partition_point(|made| made.since < cut.0) as u32)
    }

    /// `begin(line)`: the newest version guaranteed written back by entries before the cut.
    pub fn frontier(&self, line: Line, cut: Cut) -> Version {
        let rises = self.lines.get(&line).map_or(&[][..], |l| &l.frontier);
        let before = rises.partition_point(|&(entry, _)| entry < cut.0);
        before.checked_sub(1).map_or(Version(0), |i| rises[i].1)
    }

    /// Cuts at which every crash state of this execution is found (docs/design/model.md §4): right before each rise of a frontier,
    /// and the end. Several rises with no store between them need only the first: the later ones only remove.
    pub fn sufficient_cuts(&self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let mut stored_since_cut = true;
        let mut moments = self.moments.iter().peekable();
        for (i, entry) in self.entries.iter().enumerate() {
            let at = i as u32;
            moments.next_if(|moment| moment.end <= at);
            // Where nothing of it is durable by itself it is like any store.
            if let Some(moment) = moments.peek()
                && self.platform == Platform::Eadr
                && moment.contains(&at)
            {
                // Right before it, and then as any store: what it wrote is there from its end on.
                if moment.start == at && stored_since_cut {
                    cuts.push(Cut(at));
                }
                stored_since_cut = true;
                continue;
            }
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

    /// The last store of a version; `None` for version 0.
    pub fn store_of(&self, line: Line, version: Version) -> Option<(Cut, &Piece)> {
        let index = version.0.checked_sub(1)? as usize;
        let log = self.lines.get(&line)?;
        let store = log.versions.get(index)?.stores().next_back()?;
        let entry = *log.stores.get(store)?;
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
        if log.versions.len() == log.stores.len() {
            for &entry in &log.stores[..version.0 as usize] {
                if let Entry::Store { piece, .. } = &self.entries[entry as usize] {
                    piece.write_to(bytes);
                }
            }
            return;
        }
        // Torn: version by version, the oldest first.
        let mut parts = Vec::new();
        let mut at = version;
        while at > Version(0) {
            let (base, pieces) = self.made_of(line, at);
            parts.push(pieces);
            at = base;
        }
        parts.iter().rev().flatten().for_each(|p| p.write_to(bytes));
    }

    /// The newest store to a byte that is in a version of its line.
    pub fn last_store_to(&self, byte: Addr, version: Version) -> Option<Cut> {
        let log = self.lines.get(&byte.line())?;
        let mut at = version;
        loop {
            let made = log.versions.get(at.0.checked_sub(1)? as usize)?;
            let covers = |&entry: &u32| {
                self.piece(entry).is_some_and(|piece| {
                    let from = byte.0.checked_sub(piece.addr.0);
                    from.is_some_and(|from| from < piece.bytes().len() as u64)
                })
            };
            let mut stores = made.stores().rev().map(|store| log.stores[store]);
            if let Some(entry) = stores.find(covers) {
                return Some(Cut(entry));
            }
            at = made.base;
        }
    }

    /// The entries whose stores are in a version, oldest first.
    pub fn stores_in(&self, line: Line, version: Version) -> Vec<Cut> {
        let mut entries = Vec::new();
        let log = self.lines.get(&line);
        let mut at = version;
        while let Some((log, made)) =
            log.and_then(|l| Some((l, l.versions.get(at.0.checked_sub(1)? as usize)?)))
        {
            entries.extend(made.stores().rev().map(|store| Cut(log.stores[store])));
            at = made.base;
        }
        entries.reverse();
        entries
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
    fn a_torn_copy_may_persist_in_any_order() {
        let mut log = Log::new(Platform::Adr);
        store(&mut log, 0, 9);
        let copied = pieces(Addr(8), &[1; 24]).map(|piece| (EventId(0), piece));
        let copied: Vec<(EventId, Piece)> = copied.collect();
        log.torn_stores(0, &copied);
        store(&mut log, 16, 7);
        assert_eq!(log.newest(Line(0), log.end()), Version(9));
        assert_eq!(log.versions_since(3, Line(0)), 2..9);
        let content = |version: u32| {
            let mut bytes = [0; 64];
            log.apply(Line(0), Version(version), &mut bytes);
            [bytes[0], bytes[8], bytes[16], bytes[24]]
        };
        assert_eq!(content(1), [9, 0, 0, 0]);
        assert_eq!(content(6), [9, 1, 0, 1]);
        assert_eq!(content(8), [9, 1, 1, 1]);
        assert_eq!(content(9), [9, 1, 7, 1]);
        assert_eq!(log.stores_in(Line(0), Version(6)), [Cut(0), Cut(1), Cut(3)]);
    }

    #[test]
    fn what_commits_together_is_one_version_of_each_line() {
        let words = [(0, 1), (8, 2), (64, 3)];
        let piece = |&(addr, value)| pieces(Addr(addr), &[value]).next().unwrap();
        let written: Vec<(EventId, Piece)> =
            (0..).map(EventId).zip(words.iter().map(piece)).collect();
        let mut log = Log::new(Platform::Adr);
        store(&mut log, 0, 9);
        log.committed_stores(0, &written);
        assert_eq!(log.newest(Line(0), log.end()), Version(2));
        assert_eq!(log.newest(Line(1), log.end()), Version(1));
        let mut bytes = [0; 64];
        log.apply(Line(0), Version(2), &mut bytes);
        assert_eq!([bytes[0], bytes[8]], [1, 2]);
        assert_eq!(log.sufficient_cuts(), [log.end()]);

        let mut log = Log::new(Platform::Eadr);
        log.committed_stores(0, &written);
        // Before it and behind it, not in between.
        assert_eq!(log.sufficient_cuts(), [Cut(0), log.end()]);
        assert_eq!(log.frontier(Line(1), log.end()), Version(1));
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
