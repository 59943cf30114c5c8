//! Flushes and fences that did nothing, wherever they were reached (issue D, part 5).
//!
//! What a program does for nothing once it may need another time, so a place is reported only if every execution that came
//! there wasted it.

use crate::checker::{Checker, Fate};
use crate::event::{Action, Event, Fence, How};
use crate::execution::Execution;
use crate::finding::{Finding, Kind, WastedFence, WastedFlush};
use landfall_model::line::Line;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What is known of one flush or fence in the source.
#[derive(Clone, Debug)]
struct Place<Why> {
    times: u64,
    /// The last of the reasons met, in their order.
    why: Option<Why>,
    useful: bool,
}

impl<Why> Default for Place<Why> {
    fn default() -> Self {
        Place {
            times: 0,
            why: None,
            useful: false,
        }
    }
}

impl<Why: Ord + Copy> Place<Why> {
    fn met(&mut self, wasted: Option<Why>) {
        self.times += 1;
        match wasted {
            None => self.useful = true,
            Some(why) => self.why = Some(self.why.map_or(why, |known| known.max(why))),
        }
    }

    fn join(&mut self, other: Place<Why>) {
        self.times += other.times;
        self.why = self.why.max(other.why);
        self.useful |= other.useful;
    }
}

#[derive(Clone, Debug, Default)]
pub struct Wasted {
    flushes: BTreeMap<u32, Place<WastedFlush>>,
    fences: BTreeMap<u32, Place<WastedFence>>,
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
    /// Each thread's last write-back, complete or not.
    begun: SmallVec<[(u16, u32); 1]>,
}

#[derive(Clone, Debug, Default)]
struct Pending {
    lines: Vec<(Line, u32)>,
    clflush: bool,
}

/// What a schedule did to one line: stores, and flushes with what completes them.
#[derive(Clone, Debug, Default)]
struct OfLine {
    stores: Vec<u32>,
    flushes: Vec<(u32, Option<u32>)>,
}

impl OfLine {
    /// Is each store that may come before the flush covered by another flush, one that is complete by then or the thread's own?
    fn wastes(&self, flush: u32, execution: &Execution) -> Option<WastedFlush> {
        let before = |first, second| execution.happens_before(first, second);
        let own = execution.event(flush).thread;
        let covered = |store: u32| {
            self.flushes.iter().any(|&(other, done)| {
                let begun = other < flush && execution.event(other).thread == own;
                let complete = done.is_some_and(|done| before(done, flush));
                other != flush && before(store, other) && (begun || complete)
            })
        };
        let stores = self.stores.iter().copied();
        let mut stores = stores.filter(|&store| !before(flush, store));
        match stores.next() {
            None => Some(WastedFlush::Clean),
            Some(first) => (covered(first) && stores.all(covered)).then_some(WastedFlush::Repeated),
        }
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
        let mut lines: FxHashMap<Line, OfLine> = FxHashMap::default();
        let mut pending: FxHashMap<u16, Pending> = FxHashMap::default();
        for (at, event) in execution.events().iter().enumerate() {
            let (at, thread) = (at as u32, event.thread);
            match event.action {
                Action::Store { piece, how, .. } => {
                    let line = piece.addr.line();
                    lines.entry(line).or_default().stores.push(at);
                    if how == How::NonTemporal {
                        pending.entry(thread).or_default().lines.push((line, at));
                    }
                }
                Action::FirstRead { word, .. } => {
                    self.read.insert(word.line());
                }
                Action::Observe { .. } => {}
                Action::Clflush(line) => {
                    lines.entry(line).or_default().flushes.push((at, Some(at)));
                    pending.entry(thread).or_default().clflush = true;
                }
                Action::Clwb(line) => {
                    lines.entry(line).or_default().flushes.push((at, None));
                    pending.entry(thread).or_default().lines.push((line, at));
                }
                Action::Fence(fence) => {
                    let pending = pending.remove(&thread).unwrap_or_default();
                    self.fence(event.site, fence, &pending);
                    for (line, begun) in pending.lines {
                        let flushes = lines.get_mut(&line).map(|of| &mut of.flushes);
                        let mut flushes = flushes.into_iter().flatten();
                        if let Some(flush) = flushes.find(|(flush, _)| *flush == begun) {
                            flush.1 = Some(at);
                        }
                    }
                }
            }
        }
        for (&line, of) in &lines {
            for &(flush, _) in &of.flushes {
                let site = execution.event(flush).site;
                let wasted = of.wastes(flush, execution);
                self.flushes.entry(site).or_default().met(wasted);
                if wasted.is_none() {
                    self.flushed.entry(site).or_default().insert(line);
                }
            }
        }
    }

    fn fence(&mut self, site: u32, fence: Fence, pending: &Pending) {
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
        let mut pending: FxHashMap<u16, Pending> = FxHashMap::default();
        for (at, event) in events.iter().enumerate() {
            let (now, thread) = (at as u32 + 1, event.thread);
            match event.action {
                Action::Store { piece, how, .. } => {
                    let line = piece.addr.line();
                    lines.entry(line).or_default().stored = now;
                    if how == How::NonTemporal {
                        pending.entry(thread).or_default().lines.push((line, now));
                    }
                }
                Action::FirstRead { word, .. } => {
                    self.read.insert(word.line());
                }
                Action::Observe { .. } => {}
                Action::Clflush(line) | Action::Clwb(line) => {
                    let treated = lines.entry(line).or_default();
                    let own = treated.begun.iter().position(|(t, _)| *t == thread);
                    let covered = own.map_or(0, |i| treated.begun[i].1).max(treated.done);
                    let wasted = (treated.stored <= covered).then_some(if treated.stored == 0 {
                        WastedFlush::Clean
                    } else {
                        WastedFlush::Repeated
                    });
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
                    match own {
                        Some(i) => treated.begun[i].1 = now,
                        None => treated.begun.push((thread, now)),
                    }
                    let pending = pending.entry(thread).or_default();
                    if matches!(event.action, Action::Clflush(_)) {
                        treated.done = now;
                        pending.clflush = true;
                    } else {
                        pending.lines.push((line, now));
                    }
                }
                Action::Fence(fence) => {
                    let pending = pending.remove(&thread).unwrap_or_default();
                    self.fence(event.site, fence, &pending);
                    for (line, begun) in pending.lines {
                        let treated = lines.entry(line).or_default();
                        treated.done = treated.done.max(begun);
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
