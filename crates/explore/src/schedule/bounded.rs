//! Fewest preemptions first: iterative context bounding, with the backtrack rule of bounded partial order reduction
//! (Coons, Musuvathi, McKinley, OOPSLA 2013; Blum 2018, §3.4.5), so that bounding loses nothing that fits into the bound.
//!
//! A preemption is a switch from a thread that could have gone on to another one; commits of store buffers are free, and a thread
//! that waits for its own stores alone could have gone on. The reduction is the classic one (backtrack sets): sleep sets and
//! wakeup trees rely on branches that a bound forbids. Where a race is to be reversed, the reversal may cost a preemption that
//! the bound does not allow, while switching where the first thread of the race last got its turn is free: that state gets the
//! branch as well.
//!
//! A thread that waits is not preempted, so it matters whether a lock was free when a thread came to it, even where the order
//! of what was done does not change: releasing and taking a lock count as a race here.
//!
//! With store buffers every choice is tried, but for what moving a commit before an independent step makes superfluous: that costs no
//! preemption, since it only takes reasons to go on away. So a commit comes right after what depends on it.
//!
//! *Preemption sealing* is the same restriction by place instead of number: no preemption before a sealed instruction.

use super::conflicts;
use super::explored::Explored;
use super::happens::{Happens, Race};
use super::processes::Processes;
use super::search::{Counts, Options};
use super::step::{Order, Process, Step};
use super::threads::{AskEvery, Job, Points, Threads, ThreadsError};
use super::trace::{End, Trace, Wait};
use std::ops::ControlFlow;

/// Which switches are allowed.
#[derive(Clone, Copy)]
pub struct Bound<'a> {
    pub preemptions: u32,
    /// Steps before which a thread that can go on is not preempted.
    pub sealed: &'a dyn Fn(&Step) -> bool,
}

impl std::fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound")
            .field("preemptions", &self.preemptions)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, Default)]
struct BoundedFrame {
    /// Processes to explore from here, and those explored.
    branches: Processes,
    done: Processes,
    /// Of the processes to explore, those that a race asks for.
    raced: Processes,
    /// What follows can be had more plainly elsewhere.
    superfluous: bool,
    /// Preemptions before, and the thread that ran last.
    preemptions: u32,
    running: Option<Process>,
}

impl BoundedFrame {
    fn ask(&mut self, processes: &Processes) {
        self.raced.add(processes);
        if !self.superfluous {
            self.branches.add(processes);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounded {
    pub counts: Counts,
    /// Something was left out because of the number of preemptions: a higher bound shows more.
    pub exceeded: bool,
    /// Something was left out because it takes a preemption where there is to be none.
    pub sealed: bool,
    /// It ended because there was no more time ([`Threads::stopped`]).
    pub stopped: bool,
}

/// Explores the executions within the bound.
pub fn bounded<T: Threads>(
    threads: &mut T,
    points: &Points,
    bound: Bound<'_>,
    options: Options,
    mut visit: impl FnMut(&T, &dyn Explored) -> ControlFlow<()>,
) -> Result<Bounded, ThreadsError> {
    // Whether a lock was free when a thread came to it matters here.
    let points = points.apart();
    threads.preempt_at(&points);
    let count = threads.threads();
    let order = threads.order(options.persistency);
    let processes = match threads.buffered() {
        true => order.processes(),
        false => count,
    };
    let mut search = BoundedSearch {
        order,
        buffered: threads.buffered(),
        bound,
        happens: Happens::with_waits(order, processes),
        trace: Trace::default(),
        frames: vec![BoundedFrame::default()],
        races: Vec::new(),
        points,
        result: Bounded::default(),
    };
    let mut follow = Vec::new();
    let mut keep = 0;
    loop {
        search.trace.restart(keep);
        let job = Job {
            follow: &follow,
            keep,
            sleep: &[],
            order,
            limit: options.limit,
        };
        let ran = threads.run(&job, &mut search.trace);
        match ran.and_then(|()| search.absorb(keep, threads)) {
            Ok(()) => {}
            Err(ThreadsError::Stopped) => {
                search.result.stopped = true;
                return Ok(search.result);
            }
            Err(error) => return Err(error),
        }
        let shown = search.trace.end != End::Unfounded && visit(threads, &search).is_break();
        if shown
            || search.result.counts.executions + search.result.counts.assumed >= options.executions
        {
            return Ok(search.result);
        }
        let Some((depth, process)) = search.backtrack() else {
            search.result.counts.complete = search.result.counts.cut == 0;
            return Ok(search.result);
        };
        keep = depth;
        follow.clear();
        follow.extend(search.trace.steps[..depth].iter().map(|step| step.process));
        follow.push(process);
    }
}

/// Raises the bound from 0 until nothing is left out, or `most` is reached. Executions within a lower bound are seen again.
pub fn iterate<T: Threads>(
    threads: &mut T,
    points: &Points,
    most: u32,
    options: Options,
    mut visit: impl FnMut(u32, &T, &dyn Explored) -> ControlFlow<()>,
) -> Result<Bounded, ThreadsError> {
    let mut preemptions = 0;
    loop {
        let bound = Bound {
            preemptions,
            sealed: &|_| false,
        };
        let mut stopped = false;
        let result = bounded(threads, points, bound, options, |threads, search| {
            let flow = visit(preemptions, threads, search);
            stopped |= flow.is_break();
            flow
        })?;
        if stopped || result.stopped || !result.exceeded || preemptions >= most {
            return Ok(result);
        }
        preemptions += 1;
    }
}

#[derive(Debug)]
struct BoundedSearch<'a> {
    order: Order,
    buffered: bool,
    bound: Bound<'a>,
    happens: Happens,
    trace: Trace,
    frames: Vec<BoundedFrame>,
    races: Vec<Race>,
    points: Points,
    result: Bounded,
}

impl Explored for BoundedSearch<'_> {
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
}

impl BoundedSearch<'_> {
    /// What taking `process` at a state costs, if it is allowed at all.
    fn cost(&self, depth: usize, process: Process) -> Option<u32> {
        let frame = &self.frames[depth];
        let Some(running) = frame.running else {
            return Some(0);
        };
        let goes_on = self.order.goes_on(&self.trace.enabled[depth], running);
        if self.order.is_companion(process) || process == running || !goes_on {
            return Some(0);
        }
        match self.next_of(depth, running) {
            Some(step) if (self.bound.sealed)(step) => None,
            _ => Some(1),
        }
    }

