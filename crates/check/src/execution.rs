//! One execution, prepared for questions: who stored to a word, what happens before what, when a line was written back.

use crate::beginning::DurableBeginning;
use crate::finding::{At, StoreMade};
use landfall_model::clock::ClockVector;
use landfall_model::commit::{Copies, logged};
use landfall_model::event::{Action, Atomicity, Event, EventId, How, Mark};
use landfall_model::line::{Addr, Line, PIECE_BYTES, Piece};
use landfall_model::log::{Entry, Log};
use landfall_model::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;
use std::rc::Rc;

/// A store as its word's history knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordStore {
    /// The version of the line that it made.
    pub version: u32,
    pub event: EventId,
    /// Which bytes of the word.
    pub mask: u8,
    /// The word with these bytes, others zero.
    pub value: u64,
    /// May a compiler have torn it?
    pub plain: bool,
    /// Durable by decree, see [`How::AtOnce`].
    pub at_once: bool,
    /// The first cut that has it.
    pub born: u32,
    /// The last cut that may lack it.
    pub certain_after: u32,
    /// Its thread's clock.
    pub clock: u32,
    /// With one thread: the clock at which it is written back; none is later than any clock.
    pub flushed: u32,
}

/// A write-back of a line, complete with the event `done`: itself for `clflush`, else its thread's next fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CompleteFlush {
    event: EventId,
    done: EventId,
}

/// The stores to a word, and what is to be said of all of them at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct WordHistory {
    /// The last cut that may lack one of them.
    pub(crate) certain_after: u32,
    /// With one thread: the clock at which all of them are written back.
    pub(crate) flushed: u32,
    /// Bytes that they wrote, and what they left there.
    pub(crate) mask: u8,
    pub(crate) value: u64,
    stores: Vec<WordStore>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct LineHistory {
    /// The log entry that made version `i + 1`.
    stores: Vec<u32>,
    /// Log entries that raised the frontier, and to which version.
    rises: Vec<(u32, u32)>,
}

/// One thread's write-backs of one line, by kind: each list is in program order, and so are the times of completion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct ThreadFlushes {
    thread: u16,
    at_once: Vec<CompleteFlush>,
    fenced: Vec<CompleteFlush>,
}

/// A thread's clock at an event, and what it knew then of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    clock: u32,
    knowledge: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    events: Vec<Event>,
    stamps: Vec<Stamp>,
    /// Knowledge changes at observations only, so that one thread needs one vector.
    knowledge: Vec<ClockVector>,
    by_thread: Vec<Vec<EventId>>,
    words: FxHashMap<u64, WordHistory>,
    lines: FxHashMap<Line, LineHistory>,
    flushes: FxHashMap<Line, SmallVec<[ThreadFlushes; 1]>>,
    end: u32,
    platform: Platform,
    reordered: bool,
    /// For each first read, how many cuts belong to it or to one before it.
    cuts_up_to: Vec<u32>,
    /// Of one of many schedules: its number, and for each store which of its thread's at its place it is.
    number: u32,
    numbers: Option<Vec<u32>>,
    /// First and last event of each copy that is marked as one, ascending.
    copies: Vec<(u32, u32)>,
    /// What its schedule did before, and memory has kept.
    before: Option<Rc<DurableBeginning>>,
}

/// Bytes of a piece in its word.
fn mask_of(addr: Addr, len: usize) -> u8 {
    let at = (addr.0 % PIECE_BYTES as u64) as u32;
    ((((1u16 << len) - 1) << at) & 0xff) as u8
}

fn value_of(piece: &Piece) -> u64 {
    let mut bytes = [0; PIECE_BYTES];
    let at = (piece.addr.0 % PIECE_BYTES as u64) as usize;
    bytes[at..at + piece.bytes().len()].copy_from_slice(piece.bytes());
    u64::from_le_bytes(bytes)
}

/// First byte and length of what a store writes.
fn span(event: &Event) -> Option<(u64, u64)> {
    let piece = event.piece()?;
    Some((piece.addr.0, piece.bytes().len() as u64))
}

/// Does one instruction store it all at once?
fn is_natural((start, length): (u64, u64)) -> bool {
    length.is_power_of_two() && start.is_multiple_of(length)
}

fn is_plain(event: &Event) -> bool {
    match event.action {
        Action::Store { how, atomic, .. } => atomic == Atomicity::Plain && how != How::AtOnce,
        _ => false,
    }
}

