//! Do two beginnings of executions agree if threads are renamed?

use super::{MOST_TRIED, Symmetry, committed, conflicts};
use crate::schedule::step::{Access, Act, Order, Process, Step};
use crate::schedule::trace::Trace;

/// The beginning of an execution: which events it has, in an order, and per process.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginning {
    events: Vec<u32>,
    processes: Vec<Process>,
    of: Vec<Vec<u32>>,
}

impl Beginning {
    pub(super) fn new(processes: usize) -> Beginning {
        Beginning {
            of: vec![Vec::new(); processes],
            ..Beginning::default()
        }
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.processes.clear();
        for of in &mut self.of {
            of.clear();
        }
    }

    pub(super) fn push(&mut self, event: u32, process: Process) {
        self.events.push(event);
        self.processes.push(process);
        self.of[usize::from(process)].push(event);
    }

    pub(super) fn pop(&mut self) {
        self.events.pop();
        if let Some(process) = self.processes.pop() {
            self.of[usize::from(process)].pop();
        }
    }

    pub(super) fn events(&self) -> &[u32] {
        &self.events
    }

    pub(super) fn of(&self, process: Process) -> &[u32] {
        &self.of[usize::from(process)]
    }

    /// Has the thread, or its store buffer, done anything?
    pub(super) fn has(&self, order: &Order, thread: u8) -> bool {
        processes(order, self.of.len(), thread).any(|process| !self.of(process).is_empty())
    }
}

/// A thread and, where stores wait, its companion.
pub(super) fn processes(
    order: &Order,
    width: usize,
    thread: u8,
) -> impl Iterator<Item = Process> + use<> {
    let companion = order.companion(thread.into());
    let companion = (companion < width).then_some(companion as Process);
    [Some(thread as Process), companion].into_iter().flatten()
}

/// Which thread becomes which, and where it came from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::schedule) struct Renaming {
    to: Vec<u8>,
    from: Vec<u8>,
}

impl Renaming {
    pub(super) fn identity(&mut self, threads: usize) {
        self.to.clear();
        self.to.extend(0..threads as u8);
        self.from.clone_from(&self.to);
    }

    pub(super) fn is_identity(&self) -> bool {
        (0u8..).zip(&self.to).all(|(thread, &to)| thread == to)
    }

    pub(super) fn set(&mut self, from: u8, to: u8) {
        self.to[usize::from(from)] = to;
        self.from[usize::from(to)] = from;
    }

    fn rename(names: &[u8], order: &Order, process: Process) -> Process {
        match usize::from(process).checked_sub(order.threads) {
            Some(thread) => order.companion(names[thread].into()) as Process,
            None => names[usize::from(process)],
        }
    }

    pub(super) fn process(&self, order: &Order, process: Process) -> Process {
        Renaming::rename(&self.to, order, process)
    }

    pub(super) fn origin(&self, order: &Order, process: Process) -> Process {
        Renaming::rename(&self.from, order, process)
    }

    /// The transition as the renamed thread makes it. What it finds and leaves is not renamed: it is known once it is executed.
    pub(super) fn step(&self, order: &Order, step: &Step) -> Step {
        let process = |(process, tick): (Process, u32)| match tick {
            0 => (process, tick),
            _ => (self.process(order, process), tick),
        };
        let (from, to) = (
            order.thread(step.process),
            self.process(order, step.process),
        );
        let mut joined = 0;
        for old in 0..64u8 {
            if step.joined >> old & 1 != 0 {
                let known = usize::from(old) < 2 * order.threads;
                joined |= 1u64 << if known { self.process(order, old) } else { old };
            }
        }
        Step {
            process: to,
            need: process(step.need),
            also: process(step.also),
            own: process(step.own),
            joined,
            mask: match step.act {
                Act::Sync(op) => op.mask_of(step.mask, from, order.thread(to)),
                _ => step.mask,
            },
            ..*step
        }
    }
}

impl Symmetry {
    /// Is there a renaming with which the reversal agrees with what was explored? It is kept.
    pub(in crate::schedule) fn agrees(&mut self, trace: &Trace) -> bool {
        let mut renaming = std::mem::take(&mut self.renaming);
        renaming.identity(self.order.threads);
        self.tried = 0;
        let mut members: Vec<(usize, u8)> = Vec::new();
        for (class, threads) in self.classes.iter().enumerate() {
            let active = threads
                .iter()
                .filter(|&&t| self.explored.has(&self.order, t));
            members.extend(active.map(|&thread| (class, thread)));
        }
        let mut used = vec![false; self.order.threads];
        let found = self.assign(trace, &members, &mut used, &mut renaming);
        self.renaming = renaming;
        found
    }

    /// Who of the reversal is the first of these in what was explored, and so on?
    fn assign(
        &mut self,
        trace: &Trace,
        members: &[(usize, u8)],
        used: &mut [bool],
        renaming: &mut Renaming,
    ) -> bool {
        let Some((&(class, thread), rest)) = members.split_first() else {
            self.complete(used, renaming);
            self.tried += 1;
            return self.agree_renamed(trace, renaming);
        };
        let mut candidates = self.classes[class].clone();
        // Itself first.
        candidates.sort_by_key(|&from| from != thread);
        let mut idle = false;
        for from in candidates {
            if used[usize::from(from)] || self.tried > MOST_TRIED {
                continue;
            }
            if !self.reversal.has(&self.order, from) {
                // Those who did nothing yet are all the same.
                if std::mem::replace(&mut idle, true) {
                    continue;
                }
            } else if !self.like(from, thread) {
                continue;
            }
            used[usize::from(from)] = true;
            renaming.set(from, thread);
            if self.assign(trace, rest, used, renaming) {
                return true;
            }
            used[usize::from(from)] = false;
        }
        false
    }

