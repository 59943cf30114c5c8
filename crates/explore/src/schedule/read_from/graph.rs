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

    /// Does it matter there which store comes before which?
    pub(super) fn keeps_order(&self, place: u32) -> bool {
        self.plain.contains(&place)
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

/// Stores that a read may have returned: all of them the same value.
pub(super) type Sources = SmallVec<[u32; 2]>;

/// One step in a graph.
#[derive(Clone, Debug)]
pub(super) struct ReadGraphEvent {
    pub(super) step: Step,
    pub(super) place: u32,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Of one that reads: which event's store, or `NONE` for the start's; where only the value matters, one of these.
    pub(super) from: Sources,
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
    /// Per event that reads: how many of the stores that it may return have not been made.
    to_come: Vec<u32>,
}

/// What there is to know of a graph while its orders are looked for.
struct OrderSought<'a> {
    graph: &'a ReadGraph,
    /// Per place, the events that read there.
    readers: Vec<SmallVec<[u32; 4]>>,
    /// Per event, those that may return its store.
    choosers: Vec<SmallVec<[u32; 2]>>,
}

/// Some order of all the events in which each read finds a store that it may have read, if there is one. `like` is an order of most of them that
/// it is like where there is a choice.
///
/// A read that finds its store can as well come at once, and so can a store that nobody reads where nobody still has to read the one before it, and
/// whatever reads and writes, unless something else may read there instead. So only which store comes next that others read is a choice.
pub(super) fn find_order(
    graph: &ReadGraph,
    places: usize,
    like: &[u32],
) -> Result<Option<Vec<u32>>, TooHard> {
    let events = &graph.events;
    let count = events.len();
    let mut sought = OrderSought {
        graph,
        readers: vec![SmallVec::new(); places],
        choosers: vec![SmallVec::new(); count],
    };
    let mut unread = vec![0; count + places];
    let mut to_come = vec![0; count];
    for (number, event) in (0..).zip(events).filter(|(_, event)| event.reads) {
        sought.readers[event.place as usize].push(number);
        for &store in &event.from {
            unread[slot(store, event.place, count)] += 1;
            if store != NONE {
                to_come[number as usize] += 1;
                sought.choosers[store as usize].push(number);
            }
        }
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
        to_come,
    };
    let mut choices: Vec<(BegunOrder, u32)> = Vec::new();
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    let mut made = 0;
    let active: Vec<usize> = (0..graph.of.len())
        .filter(|&p| !graph.of[p].is_empty())
        .collect();
    loop {
        now.go_on(&sought, &active);
        if now.order.len() == count {
            return Ok(Some(now.order));
        }
        let mut open: SmallVec<[u32; 8]> = SmallVec::new();
        let mut hash = DefaultHasher::new();
        (&now.at, &now.newest).hash(&mut hash);
        if seen.insert(hash.finish()) {
            for &process in &active {
                let next = now.next(graph, process);
                open.extend(next.filter(|&event| now.possible(&sought, event)));
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
                now.take(&sought, event);
            }
            None => {
                let Some((before, event)) = choices.pop() else {
                    return Ok(None);
                };
                now = before;
                now.take(&sought, event);
            }
        }
    }
}

/// Where reads of a store are counted.
fn slot(store: u32, place: u32, count: usize) -> usize {
    match store {
        NONE => count + place as usize,
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
    fn possible(&self, sought: &OrderSought<'_>, number: u32) -> bool {
        let graph = sought.graph;
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
                NONE => newest,
                own if self.is_done(graph, own) => newest,
                own => own,
            };
            if !event.from.contains(&finds) {
                return false;
            }
        }
        if !event.writes {
            return true;
        }
        let by_itself = u32::from(event.reads && event.from.contains(&newest));
        let unread = self.unread[slot(newest, event.place, graph.events.len())];
        unread == by_itself || !self.is_last_chance(sought, number, newest)
    }

    /// Does another event still have to read the newest store of a place, and can find no other one later?
    fn is_last_chance(&self, sought: &OrderSought<'_>, number: u32, newest: u32) -> bool {
        let place = sought.graph.events[number as usize].place;
        { sought.readers[place as usize].iter() }.any(|&reader| {
            let event = &sought.graph.events[reader as usize];
            reader != number
                && event.from.contains(&newest)
                && self.to_come[reader as usize] == 0
                && !self.is_done(sought.graph, reader)
        })
    }

    fn take(&mut self, sought: &OrderSought<'_>, number: u32) {
        let graph = sought.graph;
        let event = &graph.events[number as usize];
        self.order.push(number);
        self.at[usize::from(event.step.process)] += 1;
        if event.reads {
            for &store in &event.from {
                self.unread[slot(store, event.place, graph.events.len())] -= 1;
            }
        }
        if event.writes {
            self.newest[event.place as usize] = number;
            // Who reads this one alone finds it in the end.
            for &reader in &sought.choosers[number as usize] {
                self.to_come[reader as usize] -= 1;
            }
        }
    }

    /// Takes all that can as well come at once.
    fn go_on(&mut self, sought: &OrderSought<'_>, active: &[usize]) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for &process in active {
                while let Some(next) = self.next(sought.graph, process) {
                    if self.is_choice(sought, next) || !self.possible(sought, next) {
                        break;
                    }
                    self.take(sought, next);
                    moved = true;
                }
            }
        }
    }

    /// May it matter when it comes?
    fn is_choice(&self, sought: &OrderSought<'_>, number: u32) -> bool {
        let event = &sought.graph.events[number as usize];
        if !event.writes {
            return false;
        }
        let newest = match event.place {
            NONE => return false,
            place => self.newest[place as usize],
        };
        let unread = self.unread[slot(newest, event.place, sought.graph.events.len())];
        match event.reads {
            true => unread != 1 || self.to_come[number as usize] != 0,
            false => self.unread[number as usize] != 0 || unread != 0,
        }
    }
}
