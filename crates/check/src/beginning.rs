//! What every schedule does before there is a second thread, as far as it is durable before anything else is done. No power failure after
//! it can take any of it back, so with the schedules that come later only what follows it is judged: it is what memory held, and no
//! store in it is ever lost. What a power failure inside of it leaves is judged with the first schedule.
//!
//! Recoveries are told apart by the stores that they read ([`crate::robustness`]): here are the names of those behind the bytes.

use crate::execution::{Execution, wide};
use crate::finding::{Finding, Kind};
use crate::wasted::Wasted;
use landfall_model::event::{Action, How};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes, PIECE_BYTES};
use landfall_model::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A store as it is called in all schedules, see [`Execution::name`].
pub type StoreName = (u16, u32, u32);

/// How far a schedule had come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reached {
    pub steps: usize,
    pub events: usize,
    pub write_backs: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct DurableLine {
    versions: u32,
    bytes: LineBytes,
    /// No flush covers some non-temporal store to it, nor needs to.
    streamed: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DurableBeginning {
    pub reached: Reached,
    stores: u32,
    lines: FxHashMap<Line, DurableLine>,
    /// By word: which of its bytes are whose; newest first.
    words: FxHashMap<u64, SmallVec<[(u8, StoreName); 1]>>,
    /// Stores of each thread at each place.
    pub(crate) numbers: FxHashMap<(u16, u32), u32>,
    pub(crate) wasted: Wasted,
}

impl DurableBeginning {
    /// Of a schedule that began on `base`: up to the last of these points at which all that was stored is durable. `None` if there is
    /// none, or that is not plain to see.
    pub fn of(schedule: &Execution, points: &[Reached], base: &Image) -> Option<DurableBeginning> {
        if schedule.platform() != Platform::Adr {
            return None;
        }
        let reached = last_clean(schedule, points)?;
        let events = &schedule.events()[..reached.events];
        let (mut lines, mut words) = (FxHashMap::default(), FxHashMap::default());
        let mut stores = 0;
        let (mut stored, mut flushed) = (FxHashMap::default(), FxHashMap::default());
        for (at, event) in events.iter().enumerate() {
            match event.action {
                Action::Store { piece, .. } => {
                    stores += 1;
                    let line = piece.addr.line();
                    let of = lines.entry(line).or_insert_with(|| DurableLine {
                        versions: 0,
                        bytes: base.line(line),
                        streamed: false,
                    });
                    of.versions += 1;
                    stored.insert(line, at);
                    words.insert(piece.addr.0 / PIECE_BYTES as u64, SmallVec::new());
                }
                Action::Clflush(line) | Action::Clwb(line) => {
                    flushed.insert(line, at);
                }
                _ => {}
            }
        }
        for (line, of) in &mut lines {
            of.streamed = flushed.get(line) < stored.get(line);
        }
        for (&at, names) in &mut words {
            let word = Addr(at * PIECE_BYTES as u64);
            let of: &mut DurableLine = lines.get_mut(&word.line())?;
            let (mut left, mut value) = (u8::MAX, 0);
            for store in schedule.stores_to(word).iter().rev() {
                if store.event.index() >= reached.events {
                    continue;
                }
                // Whoever looks for a race must know it, too.
                let within = |thread| if thread == 0 { events.len() as u32 } else { 0 };
                let durable = schedule.flushed_within(store.event, word.line(), within);
                if store.version > of.versions || !durable && !store.at_once {
                    return None;
                }
                let mask = store.mask & left;
                if mask != 0 {
                    names.push((mask, schedule.name(store.event)));
                    value |= store.value & wide(mask);
                    left &= !mask;
                }
            }
            let bytes = of
                .bytes
                .get_mut(word.offset()..word.offset() + PIECE_BYTES)?;
            let known = u64::from_le_bytes((&*bytes).try_into().ok()?);
            bytes.copy_from_slice(&(known & wide(left) | value).to_le_bytes());
        }
        let mut numbers = FxHashMap::default();
        for event in events {
            let count: &mut u32 = numbers.entry((event.thread, event.site)).or_default();
            *count += u32::from(event.piece().is_some());
        }
        let mut wasted = Wasted::default();
        wasted.scheduled_events(schedule, reached.events);
        Some(DurableBeginning {
            reached,
            stores,
            lines,
            words,
            numbers,
            wasted,
        })
    }

    /// How many versions of a line it made.
    pub fn versions(&self, line: Line) -> u32 {
        self.lines.get(&line).map_or(0, |of| of.versions)
    }

    /// Lines that it stored to, and how often.
    pub fn lines(&self) -> impl Iterator<Item = (Line, u32)> + '_ {
        self.lines.iter().map(|(&line, of)| (line, of.versions))
    }

    /// What is durable of a line.
    pub fn bytes(&self, line: Line) -> Option<&LineBytes> {
        self.lines.get(&line).map(|of| &of.bytes)
    }

    /// Whose the bytes of a word are, newest first.
    pub(crate) fn names(&self, word: Addr) -> &[(u8, StoreName)] {
        let names = self.words.get(&(word.0 / PIECE_BYTES as u64));
        names.map_or(&[], |names| names)
    }

    /// Was it stored to; and if so, do some stores need no flush?
    pub(crate) fn stored(&self, line: Line) -> Option<bool> {
        self.lines.get(&line).map(|of| of.streamed)
    }

    /// A finding of what follows it, as one of the whole schedule.
    pub fn whole(&self, finding: &Finding) -> Finding {
        let mut finding = finding.clone();
        let moved = |at: &mut crate::finding::At| {
            if at.execution == 0 {
                at.event.0 += self.reached.events as u32;
                at.entry += self.stores;
            }
        };
        match &mut finding.kind {
            Kind::Robustness { lost, kept, .. } => [lost, kept].into_iter().for_each(moved),
            Kind::PersistencyRace { store, .. } | Kind::MissingSnapshot { store, .. } => {
                moved(store);
            }
            Kind::RedundantFlush { .. } | Kind::RedundantFence { .. } => {}
        }
        for (line, (first, last)) in finding.evidence.iter_mut().flat_map(|e| &mut e.left) {
            let before = self.versions(*line);
            (*first, *last) = (*first + before, last.saturating_add(before));
        }
        finding
    }
}

