//! One execution as the search by reads-from sees it.

use super::graph::{NONE, ReadGraph, ReadPlaces};
use crate::schedule::step::{Access, Act, NOWHERE, Order, Process, Sets, Step, Until};
use crate::schedule::trace::{End, Trace, Wait};
use rustc_hash::FxHashMap;

/// What the search does not know how to treat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refused {
    /// Bytes are accessed in pieces of several sizes.
    Sizes,
    /// Something that is neither an access of memory nor a lock: conditions, barriers, semaphores …
    Objects,
    /// A thread waits in a loop, or for one of several things.
    Waits,
    /// Threads go on where others were joined.
    Joins,
    /// A thread ended in the middle of something, and others wait for its locks.
    Ends,
    /// Non-temporal stores, memory that is taken away, and the like.
    Kinds,
    /// Threads do not do what they did where they had read the same.
    Unlike,
    /// It took too long to find an order.
    Orders,
}

/// An event as others name it: its process, and which of that process' steps it is.
pub(super) type EventName = (Process, u32);

#[derive(Debug)]
pub(super) struct ReadRun {
    pub(super) steps: Vec<Step>,
    pub(super) places: Vec<u32>,
    /// Of each step that reads: who stored it, or nobody.
    pub(super) from: Vec<Option<EventName>>,
    /// Per process, its steps; and what it waits for in the end.
    pub(super) of: Vec<Vec<u32>>,
    pub(super) waits: Vec<Option<(Step, u32)>>,
    pub(super) end: End,
    /// Per place with stores of several threads, in ascending order: which one it holds in the end. Of executions that end well, where somebody may
    /// read it that makes no steps.
    pub(super) left: Vec<(u32, EventName)>,
}

/// Can the search treat such a step?
fn refused(step: &Step, order: Order) -> Option<Refused> {
    use crate::schedule::sync::Op;
    let known = |op| matches!(op, Op::Lock | Op::TryLock | Op::Unlock);
    match step.act {
        _ if usize::from(step.process) >= 2 * order.threads => Some(Refused::Kinds),
        Act::Transaction => Some(Refused::Objects),
        _ if step.section != 0 || step.condition != NOWHERE => Some(Refused::Objects),
        Act::Sync(op) if !known(op) => Some(Refused::Objects),
        _ if !matches!(step.until, Until::Now | Until::Clear(_)) => Some(Refused::Waits),
        Act::Flush => Some(Refused::Kinds),
        Act::Cas if step.mask.count_ones() > 8 => Some(Refused::Sizes),
        _ if step.more != 0 || step.gone || step.in_use => Some(Refused::Kinds),
        _ => None,
    }
}

impl ReadRun {
    pub(super) fn new(
        trace: &Trace,
        order: Order,
        width: usize,
        places: &mut ReadPlaces,
        looks: bool,
    ) -> Result<ReadRun, Refused> {
        if trace.end == End::InVain {
            return Err(Refused::Waits);
        }
        // Nobody says then who waits for what.
        let ends = trace.end == End::Assumed || !trace.failures.is_empty();
        if ends
            && trace
                .steps
                .iter()
                .any(|step| matches!(step.act, Act::Sync(_)))
        {
            return Err(Refused::Ends);
        }
        let mut run = ReadRun {
            steps: trace.steps.clone(),
            places: Vec::with_capacity(trace.steps.len()),
            from: Vec::with_capacity(trace.steps.len()),
            of: vec![Vec::new(); width],
            waits: vec![None; width],
            end: trace.end,
            left: Vec::new(),
        };
        let mut contested: FxHashMap<u32, Option<usize>> = FxHashMap::default();
        // Who stored last at a place; commits by their processes' ticks.
        let mut newest: FxHashMap<u32, EventName> = FxHashMap::default();
        for (at, step) in trace.steps.iter().enumerate() {
            if let Some(refused) = refused(step, order) {
                return Err(refused);
            }
            let place = places.of(step).map_err(|_| Refused::Sizes)?;
            run.places.push(place);
            let number = run.of[usize::from(step.process)].len() as u32;
            let mut from = None;
            if places.reads(step, place) {
                from = newest.get(&place).copied();
                if step.own.1 != 0 {
                    from = run.own(step, &trace.steps, from).ok_or(Refused::Kinds)?;
                }
            }
            if place != NONE && !newest.contains_key(&place) && from.is_none() {
                places.initial[place as usize].get_or_insert(step.found);
            }
            run.from.push(from);
            if step.access == Access::Write {
                newest.insert(place, (step.process, number));
                let thread = Some(order.thread(step.process));
                let by = contested.entry(place).or_insert(thread);
                *by = by.filter(|_| *by == thread);
            }
            run.of[usize::from(step.process)].push(at as u32);
        }
        for wait in &trace.blocked {
            match wait {
                Wait::Step(step)
                    if refused(step, order).is_none() && matches!(step.act, Act::Sync(_)) =>
                {
                    let place = places.of(step).map_err(|_| Refused::Sizes)?;
                    run.waits[usize::from(step.process)] = Some((*step, place));
                }
                Wait::Join { .. } => {}
                _ => return Err(Refused::Waits),
            }
        }
        if !looks && trace.end == End::Complete {
            // Threads that go on, or are created, where others were joined may have been alone in between.
            if trace.steps.iter().any(|step| step.joined != 0) {
                return Err(Refused::Joins);
            }
            let several = contested.iter().filter(|(_, by)| by.is_none());
            run.left
                .extend(several.map(|(place, _)| (*place, newest[place])));
            run.left.sort_unstable();
        }
        Ok(run)
    }

