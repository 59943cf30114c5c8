//! What the search has to choose: for each read the store that it returns, and who waits for one that is still to come.

use super::graph::{NONE, ReadGraphEvent, Sources, find_order};
use super::run::{EventName, ReadRun, Refused};
use super::{AsleepReader, NextStep, ReadFromSearch, SourceChoice};
use crate::schedule::step::Process;
use smallvec::SmallVec;
use std::rc::Rc;

impl ReadFromSearch {
    /// A read: each store that it can return, and those that are still to come. `false` if the execution at hand does not go on.
    pub(super) fn choose(&mut self, run: &Rc<ReadRun>, next: &NextStep) -> Result<bool, Refused> {
        let size = self.graph.events.len();
        let process = next.step.process;
        let beyond = self.beyond(process).unwrap_or(0);
        let waits = usize::from(process) != self.width && self.may_wait(run, next);
        let named = |from: Option<EventName>| match from {
            None => Some(NONE),
            Some((process, number)) => {
                let of = &self.graph.of[usize::from(process)];
                of.get(number as usize).copied()
            }
        };
        let last = usize::from(process) == self.width;
        let known = match next.at {
            _ if last => named(Some(run.left[self.graph.count(self.width)].1)),
            None => None,
            Some(at) => named(run.from[at as usize]),
        };
        let mut stores = Vec::new();
        let mut goes_on = None;
        let new = (beyond..size as u32).filter(|&event| {
            let event = &self.graph.events[event as usize];
            event.writes && event.place == next.place
        });
        let start = (!last && self.beyond(process).is_none()).then_some(NONE);
        let candidates: SmallVec<[u32; 16]> = start.into_iter().chain(new).collect();
        for sources in self.alike(next, &candidates) {
            if known.is_some_and(|known| sources.contains(&known)) {
                goes_on = Some(sources);
                continue;
            }
            let Some(event) = self.reading(next, sources.clone()) else {
                continue;
            };
            let order = self.extended(event)?;
            stores.extend(order.map(|order| (sources, order)));
        }
        let order = self.now.clone();
        let mut choice = SourceChoice {
            size,
            order,
            asleep: self.asleep.clone(),
            run: run.clone(),
            reader: next.step,
            place: next.place,
            stores,
            waits,
        };
        let goes_on = match goes_on {
            Some(sources) => {
                let event = self.event(next, sources);
                match self.extended(event.clone())? {
                    Some(order) => {
                        self.asleep.retain(|asleep| asleep.process != process);
                        self.graph.push(event);
                        self.now = order;
                        true
                    }
                    // It was run.
                    None => return Err(Refused::Orders),
                }
            }
            None if choice.waits => {
                choice.waits = false;
                self.sleep(process);
                true
            }
            None => false,
        };
        if choice.waits || !choice.stores.is_empty() {
            self.choices.push(choice);
        }
        Ok(goes_on)
    }

    /// Stores that a read may return: each by itself, or all of a value where only that matters.
    fn alike(&self, next: &NextStep, candidates: &[u32]) -> Vec<Sources> {
        let last = usize::from(next.step.process) == self.width;
        let by_value = self.told.values((!last).then_some(&next.step))
            && (last || self.told.is_value(&next.step))
            && !self.places.keeps_order(next.place);
        let mut all: Vec<(Option<u64>, Sources)> = Vec::new();
        for &store in candidates {
            let long = store != NONE && {
                let step = &self.graph.events[store as usize].step;
                !self.told.is_value(step)
            };
            let value = self.left(next.place, store).filter(|_| by_value && !long);
            match all.iter_mut().find(|(of, _)| of.is_some() && *of == value) {
                Some((_, sources)) => sources.push(store),
                None => all.push((value, Sources::from_slice(&[store]))),
            }
        }
        all.into_iter().map(|(_, sources)| sources).collect()
    }

    /// From now on it reads only what is stored later.
    pub(super) fn sleep(&mut self, process: Process) {
        self.asleep.retain(|asleep| asleep.process != process);
        let beyond = self.graph.events.len() as u32;
        self.asleep.push(AsleepReader { process, beyond });
    }

    /// An order of the graph with one more event.
    pub(super) fn extended(&mut self, event: ReadGraphEvent) -> Result<Option<Vec<u32>>, Refused> {
        let writes = |&&number: &&u32| {
            let other = &self.graph.events[number as usize];
            other.writes && other.place == event.place
        };
        let newest = self.now.iter().rev().find(writes).copied().unwrap_or(NONE);
        if event.from.contains(&newest) {
            let mut order = self.now.clone();
            order.push(self.graph.events.len() as u32);
            return Ok(Some(order));
        }
        let size = self.graph.events.len();
        self.graph.push(event);
        let found = find_order(&self.graph, self.places.count(), &self.now);
        self.graph.truncate(size);
        found.map_err(|_| Refused::Orders)
    }

    /// Nothing can be picked. Is that the end of an execution that was not run?
    pub(super) fn is_stuck(&self, run: &ReadRun) -> bool {
        if self.graph.events.len() - self.graph.count(self.width) == run.len() {
            return false;
        }
        let newest = |place: u32| {
            let of = |&&number: &&u32| {
                let event = &self.graph.events[number as usize];
                event.writes && event.place == place
            };
            match self.now.iter().rev().find(of) {
                Some(&store) => Some(self.graph.events[store as usize].step.left),
                None => self.places.initial[place as usize],
            }
        };
        let waits = |process: usize| {
            self.next_of(run, process).is_none_or(|next| {
                newest(next.place).is_some_and(|word| !next.step.until.admits(word))
            })
        };
        (0..self.width).all(waits)
    }

    /// Goes back to the newest choice with something left. `false` if there is none. Without an execution at hand, the graph is to be run.
    pub(super) fn turn_back(&mut self) -> bool {
        let Some(mut choice) = self.choices.pop() else {
            return false;
        };
        self.graph.truncate(choice.size);
        self.asleep.clone_from(&choice.asleep);
        self.run = Some(choice.run.clone());
        let process = choice.reader.process;
        if let Some((sources, order)) = choice.stores.pop() {
            let next = NextStep {
                step: choice.reader,
                place: choice.place,
                at: None,
            };
            self.asleep.retain(|asleep| asleep.process != process);
            if let Some(event) = self.reading(&next, sources) {
                self.graph.push(event);
            }
            self.now = order;
            self.run = None;
        } else {
            self.now.clone_from(&choice.order);
            choice.waits = false;
            self.sleep(process);
        }
        if choice.waits || !choice.stores.is_empty() {
            self.choices.push(choice);
        }
        true
    }
}