/// The last of these points before which every store was written back, and after which no write-back is under way.
fn last_clean(schedule: &Execution, points: &[Reached]) -> Option<Reached> {
    let mut dirty: FxHashMap<Line, usize> = FxHashMap::default();
    let mut pending: Vec<(Line, usize)> = Vec::new();
    let mut points = points.iter().peekable();
    let (mut last, mut stores) = (None, false);
    for (at, event) in schedule.events().iter().enumerate() {
        if event.thread != 0 {
            break;
        }
        match event.action {
            Action::Store { piece, how, .. } => {
                let line = piece.addr.line();
                stores = true;
                match how {
                    How::AtOnce => {}
                    // It covers nothing but itself.
                    How::NonTemporal => {
                        if dirty.insert(line, at).is_none() {
                            pending.push((line, at));
                        }
                    }
                    How::Cached => {
                        dirty.insert(line, at);
                    }
                }
            }
            Action::Clflush(line) => {
                dirty.remove(&line);
            }
            Action::Clwb(line) => pending.push((line, at)),
            Action::Fence(_) => {
                for (line, begun) in pending.drain(..) {
                    if dirty.get(&line).is_some_and(|&stored| stored <= begun) {
                        dirty.remove(&line);
                    }
                }
            }
            Action::Read(_) | Action::Observe { .. } | Action::Mark(_) => {}
        }
        if let Some(&&point) = points.peek()
            && point.events == at + 1
        {
            points.next();
            let clean = dirty.is_empty() && pending.is_empty() && stores;
            if clean && matches!(event.action, Action::Fence(_)) {
                last = Some(point);
            }
        }
    }
    last
}
