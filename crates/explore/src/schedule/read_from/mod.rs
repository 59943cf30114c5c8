//! One execution for each way in which reads find stores: stores that nobody tells apart come in one order.
//!
//! A *graph* is what threads did so far and which store each of their reads returned, so that there is an order in which that happens
//! ([`graph::find_order`]). The search takes the program step by step, always from an execution that it has run and that goes on from the graph. A step
//! that reads nothing joins the graph. One that reads is a choice: each store of the graph that it can return, or a store that is still to
//! come; then it sleeps until there is one. Every complete execution agrees with exactly one branch of each choice, and with every graph
//! on the way to it: what reads have returned is still an order without the steps that came later. So each is found, and once.
//!
//! A choice that the execution at hand does not make is run. A read waits for a store only where some thread that has not come so far has stored there in
//! any execution; where a new one shows a store that somebody did not wait for, the search starts over ([`stores`]). That
//! is enough: take, in the order of an execution that was not found, the first store that is not known. All that comes before it there
//! reads known stores, so no choice on the way is left out, and what is run from there makes the store.
//!
//! Which thread waits for whom at a lock is read from the lock's word: who takes it reads who gave it back.

mod choices;
mod graph;
mod rounds;
mod run;
mod stores;
mod told;

use super::explored::Explored;
use super::happens::{Happens, Race};
use super::search::{Counts, Options};
use super::step::{Access, Act, Order, Process, Step, Until};
use super::threads::{AskEvery, Job, Points, Threads, ThreadsError};
use super::trace::{End, Trace};
use graph::{NONE, ReadGraph, ReadGraphEvent, ReadPlaces, Sources, comes_after};
pub use rounds::{SearchedReads, read_all};
use run::ReadRun;
pub use run::Refused;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::rc::Rc;
use stores::KnownStores;
pub use told::ReadsTold;
use told::ToldApart;

/// Executions that are remembered: what is asked for may go on as one of them does.
const RECENT: usize = 256;

/// A thread waits to read from a store that was not there when it began to.
#[derive(Clone, Copy, Debug)]
struct AsleepReader {
    process: Process,
    /// It does not read the stores of the first so many events.
    beyond: u32,
}

/// A read that can return several stores.
#[derive(Debug)]
struct SourceChoice {
    /// The graph before it, one of its orders, who sleeps, and an execution that goes on from it.
    size: usize,
    order: Vec<u32>,
    asleep: Vec<AsleepReader>,
    run: Rc<ReadRun>,
    reader: Step,
    place: u32,
    /// Stores that are still to be read, each (or all of a value) with an order that ends with what the reader knows of them.
    stores: Vec<(Sources, Vec<u32>)>,
    /// It is still to wait for others.
    waits: bool,
}

/// The step that a process makes next in the execution at hand.
#[derive(Clone, Copy, Debug)]
struct NextStep {
    step: Step,
    place: u32,
    /// Where in the execution; `None` if it is not there: its thread waits.
    at: Option<u32>,
}

#[derive(Debug)]
pub struct ReadFromSearch {
    order: Order,
    options: Options,
    width: usize,
    trace: Trace,
    /// Of the last execution: what depends on what, and what happens before what by reads alone.
    happens: Happens,
    races: Vec<Race>,
    clocks: Vec<u32>,
    points: Points,
    places: ReadPlaces,
    stores: KnownStores,
    graph: ReadGraph,
    /// One of its orders.
    now: Vec<u32>,
    asleep: Vec<AsleepReader>,
    run: Option<Rc<ReadRun>>,
    recent: VecDeque<Rc<ReadRun>>,
    choices: Vec<SourceChoice>,
    seen: FxHashSet<u128>,
    told: ToldApart,
    /// The last execution is like one before.
    repeats: bool,
    follow: Vec<Process>,
    /// It cannot go on, and says nothing: other searches can.
    pub refused: Option<Refused>,
    pub counts: Counts,
}

