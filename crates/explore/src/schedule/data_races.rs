//! Data races of one execution: two accesses of different threads to the same bytes, one of them a write, one of them plain,
//! that nothing orders (Blum 2018, §2.3.2 and §3.4.4).
//!
//! *Pure*: what orders is synchronisation as it happened: locks, atomics and fences by the orders that the source gives them
//! (`messages`; what x86 orders all the same does not count), creating and joining threads; a report is a race. *Limited*: only waiting for another thread orders, and a lock held at both accesses protects; it sees races
//! whose accesses an unrelated lock happened to separate, and raises some false alarms.

use super::messages::{Clock, Messages, join};
use super::step::{Access, Act, Order, Process, Sets, Step};
use super::sync::{ALL, Op};
use super::trace::{SourceFence, Trace, Trailing};
use super::transactions::StrongIsolation;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Relation {
    #[default]
    Pure,
    Limited,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Party {
    pub thread: Process,
    pub site: u32,
    pub write: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataRace {
    pub object: u32,
    /// The bytes of it that both access.
    pub mask: u64,
    pub first: Party,
    pub second: Party,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct SeenAccess {
    party: Party,
    object: u32,
    mask: u64,
    plain: bool,
    /// From which tick of its thread on others know of it.
    known_from: u32,
    held: Vec<u32>,
}

#[derive(Debug)]
struct Detector<'a> {
    order: Order,
    relation: Relation,
    sets: &'a Sets,
    /// Per thread: its clock from each tick on, ascending.
    clocks: Vec<Vec<(u32, Clock)>>,
    /// Per thread: the locks that it holds from each tick on, ascending.
    held: Vec<Vec<(u32, Vec<u32>)>>,
    /// What a released lock passes on.
    passed: Vec<(u32, u64, Clock)>,
    /// Per lock and what is accessed in a critical section of it: what those pass on.
    sections: Vec<(u32, u32, Clock)>,
    /// Per thread: the lock of the critical section that was its last transition.
    inside: Vec<Option<u32>>,
    /// What atomics do.
    messages: Messages,
    /// What hardware transactions, and atomics beside them, do.
    isolation: StrongIsolation,
    /// Per process, up to where its stores are in memory.
    committed: Vec<u32>,
    /// By what is accessed.
    seen: FxHashMap<u32, Vec<SeenAccess>>,
    found: &'a mut Vec<DataRace>,
}

impl SeenAccess {
    fn is_like(&self, other: &Self) -> bool {
        (self.party, self.object, self.mask, self.plain)
            == (other.party, other.object, other.mask, other.plain)
            && self.held == other.held
    }
}

/// Appends the races of an execution, each pair of sites and its object once.
pub fn data_races(trace: &Trace, order: Order, relation: Relation, found: &mut Vec<DataRace>) {
    let mut detector = Detector {
        order,
        relation,
        sets: &trace.sets,
        clocks: vec![vec![(0, smallvec![0; order.threads])]; order.threads],
        held: vec![vec![(0, Vec::new())]; order.threads],
        passed: Vec::new(),
        sections: Vec::new(),
        inside: vec![None; order.threads],
        messages: Messages::new(order.threads),
        isolation: StrongIsolation::default(),
        committed: vec![0; order.processes()],
        seen: FxHashMap::default(),
        found,
    };
    // What one thread does alone races with nothing, and everybody knows all that it knew; but it may hold a lock ever since.
    let alone = trace.alone();
    if relation == Relation::Limited {
        let locks = |step: &&Step| matches!(step.act, Act::Sync(_));
        for step in trace.steps[..alone].iter().filter(locks) {
            detector.step(step);
        }
    }
    let mut told = trace.not_alone(&trace.trailing, |access| access.after);
    let mut fenced = trace.not_alone(&trace.fences, |fence| fence.after);
    for at in alone..=trace.steps.len() {
        let before = |after: u32| after == u32::MAX || (after as usize) < at;
        loop {
            let access = trace
                .trailing
                .get(told)
                .filter(|access| before(access.after));
            let fence = trace.fences.get(fenced).filter(|fence| before(fence.after));
            match (access, fence) {
                (_, Some(fence)) if access.is_none() || fence.trailing as usize <= told => {
                    fenced += 1;
                    detector.fence(fence);
                }
                (Some(access), _) => {
                    told += 1;
                    detector.trailing(access);
                }
                (None, _) => break,
            }
        }
        if let Some(step) = trace.steps.get(at) {
            detector.step(step);
        }
    }
}

impl Detector<'_> {
    /// What a thread knows at one of its ticks.
    fn clock(&self, thread: usize, tick: u32) -> Clock {
        let known = &self.clocks[thread];
        let after = known.partition_point(|(from, _)| *from <= tick);
        let mut clock = known[after.saturating_sub(1)].1.clone();
        clock[thread] = tick;
        clock
    }

    fn learn(&mut self, thread: usize, needs: [(Process, u32); 2], joined: u32, clock: &mut Clock) {
        for need in needs {
            // Of what a companion committed, its thread knows.
            let other = need.1 != 0 && !self.order.same_thread(need.0, thread as Process);
            if other && !self.order.is_companion(need.0) {
                join(clock, &self.clock(self.order.thread(need.0), need.1));
            }
        }
        for &(other, tick) in self.sets.joined(joined) {
            if !self.order.is_companion(other) {
                join(clock, &self.clock(other.into(), tick));
            }
        }
    }

    fn fence(&mut self, fence: &SourceFence) {
        let thread = usize::from(fence.thread);
        let mut clock = self.clock(thread, fence.tick);
        if self.relation == Relation::Pure {
            self.messages.fence(fence, &mut clock);
            self.clocks[thread].push((fence.tick, clock));
        }
    }

    fn trailing(&mut self, access: &Trailing) {
        let thread = usize::from(access.thread);
        if access.write {
            self.messages.overwritten(access.object, access.mask);
        }
        let mut clock = self.clock(thread, access.tick);
        self.learn(thread, access.need, access.joined, &mut clock);
        self.clocks[thread].push((access.tick, clock.clone()));
        let party = Party {
            thread: access.thread,
            site: access.site,
            write: access.write,
        };
        let seen = SeenAccess {
            party,
            object: access.object,
            mask: access.mask,
            plain: !access.atomic,
            known_from: access.tick + u32::from(!access.within),
            held: self.holds(thread, access.tick, access.within),
        };
        if !access.unjudged {
            self.look(seen, &clock);
        }
    }

    /// Locks that a thread holds at one of its ticks.
    fn holds(&self, thread: usize, tick: u32, within: bool) -> Vec<u32> {
        let known = &self.held[thread];
        let after = known.partition_point(|(from, _)| *from <= tick);
        let mut held = known[after.saturating_sub(1)].1.clone();
        held.extend(self.inside[thread].filter(|_| within));
        held
    }

    fn takes(&mut self, thread: usize, step: &Step) {
        let mut held = self.holds(thread, step.tick, false);
        held.push(step.object);
        self.held[thread].push((step.tick, held));
    }

    fn gives_back(&mut self, thread: usize, step: &Step) {
        let mut held = self.holds(thread, step.tick, false);
        held.retain(|&lock| lock != step.object);
        self.held[thread].push((step.tick, held));
    }

    fn step(&mut self, step: &Step) {
        let thread = self.order.thread(step.process);
        let commits = self.order.is_companion(step.process);
        // A commit passes on what was known when the store was issued.
        let tick = if commits { step.issued } else { step.tick };
        let mut clock = self.clock(thread, tick);
        self.learn(thread, [step.need, step.also], step.joined, &mut clock);
        if !commits {
            self.inside[thread] = None;
        }
        match step.act {
            Act::Sync(op) => self.synchronise(thread, op, step, &mut clock),
            Act::Transaction => {
                let accessed = self.sets.accessed(step.section);
                if self.relation == Relation::Pure {
                    self.isolation.transaction(accessed, &mut clock);
                }
                self.section(thread, step, &mut clock);
            }
            _ => self.pass(thread, tick, step, &mut clock),
        }
        if !commits {
            self.clocks[thread].push((step.tick, clock.clone()));
        }
        if matches!(
            step.act,
            Act::Load | Act::Store | Act::Commit | Act::Rmw | Act::Cas
        ) {
            let seen = SeenAccess {
                party: Party {
                    thread: thread as Process,
                    site: step.site,
                    write: step.access == Access::Write,
                },
                object: step.object,
                mask: step.mask,
                plain: step.plain,
                known_from: tick,
                held: self.holds(thread, tick, false),
            };
            if !step.unjudged {
                self.look(seen, &clock);
            }
        }
    }

    /// Atomics pass on to those who read from them what their writer knew.
    fn pass(&mut self, thread: usize, issued: u32, step: &Step, clock: &mut Clock) {
        let commits = self.order.is_companion(step.process);
        if commits {
            self.committed[usize::from(step.process)] = step.tick;
        }
        let writes = step.access == Access::Write
            && matches!(step.act, Act::Store | Act::Commit | Act::Rmw | Act::Cas);
        if step.plain {
            if writes {
                self.messages.overwritten(step.object, step.mask);
            }
            return;
        }
        let reads = step.act == Act::Load || step.orders.updates || step.access == Access::Read;
        // A load of its own buffered store does not see memory.
        let hidden = step.own.1 > self.committed[usize::from(step.own.0)];
        if reads && !hidden && self.relation == Relation::Pure {
            self.messages.read(thread, step, clock);
        }
        if writes {
            let bytes = (step.object, step.mask);
            self.messages
                .written(thread, bytes, step.orders, issued, clock);
        }
        if self.sets.have_transactions() && self.relation == Relation::Pure && !hidden {
            self.isolation.atomic(step, commits, clock);
        }
    }

    fn acquire(&self, clock: &mut Clock, from: impl Fn(u32, u64) -> bool) {
        for (object, mask, passed) in &self.passed {
            if from(*object, *mask) {
                join(clock, passed);
            }
        }
    }

    fn release(&mut self, key: (u32, u64), clock: &Clock) {
        let known = self
            .passed
            .iter_mut()
            .find(|(object, mask, _)| (*object, *mask) == key);
        match known {
            Some(passed) => passed.2.clone_from(clock),
            None => self.passed.push((key.0, key.1, clock.clone())),
        }
    }

    /// A condition passes nothing on: the mutex with it does.
    fn synchronise(&mut self, thread: usize, op: Op, step: &Step, clock: &mut Clock) {
        let object = step.object;
        let writes = step.access == Access::Write;
        let all = |of: u32, _: u64| of == object;
        let pure = self.relation == Relation::Pure;
        match op {
            Op::Section => self.section(thread, step, clock),
            Op::Lock | Op::TryLock | Op::LockExclusive | Op::TryLockExclusive | Op::Hold
                if writes =>
            {
                if pure {
                    self.acquire(clock, all);
                    self.acquire_sections(clock, object, None);
                }
                self.takes(thread, step);
            }
            Op::LockShared | Op::TryLockShared if writes => {
                if pure {
                    // Not from other readers.
                    self.acquire(clock, |of, mask| of == object && mask == ALL);
                }
                self.takes(thread, step);
            }
            // Once less is nothing that others notice.
            Op::LetGo if !writes => {}
            Op::Unlock | Op::UnlockShared | Op::LetGo => {
                let mask = if op == Op::UnlockShared {
                    step.mask
                } else {
                    ALL
                };
                self.release((object, mask), clock);
                self.gives_back(thread, step);
            }
            // These make others wait, so they order under either relation.
            Op::Take | Op::TryTake | Op::Once | Op::Deliver | Op::AwaitSignal
                if writes || op == Op::Once =>
            {
                self.acquire(clock, all);
            }
            // Of all that arrived in its round, however they came.
            Op::Pass => {
                for &(process, tick) in &self.sets.behind[step.behind as usize] {
                    if !self.order.is_companion(process) {
                        join(clock, &self.clock(process.into(), tick));
                    }
                }
            }
            Op::Give | Op::Arrive | Op::OnceDone | Op::Pend => {
                self.acquire(clock, all);
                self.release((object, ALL), clock);
            }
            _ => {}
        }
    }

    /// A critical section in one piece: it knows of others of its lock that it shares something with. That the lock had them come one after
    /// the other says nothing.
    fn section(&mut self, thread: usize, step: &Step, clock: &mut Clock) {
        if self.relation == Relation::Pure {
            self.acquire(clock, |of, _| of == step.object);
            self.acquire_sections(clock, step.object, Some(step.section));
        }
        self.inside[thread] = Some(step.object);
        let same = |(lock, section, _): &&mut (u32, u32, Clock)| {
            (*lock, *section) == (step.object, step.section)
        };
        match self.sections.iter_mut().find(same) {
            Some((.., known)) => join(known, clock),
            None => self
                .sections
                .push((step.object, step.section, clock.clone())),
        }
    }

    /// Takes over from critical sections of a lock: from all, or those that share something with this one.
    fn acquire_sections(&self, clock: &mut Clock, lock: u32, with: Option<u32>) {
        for (of, section, passed) in &self.sections {
            let shares = with.is_none_or(|with| !self.sets.share_nothing(*section, with));
            if *of == lock && shares {
                join(clock, passed);
            }
        }
    }

    fn look(&mut self, second: SeenAccess, clock: &Clock) {
        let known = self.seen.entry(second.object).or_default();
        for first in &*known {
            let conflicts = first.mask & second.mask != 0
                && first.party.thread != second.party.thread
                && (first.party.write || second.party.write)
                && (first.plain || second.plain);
            if !conflicts || clock[usize::from(first.party.thread)] >= first.known_from {
                continue;
            }
            let protected = self.relation == Relation::Limited
                && first.held.iter().any(|lock| second.held.contains(lock));
            let race = DataRace {
                object: second.object,
                mask: first.mask & second.mask,
                first: first.party,
                second: second.party,
            };
            if !protected && !self.found.contains(&race) {
                self.found.push(race);
            }
        }
        // Of those that are alike, the last: whoever knows of it knows of those before. A loop may make thousands.
        match known.iter_mut().find(|first| first.is_like(&second)) {
            Some(first) => first.known_from = first.known_from.max(second.known_from),
            None => known.push(second),
        }
    }
}