fn is_at_once(event: &Event) -> bool {
    matches!(
        event.action,
        Action::Store {
            how: How::AtOnce,
            ..
        }
    )
}

/// A byte mask as a mask of bits.
pub(crate) fn wide(mask: u8) -> u64 {
    if mask == 0xff {
        return u64::MAX;
    }
    let bytes = std::array::from_fn(|i| if mask & (1 << i) != 0 { 0xff } else { 0 });
    u64::from_le_bytes(bytes)
}

pub(crate) fn word_of(addr: Addr) -> u64 {
    addr.0 / PIECE_BYTES as u64
}

/// Stores in the order in which they reach the cache.
#[derive(Clone, Debug, Default)]
pub struct CommittedOrder {
    pub stores: Vec<EventId>,
    /// Those of a hardware transaction do so together.
    pub together: Vec<Range<usize>>,
}

impl Execution {
    /// The log says which of the events made each of its entries.
    pub fn new(events: Vec<Event>, log: &Log, platform: Platform) -> Execution {
        let mut execution = Execution {
            stamps: Vec::with_capacity(events.len()),
            knowledge: vec![ClockVector::default()],
            by_thread: Vec::new(),
            words: FxHashMap::default(),
            lines: FxHashMap::default(),
            flushes: FxHashMap::default(),
            end: log.end().0,
            events,
            platform,
            reordered: false,
            cuts_up_to: Vec::new(),
            number: 0,
            numbers: None,
            copies: Vec::new(),
            before: None,
        };
        execution.index_copies();
        execution.place_cuts(log.events());
        execution.stamp();
        execution.index_log(log);
        execution.index_flushes();
        execution.complete_stores();
        execution
    }

    /// An execution of which somebody else knows what a power failure can leave ([`super::Recoveries::leaves`]). `committed` are
    /// its stores in the order in which they reached the cache; the number is the caller's.
    pub fn of_schedule(
        events: Vec<Event>,
        committed: &CommittedOrder,
        platform: Platform,
        number: u32,
    ) -> Execution {
        let mut log = Log::new(platform);
        let mut together = committed.together.iter().peekable();
        for (at, &store) in committed.stores.iter().enumerate() {
            let event = &events[store.index()];
            together.next_if(|all| all.end <= at);
            if let Some(all) = together.peek().filter(|all| all.contains(&at)) {
                if all.start == at {
                    let all = committed.stores[(*all).clone()].iter();
                    let pieces = all.filter_map(|&store| {
                        let piece = events[store.index()].piece()?;
                        Some((store, *piece))
                    });
                    let pieces: Vec<_> = pieces.collect();
                    log.committed_stores(event.thread, &pieces);
                }
            } else if let Some(&piece) = event.piece() {
                // As far as a cut is concerned, nothing is ever durable.
                log.by(store);
                log.nt_store(event.thread, piece);
            }
        }
        let mut execution = Execution::new(events, &log, platform);
        execution.number = number;
        execution.number_stores();
        execution
    }

    /// The same for what follows such a beginning, of so many threads.
    pub fn of_schedule_after(
        before: Rc<DurableBeginning>,
        events: Vec<Event>,
        committed: &CommittedOrder,
        number: u32,
        threads: usize,
    ) -> Execution {
        let mut execution = Execution::of_schedule(events, committed, Platform::Adr, number);
        let threads = threads.max(execution.by_thread.len());
        execution.by_thread.resize(threads, Vec::new());
        execution.before = Some(before);
        execution.number_stores();
        execution
    }

    /// What its schedule did before, if that is not part of it.
    pub fn before(&self) -> Option<&Rc<DurableBeginning>> {
        self.before.as_ref()
    }

    /// What a store is called in all schedules: the n-th one of its thread at its place. In a recovery, which does what it reads
    /// makes it do, its number among the events.
    pub fn name(&self, store: EventId) -> (u16, u32, u32) {
        let Event { thread, site, .. } = *self.event(store);
        let number = |numbers: &Vec<u32>| numbers[store.index()];
        (thread, site, self.numbers.as_ref().map_or(store.0, number))
    }

