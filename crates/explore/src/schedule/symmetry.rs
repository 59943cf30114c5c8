//! Threads that are alike: executions that differ only in which of them did what are explored once.
//!
//! Threads are alike if they run the same code on the same argument, begin together and nobody can tell them apart
//! ([`Trace::alike`]). Renaming them makes an execution of an execution, with the same findings. The search keeps one of each
//! class of renamed traces (the aim of Kokologiannakis, Marmanis, Vafeiadis: "SPORE", PLDI 2024; here for wakeup trees):
//!
//! - Reversing a race in a renamed trace gives the renamed reversal. So a set of traces that holds, up to renaming, something
//!   that goes on from the reversal of each race in each of them holds every trace up to renaming.
//! - A reversal is superfluous if, renamed in some way, it agrees with a beginning that was explored before: then something goes
//!   on from both. Otherwise it goes into the wakeup tree, below the leftmost branch with which it agrees, renamed so
//!   that it does. So two traces of one class are never both explored: where their paths part, the later one agreed with the
//!   earlier one's branch.
//!
//! Two beginnings of executions agree if each thread did in one of them the first of what it did in the other, after the same past,
//! and what only one of them has is independent of what only the other has. A past is compared as a row: how many
//! transitions of each process happened before.

mod agree;
mod orbit;
mod thread_set;

use super::happens::Happens;
use super::step::{Access, Act, Order, Process, Sets, Step};
use super::trace::{Trace, Trailing};
use agree::Beginning;
use std::cell::Cell;
use thread_set::ThreadSet;

pub(super) use agree::Renaming;

/// Renamings that are tried before a reversal counts as new. That costs an execution; nothing is lost.
const MOST_TRIED: u32 = 4_000;

/// From here on, an index of an event is one of a transition that is not in the last execution.
const FURTHER: u32 = 1 << 30;

/// Which threads were told apart, so far. It outlives the search, which starts over when it changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Apart {
    /// Per thread: those with different numbers are not alike.
    part: Vec<u32>,
    parts: u32,
}

impl Apart {
    fn part(&self, thread: usize) -> u32 {
        self.part.get(thread).copied().unwrap_or(0)
    }

    /// Puts these into a part of their own, together.
    fn set_apart(&mut self, threads: impl Iterator<Item = Process>) {
        self.parts += 1;
        for thread in threads {
            let thread = usize::from(thread);
            if thread >= self.part.len() {
                self.part.resize(thread + 1, 0);
            }
            self.part[thread] = self.parts;
        }
    }
}

#[derive(Debug)]
pub(super) struct Symmetry {
    order: Order,
    width: usize,
    /// Is it asked for, and does the search know how?
    wanted: bool,
    pub(super) apart: Apart,
    /// Classes of threads that are alike, of more than one.
    classes: Vec<Vec<Process>>,
    known: bool,
    /// Per transition of the last execution: how many of each process happen before it, or are it.
    rows: Vec<u32>,
    /// Per process, the ticks of its transitions.
    ticks: Vec<Vec<u32>>,
    /// Of transitions that are not in the last execution: they follow [`FURTHER`].
    further: Vec<Step>,
    further_rows: Vec<u32>,
    reversal: Beginning,
    explored: Beginning,
    renaming: Renaming,
    tried: u32,
    /// Threads that were taken to be alike did different things after the same past.
    strange: Cell<bool>,
}

impl Symmetry {
    pub(super) fn new(order: Order, processes: usize, wanted: bool, apart: Apart) -> Symmetry {
        Symmetry {
            order,
            width: processes,
            wanted: wanted && order.streams == 0,
            apart,
            classes: Vec::new(),
            known: false,
            rows: Vec::new(),
            ticks: vec![Vec::new(); processes],
            further: Vec::new(),
            further_rows: Vec::new(),
            reversal: Beginning::new(processes),
            explored: Beginning::new(processes),
            renaming: Renaming::default(),
            tried: 0,
            strange: Cell::new(false),
        }
    }

    /// Did threads that were taken to be alike turn out not to be? Then none of them is, from now on.
    pub(super) fn is_wrong(&mut self) -> bool {
        if self.strange.get() {
            let threads = self.classes.concat();
            for thread in threads {
                self.apart.set_apart([thread].into_iter());
            }
        }
        self.strange.get()
    }

