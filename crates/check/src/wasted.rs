//! Flushes and fences that did nothing, wherever they were reached (issue D, part 5).
//!
//! What a program does for nothing once it may need another time, so a place is reported only if every execution that came
//! there wasted it.

use crate::checker::{Checker, Fate};
use crate::execution::Execution;
use crate::finding::{Finding, Kind, WastedFence, WastedFlush};
use landfall_model::event::{Action, Event, EventId, Fence, How};
use landfall_model::line::Line;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What is known of one flush or fence in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SiteTally<Why> {
    times: u64,
    /// The last of the reasons met, in their order.
    why: Option<Why>,
    useful: bool,
}

impl<Why> Default for SiteTally<Why> {
    fn default() -> Self {
        SiteTally {
            times: 0,
            why: None,
            useful: false,
        }
    }
}

impl<Why: Ord + Copy> SiteTally<Why> {
    fn met(&mut self, wasted: Option<Why>) {
        self.times += 1;
        match wasted {
            None => self.useful = true,
            Some(why) => self.why = Some(self.why.map_or(why, |known| known.max(why))),
        }
    }

    fn join(&mut self, other: SiteTally<Why>) {
        self.times += other.times;
        self.why = self.why.max(other.why);
        self.useful |= other.useful;
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wasted {
    flushes: BTreeMap<u32, SiteTally<WastedFlush>>,
    fences: BTreeMap<u32, SiteTally<WastedFence>>,
    /// Lines that each place flushed in executions that may crash.
    flushed: FxHashMap<u32, FxHashSet<Line>>,
    /// Places that also flush where no crash was tried: of those nothing is known.
    untried: FxHashSet<u32>,
    read: FxHashSet<Line>,
    /// Was every recovery seen? Only then can a line be said to be never read.
    complete: bool,
}

/// A line as one execution has treated it so far; times are counted from 1.
#[derive(Clone, Debug, Default)]
struct Treated {
    stored: u32,
    /// What is complete covers stores up to here.
    done: u32,
    /// When it was last flushed.
    flushed: u32,
    /// Each thread's last write-back, complete or not.
    begun: SmallVec<[(u16, u32); 1]>,
}

impl Treated {
    fn begin(&mut self, thread: u16, now: u32) {
        match self.begun.iter_mut().find(|(t, _)| *t == thread) {
            Some((_, begun)) => *begun = now,
            None => self.begun.push((thread, now)),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct BeforeFence {
    lines: Vec<(Line, EventId)>,
    clflush: bool,
}

/// What a schedule did to one line: stores, and write-backs with what completes them.
#[derive(Clone, Debug, Default)]
struct OfLine {
    stores: Vec<EventId>,
    backs: Vec<Back>,
}

/// A flush, or a non-temporal store, which needs none.
#[derive(Clone, Copy, Debug)]
struct Back {
    event: EventId,
    done: Option<EventId>,
    flushes: bool,
}

impl OfLine {
    fn begin(&mut self, event: EventId, done: Option<EventId>, flushes: bool) {
        self.backs.push(Back {
            event,
            done,
            flushes,
        });
    }

    /// Is each store that may come before the flush covered by another flush, one that is complete by then or the thread's own? `older`
    /// says whether there are older ones, all of them covered, and some without a flush.
    fn wastes(
        &self,
        flush: EventId,
        execution: &Execution,
        older: Option<bool>,
    ) -> Option<WastedFlush> {
        let before = |first, second| execution.happens_before(first, second);
        let own = execution.event(flush).thread;
        let covers = |back: &Back, store: EventId| {
            let begun = back.event < flush && execution.event(back.event).thread == own;
            let complete = back.done.is_some_and(|done| before(done, flush));
            let after = store == back.event || before(store, back.event);
            back.event != flush && after && (begun || complete)
        };
        let covered = |store| self.backs.iter().any(|back| covers(back, store));
        let flushed = |store| {
            let mut flushes = self.backs.iter().filter(|back| back.flushes);
            flushes.any(|back| covers(back, store))
        };
        let stores = self.stores.iter().copied();
        let mut stores = stores.filter(|&store| !before(flush, store)).peekable();
        if stores.peek().is_none() && older.is_none() {
            return Some(WastedFlush::Clean);
        }
        let mut why = match older {
            Some(true) => WastedFlush::Streamed,
            Some(false) | None => WastedFlush::Repeated,
        };
        stores
            .all(|store| {
                if !flushed(store) {
                    why = WastedFlush::Streamed;
                }
                covered(store)
            })
            .then_some(why)
    }
}

impl Wasted {
    /// A recovery reads the line.
    pub fn read(&mut self, line: Line) {
        self.read.insert(line);
    }

    /// One schedule of a program with threads, which may crash. Its events are in no order but that of what happens before what: a
    /// flush is of use if in some such order it is.
    pub fn scheduled(&mut self, execution: &Execution) {
        self.scheduled_events(execution, execution.events().len());
        // The lines were noted with the schedule that showed it.
        let Some(before) = execution.before() else {
            return;
        };
        for (&site, place) in &before.wasted.flushes {
            self.flushes.entry(site).or_default().join(place.clone());
        }
        for (&site, place) in &before.wasted.fences {
            self.fences.entry(site).or_default().join(place.clone());
        }
    }

    /// The same of its first events, as if there were no more.
    pub(crate) fn scheduled_events(&mut self, execution: &Execution, count: usize) {
        let mut lines: FxHashMap<Line, OfLine> = FxHashMap::default();
        let mut pending: FxHashMap<u16, BeforeFence> = FxHashMap::default();
        for (at, event) in execution.events()[..count].iter().enumerate() {
            let (at, thread) = (EventId(at as u32), event.thread);
            match event.action {
                Action::Store { piece, how, .. } => {
                    let line = piece.addr.line();
                    let of = lines.entry(line).or_default();
                    of.stores.push(at);
                    if how == How::NonTemporal {
                        of.begin(at, None, false);
                        pending.entry(thread).or_default().lines.push((line, at));
                    }
                }
                Action::Read(read) => {
                    self.read.insert(read.read.line());
                }
                Action::Observe { .. } | Action::Mark(_) => {}
                Action::Clflush(line) => {
                    lines.entry(line).or_default().begin(at, Some(at), true);
                    pending.entry(thread).or_default().clflush = true;
                }
                Action::Clwb(line) => {
                    lines.entry(line).or_default().begin(at, None, true);
                    pending.entry(thread).or_default().lines.push((line, at));
                }
                Action::Fence(fence) => {
                    let pending = pending.remove(&thread).unwrap_or_default();
                    self.fence(event.site, fence, &pending);
                    for (line, begun) in pending.lines {
                        let backs = lines.get_mut(&line).map(|of| &mut of.backs);
                        let mut backs = backs.into_iter().flatten();
                        if let Some(back) = backs.find(|back| back.event == begun) {
                            back.done = Some(at);
                        }
                    }
                }
            }
        }
        for (&line, of) in &lines {
            let older = execution.before().and_then(|before| before.stored(line));
            for flush in of.backs.iter().filter(|back| back.flushes) {
                let site = execution.event(flush.event).site;
                let wasted = of.wastes(flush.event, execution, older);
                self.flushes.entry(site).or_default().met(wasted);
                if wasted.is_none() {
                    self.flushed.entry(site).or_default().insert(line);
                }
            }
        }
    }

    fn fence(&mut self, site: u32, fence: Fence, pending: &BeforeFence) {
        // A full fence orders loads as well; only of an sfence is it known what it is for.
        if fence == Fence::Store {
            let wasted = pending.lines.is_empty().then_some(if pending.clflush {
                WastedFence::AfterClflush
            } else {
                WastedFence::NothingPending
            });
            self.fences.entry(site).or_default().met(wasted);
        }
    }

    /// Takes in what was seen elsewhere, of the same places.
    pub fn join(&mut self, other: Wasted) {
        for (site, place) in other.flushes {
            self.flushes.entry(site).or_default().join(place);
        }
        for (site, place) in other.fences {
            self.fences.entry(site).or_default().join(place);
        }
        for (site, lines) in other.flushed {
            self.flushed.entry(site).or_default().extend(lines);
        }
        self.untried.extend(other.untried);
        self.read.extend(other.read);
    }

    /// The search came to its end: what it has not read is never read.
    pub fn search_complete(&mut self) {
        self.complete = true;
    }
}

impl Checker for Wasted {
    fn logged(&mut self, events: &[Event], fate: Fate) {
        let mut lines: FxHashMap<Line, Treated> = FxHashMap::default();
        let mut pending: FxHashMap<u16, BeforeFence> = FxHashMap::default();
        for (at, event) in events.iter().enumerate() {
            let (now, thread) = (at as u32 + 1, event.thread);
            match event.action {
                Action::Store { piece, how, .. } => {
                    let line = piece.addr.line();
                    let treated = lines.entry(line).or_default();
                    treated.stored = now;
                    if how == How::NonTemporal {
                        // It is its own write-back.
                        treated.begin(thread, now);
                        let id = EventId(at as u32);
                        pending.entry(thread).or_default().lines.push((line, id));
                    }
                }
                Action::Read(read) => {
                    self.read.insert(read.read.line());
                }
                Action::Observe { .. } | Action::Mark(_) => {}
                Action::Clflush(line) | Action::Clwb(line) => {
                    let treated = lines.entry(line).or_default();
                    let own = treated.begun.iter().find(|(t, _)| *t == thread);
                    let covered = own.map_or(0, |(_, begun)| *begun).max(treated.done);
                    let wasted = (treated.stored <= covered).then_some(match treated.stored {
                        0 => WastedFlush::Clean,
                        stored if stored > treated.flushed => WastedFlush::Streamed,
                        _ => WastedFlush::Repeated,
                    });
                    treated.flushed = now;
                    self.flushes.entry(event.site).or_default().met(wasted);
                    if wasted.is_none() {
                        match fate {
                            Fate::MayCrash => {
                                self.flushed.entry(event.site).or_default().insert(line);
                            }
                            Fate::RunsToItsEnd => {
                                self.untried.insert(event.site);
                            }
                        }
                    }
                    treated.begin(thread, now);
                    let pending = pending.entry(thread).or_default();
                    if matches!(event.action, Action::Clflush(_)) {
                        treated.done = now;
                        pending.clflush = true;
                    } else {
                        pending.lines.push((line, EventId(at as u32)));
                    }
                }
                Action::Fence(fence) => {
                    let pending = pending.remove(&thread).unwrap_or_default();
                    self.fence(event.site, fence, &pending);
                    for (line, begun) in pending.lines {
                        let treated = lines.entry(line).or_default();
                        treated.done = treated.done.max(begun.0 + 1);
                    }
                }
            }
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let finding = |kind, times| Finding {
            kind,
            fixes: Vec::new(),
            evidence: None,
            times,
        };
        let never_read = |site: &u32| {
            let lines = self.flushed.get(site);
            self.complete
                && !self.untried.contains(site)
                && lines.is_some_and(|lines| lines.is_disjoint(&self.read))
        };
        let flushes = self.flushes.iter().filter_map(|(site, place)| {
            let why = match place.why {
                Some(why) if !place.useful => why,
                _ if never_read(site) => WastedFlush::NeverRead,
                _ => return None,
            };
            let kind = Kind::RedundantFlush { site: *site, why };
            Some(finding(kind, place.times))
        });
        let fences = self.fences.iter().filter_map(|(site, place)| {
            let why = place.why.filter(|_| !place.useful)?;
            let kind = Kind::RedundantFence { site: *site, why };
            Some(finding(kind, place.times))
        });
        flushes.chain(fences).collect()
    }
}
