//! What threads did so far, and which store each of their reads returned; in which order of steps that can have happened.
//!
//! A place is bytes that are always accessed together, or a lock's word. Stores to it come in some order, and a step that reads and
//! writes comes right after the store that it read.

use crate::schedule::step::{Access, Act, NOWHERE, Process, Sets, Step};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::hash::{DefaultHasher, Hash, Hasher};

/// No place, or the store that was there at the start.
pub(super) const NONE: u32 = u32::MAX;

/// Places by their objects.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadPlaces {
    of: FxHashMap<u32, SmallVec<[(u64, u32); 2]>>,
    /// What each held at the start, where that is known.
    pub(super) initial: Vec<Option<u64>>,
    /// Plain stores go there: what gives memory back looks like one, so it matters which of two stores comes first. Or something reads there
    /// that is no step.
    plain: FxHashSet<u32>,
}

/// Accesses of other sizes to the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OverlappingPlaces;

impl ReadPlaces {
    /// The place that a step accesses, if it does.
    pub(super) fn of(&mut self, step: &Step) -> Result<u32, OverlappingPlaces> {
        if step.object == NOWHERE || !matches!(step.access, Access::Read | Access::Write) {
            return Ok(NONE);
        }
        let mask = match step.act {
            Act::Sync(_) => u64::MAX,
            _ => step.mask,
        };
        let places = self.of.entry(step.object).or_default();
        if let Some(&(_, place)) = places.iter().find(|known| known.0 == mask) {
            return Ok(place);
        }
        if places.iter().any(|known| known.0 & mask != 0) {
            return Err(OverlappingPlaces);
        }
        let place = self.initial.len() as u32;
        places.push((mask, place));
        self.initial.push(None);
        Ok(place)
    }

    pub(super) fn count(&self) -> usize {
        self.initial.len()
    }

    /// Those of an object that share bytes with these.
    pub(super) fn meeting(&self, object: u32, mask: u64) -> SmallVec<[u32; 2]> {
        let known = self.of.get(&object).into_iter().flatten();
        known
            .filter(|known| known.0 & mask != 0)
            .map(|known| known.1)
            .collect()
    }

    /// Plain stores go there. Is that news?
    pub(super) fn add_plain(&mut self, place: u32) -> bool {
        self.plain.insert(place)
    }

    /// Does the step read what the place holds? Operations on locks and the like do; so does a store where it matters which one it overwrites.
    pub(super) fn reads(&self, step: &Step, place: u32) -> bool {
        place != NONE
            && match step.act {
                // A store may be a locked instruction, and nobody sees what that found.
                Act::Rmw if step.orders.release && !step.orders.updates => {
                    self.plain.contains(&place)
                }
                Act::Load | Act::Rmw | Act::Cas | Act::Sync(_) => true,
                Act::Store | Act::Commit => self.plain.contains(&place),
                Act::Flush | Act::Fence | Act::Transaction | Act::Other => false,
            }
    }
}

/// One step in a graph.
#[derive(Clone, Debug)]
pub(super) struct ReadGraphEvent {
    pub(super) step: Step,
    pub(super) place: u32,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Of one that reads: which event's store, or `NONE` for the start's.
    pub(super) from: u32,
    /// Of a load: the event that commits its thread's newest earlier store there, or `NONE`.
    pub(super) own: u32,
    /// So many events of other processes come before it.
    pub(super) after: SmallVec<[(Process, u32); 2]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ReadGraph {
    pub(super) events: Vec<ReadGraphEvent>,
    /// Per process, its events; at last, what is read after all of them.
    pub(super) of: Vec<Vec<u32>>,
}

impl ReadGraph {
    pub(super) fn new(processes: usize) -> ReadGraph {
        ReadGraph {
            events: Vec::new(),
            of: vec![Vec::new(); processes + 1],
        }
    }

    pub(super) fn push(&mut self, event: ReadGraphEvent) -> u32 {
        let number = self.events.len() as u32;
        self.of[usize::from(event.step.process)].push(number);
        self.events.push(event);
        number
    }

    pub(super) fn truncate(&mut self, size: usize) {
        for event in self.events.drain(size..) {
            self.of[usize::from(event.step.process)].pop();
        }
    }

    pub(super) fn count(&self, process: usize) -> usize {
        self.of[process].len()
    }