    /// Are there threads that are alike?
    pub(super) fn is_on(&self) -> bool {
        !self.classes.is_empty()
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Looks at who is alike in an execution. `true` if threads that were taken to be alike are not: the search must start over.
    pub(super) fn look(&mut self, trace: &Trace) -> bool {
        if !self.wanted {
            return false;
        }
        if !self.known {
            self.known = true;
            self.classes = self.classes_of(trace);
        }
        if self.classes.is_empty() {
            return false;
        }
        let mut broken = false;
        for class in &self.classes {
            let label = |thread: Process| trace.alike.get(usize::from(thread)).copied();
            let first = label(class[0]);
            if first.is_none() || class.iter().any(|&thread| label(thread) != first) {
                for &thread in class {
                    self.apart.set_apart([thread].into_iter());
                }
                broken = true;
            }
        }
        broken || self.creates(trace) || self.joined_apart(trace)
    }

    /// Who creates threads has more to it than its own name; and who touched what others touch between creating two of a class may
    /// have told the second something.
    fn creates(&mut self, trace: &Trace) -> bool {
        let mut told = Vec::new();
        for class in &self.classes {
            let creates = trace
                .births
                .iter()
                .any(|birth| class.contains(&birth.parent));
            let births = trace
                .births
                .iter()
                .filter(|birth| class.contains(&birth.child));
            let ticks = births.map(|birth| (birth.parent, birth.tick));
            let (first, last) = (ticks.clone().min(), ticks.max());
            let between = first.zip(last).is_some_and(|((parent, first), (_, last))| {
                let write_back = trace.write_backs.iter().any(|write_back| {
                    write_back.thread == parent && (first..last).contains(&write_back.issued)
                });
                write_back
                    || trace.trailing.iter().any(|access| {
                        access.thread == parent
                            && (first..last).contains(&access.tick)
                            && is_shared(trace, &self.order, access)
                    })
            });
            if creates || between {
                told.extend_from_slice(class);
            }
        }
        for &thread in &told {
            self.apart.set_apart([thread].into_iter());
        }
        !told.is_empty()
    }

    fn classes_of(&self, trace: &Trace) -> Vec<Vec<Process>> {
        let mut classes: Vec<Vec<Process>> = Vec::new();
        for thread in 0..trace.alike.len().min(self.order.threads) {
            let key = |thread: usize| (trace.alike[thread], self.apart.part(thread));
            let same = |class: &&mut Vec<Process>| key(class[0].into()) == key(thread);
            match classes.iter_mut().find(same) {
                Some(class) => class.push(thread as Process),
                None => classes.push(vec![thread as Process]),
            }
        }
        classes.retain(|class| class.len() > 1);
        classes
    }

    /// Who joined some of a class and not all, and then did something that others can see, can tell them apart.
    fn joined_apart(&mut self, trace: &Trace) -> bool {
        let mut joined = vec![ThreadSet::default(); self.order.threads];
        let threads: ThreadSet = (0..self.order.threads as Process).collect();
        let classes = &self.classes;
        let split = |known: ThreadSet| {
            classes.iter().find_map(|class| {
                let all: ThreadSet = class.iter().copied().collect();
                let known = known.and(all);
                (!known.is_empty() && known != all).then_some(known)
            })
        };
        let mut found = None;
        for step in &trace.steps {
            let known = &mut joined[self.order.thread(step.process)];
            let joins = joined_threads(trace, step.joined).and(threads);
            *known = known.or(joins);
            if !joins.is_empty() && found.is_none() {
                found = split(*known);
            }
        }
        // A write-back knows what its thread knows, be it a transition or not.
        for write_back in &trace.write_backs {
            let of = usize::from(write_back.thread);
            let earlier = trace.steps.iter().filter(|step| {
                self.order.thread(step.process) == of && step.tick <= write_back.issued
            });
            let own = joined_threads(trace, write_back.joined);
            let known = earlier.fold(own, |known, step| {
                known.or(joined_threads(trace, step.joined))
            });
            found = found.or_else(|| split(known.and(threads)));
        }
        if found.is_none() && trace.trailing.iter().any(|access| access.joined != 0) {
            found = trailing_joined(trace, &self.order, threads, split);
        }
        let Some(known) = found else {
            return false;
        };
        let all = 0..self.order.threads as Process;
        self.apart
            .set_apart(all.filter(|&thread| known.contains(thread)));
        true
    }

    /// Forgets the transitions from `keep` on.
    pub(super) fn truncate(&mut self, steps: &[Step], keep: usize) {
        let length = self.rows.len() / self.width.max(1);
        for step in &steps[keep.min(length)..length.min(steps.len())] {
            self.ticks[usize::from(step.process)].pop();
        }
        self.rows.truncate(keep * self.width);
    }

    /// Takes in the transitions of an execution that are new.
    pub(super) fn extend(&mut self, steps: &[Step], happens: &Happens) {
        let known = self.rows.len() / self.width.max(1);
        for (at, step) in steps.iter().enumerate().skip(known) {
            self.ticks[usize::from(step.process)].push(step.tick);
            let clock = happens.clock(at);
            for (ticks, &clock) in self.ticks.iter().zip(clock) {
                let before = match ticks.last() {
                    None => 0,
                    Some(&last) if last <= clock => ticks.len(),
                    Some(_) => ticks.partition_point(|&tick| tick <= clock),
                };
                self.rows.push(before as u32);
            }
        }
    }

    pub(super) fn row(&self, at: usize) -> &[u32] {
        &self.rows[at * self.width..][..self.width]
    }

    /// The reversal of a race: what is executed up to `depth`, then this, in which `moved` has this index.
    pub(super) fn reverse(
        &mut self,
        trace: &Trace,
        happens: &Happens,
        (depth, sequence): (usize, &[u32]),
        (moved, moved_index): (&Step, u32),
    ) {
        self.further.clear();
        self.further_rows.clear();
        let mut events: Vec<u32> = (0..depth as u32).collect();
        let mut now = happens.ticks_before(depth).to_vec();
        for &index in sequence {
            let event = match index == moved_index {
                true => self.place_moved(trace, happens, &events, moved, &now),
                false => self.place_rest(trace, index, &now),
            };
            let step = self.step(&trace.steps, event);
            now[usize::from(step.process)] = step.tick;
            events.push(event);
        }
        let steps = |event: u32| match event {
            event if event >= FURTHER => &self.further[(event - FURTHER) as usize],
            event => &trace.steps[event as usize],
        };
        self.reversal.clear();
        for &event in &events {
            self.reversal.push(event, steps(event).process);
        }
    }

    fn step<'s>(&'s self, steps: &'s [Step], event: u32) -> &'s Step {
        match event {
            event if event >= FURTHER => &self.further[(event - FURTHER) as usize],
            event => &steps[event as usize],
        }
    }

    fn row_of(&self, event: u32) -> &[u32] {
        let (rows, at) = match event {
            event if event >= FURTHER => (&self.further_rows, event - FURTHER),
            event => (&self.rows, event),
        };
        &rows[at as usize * self.width..][..self.width]
    }

    fn add_further(&mut self, step: Step, row: &[u32]) -> u32 {
        self.further.push(step);
        self.further_rows.extend_from_slice(row);
        FURTHER + self.further.len() as u32 - 1
    }

    /// The past of a moved transition is not known from the execution.
    fn place_moved(
        &mut self,
        trace: &Trace,
        happens: &Happens,
        events: &[u32],
        moved: &Step,
        now: &[u32],
    ) -> u32 {
        let mut moved = *moved;
        if moved.arrives() {
            moved.found = arrivals(
                &trace.steps,
                events.iter().map(|&e| &trace.steps[e as usize]),
                &moved,
            );
            moved.left = moved.found + 1;
        }
        let moved = &moved;
        let mut row = vec![0; self.width];
        for &event in events {
            let step = &trace.steps[event as usize];
            let before = happens.ticks_before(event as usize);
            let written_first = step.access == Access::Write && moved.access != Access::Write;
            let at_write = |process: Process| match written_first {
                true => before[usize::from(process)],
                false => now[usize::from(process)],
            };
            if self.order.depends(step, moved, &trace.sets, at_write) {
                for (mine, &theirs) in row.iter_mut().zip(self.row_of(event)) {
                    *mine = theirs.max(*mine);
                }
            }
        }
        row[usize::from(moved.process)] += 1;
        self.add_further(*moved, &row)
    }

    /// What comes after the moved transition has its past as before, unless the moved one does something else now.
    fn place_rest(&mut self, trace: &Trace, index: u32, now: &[u32]) -> u32 {
        if self.further.is_empty() {
            return index;
        }
        let step = trace.steps[index as usize];
        let mut row: Option<Vec<u32>> = None;
        for further in 0..self.further.len() {
            let before = &self.further[further];
            if self.order.depends(before, &step, &trace.sets, |process| {
                now[usize::from(process)]
            }) {
                let row = row.get_or_insert_with(|| self.row(index as usize).to_vec());
                let theirs = &self.further_rows[further * self.width..][..self.width];
                for (mine, &theirs) in row.iter_mut().zip(theirs) {
                    *mine = theirs.max(*mine);
                }
            }
        }
        match row {
            None => index,
            Some(row) => self.add_further(step, &row),
        }
    }

    /// Begins with what is executed before `depth`: what was explored from there.
    pub(super) fn explored_from(&mut self, steps: &[Step], depth: usize) {
        self.explored.clear();
        for (event, step) in (0u32..).zip(&steps[..depth]) {
            self.explored.push(event, step.process);
        }
        self.renaming.identity(self.order.threads);
    }

    /// It goes on with this.
    pub(super) fn explore(&mut self, step: &Step, row: &[u32]) {
        let event = self.add_further(*step, row);
        self.explored.push(event, step.process);
    }

    /// And with what was executed.
    pub(super) fn explore_executed(&mut self, steps: &[Step], at: usize) {
        self.explored.push(at as u32, steps[at].process);
    }

    pub(super) fn take_back(&mut self) {
        self.explored.pop();
    }

    /// The transitions of the reversal, renamed, that what was explored does not have: with their rows.
    pub(super) fn rest(&self, trace: &mut Trace) -> Vec<(Step, Vec<u32>)> {
        let order = &self.order;
        let Trace { steps, sets, .. } = trace;
        let mut seen = vec![0usize; self.width];
        let mut rest = Vec::new();
        for &event in self.reversal.events() {
            let step = self.step(steps, event);
            let process = self.renaming.process(order, step.process);
            let seen = &mut seen[usize::from(process)];
            *seen += 1;
            if *seen > self.explored.of(process).len() {
                let mut row = vec![0; self.width];
                for (from, &count) in self.row_of(event).iter().enumerate() {
                    row[usize::from(self.renaming.process(order, from as Process))] = count;
                }
                let mut step = self.renaming.step(order, step);
                if step.behind != 0 {
                    let set = sets.behind[step.behind as usize].iter();
                    let renamed = set.map(|&(p, tick)| (self.renaming.process(order, p), tick));
                    let mut renamed: Vec<(Process, u32)> = renamed.collect();
                    renamed.sort_unstable();
                    step.behind = sets.come_after(&renamed);
                }
                if step.arrives() {
                    let explored = self.explored.events().iter();
                    let explored = explored.map(|&event| self.step(steps, event));
                    let before = explored.chain(rest.iter().map(|(step, _)| step));
                    step.found = arrivals(steps, before, &step);
                    step.left = step.found + 1;
                }
                rest.push((step, row));
            }
        }
        rest
    }

    /// Is the renaming found last none?
    pub(super) fn renames_nobody(&self) -> bool {
        self.renaming.is_identity()
    }
}

/// How many have arrived at a barrier after these.
fn arrivals<'s>(steps: &[Step], events: impl Iterator<Item = &'s Step>, arrival: &Step) -> u64 {
    let first = steps.iter().find(|step| step.meets(arrival));
    let mut arrived = first.map_or(arrival.found, |step| step.found);
    for step in events {
        if step.meets(arrival) {
            arrived += 1;
        } else if step.object == arrival.object && step.access == Access::Write {
            arrived = step.left;
        }
    }
    arrived
}

