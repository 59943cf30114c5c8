//! A trace as the checkers see it: what each thread did to persistent memory, in program order, and what it learnt of the others.
//!
//! What happens before what is program order and reads-from across threads (docs/design/model.md §7); a lock is read from whoever
//! released it, a thread from whoever created it. That is less than what [`Order::depends`] orders: that a store overwrites
//! another one, or a value that was read, does not make one happen before the other.

use super::power::piece;
use super::step::{Access, Act, NOWHERE, Order, Process, Step};
use super::sync::Op;
use super::trace::Trace;
use landfall_check::execution::{CommittedOrder, Execution};
use landfall_check::{DurableBeginning, Reached};
use landfall_model::event::{Action, Atomicity, Event, EventId, Fence, How};
use landfall_model::line::Line;
use landfall_model::order::Platform;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// How the trace's numbers are called elsewhere.
pub trait Names {
    /// Where an object of persistent memory lies.
    fn line(&self, object: u32) -> Line;
    /// The number of a place in the source; [`NOWHERE`] where a thread ends.
    fn site(&mut self, site: u32) -> u32;
}

/// The execution that a trace shows, under this number.
pub fn execution(
    trace: &Trace,
    order: Order,
    platform: Platform,
    number: u32,
    names: &mut impl Names,
) -> Execution {
    let telling = TraceTelling::of(trace, order, names, Reached::default());
    Execution::of_schedule(telling.events, &telling.committed, platform, number)
}

/// The same; and where all that the first thread had done alone was told, and nothing else, right behind a fence.
pub(super) fn execution_with_points(
    trace: &Trace,
    order: Order,
    platform: Platform,
    number: u32,
    names: &mut impl Names,
) -> (Execution, Vec<Reached>) {
    let telling = TraceTelling::of(trace, order, names, Reached::default());
    let (events, committed) = (telling.events, telling.committed);
    let execution = Execution::of_schedule(events, &committed, platform, number);
    (execution, telling.points)
}

/// What follows such a beginning, where the trace begins so.
pub(super) fn execution_after(
    before: &Rc<DurableBeginning>,
    trace: &Trace,
    order: Order,
    number: u32,
    names: &mut impl Names,
) -> Execution {
    let telling = TraceTelling::of(trace, order, names, before.reached);
    let mut active = telling.threads.iter();
    let threads = active.rposition(|thread| !thread.deeds.is_empty());
    let threads = threads.map_or(1, |last| last + 1);
    let (events, committed) = (telling.events, &telling.committed);
    Execution::of_schedule_after(before.clone(), events, committed, number, threads)
}

/// Something a thread did, in program order. Numbers are indices of the trace.
#[derive(Clone, Copy, Debug)]
enum TraceItem {
    /// A step; or what goes into the store buffer, and is a step of that later.
    Step(u32),
    WriteBack(u32),
    /// It creates a thread.
    Creates(u32),
}

/// Where a deed stands in its thread's program order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ProgramPoint {
    tick: u32,
    kind: u8,
}

#[derive(Clone, Debug, Default)]
struct ThreadDeeds {
    /// In program order.
    deeds: Vec<(ProgramPoint, TraceItem)>,
    /// For each of them that is told, the last event by then.
    events: Vec<Option<EventId>>,
    last: Option<EventId>,
    /// Up to here others know that it has ended.
    ended: u32,
    /// Stores that wait in its buffer: object, bytes, the step that commits them.
    buffer: Vec<(u32, u64, u32)>,
}

/// Everything each thread did since then, and for each of those steps of the trace where among that it is.
fn deeds(trace: &Trace, order: Order, from: Reached) -> (Vec<ThreadDeeds>, Vec<usize>) {
    let mut threads: Vec<ThreadDeeds> = vec![ThreadDeeds::default(); order.threads];
    for (at, step) in trace.steps.iter().enumerate().skip(from.steps) {
        // What goes into a store buffer says where its thread stood.
        let tick = match order.is_companion(step.process) {
            true => step.need.1,
            false => step.tick,
        };
        let place = ProgramPoint { tick, kind: 0 };
        let deed = TraceItem::Step(at as u32);
        threads[order.thread(step.process)]
            .deeds
            .push((place, deed));
    }
    for (at, back) in trace.write_backs.iter().enumerate().skip(from.write_backs) {
        let tick = back.issued;
        let place = ProgramPoint { tick, kind: 1 };
        let deed = TraceItem::WriteBack(at as u32);
        threads[usize::from(back.thread)].deeds.push((place, deed));
    }
    for (at, birth) in trace.births.iter().enumerate() {
        let place = ProgramPoint {
            tick: birth.tick,
            kind: 0,
        };
        let deed = TraceItem::Creates(at as u32);
        threads[usize::from(birth.parent)].deeds.push((place, deed));
    }
    let mut places = vec![0; trace.steps.len() - from.steps];
    for thread in &mut threads {
        thread.deeds.sort_by_key(|(place, _)| *place);
        for (place, (_, deed)) in thread.deeds.iter().enumerate() {
            if let TraceItem::Step(at) = *deed {
                places[at as usize - from.steps] = place;
            }
        }
    }
    (threads, places)
}