    fn number_stores(&mut self) {
        let before = self.before.as_ref();
        let mut met = before.map_or_else(FxHashMap::default, |before| before.numbers.clone());
        let numbers = self.events.iter().map(|event| {
            let count = met.entry((event.thread, event.site)).or_default();
            *count += u32::from(event.piece().is_some());
            *count
        });
        self.numbers = Some(numbers.collect());
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// An execution with its log, which follows from its events.
    pub fn logged(events: Vec<Event>, platform: Platform) -> (Execution, Log) {
        let log = logged(&events, platform, Copies::Whole);
        (Execution::new(events, &log, platform), log)
    }

    /// The cuts that belong to the recovery's read of this number (to its end, if it has no more): those at which the power fails
    /// before it reads that, and after all before. The more was read before a power failure, the more is known of it.
    pub fn cuts_before(&self, read: usize) -> Option<(u32, u32)> {
        let from = match read.checked_sub(1) {
            None => 0,
            Some(before) => *self.cuts_up_to.get(before)?,
        };
        let after = self.cuts_up_to.get(read).copied();
        let last = after.unwrap_or(self.end + 1).checked_sub(1)?;
        (from <= last).then_some((from, last))
    }

    /// A cut belongs to the read that follows the last event it has, or to a later one before the next store.
    fn place_cuts(&mut self, entries: &[EventId]) {
        let mut next = vec![self.events.len(); entries.len() + 1];
        for (at, event) in entries.iter().enumerate().rev() {
            next[at] = next[at + 1].min(event.index());
        }
        let mut last = 0;
        let mut places = next.iter().enumerate().map(|(cut, &next)| {
            last = match cut.checked_sub(1) {
                Some(before) => last.max(entries[before].index()),
                None => 0,
            };
            last.max(next)
        });
        let mut place = places.next();
        let mut cuts = 0;
        for (at, event) in self.events.iter().enumerate() {
            if !matches!(event.action, Action::Read(_)) {
                continue;
            }
            while place.is_some_and(|place| place <= at) {
                cuts += 1;
                place = places.next();
            }
            self.cuts_up_to.push(cuts);
        }
    }

    /// Clocks count every event of a thread (figure 4.1 counts stores only; the order is the same).
    fn stamp(&mut self) {
        let mut knows: Vec<u32> = Vec::new();
        for (at, event) in self.events.iter().enumerate() {
            let thread = usize::from(event.thread);
            if self.by_thread.len() <= thread {
                self.by_thread.resize(thread + 1, Vec::new());
                knows.resize(thread + 1, 0);
            }
            self.by_thread[thread].push(EventId(at as u32));
            // An event can learn of earlier ones only.
            if let Action::Observe { event: seen } = event.action
                && seen.index() < at
            {
                let mut vector = self.knowledge[knows[thread] as usize].clone();
                let source = &self.stamps[seen.index()];
                vector.join(&self.knowledge[source.knowledge as usize]);
                vector.raise(usize::from(self.events[seen.index()].thread), source.clock);
                self.knowledge.push(vector);
                knows[thread] = self.knowledge.len() as u32 - 1;
            }
            self.stamps.push(Stamp {
                clock: self.by_thread[thread].len() as u32,
                knowledge: knows[thread],
            });
        }
    }

    fn index_log(&mut self, log: &Log) {
        let mut last = vec![EventId(0); self.by_thread.len()];
        for (at, (entry, &event)) in log.entries().iter().zip(log.events()).enumerate() {
            match *entry {
                Entry::Store { piece, .. } => {
                    let last = &mut last[usize::from(self.events[event.index()].thread)];
                    self.reordered |= *last > event;
                    *last = event;
                    let line = self.lines.entry(piece.addr.line()).or_default();
                    let number = line.stores.len() as u32;
                    // What a hardware transaction did to the line before it is of the same version.
                    let made = || log.versions_since(at as u32, piece.addr.line()).start;
                    match log.commits_together() && made() == number && number != 0 {
                        true => line.stores[number as usize - 1] = at as u32,
                        false => line.stores.push(at as u32),
                    }
                    self.words
                        .entry(word_of(piece.addr))
                        .or_default()
                        .stores
                        .push(WordStore {
                            version: line.stores.len() as u32,
                            event,
                            mask: mask_of(piece.addr, piece.bytes().len()),
                            value: value_of(&piece),
                            plain: is_plain(&self.events[event.index()]),
                            at_once: is_at_once(&self.events[event.index()]),
                            born: at as u32 + 1,
                            certain_after: log.end().0,
                            clock: self.stamps[event.index()].clock,
                            flushed: u32::MAX,
                        });
                }
                Entry::Durable { line, version } => {
                    let line = self.lines.entry(line).or_default();
                    line.rises.push((at as u32, version.0));
                }
            }
        }
    }

    fn index_flushes(&mut self) {
        let mut pending: Vec<Vec<(Line, EventId)>> = vec![Vec::new(); self.by_thread.len()];
        for (at, event) in self.events.iter().enumerate() {
            let (at, thread) = (EventId(at as u32), event.thread);
            match event.action {
                Action::Clflush(line) => {
                    of_thread(&mut self.flushes, line, thread)
                        .at_once
                        .push(CompleteFlush {
                            event: at,
                            done: at,
                        });
                }
                Action::Clwb(line) => pending[usize::from(thread)].push((line, at)),
                Action::Store {
                    piece,
                    how: How::NonTemporal,
                    ..
                } => pending[usize::from(thread)].push((piece.addr.line(), at)),
                Action::Fence(_) => {
                    for (line, flush) in pending[usize::from(thread)].drain(..) {
                        of_thread(&mut self.flushes, line, thread)
                            .fenced
                            .push(CompleteFlush {
                                event: flush,
                                done: at,
                            });
                    }
                }
                Action::Store { .. }
                | Action::Read(_)
                | Action::Observe { .. }
                | Action::Mark(_) => {}
            }
        }
    }

    /// What a store's word must know of later events.
    fn complete_stores(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        for (&at, word) in &mut words {
            let line = Addr(at * PIECE_BYTES as u64).line();
            for stored in &mut word.stores {
                stored.certain_after = self.cuts_of(line, (0, stored.version - 1)).1;
                if self.threads() == 1 {
                    stored.flushed = self.flush_after(stored.event, line);
                }
                word.certain_after = word.certain_after.max(stored.certain_after);
                word.flushed = word.flushed.max(stored.flushed);
                word.mask |= stored.mask;
                word.value = word.value & !wide(stored.mask) | stored.value;
            }
        }
        self.words = words;
    }

    /// With one thread: the clock at which the store is written back.
    fn flush_after(&self, store: EventId, line: Line) -> u32 {
        let flushes = self.flushes.get(&line).into_iter().flatten();
        let first = flushes
            .flat_map(|of| [&of.at_once, &of.fenced])
            .map(|list| {
                let first = list.partition_point(|f| f.event < store);
                list.get(first).map_or(u32::MAX, |f| self.clock(f.done))
            });
        first.min().unwrap_or(u32::MAX)
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub fn event(&self, event: EventId) -> &Event {
        &self.events[event.index()]
    }

    fn index_copies(&mut self) {
        for (at, event) in self.events.iter().enumerate() {
            match (event.action, self.copies.last_mut()) {
                (Action::Mark(Mark::CopyBegin), _) => self.copies.push((at as u32, u32::MAX)),
                (Action::Mark(Mark::CopyEnd), Some(copy)) => copy.1 = at as u32,
                _ => {}
            }
        }
    }

    /// What the compiler that built the program made of a store. Pieces of one stand one behind the other.
    pub fn made(&self, store: EventId) -> StoreMade {
        let (event, at) = (self.event(store), store.index());
        let Some(written) = span(event) else {
            return StoreMade::InPieces;
        };
        let before = self.copies.partition_point(|copy| copy.0 < store.0);
        let copy = before.checked_sub(1).map(|copy| self.copies[copy]);
        let in_copy = copy.is_some_and(|(_, last)| store.0 < last);
        if in_copy || !is_natural(written) {
            return StoreMade::InPieces;
        }
        // The other half of a store across the end of a word. One element of an array beside another looks the same, unless both are
        // whole words; copies of threads are not marked, and those do, too.
        let is_other_half = |other: Option<&Event>, upwards: bool| {
            let other =
                other.filter(|other| (other.site, other.thread) == (event.site, event.thread));
            other.and_then(span).is_some_and(|other| {
                let (low, high) = if upwards {
                    (written, other)
                } else {
                    (other, written)
                };
                let meet = low.0 + low.1 == high.0 && high.0.is_multiple_of(PIECE_BYTES as u64);
                let whole = low.1 == PIECE_BYTES as u64 && high.1 == PIECE_BYTES as u64;
                meet && (!whole || self.threads() > 1)
            })
        };
        let below = at.checked_sub(1).and_then(|at| self.events.get(at));
        match is_other_half(below, false) || is_other_half(self.events.get(at + 1), true) {
            true => StoreMade::InPieces,
            false => StoreMade::AtOnce,
        }
    }

    pub fn threads(&self) -> usize {
        self.by_thread.len()
    }

    /// One thread, whose stores reached the cache in program order: clocks alone say what happens before what. Not of a schedule,
    /// of which cuts say nothing.
    pub fn is_sequential(&self) -> bool {
        self.threads() <= 1 && !self.reordered && self.numbers.is_none()
    }

    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// The cut after everything.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// A thread's events, in program order: the event at clock `i + 1`.
    pub fn of_thread(&self, thread: u16) -> &[EventId] {
        self.by_thread
            .get(usize::from(thread))
            .map_or(&[], |events| events)
    }

    /// The event's own clock.
    pub fn clock(&self, event: EventId) -> u32 {
        self.stamps[event.index()].clock
    }

    /// `SCV(event)(thread)`: how far the thread had come in everything that happens before the event, itself included.
    pub fn known(&self, event: EventId, thread: u16) -> u32 {
        let stamp = self.stamps[event.index()];
        if self.event(event).thread == thread {
            return stamp.clock;
        }
        self.knowledge[stamp.knowledge as usize].get(usize::from(thread))
    }

    /// Reflexive.
    pub fn happens_before(&self, first: EventId, second: EventId) -> bool {
        let thread = self.event(first).thread;
        self.known(second, thread) >= self.clock(first)
    }

    /// Stores to the word, in the order in which they reached the cache.
    pub fn stores_to(&self, word: Addr) -> &[WordStore] {
        self.word(word).map_or(&[], |word| &word.stores)
    }

    pub(crate) fn word(&self, word: Addr) -> Option<&WordHistory> {
        self.words.get(&word_of(word))
    }

    /// A store, for a finding. `index` is the place of this execution among those that crashed.
    pub fn at(&self, index: usize, event: EventId) -> At {
        let stores = self
            .event(event)
            .piece()
            .map(|piece| self.stores_to(piece.addr));
        let stored = stores.and_then(|stores| stores.iter().find(|s| s.event == event));
        At {
            execution: index,
            event,
            entry: stored.map_or(0, |stored| stored.born - 1),
            site: self.event(event).site,
        }
    }

    /// The newest version of the line that a cut has.
    pub fn newest(&self, line: Line, cut: u32) -> u32 {
        let stores = self.lines.get(&line).map_or(&[][..], |l| &l.stores);
        stores.partition_point(|&entry| entry < cut) as u32
    }

    /// The oldest version of the line that may be left at a cut.
    pub fn frontier(&self, line: Line, cut: u32) -> u32 {
        let rises = self.lines.get(&line).map_or(&[][..], |l| &l.rises);
        let before = rises.partition_point(|&(entry, _)| entry < cut);
        before.checked_sub(1).map_or(0, |i| rises[i].1)
    }

    /// The first and the last cut that may leave some version in a range of them.
    pub fn cuts_of(&self, line: Line, versions: (u32, u32)) -> (u32, u32) {
        let Some(history) = self.lines.get(&line) else {
            return (0, self.end);
        };
        let born = versions.0.checked_sub(1);
        let born = born
            .and_then(|i| history.stores.get(i as usize))
            .map_or(0, |entry| entry + 1);
        let covered = history.rises.partition_point(|&(_, v)| v <= versions.1);
        let gone = history.rises.get(covered).map_or(self.end, |&(at, _)| at);
        (born, gone)
    }

    /// Is the store written back by what the prefix contains? `prefix` says how far each thread has come
    /// (`flushmap` and `CVpre` of figures 5.9 and 5.10).
    pub fn flushed_within(&self, store: EventId, line: Line, prefix: impl Fn(u16) -> u32) -> bool {
        let thread = self.event(store).thread;
        let clock = self.clock(store);
        let Some(flushes) = self.flushes.get(&line) else {
            return false;
        };
        flushes.iter().any(|of| {
            [&of.at_once, &of.fenced].into_iter().any(|list| {
                // What a thread knows only grows: the first flush after the store is the one that is complete first.
                let first = list.partition_point(|f| self.known(f.event, thread) < clock);
                list.get(first)
                    .is_some_and(|f| self.clock(f.done) <= prefix(of.thread))
            })
        })
    }
}

fn of_thread(
    flushes: &mut FxHashMap<Line, SmallVec<[ThreadFlushes; 1]>>,
    line: Line,
    thread: u16,
) -> &mut ThreadFlushes {
    let lists = flushes.entry(line).or_default();
    let at = lists.iter().position(|f| f.thread == thread);
    let at = at.unwrap_or_else(|| {
        lists.push(ThreadFlushes {
            thread,
            ..ThreadFlushes::default()
        });
        lists.len() - 1
    });
    &mut lists[at]
}
