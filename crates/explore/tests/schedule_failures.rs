//! Several power failures of programs with threads against brute force: every interleaving, every cut, every image, of recoveries, too.

mod toy;

use landfall_explore::schedule::power::Power;
use landfall_explore::schedule::{
    Access, Act, End, Explored, Job, NOWHERE, Options, Persistency, Points, Search, Sleepers, Step,
    Threads, ThreadsError, Trace, WriteBack,
};
use landfall_explore::subject::{Ended, Event, Execution, Mark};
use landfall_model::line::Line;
use proptest::prelude::*;
use std::collections::BTreeSet;
use toy::{Toy, base, brute_force, cases, event, platform};

/// Threads that store, flush and fence, whatever memory holds, each store in memory at once.
#[derive(Debug)]
struct Straight {
    threads: Vec<Vec<Event>>,
    sleepers: Sleepers,
}

impl Straight {
    /// The events that a thread's next step begins with, from `at` on: write-backs before it belong to the step before.
    fn write_backs(&self, thread: usize, at: &mut usize, tick: u32, trace: &mut Trace) {
        while let Some(Event::ClflushOpt(line)) = self.threads[thread].get(*at) {
            *at += 1;
            trace.write_backs.push(WriteBack {
                thread: thread as u8,
                object: line.0 as u32,
                issued: tick,
                after: (0, 0),
                buffered: 0,
                need: [(0, 0); 2],
                joined: 0,
                site: 0,
            });
        }
    }

    fn step(&self, thread: usize, at: usize, tick: u32) -> Step {
        let step = Step {
            process: thread as u8,
            tick,
            ..Step::NOTHING
        };
        match &self.threads[thread][at] {
            event @ (Event::Store(piece) | Event::DurableStore(piece)) => {
                let mut left = [0; 8];
                left[..piece.bytes().len()].copy_from_slice(piece.bytes());
                Step {
                    act: Act::Store,
                    access: Access::Write,
                    persistent: true,
                    at_once: matches!(event, Event::DurableStore(_)),
                    object: piece.addr.line().0 as u32,
                    mask: ((1 << piece.bytes().len()) - 1) << piece.addr.offset(),
                    left: u64::from_le_bytes(left),
                    ..step
                }
            }
            Event::Clflush(line) => Step {
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
        let count = self.threads.len();
        let (mut at, mut ticks) = (vec![0; count], vec![0; count]);
        let mut sleepers = std::mem::take(&mut self.sleepers);
        for (thread, at) in at.iter_mut().enumerate() {
            self.write_backs(thread, at, 0, trace);
        }
        loop {
            let done = trace.steps.len();
            if done == job.keep {
                sleepers.restart(&job.order, &trace.steps, job.sleep);
            }
            let enabled = (0..count)
                .filter(|&thread| at[thread] < self.threads[thread].len())
                .fold(0u64, |set, thread| set | 1 << thread);
            if enabled == 0 {
                trace.end = End::Complete;
                break;
            }
            let awake = match done >= job.keep {
                true => enabled & !sleepers.mask(),
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
            let step = self.step(process, at[process], ticks[process]);
            at[process] += 1;
            self.write_backs(process, &mut at[process], ticks[process], trace);
            if done >= job.keep {
                sleepers.executed(&job.order, &step, &trace.sets);
            }
            trace.steps.push(step);
            trace.enabled.push(enabled);
        }
        self.sleepers = sleepers;
        Ok(())
    }
}

/// Every way to mix the threads' events.
fn mixed(
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
        so_far.extend([Event::Mark(Mark::Thread(thread as u8)), *event]);
        mixed(threads, &next, so_far, all);
        so_far.truncate(so_far.len() - 2);
    }
    if ended {
        all.push(so_far.clone());
    }
}

fn thread() -> impl Strategy<Value = Vec<Event>> {
    let plain = event().prop_map(|event| match event {
        Event::NtStore(piece) => Event::DurableStore(piece),
        event => event,
    });
    prop::collection::vec(plain, 0..4)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_recovery_of_every_schedule_and_failure(
        threads in prop::collection::vec(thread(), 1..3),
        seed in any::<u64>(),
        steps in 1u32..6,
        platform in platform(),
        failures in 1u32..4,
    ) {
        let base = base(seed);
        let mut toy = Toy::new(seed, steps, true);
        let mut orders = Vec::new();
        mixed(&threads, &vec![0; threads.len()], &mut Vec::new(), &mut orders);
        let mut expected = BTreeSet::new();
        for events in orders {
            let log = Execution::new(events, Ended::Well).log(platform);
            expected.extend(brute_force(&toy, &base, &log, platform, failures));
        }
        let mut program = Straight { threads, sleepers: Sleepers::default() };
        let options = Options { persistency: Persistency::Lines, ..Options::default() };
        let mut search = Search::new(&program, options).expect("few threads");
        let mut power = Power::new(base, platform).with_failures(failures);
        while search.next(&mut program).expect("runs") {
            if search.trace().end == End::Complete {
                let explored: &dyn Explored = &search;
                power.look(&mut toy, explored, |object| Line(object.into())).expect("walks");
            }
        }
        let found: BTreeSet<_> = toy.runs.iter().cloned().collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(toy.runs.len(), expected.len(), "a behaviour was run twice");
        prop_assert_eq!(power.behaviours.len(), expected.len());
        for behaviour in &power.behaviours {
            let level = behaviour.crash.later.len() as u32 + 1;
            prop_assert!(level <= failures);
        }
    }
}