    fn absorb<T: Threads>(&mut self, keep: usize, threads: &T) -> Result<(), ThreadsError> {
        let length = self.trace.steps.len();
        self.races.clear();
        self.frames.truncate(keep + 1);
        let mut patience = AskEvery::default();
        for at in keep..length {
            patience.works(64, threads);
            if patience.ended {
                return Err(ThreadsError::Stopped);
            }
            self.happens
                .push(&self.trace.steps, at, &self.trace.sets, &mut self.races);
            let process = self.trace.steps[at].process;
            let cost = self.cost(at, process).unwrap_or(0);
            let superfluous = self.frames[at].superfluous || self.is_superfluous(at, process);
            let frame = &mut self.frames[at];
            frame.done.insert(process);
            if self.buffered && !frame.superfluous {
                frame.branches.add(&self.trace.enabled[at]);
            }
            let next = BoundedFrame {
                superfluous,
                preemptions: frame.preemptions + cost,
                running: if self.order.is_companion(process) {
                    frame.running
                } else {
                    Some(process)
                },
                ..BoundedFrame::default()
            };
            self.frames.push(next);
        }
        let founded = conflicts::are_founded(&self.trace, self.order, |at| self.happens.clock(at));
        self.result.counts.undecided += u64::from(founded.is_none());
        if founded != Some(true) {
            self.trace.end = End::Unfounded;
            self.trace.failures.clear();
        }
        let counts = &mut self.result.counts;
        match self.trace.end {
            End::InVain => counts.in_vain += 1,
            End::Unfounded => counts.unfounded += 1,
            End::Assumed => counts.assumed += 1,
            _ => counts.executions += 1,
        }
        counts.steps += length as u64;
        counts.fresh += (length - keep) as u64;
        counts.deadlocks += u64::from(self.trace.end == End::Deadlock);
        counts.cut += u64::from(self.trace.end == End::Limit);
        counts.failing += u64::from(!self.trace.failures.is_empty());
        for number in 0..self.trace.blocked.len() {
            if let Wait::Step(step) = self.trace.blocked[number] {
                self.happens.pending(
                    &self.trace.steps,
                    &step,
                    number,
                    &self.trace.sets,
                    &mut self.races,
                );
            }
        }
        self.result.counts.races += self.races.len() as u64;
        for index in 0..self.races.len() {
            patience.works(length, threads);
            if patience.ended {
                return Err(ThreadsError::Stopped);
            }
            let race = self.races[index];
            let process = match self.trace.steps.get(race.second as usize) {
                Some(step) => step.process,
                None => match self.trace.blocked[race.second as usize - length] {
                    Wait::Step(Step { process, .. }) => process,
                    Wait::Join { .. } | Wait::Barrier { .. } => continue,
                },
            };
            self.reverse(race.first as usize, process);
        }
        Ok(())
    }