/// Explores everything, showing each execution to `visit`.
pub fn read_from<T: Threads>(
    threads: &mut T,
    told: ReadsTold,
    options: Options,
    mut visit: impl FnMut(&T, &Trace) -> std::ops::ControlFlow<()>,
) -> Result<Result<Counts, Refused>, ThreadsError> {
    let mut search = ReadFromSearch::new(threads, told, options, Points::Everywhere);
    while search.next(threads)? {
        if !search.repeats && visit(threads, &search.trace).is_break() {
            break;
        }
    }
    Ok(match search.refused {
        Some(refused) => Err(refused),
        None => Ok(search.counts),
    })
}

impl ReadFromSearch {
    pub fn new<T: Threads>(
        threads: &T,
        told: ReadsTold,
        options: Options,
        points: Points,
    ) -> ReadFromSearch {
        let order = threads.order(options.persistency);
        let width = match threads.buffered() {
            true => order.processes(),
            false => threads.threads(),
        };
        ReadFromSearch {
            order,
            options,
            width,
            trace: Trace::default(),
            happens: Happens::new(order, width),
            races: Vec::new(),
            clocks: Vec::new(),
            points,
            places: ReadPlaces::default(),
            stores: KnownStores::new(width),
            graph: ReadGraph::new(width),
            now: Vec::new(),
            asleep: Vec::new(),
            run: None,
            recent: VecDeque::new(),
            choices: Vec::new(),
            seen: FxHashSet::default(),
            told: ToldApart::new(told),
            repeats: false,
            follow: Vec::new(),
            refused: None,
            counts: Counts::default(),
        }
    }