    /// What a load returned whose thread has stored there before; `newest` is what is in memory.
    fn own(
        &self,
        step: &Step,
        steps: &[Step],
        newest: Option<EventName>,
    ) -> Option<Option<EventName>> {
        let (process, tick) = step.own;
        let of = &self.of[usize::from(process)];
        let committed = of.last().is_some_and(|&at| steps[at as usize].tick >= tick);
        if committed {
            return Some(newest);
        }
        // Which of the commits that are still to come is it?
        let mut later = steps[of.last().map_or(0, |&at| at as usize + 1)..].iter();
        let mut number = of.len() as u32;
        loop {
            let next = later.find(|step| step.process == process)?;
            if next.tick == tick {
                return Some(Some((process, number)));
            }
            number += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// So many of a process' steps have at most this tick.
    pub(super) fn count_up_to(&self, (process, tick): (Process, u32)) -> u32 {
        let of = &self.of[usize::from(process)];
        of.partition_point(|&at| self.steps[at as usize].tick <= tick) as u32
    }

    /// Does it begin with the steps of a graph?
    pub(super) fn goes_on_from(&self, graph: &ReadGraph) -> bool {
        let name = |number: u32| {
            let process = graph.events[number as usize].step.process;
            let of = &graph.of[usize::from(process)];
            (process, of.partition_point(|&other| other < number) as u32)
        };
        let is_there = |number: &u32| {
            let event = &graph.events[*number as usize];
            let (process, at) = name(*number);
            if usize::from(process) == self.of.len() {
                return self.left.contains(&(event.place, name(event.from)));
            }
            let step = self.of[usize::from(process)].get(at as usize);
            let from = (event.reads && event.from != NONE).then(|| name(event.from));
            step.is_some_and(|&step| self.from[step as usize] == from)
        };
        // What was read last is in few of them.
        (0..graph.events.len() as u32)
            .rev()
            .all(|number| is_there(&number))
    }

    /// Who read what.
    pub(super) fn class(&self) -> u128 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let of = |salt: u8| {
            let mut hash = DefaultHasher::new();
            (salt, &self.left).hash(&mut hash);
            for steps in &self.of {
                steps.len().hash(&mut hash);
                for &at in steps {
                    self.from[at as usize].hash(&mut hash);
                }
            }
            hash.finish()
        };
        u128::from(of(0)) << 64 | u128::from(of(1))
    }

    /// What happens before each step: program order, what creates and joins threads, and reads after what they read.
    pub(super) fn clocks(&self, sets: &Sets, clocks: &mut Vec<u32>) {
        let width = self.of.len();
        clocks.clear();
        clocks.resize(self.steps.len() * width, 0);
        let mut row = vec![0; width];
        for (at, step) in self.steps.iter().enumerate() {
            row.fill(0);
            let process = usize::from(step.process);
            let mut learn = |name: Option<u32>| {
                let Some(other) = name.filter(|&other| (other as usize) < at) else {
                    return;
                };
                let known = &clocks[other as usize * width..][..width];
                for (mine, &theirs) in row.iter_mut().zip(known) {
                    *mine = theirs.max(*mine);
                }
            };
            let of = &self.of[process];
            let before = of.partition_point(|&other| (other as usize) < at);
            learn(before.checked_sub(1).map(|before| of[before]));
            let after = super::graph::comes_after(step, sets);
            for &(other, tick) in &after {
                let count = self.count_up_to((other, tick)) as usize;
                learn(
                    count
                        .checked_sub(1)
                        .map(|last| self.of[usize::from(other)][last]),
                );
            }
            if let Some((other, number)) = self.from[at] {
                learn(Some(self.of[usize::from(other)][number as usize]));
            }
            for &(other, tick) in &after {
                let known = &mut row[usize::from(other)];
                *known = tick.max(*known);
            }
            row[process] = step.tick;
            clocks[at * width..][..width].copy_from_slice(&row);
        }
    }
}