    /// Is it a commit that could have come before the step before it, with the same effect?
    fn is_superfluous(&self, depth: usize, process: Process) -> bool {
        let Some(before) = depth.checked_sub(1).filter(|_| self.buffered) else {
            return false;
        };
        let step = &self.trace.steps[before];
        if !self.order.is_companion(process)
            || self.order.is_companion(step.process) && process >= step.process
            || !self.trace.enabled[before].contains(process)
        {
            return false;
        }
        let commit = self.next_of(depth, process);
        commit.is_some_and(|commit| !self.order.conflicts(step, commit, &self.trace.sets))
    }

    /// The next operation of a process. It is the same whoever runs in between.
    fn next_of(&self, depth: usize, process: Process) -> Option<&Step> {
        let mut next = self.trace.steps[depth..].iter();
        next.find(|step| step.process == process).or_else(|| {
            self.trace.blocked.iter().find_map(|wait| match wait {
                Wait::Step(step) if step.process == process => Some(step),
                _ => None,
            })
        })
    }

    /// Branches at the race, and where the thread that runs there got its turn. Where the race is sealed, or commits lie in
    /// between, anywhere in that turn.
    fn reverse(&mut self, race: usize, process: Process) {
        self.branch(race, process);
        let step = &self.trace.steps[race];
        let running = match self.order.is_companion(step.process) {
            true => self.frames[race].running,
            false => Some(step.process),
        };
        // A commit can also wait until the thread that runs ends its turn.
        if let Some(running) = running
            && self.trace.enabled[race].contains(running)
        {
            self.frames[race].ask(&[running].into_iter().collect());
        }
        let everywhere = self.cost(race, process).is_none();
        let mut depth = race;
        while depth > 0 {
            let before = self.trace.steps[depth - 1].process;
            if !self.order.is_companion(before) && Some(before) != running {
                break;
            }
            depth -= 1;
            if everywhere {
                self.branch(depth, process);
            }
        }
        self.branch(depth, process);
    }

    /// Where nobody is preempted anyway, whoever goes first may save a preemption later.
    fn branch(&mut self, depth: usize, process: Process) {
        let enabled = &self.trace.enabled[depth];
        let frame = &mut self.frames[depth];
        let goes_on = |running| self.order.goes_on(enabled, running);
        let free = !frame.running.is_some_and(goes_on);
        match enabled.contains(process) && !free {
            true => frame.ask(&[process].into_iter().collect()),
            false => frame.ask(enabled),
        }
    }

    /// A branch costs a preemption too many. A thread that has nothing to do with the race can make it free, by ending or waiting
    /// just there, if it was not used up before: so wherever the choice was free, all of them are tried.
    fn save_preemptions(&mut self, depth: usize) {
        for earlier in 0..depth {
            let enabled = &self.trace.enabled[earlier];
            let frame = &mut self.frames[earlier];
            let goes_on = |running| self.order.goes_on(enabled, running);
            if !frame.running.is_some_and(goes_on) {
                frame.branches.add(enabled);
            }
        }
    }

    /// The deepest state with a branch that is allowed.
    fn backtrack(&mut self) -> Option<(usize, Process)> {
        let mut depth = self.trace.steps.len();
        while depth > 0 {
            depth -= 1;
            loop {
                let frame = &mut self.frames[depth];
                let Some(process) = frame.branches.without(&frame.done).lowest() else {
                    break;
                };
                frame.done.insert(process);
                let (raced, preemptions) = (frame.raced.contains(process), frame.preemptions);
                match self.cost(depth, process) {
                    Some(cost) if preemptions + cost <= self.bound.preemptions => {
                        if self.is_superfluous(depth, process) {
                            continue;
                        }
                        self.happens.truncate(&self.trace.steps, depth);
                        return Some((depth, process));
                    }
                    Some(_) => self.result.exceeded |= raced,
                    None => self.result.sealed |= raced,
                }
                if raced && !self.buffered {
                    self.save_preemptions(depth);
                }
            }
        }
        None
    }
}