/// Bytes of an object that a thread wrote last, and the last event that it knew of then.
#[derive(Clone, Copy, Debug)]
struct Written {
    mask: u64,
    thread: usize,
    source: Option<EventId>,
}

struct TraceTelling<'a, N: Names> {
    trace: &'a Trace,
    order: Order,
    names: &'a mut N,
    threads: Vec<ThreadDeeds>,
    places: Vec<usize>,
    events: Vec<Event>,
    /// The step that what is told now comes from; [`NOWHERE`] where it is none.
    record: u32,
    committed: CommittedOrder,
    /// By object, oldest first.
    memory: FxHashMap<u32, Vec<Written>>,
    /// By step: the event that a store is, and the last event that its thread knew of when it made it.
    stores: Vec<Option<EventId>>,
    sources: Vec<Option<EventId>>,
    /// The events that the stores of transactions are, with the step.
    transactional: Vec<(usize, EventId)>,
    /// Steps that are not told, and what came with them.
    from: Reached,
    /// Steps of the first thread before it created another one.
    alone: usize,
    points: Vec<Reached>,
}

impl<'a, N: Names> TraceTelling<'a, N> {
    /// What happened since then.
    fn of(trace: &'a Trace, order: Order, names: &'a mut N, from: Reached) -> TraceTelling<'a, N> {
        let (threads, places) = deeds(trace, order, from);
        let count = trace.steps.len() - from.steps;
        let first = trace.births.first().filter(|birth| birth.parent == 0);
        let mut telling = TraceTelling {
            trace,
            order,
            names,
            threads,
            places,
            events: Vec::new(),
            record: NOWHERE,
            committed: CommittedOrder::default(),
            memory: FxHashMap::default(),
            stores: vec![None; count],
            sources: vec![None; count],
            transactional: Vec::new(),
            from,
            alone: first.map_or(0, |birth| birth.after as usize),
            points: Vec::new(),
        };
        telling.tell();
        telling
    }

    fn tell(&mut self) {
        let mut write_backs = 0;
        let mut told = 0;
        for at in self.from.steps..self.trace.steps.len() {
            let step = self.trace.steps[at];
            let thread = self.order.thread(step.process);
            self.tell_up_to(thread, self.places[at - self.from.steps], at);
            if step.access == Access::Write {
                self.write(thread, at, &step);
            }
            if at < self.alone {
                let first = &self.threads[0];
                for (_, deed) in &first.deeds[told..first.events.len()] {
                    write_backs += usize::from(matches!(deed, TraceItem::WriteBack(_)));
                }
                told = first.events.len();
                let is_fence = |event: &Event| matches!(event.action, Action::Fence(_));
                let fenced = self.events.last().is_some_and(is_fence);
                if fenced && told == at + 1 + write_backs && first.buffer.is_empty() {
                    self.points.push(Reached {
                        steps: at + 1,
                        events: self.events.len(),
                        write_backs,
                    });
                }
            }
        }
        for thread in 0..self.threads.len() {
            let all = self.threads[thread].deeds.len();
            self.tell_up_to(thread, all, self.trace.steps.len());
        }
    }

    /// What a thread did, up to and with a deed, by the time of a step.
    fn tell_up_to(&mut self, thread: usize, last: usize, now: usize) {
        while self.threads[thread].events.len() <= last {
            let next = self.threads[thread].events.len();
            let Some(&(_, deed)) = self.threads[thread].deeds.get(next) else {
                return;
            };
            match deed {
                TraceItem::Step(at) => self.step(thread, at as usize, now),
                TraceItem::WriteBack(at) => {
                    let back = self.trace.write_backs[at as usize];
                    self.learn(thread, back.site, &back.need, back.joined, now);
                    let line = self.names.line(back.object);
                    self.push(thread, back.site, Action::Clwb(line));
                }
                TraceItem::Creates(at) => self.publish(thread, self.trace.births[at as usize].site),
            }
            self.record = NOWHERE;
            let last = self.threads[thread].last;
            self.threads[thread].events.push(last);
        }
    }

    /// A thread does what becomes a step, or what its store buffer makes one later.
    fn step(&mut self, thread: usize, at: usize, now: usize) {
        let step = self.trace.steps[at];
        let mut need: SmallVec<[(Process, u32); 8]> = SmallVec::from_slice(&[step.need, step.also]);
        if step.act == Act::Sync(Op::Pass) {
            need.extend_from_slice(&self.trace.sets.behind[step.behind as usize]);
        }
        self.learn(thread, step.site, &need, step.joined, now);
        self.record = at as u32;
        match step.act {
            Act::Load => self.read(thread, &step),
            Act::Rmw | Act::Cas => {
                self.push(thread, step.site, Action::Fence(Fence::Full));
                self.read(thread, &step);
                if step.access == Access::Write {
                    self.store(thread, at);
                }
                self.sources[at - self.from.steps] = self.threads[thread].last;
                self.push(thread, step.site, Action::Fence(Fence::Full));
            }
            Act::Store | Act::Commit => {
                self.store(thread, at);
                if !step.persistent {
                    self.publish(thread, step.site);
                }
                self.sources[at - self.from.steps] = self.threads[thread].last;
                if at > now {
                    let waits = (step.object, step.mask, at as u32);
                    self.threads[thread].buffer.push(waits);
                }
            }
            Act::Sync(_) => {
                self.read(thread, &step);
                if step.access == Access::Write {
                    self.publish(thread, step.site);
                }
                self.sources[at - self.from.steps] = self.threads[thread].last;
            }
            Act::Flush => {
                let line = self.names.line(step.object);
                self.push(thread, step.site, Action::Clflush(line));
            }
            Act::Transaction => self.transaction(thread, at, &step),
            Act::Other => {}
            // In the store buffer it is an `sfence`.
            Act::Fence => {
                let fence = match step.plain || self.order.is_companion(step.process) {
                    true => Fence::Store,
                    false => Fence::Full,
                };
                self.push(thread, step.site, Action::Fence(fence));
            }
        }
    }

    /// All of a hardware transaction. One that was aborted told its thread nothing that is still there.
    fn transaction(&mut self, thread: usize, at: usize, step: &Step) {
        if !step.commits() {
            return;
        }
        self.push(thread, step.site, Action::Fence(Fence::Full));
        let trace = self.trace;
        for &(object, mask, writes) in trace.sets.accessed(step.section) {
            if !writes {
                let read = Step {
                    object,
                    mask,
                    ..*step
                };
                self.read(thread, &read);
            }
        }
        for store in trace.stores_of(at..at + 1) {
            let store = store.alone();
            if let Some(piece) = piece(&store, self.names.line(store.object)) {
                let (how, atomic) = (How::Cached, store.atomic);
                let store_event = Action::Store { piece, how, atomic };
                self.push(thread, store.site, store_event);
                let event = self.threads[thread].last;
                self.transactional.extend(event.map(|event| (at, event)));
            }
        }
        self.sources[at - self.from.steps] = self.threads[thread].last;
        self.push(thread, step.site, Action::Fence(Fence::Full));
    }

    fn store(&mut self, thread: usize, at: usize) {
        let step = &self.trace.steps[at];
        if !step.persistent {
            return;
        }
        let Some(piece) = piece(step, self.names.line(step.object)) else {
            return;
        };
        let atomic = match step.act {
            Act::Rmw | Act::Cas => Atomicity::Release,
            _ if !step.plain && step.atomic == Atomicity::Plain => Atomicity::Relaxed,
            _ => step.atomic,
        };
        let how = match (step.at_once, step.streams) {
            (true, _) => How::AtOnce,
            (false, true) => How::NonTemporal,
            (false, false) => How::Cached,
        };
        let store = Action::Store { piece, how, atomic };
        self.push(thread, step.site, store);
        self.stores[at - self.from.steps] = self.threads[thread].last;
    }

    /// A store reaches memory.
    fn write(&mut self, thread: usize, at: usize, step: &Step) {
        let source = self.sources[at - self.from.steps];
        (self.committed.stores).extend(self.stores[at - self.from.steps]);
        if step.act == Act::Transaction {
            let own = |(of, event): &(usize, EventId)| (*of == at).then_some(*event);
            let from = self.committed.stores.len();
            let stores = self.transactional.iter().filter_map(own);
            self.committed.stores.extend(stores);
            let all = from..self.committed.stores.len();
            self.committed.together.push(all);
            let trace = self.trace;
            let accessed = trace.sets.accessed(step.section).iter();
            for &(object, mask, _) in accessed.filter(|access| access.2) {
                self.overwrite(object, mask, thread, source);
            }
            return;
        }
        let waiting = &mut self.threads[thread].buffer;
        waiting.retain(|&(.., commit)| commit != at as u32);
        self.overwrite(step.object, step.mask, thread, source);
    }

    fn overwrite(&mut self, object: u32, mask: u64, thread: usize, source: Option<EventId>) {
        let written = self.memory.entry(object).or_default();
        written.retain_mut(|older| {
            older.mask &= !mask;
            older.mask != 0
        });
        written.push(Written {
            mask,
            thread,
            source,
        });
    }

    /// What a read finds in memory, it learns of. What it finds in its own buffer it knows.
    fn read(&mut self, thread: usize, step: &Step) {
        let own = self.threads[thread].buffer.iter();
        let own = own.filter(|(object, ..)| *object == step.object);
        let own = own.fold(0, |all, (_, mask, _)| all | mask);
        let written = self.memory.get(&step.object).into_iter().flatten();
        let seen: SmallVec<[EventId; 4]> = written
            .filter(|written| written.mask & step.mask & !own != 0 && written.thread != thread)
            .filter_map(|written| written.source)
            .collect();
        self.observe(thread, step.site, &seen);
    }

    /// Others may learn here of what the thread has done: a place before which something can still be done. An event in which the
    /// thread learns of itself.
    fn publish(&mut self, thread: usize, site: u32) {
        if let Some(event) = self.threads[thread].last {
            self.push(thread, site, Action::Observe { event });
        }
    }

    fn observe(&mut self, thread: usize, site: u32, seen: &[EventId]) {
        for &event in seen {
            self.push(thread, site, Action::Observe { event });
        }
    }

    /// What a thread knows of others besides what it read: who created it, whom it joined, who opened the barrier.
    fn learn(
        &mut self,
        thread: usize,
        site: u32,
        need: &[(Process, u32)],
        joined: u32,
        now: usize,
    ) {
        let mut seen: SmallVec<[EventId; 4]> = SmallVec::new();
        for &(process, tick) in need {
            let of = self.order.thread(process);
            if tick != 0 && of != thread {
                let last = self.last_by(process, tick);
                self.tell_so_many(of, last, now, &mut seen);
            }
        }
        let trace = self.trace;
        for &(process, tick) in trace.sets.joined(joined) {
            let of = usize::from(process);
            if self.order.is_companion(process) || of == thread {
                continue;
            }
            // What ends it has a tick of its own, and a thread that comes after it with its number goes on from there.
            let deeds = &self.threads[of].deeds;
            let all = deeds.partition_point(|(place, _)| place.tick <= tick);
            if all > 0 {
                self.tell_up_to(of, all - 1, now);
            }
            if self.threads[of].ended < tick {
                self.threads[of].ended = tick;
                self.publish(of, NOWHERE);
            }
            seen.extend(self.threads[of].last);
        }
        self.observe(thread, site, &seen);
    }

    /// How many deeds of a thread, or of its store buffer, are done when the process has come to a tick.
    fn last_by(&self, process: Process, tick: u32) -> usize {
        let (of, companion) = (self.order.thread(process), self.order.is_companion(process));
        let deeds = &self.threads[of].deeds;
        let by = |(_, deed): &(ProgramPoint, TraceItem)| match *deed {
            TraceItem::Step(at) => {
                let step = &self.trace.steps[at as usize];
                step.process == process && step.tick <= tick
            }
            TraceItem::WriteBack(at) => {
                let back = &self.trace.write_backs[at as usize];
                // One that was begun at this tick came after what took it.
                !companion && back.issued < tick
            }
            TraceItem::Creates(at) => {
                let birth = &self.trace.births[at as usize];
                !companion && birth.tick <= tick
            }
        };
        deeds.iter().rposition(by).map_or(0, |last| last + 1)
    }

    /// Tells so many deeds of a thread, and names the last event by then.
    fn tell_so_many(
        &mut self,
        of: usize,
        count: usize,
        now: usize,
        seen: &mut SmallVec<[EventId; 4]>,
    ) {
        if let Some(last) = count.checked_sub(1) {
            self.tell_up_to(of, last, now);
            let told = self.threads[of].events.get(last);
            let event = told.or(self.threads[of].events.last());
            seen.extend(event.copied().flatten());
        }
    }

    fn push(&mut self, thread: usize, site: u32, action: Action) {
        let site = self.names.site(site);
        self.threads[thread].last = Some(EventId(self.events.len() as u32));
        self.events.push(Event {
            action,
            thread: thread as u16,
            site,
            record: self.record,
        });
    }
}