    /// The event of a process with this tick.
    pub(super) fn with_tick(&self, (process, tick): (Process, u32)) -> Option<u32> {
        let of = &self.of[usize::from(process)];
        let at = of.partition_point(|&event| self.events[event as usize].step.tick < tick);
        let event = *of.get(at)?;
        (self.events[event as usize].step.tick == tick).then_some(event)
    }
}

/// What must have come before a step, whatever it reads: processes, and up to which tick.
pub(super) fn comes_after(step: &Step, sets: &Sets) -> SmallVec<[(Process, u32); 4]> {
    let further = sets
        .joined(step.behind)
        .iter()
        .chain(sets.joined(step.joined));
    let all = [step.need, step.also].into_iter().chain(further.copied());
    all.filter(|&(process, tick)| tick != 0 && process != step.process)
        .collect()
}

/// Looking for an order took too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooHard;

/// Choices in one look for an order.
const MOST: usize = 20_000;

/// How far an order has come.
#[derive(Clone, Debug)]
struct BegunOrder {
    order: Vec<u32>,
    /// Per process, how many of its events.
    at: Vec<u32>,
    /// Per place, the newest store.
    newest: Vec<u32>,
    /// Per event, and per place for what was there at the start: reads of it that are still to come.
    unread: Vec<u32>,
}

/// Some order of all the events in which each read finds the store that it read, if there is one. `like` is an order of most of them that it is like
/// where there is a choice.
///
/// A read that finds its store can as well come at once, and so can a store that nobody reads where nobody still has to read the one before it, and
/// whatever reads and writes. So only which store comes next that others read is a choice.
pub(super) fn find_order(
    graph: &ReadGraph,
    places: usize,
    like: &[u32],
) -> Result<Option<Vec<u32>>, TooHard> {
    let events = &graph.events;
    let count = events.len();
    let mut unread = vec![0; count + places];
    for event in events.iter().filter(|event| event.reads) {
        unread[slot(event, count)] += 1;
    }
    let mut rank = vec![u32::MAX; count];
    for (at, &event) in like.iter().enumerate() {
        rank[event as usize] = at as u32;
    }
    let mut now = BegunOrder {
        order: Vec::with_capacity(count),
        at: vec![0; graph.of.len()],
        newest: vec![NONE; places],
        unread,
    };
    let mut choices: Vec<(BegunOrder, u32)> = Vec::new();
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    let mut made = 0;
    let active: Vec<usize> = (0..graph.of.len())
        .filter(|&p| !graph.of[p].is_empty())
        .collect();
    loop {
        now.go_on(graph, &active);
        if now.order.len() == count {
            return Ok(Some(now.order));
        }
        let mut open: SmallVec<[u32; 8]> = SmallVec::new();
        let mut hash = DefaultHasher::new();
        (&now.at, &now.newest).hash(&mut hash);
        if seen.insert(hash.finish()) {
            for &process in &active {
                let next = now.next(graph, process);
                open.extend(next.filter(|&event| now.possible(graph, event)));
            }
        }
        made += open.len();
        if made > MOST {
            return Err(TooHard);
        }
        // The last one is tried first.
        open.sort_unstable_by_key(|&event| std::cmp::Reverse(rank[event as usize]));
        match open.pop() {
            Some(event) => {
                choices.extend(open.into_iter().map(|other| (now.clone(), other)));
                now.take(graph, event);
            }
            None => {
                let Some((before, event)) = choices.pop() else {
                    return Ok(None);
                };
                now = before;
                now.take(graph, event);
            }
        }
    }
}

/// Where reads of the same store are counted.
fn slot(event: &ReadGraphEvent, count: usize) -> usize {
    match event.from {
        NONE => count + event.place as usize,
        store => store as usize,
    }
}

impl BegunOrder {
    fn next(&self, graph: &ReadGraph, process: usize) -> Option<u32> {
        graph.of[process].get(self.at[process] as usize).copied()
    }

    fn is_done(&self, graph: &ReadGraph, event: u32) -> bool {
        let step = &graph.events[event as usize].step;
        let process = usize::from(step.process);
        let next = self.next(graph, process);
        next.is_none_or(|next| graph.events[next as usize].step.tick > step.tick)
    }

    /// Can its process' next event come now?
    fn possible(&self, graph: &ReadGraph, number: u32) -> bool {
        let event = &graph.events[number as usize];
        let waits = |&(process, count): &(Process, u32)| self.at[usize::from(process)] < count;
        if event.after.iter().any(waits) {
            return false;
        }
        if event.place == NONE {
            return true;
        }
        let newest = self.newest[event.place as usize];
        if event.reads {
            let finds = match event.own {
                NONE => newest == event.from,
                own if own == event.from => newest == own || !self.is_done(graph, own),
                own => newest == event.from && self.is_done(graph, own),
            };
            if !finds {
                return false;
            }
        }
        let by_itself = u32::from(event.reads && event.from == newest);
        let readers = match newest {
            NONE => graph.events.len() + event.place as usize,
            store => store as usize,
        };
        !event.writes || self.unread[readers] == by_itself
    }

    fn take(&mut self, graph: &ReadGraph, number: u32) {
        let event = &graph.events[number as usize];
        self.order.push(number);
        self.at[usize::from(event.step.process)] += 1;
        if event.reads {
            self.unread[slot(event, graph.events.len())] -= 1;
        }
        if event.writes {
            self.newest[event.place as usize] = number;
        }
    }

    /// Takes all that can as well come at once.
    fn go_on(&mut self, graph: &ReadGraph, active: &[usize]) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for &process in active {
                while let Some(next) = self.next(graph, process) {
                    let event = &graph.events[next as usize];
                    let chosen = event.writes && !event.reads && self.unread[next as usize] != 0;
                    if chosen || !self.possible(graph, next) {
                        break;
                    }
                    self.take(graph, next);
                    moved = true;
                }
            }
        }
    }
}
