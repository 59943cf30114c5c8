//! Threads that do the same whatever memory holds, and every way to mix them.

use landfall_explore::schedule::{
    Access, Act, Birth, End, Job, NOWHERE, Points, Process, Sleepers, Step, Threads, ThreadsError,
    Trace, WriteBack,
};
use landfall_model::event::{Action, Event, How, Mark};

/// Threads that store, flush and fence, whatever memory holds, each store in memory at once.
#[derive(Debug)]
pub struct Straight {
    threads: Vec<Vec<Event>>,
    /// So many events does the first thread make before it creates the others.
    alone: usize,
    sleepers: Sleepers,
}

impl Straight {
    pub fn new(threads: Vec<Vec<Event>>) -> Straight {
        Straight {
            threads,
            alone: 0,
            sleepers: Sleepers::default(),
        }
    }

    /// The first thread does something, and then creates the others.
    pub fn after(beginning: &[Event], mut threads: Vec<Vec<Event>>) -> Straight {
        if let Some(first) = threads.first_mut() {
            first.splice(0..0, beginning.iter().copied());
        }
        Straight {
            alone: beginning.len(),
            ..Straight::new(threads)
        }
    }

    /// The events that a thread's next step begins with, from `at` on: write-backs before it belong to the step before.
    fn write_backs(&self, thread: usize, at: &mut usize, tick: u32, trace: &mut Trace) {
        while let Some(Action::Clwb(line)) = self.threads[thread].get(*at).map(|e| e.action) {
            *at += 1;
            trace.write_backs.push(WriteBack {
                thread: thread as Process,
                object: line.0 as u32,
                issued: tick,
                after: (0, 0),
                buffered: 0,
                need: match (tick, self.born(thread, trace)) {
                    (0, Some(born)) => [born, (0, 0)],
                    _ => [(0, 0); 2],
                },
                joined: 0,
                site: self.threads[thread][*at - 1].site,
            });
        }
    }

    /// What a thread comes after.
    fn born(&self, thread: usize, trace: &Trace) -> Option<(Process, u32)> {
        let mut births = trace.births.iter();
        let birth = births.find(|birth| usize::from(birth.child) == thread)?;
        Some((birth.parent, birth.tick))
    }

    /// The first thread has done what it does alone, if this is so: it creates the others.
    fn create(&self, at: &mut [usize], ticks: &mut [u32], trace: &mut Trace) {
        if self.alone == 0 || at[0] < self.alone || !trace.births.is_empty() {
            return;
        }
        for (child, at) in at.iter_mut().enumerate().skip(1) {
            ticks[0] += 1;
            trace.births.push(Birth {
                parent: 0,
                tick: ticks[0],
                site: 0,
                child: child as Process,
                what: child as u64,
                after: trace.steps.len() as u32,
            });
            self.write_backs(child, at, 0, trace);
        }
    }

    fn step(&self, thread: usize, at: usize, tick: u32, trace: &Trace) -> Step {
        let born = self.born(thread, trace).filter(|_| tick == 1);
        let step = Step {
            process: thread as Process,
            need: born.unwrap_or_default(),
            site: self.threads[thread][at].site,
            tick,
            ..Step::NOTHING
        };
        match self.threads[thread][at].action {
            Action::Store { piece, how, .. } if how != How::NonTemporal => {
                let mut left = [0; 8];
                left[..piece.bytes().len()].copy_from_slice(piece.bytes());
                Step {
                    act: Act::Store,
                    access: Access::Write,
                    persistent: true,
                    at_once: how == How::AtOnce,
                    object: piece.addr.line().0 as u32,
                    mask: ((1 << piece.bytes().len()) - 1) << piece.addr.offset(),
                    left: u64::from_le_bytes(left),
                    ..step
                }
            }
            Action::Clflush(line) => Step {
                act: Act::Flush,
                access: Access::Flush,
                persistent: true,
                object: line.0 as u32,
                mask: u64::MAX,
                ..step
            },
            _ => Step {
                act: Act::Fence,
                object: NOWHERE,
                ..step
            },
        }
    }
}

impl Threads for Straight {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn buffered(&self) -> bool {
        false
    }

    fn preempt_at(&mut self, _: &Points) {}

    fn run(&mut self, job: &Job<'_>, trace: &mut Trace) -> Result<(), ThreadsError> {
        trace.restart(0);
        let same = |thread: &Vec<Event>| self.threads.iter().position(|other| other == thread);
        let alike = self.threads.iter().map(|t| same(t).unwrap_or(0) as u8);
        trace.alike.extend(alike.into_iter().map(Process::from));
        let count = self.threads.len();
        let (mut at, mut ticks) = (vec![0; count], vec![0; count]);
        let mut sleepers = std::mem::take(&mut self.sleepers);
        for (thread, at) in at.iter_mut().enumerate() {
            if self.alone == 0 || thread == 0 {
                self.write_backs(thread, at, 0, trace);
            }
        }
        self.create(&mut at, &mut ticks, trace);
        loop {
            let done = trace.steps.len();
            if done == job.keep {
                sleepers.restart(&job.order, &trace.steps, job.sleep);
            }
            let enabled = (0..count)
                .filter(|&thread| at[thread] < self.threads[thread].len())
                .filter(|&thread| thread == 0 || self.alone == 0 || !trace.births.is_empty())
                .fold(0u64, |set, thread| set | 1 << thread);
            if enabled == 0 {
                trace.end = End::Complete;
                break;
            }
            let awake = match done >= job.keep {
                true => enabled & !sleepers.processes().low(),
                false => enabled,
            };
            let process = match job.follow.get(done) {
                Some(&process) => usize::from(process),
                None if awake == 0 => {
                    trace.end = End::Asleep;
                    break;
                }
                None => awake.trailing_zeros() as usize,
            };
            ticks[process] += 1;
            let step = self.step(process, at[process], ticks[process], trace);
            at[process] += 1;
            self.write_backs(process, &mut at[process], ticks[process], trace);
            if done >= job.keep {
                sleepers.executed(&job.order, &step, &trace.sets);
            }
            trace.steps.push(step);
            trace.enabled.push(enabled.into());
            self.create(&mut at, &mut ticks, trace);
        }
        self.sleepers = sleepers;
        Ok(())
    }
}

/// Every way to mix the threads' events.
pub fn mixed(threads: &[Vec<Event>]) -> Vec<Vec<Event>> {
    let mut all = Vec::new();
    mix(threads, &vec![0; threads.len()], &mut Vec::new(), &mut all);
    all
}

fn mix(
    threads: &[Vec<Event>],
    taken: &[usize],
    so_far: &mut Vec<Event>,
    all: &mut Vec<Vec<Event>>,
) {
    let mut ended = true;
    for thread in 0..threads.len() {
        let Some(event) = threads[thread].get(taken[thread]) else {
            continue;
        };
        ended = false;
        let mut next = taken.to_vec();
        next[thread] += 1;
        let of_thread = [Event::mark(Mark::Step), *event].map(|event| event.by(thread as u16));
        so_far.extend(of_thread);
        mix(threads, &next, so_far, all);
        so_far.truncate(so_far.len() - 2);
    }
    if ended {
        all.push(so_far.clone());
    }
}