/// Does another thread touch the same, and one of the two writes?
fn is_shared(trace: &Trace, order: &Order, access: &Trailing) -> bool {
    let by_step = trace.steps.iter().any(|step| {
        step.object == access.object
            && step.mask & access.mask != 0
            && order.thread(step.process) != usize::from(access.thread)
            && (access.write || step.access == Access::Write)
            && !matches!(step.act, Act::Sync(_))
    });
    by_step
        || trace.trailing.iter().any(|other| {
            other.object == access.object
                && other.mask & access.mask != 0
                && other.thread != access.thread
                && (other.write || access.write)
        })
}

/// The threads that somebody knows to have ended.
fn joined_threads(trace: &Trace, set: u32) -> ThreadSet {
    let known = trace.sets.joined(set).iter();
    known.map(|&(process, _)| process).collect()
}

/// An access that was no transition, between two joins, to what others access as well.
fn trailing_joined(
    trace: &Trace,
    order: &Order,
    threads: ThreadSet,
    split: impl Fn(ThreadSet) -> Option<ThreadSet>,
) -> Option<ThreadSet> {
    let mut joined = vec![ThreadSet::default(); order.threads];
    let mut at = 0;
    for access in &trace.trailing {
        // What a transition knew, its thread knows from then on.
        while at < trace.steps.len() && (access.after != u32::MAX && at <= access.after as usize) {
            let step = &trace.steps[at];
            let known = &mut joined[order.thread(step.process)];
            *known = known.or(joined_threads(trace, step.joined).and(threads));
            at += 1;
        }
        let joins = joined_threads(trace, access.joined).and(threads);
        let known = joined[usize::from(access.thread)].or(joins);
        if !joins.is_empty()
            && let Some(found) = split(known)
            && is_shared(trace, order, access)
        {
            return Some(found);
        }
    }
    None
}

/// How far a companion of the thread that makes a load has come, where somebody writes.
fn committed(events: &[u32], steps: impl Fn(u32) -> Step, before: u32, process: Process) -> u32 {
    let mut tick = 0;
    for &event in events {
        if event == before {
            break;
        }
        let step = steps(event);
        if step.process == process {
            tick = step.tick;
        }
    }
    tick
}

fn conflicts(order: &Order, a: &Step, b: &Step, sets: &Sets) -> bool {
    !order.same_thread(a.process, b.process) && order.conflicts(a, b, sets)
}