    /// Names are left for those who are not in what was explored: their own, if nobody has it.
    fn complete(&self, used: &[bool], renaming: &mut Renaming) {
        for class in &self.classes {
            let active = |thread: u8| self.explored.has(&self.order, thread);
            let mut open: Vec<u8> = class.iter().copied().filter(|&t| !active(t)).collect();
            let mut left: Vec<u8> = class
                .iter()
                .copied()
                .filter(|&t| !used[usize::from(t)])
                .collect();
            left.retain(|&from| match open.iter().position(|&to| to == from) {
                Some(at) => {
                    renaming.set(from, open.remove(at));
                    false
                }
                None => true,
            });
            for (from, to) in left.into_iter().zip(open) {
                renaming.set(from, to);
            }
        }
    }

    /// Could `from` in the reversal be `to` in what was explored? Looks at each alone.
    fn like(&self, from: u8, to: u8) -> bool {
        let of = |thread| processes(&self.order, self.width, thread);
        of(from).zip(of(to)).all(|(from, to)| {
            let (mine, theirs) = (self.reversal.of(from), self.explored.of(to));
            let sum = |event: u32| self.row_of(event).iter().sum::<u32>();
            let mut both = mine.iter().zip(theirs);
            both.all(|(&mine, &theirs)| sum(mine) == sum(theirs))
        })
    }

    fn agree_renamed(&self, trace: &Trace, renaming: &Renaming) -> bool {
        let order = &self.order;
        let width = self.width as Process;
        let pairs = |process: Process| {
            let mine = self.reversal.of(renaming.origin(order, process));
            (mine, self.explored.of(process))
        };
        for process in 0..width {
            let (mine, theirs) = pairs(process);
            for (&mine, &theirs) in mine.iter().zip(theirs) {
                let (mine, theirs) = (self.row_of(mine), self.row_of(theirs));
                let same = |of: Process| {
                    theirs[usize::from(of)] == mine[usize::from(renaming.origin(order, of))]
                };
                if !(0..width).all(same) {
                    return false;
                }
            }
        }
        // After the same past, threads that are alike do the same.
        for process in 0..width {
            let (mine, theirs) = pairs(process);
            for (&mine, &theirs) in mine.iter().zip(theirs) {
                let mine = self.step(&trace.steps, mine);
                let theirs = self.step(&trace.steps, theirs);
                if (mine.object, mine.act, mine.site) != (theirs.object, theirs.act, theirs.site) {
                    self.strange.set(true);
                    return false;
                }
            }
        }
        for process in 0..width {
            let (mine, theirs) = pairs(process);
            let Some(only_there) = theirs.get(mine.len()..).filter(|rest| !rest.is_empty()) else {
                continue;
            };
            for other in 0..width {
                let (mine, theirs) = pairs(other);
                let only_here = mine.get(theirs.len()..).unwrap_or_default();
                for &here in only_here {
                    let there = only_there.iter();
                    if there
                        .clone()
                        .any(|&there| self.clash(trace, renaming, here, there))
                    {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Some arrive at this barrier only in the reversal, others only in the explored: would all of them be in one round?
    fn shifts_rounds(&self, trace: &Trace, renaming: &Renaming, arrival: &Step) -> bool {
        let meets = |&&event: &&u32| self.step(&trace.steps, event).meets(arrival);
        let mut arrived = [0u64; 2];
        for process in 0..self.width as Process {
            let mine = self.reversal.of(renaming.origin(&self.order, process));
            let theirs = self.explored.of(process);
            let both = mine.len().min(theirs.len());
            let only = mine[both..].iter().chain(&theirs[both..]);
            arrived[0] += mine[..both].iter().filter(meets).count() as u64;
            arrived[1] += only.filter(meets).count() as u64;
        }
        // Made anew, it begins to count again.
        let anew = |&event: &u32| {
            let step = self.step(&trace.steps, event);
            step.object == arrival.object && !step.meets(arrival)
        };
        let mut all = self.reversal.events().iter().chain(self.explored.events());
        let parties = arrival.expect.max(1);
        all.any(anew) || arrived[0] % parties + arrived[1] > parties
    }

    /// Do a transition that only the reversal has and one that only the explored has depend on each other?
    fn clash(&self, trace: &Trace, renaming: &Renaming, here: u32, there: u32) -> bool {
        let order = &self.order;
        let mine = renaming.step(order, self.step(&trace.steps, here));
        let theirs = self.step(&trace.steps, there);
        if mine.meets(theirs) {
            return self.shifts_rounds(trace, renaming, theirs);
        }
        if !conflicts(order, &mine, theirs, &trace.sets) {
            return false;
        }
        let step = |event: u32| *self.step(&trace.steps, event);
        let hidden = |load: &Step, other: &Step, committed: u32| {
            load.own.1 != 0
                && load.more == 0
                && other.access == Access::Write
                && committed < load.own.1
        };
        let by_explored = || committed(self.explored.events(), step, there, mine.own.0);
        let by_reversal = || {
            let process = renaming.origin(order, theirs.own.0);
            committed(self.reversal.events(), step, here, process)
        };
        !(mine.own.1 != 0 && hidden(&mine, theirs, by_explored())
            || theirs.own.1 != 0 && hidden(theirs, &mine, by_reversal()))
    }
}