    /// Runs the next execution, which may be like one before ([`Explored::repeats`]); `false` if there is none, or no more are wanted.
    pub fn next<T: Threads>(&mut self, threads: &mut T) -> Result<bool, ThreadsError> {
        let wanted = |counts: &Counts| counts.executions + counts.assumed + counts.repeated;
        if self.run.is_none() && self.refused.is_none() && self.execute(threads)? {
            return Ok(true);
        }
        let mut patience = AskEvery::default();
        while self.refused.is_none() && !self.counts.complete {
            patience.works(self.graph.events.len(), threads);
            if patience.ended {
                return Err(ThreadsError::Stopped);
            }
            if wanted(&self.counts) >= self.options.executions {
                return Ok(false);
            }
            let stuck = match self.walk() {
                Ok(stuck) => stuck,
                Err(refused) => {
                    self.refused = Some(refused);
                    break;
                }
            };
            // Everybody waits, and who is awake cannot go on: the end of an execution, if it is one.
            let ran = stuck && self.execute(threads)?;
            let begins = self.graph.events.is_empty() && stuck;
            if !begins && !self.turn_back() {
                self.counts.complete = self.counts.cut == 0;
                return Ok(ran);
            }
            if ran || self.run.is_none() && self.execute(threads)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Follows the order of the graph, and goes on as it comes, unless there is such an execution. `true` if something was run.
    fn execute<T: Threads>(&mut self, threads: &mut T) -> Result<bool, ThreadsError> {
        if let Some(run) = self
            .recent
            .iter()
            .rev()
            .find(|run| run.goes_on_from(&self.graph))
        {
            let run = run.clone();
            if !self.take_over(&run) {
                self.refused = Some(Refused::Unlike);
            }
            self.run = Some(run);
            return Ok(false);
        }
        self.follow.clear();
        let events = &self.graph.events;
        let of = |&event: &u32| events[event as usize].step.process;
        let made = |process: &Process| usize::from(*process) < self.width;
        self.follow.extend(self.now.iter().map(of).filter(made));
        let shared = self.follow.iter().zip(&self.trace.steps);
        let keep = shared
            .take_while(|(process, step)| **process == step.process)
            .count();
        let job = Job {
            follow: &self.follow,
            keep,
            sleep: &[],
            order: self.order,
            limit: self.options.limit,
        };
        self.happens.truncate(&self.trace.steps, keep);
        self.trace.restart(keep);
        match threads.run(&job, &mut self.trace) {
            // Something else orders steps, such as the room in a store buffer.
            Err(ThreadsError::Diverged { .. }) if !self.graph.events.is_empty() => {
                self.refused = Some(Refused::Unlike);
                return Ok(false);
            }
            ran => ran?,
        }
        for at in keep..self.trace.steps.len() {
            let Trace { steps, sets, .. } = &self.trace;
            self.happens.push(steps, at, sets, &mut self.races);
        }
        self.races.clear();
        let run = match ReadRun::new(
            &self.trace,
            self.order,
            self.width,
            &mut self.places,
            threads.looks_when_alone(),
        ) {
            Ok(run) => run,
            Err(refused) => {
                self.refused = Some(refused);
                return Ok(false);
            }
        };
        let news = self.stores_plainly();
        if self.told.learns(&self.trace, self.order) || news {
            // It is looked at in another way.
            self.start_over();
            self.run = None;
            self.happens.truncate(&self.trace.steps, 0);
            self.trace.restart(0);
            return self.execute(threads);
        }
        if !self.take_over(&run) {
            self.refused = Some(Refused::Unlike);
            return Ok(false);
        }
        let mut wrong = false;
        for (process, of) in run.of.iter().enumerate() {
            for (number, &at) in (0..).zip(of) {
                if may_write(&run.steps[at as usize]) {
                    wrong |= self.stores.saw(run.places[at as usize], process, number);
                }
            }
        }
        let fresh = self.seen.insert(run.class(&self.told, &self.places));
        self.repeats = !fresh;
        let counts = &mut self.counts;
        counts.fresh += (run.len() - keep) as u64;
        counts.steps += run.len() as u64;
        if !fresh {
            counts.repeated += 1;
        } else {
            match run.end {
                End::Assumed => counts.assumed += 1,
                _ => counts.executions += 1,
            }
            counts.deadlocks += u64::from(run.end == End::Deadlock);
            counts.cut += u64::from(run.end == End::Limit);
            counts.failing += u64::from(!self.trace.failures.is_empty());
            counts.stand_for = counts.executions;
            run.clocks(
                &self.trace.sets,
                (&self.told, &self.places),
                &mut self.clocks,
            );
        }
        let run = Rc::new(run);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(run.clone());
        self.run = Some(run);
        if wrong {
            self.begin_again();
        }
        Ok(true)
    }

    /// The whole tree again, from the execution at hand.
    fn begin_again(&mut self) {
        self.graph.truncate(0);
        self.now.clear();
        self.asleep.clear();
        self.choices.clear();
        self.stores.forget();
    }

    /// Are there places of which nobody knew that plain stores go there?
    fn stores_plainly(&mut self) -> bool {
        let mut news = false;
        for step in &self.trace.steps {
            let stores = matches!(step.act, Act::Store | Act::Commit);
            if stores && step.plain && step.access == Access::Write {
                let place = self.places.of(step).unwrap_or(NONE);
                news |= place != NONE && self.places.add_plain(place);
            }
        }
        for access in &self.trace.trailing {
            for place in self.places.meeting(access.object, access.mask) {
                news |= self.places.add_plain(place);
            }
        }
        news
    }

    /// What tells executions apart is another thing from now on.
    fn start_over(&mut self) {
        self.begin_again();
        self.seen.clear();
        self.recent.clear();
        self.counts = Counts {
            fresh: self.counts.fresh,
            steps: self.counts.steps,
            repeated: self.counts.repeated + self.counts.executions + self.counts.assumed,
            ..Counts::default()
        };
    }

    /// What the steps of the graph did in this execution: what one that reads and writes leaves depends on what it read. `false` if they are not what
    /// they were.
    fn take_over(&mut self, run: &ReadRun) -> bool {
        let counted = self.graph.of.iter().zip(&run.of);
        let numbered = counted.flat_map(|(events, steps)| events.iter().zip(steps));
        for (&number, &at) in numbered {
            let event = &mut self.graph.events[number as usize];
            let step = &run.steps[at as usize];
            let same = |a: &Step, b: &Step| {
                (a.process, a.act, a.object, a.mask, a.tick)
                    == (b.process, b.act, b.object, b.mask, b.tick)
            };
            if !same(step, &event.step) || (step.access == Access::Write) != event.writes {
                return false;
            }
            event.step = *step;
        }
        true
    }

    /// Goes on along the execution at hand, until there is nothing more to choose. `true` if it ends where nobody can go on, which is to be run.
    fn walk(&mut self) -> Result<bool, Refused> {
        let Some(run) = self.run.clone() else {
            return Ok(false);
        };
        loop {
            if let Some(next) = self.in_the_end(&run) {
                self.choose(&run, &next)?;
                continue;
            }
            match self.pick(&run) {
                Some(next) if self.places.reads(&next.step, next.place) => {
                    if !self.choose(&run, &next)? {
                        return Ok(false);
                    }
                }
                Some(next) => {
                    let event = self.event(&next, Sources::new());
                    self.now.push(self.graph.events.len() as u32);
                    self.graph.push(event);
                }
                None => return Ok(self.is_stuck(&run)),
            }
        }
    }

    /// All have come to their end: who reads memory then, place by place?
    fn in_the_end(&self, run: &ReadRun) -> Option<NextStep> {
        let read = self.graph.count(self.width);
        let (place, _) = *run.left.get(read)?;
        (self.graph.events.len() - read == run.len()).then_some(NextStep {
            step: Step {
                process: self.width as Process,
                act: Act::Load,
                access: Access::Read,
                tick: read as u32 + 1,
                ..Step::NOTHING
            },
            place,
            at: None,
        })
    }

    /// What each process does next, if nothing that has to come before it is missing.
    fn next_of(&self, run: &ReadRun, process: usize) -> Option<NextStep> {
        let count = self.graph.count(process);
        let next = match run.of[process].get(count) {
            Some(&at) => NextStep {
                step: run.steps[at as usize],
                place: run.places[at as usize],
                at: Some(at),
            },
            None => {
                let (step, place) = run.waits[process]?;
                NextStep {
                    step,
                    place,
                    at: None,
                }
            }
        };
        let missing = |&(other, tick): &(Process, u32)| {
            (self.graph.count(other.into()) as u32) < run.count_up_to((other, tick))
        };
        let after = comes_after(&next.step, &self.trace.sets);
        (!after.iter().any(missing)).then_some(next)
    }

    /// Whose step is looked at next: one that reads nothing, else a read for which no store is to come, else the first.
    fn pick(&mut self, run: &ReadRun) -> Option<NextStep> {
        let mut best: Option<(bool, u32, NextStep)> = None;
        for process in 0..self.width {
            let Some(next) = self.next_of(run, process) else {
                continue;
            };
            if !self.places.reads(&next.step, next.place) {
                return Some(next);
            }
            if !self.is_awake(&next) {
                continue;
            }
            let rank = (self.may_wait(run, &next), next.at.unwrap_or(u32::MAX));
            if best
                .as_ref()
                .is_none_or(|&(waits, at, _)| rank < (waits, at))
            {
                best = Some((rank.0, rank.1, next));
            }
        }
        best.map(|(.., next)| next)
    }

    fn beyond(&self, process: Process) -> Option<u32> {
        let asleep = self.asleep.iter().find(|asleep| asleep.process == process);
        asleep.map(|asleep| asleep.beyond)
    }

    /// Is there a store for it that was not there when it fell asleep?
    fn is_awake(&self, next: &NextStep) -> bool {
        self.beyond(next.step.process).is_none_or(|beyond| {
            let later = &self.graph.events[beyond as usize..];
            later
                .iter()
                .any(|event| event.writes && event.place == next.place)
        })
    }

    /// Has the process done all that it does after these reads?
    fn is_finished(&self, run: &ReadRun, process: usize) -> bool {
        let all = |process: usize| {
            self.graph.count(process) == run.of[process].len() && run.waits[process].is_none()
        };
        let thread = self.order.thread(process as Process);
        run.end != End::Limit && all(process) && all(thread)
    }

    /// May a store come that it could read?
    fn may_wait(&mut self, run: &ReadRun, next: &NextStep) -> bool {
        let own = self.order.thread(next.step.process);
        let mut others = false;
        for process in 0..self.width {
            if self.order.thread(process as Process) == own || self.is_finished(run, process) {
                continue;
            }
            others = true;
            let after = self.graph.count(process) as u32;
            if self.stores.may_come(next.place, process, after) {
                return true;
            }
        }
        // Who waits may wait for ever.
        if others && next.step.until != Until::Now {
            return true;
        }
        for process in 0..self.width {
            if self.order.thread(process as Process) != own && !self.is_finished(run, process) {
                let after = self.graph.count(process) as u32;
                self.stores.rely(next.place, process, after);
            }
        }
        false
    }

    /// A step as an event that reads one of these stores, as far as that is known before it is run.
    fn event(&self, next: &NextStep, from: Sources) -> ReadGraphEvent {
        let step = next.step;
        let run = self.run.as_ref();
        let count = |&(process, tick): &(Process, u32)| {
            let count = run.map_or(0, |run| run.count_up_to((process, tick)));
            (process, count)
        };
        let mut after: SmallVec<[(Process, u32); 4]> = comes_after(&step, &self.trace.sets);
        if usize::from(step.process) == self.width {
            after.extend((0..self.width as Process).map(|process| (process, u32::MAX)));
        }
        let own = match step.own.1 {
            0 => NONE,
            _ => self.graph.with_tick(step.own).unwrap_or(NONE),
        };
        ReadGraphEvent {
            step,
            place: next.place,
            reads: self.places.reads(&step, next.place),
            writes: step.access == Access::Write,
            from,
            own,
            after: after.iter().map(count).collect(),
        }
    }

    /// What a place holds after a store, if that is known.
    fn left(&self, place: u32, store: u32) -> Option<u64> {
        match store {
            NONE => self.places.initial[place as usize],
            store => Some(self.graph.events[store as usize].step.left),
        }
    }

    /// The step where it reads one of these stores; `None` if it waits there.
    fn reading(&self, next: &NextStep, from: Sources) -> Option<ReadGraphEvent> {
        let found = self.left(next.place, *from.first()?)?;
        let mut event = self.event(next, from);
        let step = &mut event.step;
        match step.act {
            Act::Cas => event.writes = found == step.expect,
            Act::Sync(op) => {
                if !step.until.admits(found) {
                    return None;
                }
                (step.access, step.mask) = op.footprint(step.process.into(), found);
                event.writes = step.access == Access::Write;
            }
            _ => {}
        }
        step.access = match event.writes {
            true => Access::Write,
            false => Access::Read,
        };
        Some(event)
    }
}

/// Does the step store something, or would it if it found something else?
fn may_write(step: &Step) -> bool {
    step.access == Access::Write
        || step.access == Access::Read && matches!(step.act, Act::Cas | Act::Sync(_))
}

impl Explored for ReadFromSearch {
    fn trace(&self) -> &Trace {
        &self.trace
    }

    fn order(&self) -> Order {
        self.order
    }

    fn clock(&self, at: usize) -> &[u32] {
        self.happens.clock(at)
    }

    fn points(&self) -> &Points {
        &self.points
    }

    fn repeats(&self) -> bool {
        self.repeats
    }
}

/// The same with what happens before what because of what was read, and nothing else: other executions of its class have the rest the other way round.
#[derive(Debug)]
pub(super) struct ByReads<'a>(pub(super) &'a ReadFromSearch);

impl Explored for ByReads<'_> {
    fn trace(&self) -> &Trace {
        &self.0.trace
    }

    fn order(&self) -> Order {
        self.0.order
    }

    fn clock(&self, at: usize) -> &[u32] {
        &self.0.clocks[at * self.0.width..][..self.0.width]
    }

    fn points(&self) -> &Points {
        &self.0.points
    }
}
