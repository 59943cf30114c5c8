//! Executions that the search asks for ahead of their time are those that it wants later: the same beginning, the same sleepers;
//! and asking changes nothing about what is explored.

use landfall_explore::schedule::{
    Counts, Job, Options, Points, Process, Step, Threads, ThreadsError, Trace, search,
};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Model, Program};
use std::ops::ControlFlow;

/// Who goes first, how much of that is known, who sleeps then.
type Asked = (Vec<Process>, usize, Vec<Step>);

/// What was asked for ahead, by number.
struct Asking<'p> {
    threads: Interpreter<'p>,
    room: usize,
    asked: Vec<Option<Asked>>,
    came: usize,
    /// The most that waited at one time.
    most: usize,
}

fn sorted(steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    steps.sort_by_key(|step| (step.process, step.tick));
    steps
}

impl Threads for Asking<'_> {
    fn threads(&self) -> usize {
        self.threads.threads()
    }
    fn buffered(&self) -> bool {
        self.threads.buffered()
    }
    fn preempt_at(&mut self, points: &Points) {
        self.threads.preempt_at(points);
    }
    fn run(&mut self, job: &Job<'_>, trace: &mut Trace) -> Result<(), ThreadsError> {
        self.threads.run(job, trace)
    }
    fn room_ahead(&self) -> usize {
        self.room - self.asked.iter().flatten().count()
    }
    fn ahead(&mut self, job: &Job<'_>, _: &Trace) -> Option<u32> {
        let job = (job.follow.to_vec(), job.keep, sorted(job.sleep));
        self.asked.push(Some(job));
        self.most = self.most.max(self.asked.iter().flatten().count());
        Some(self.asked.len() as u32 - 1)
    }
    fn run_ahead(
        &mut self,
        number: u32,
        job: &Job<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let asked = self.asked[number as usize].take().expect("once");
        let wanted = (job.follow.to_vec(), job.keep, sorted(job.sleep));
        assert_eq!(asked.0, wanted.0, "another beginning");
        assert_eq!(asked.1, wanted.1, "another place");
        // What they found and left is known only once they were executed.
        let who = |steps: &[Step]| {
            let who = steps.iter().map(|s| (s.process, s.tick, s.object, s.mask));
            who.collect::<Vec<_>>()
        };
        assert_eq!(who(&asked.2), who(&wanted.2), "other sleepers");
        self.came += 1;
        self.threads.run(job, trace)
    }
}

fn counts<T: Threads>(threads: &mut T) -> Counts {
    search(
        threads,
        Options::default(),
        |_, _| ControlFlow::Continue(()),
    )
    .expect("runs")
}

#[test]
fn what_is_asked_for_is_wanted() {
    let programs: [Program; 8] = [
        catalogue::fetch_add(5),
        catalogue::cas_rotation(5),
        catalogue::cas_then_write(3),
        catalogue::write_then_cas(5),
        catalogue::last_zero(5),
        catalogue::readers(8),
        catalogue::fibonacci(2),
        catalogue::locked_increment(4),
    ];
    for program in &programs {
        for model in [Model::Sc, Model::Tso] {
            let alone = counts(&mut Interpreter::new(program, model));
            for room in [3, 1000] {
                let mut asking = Asking {
                    threads: Interpreter::new(program, model),
                    room,
                    asked: Vec::new(),
                    came: 0,
                    most: 0,
                };
                assert_eq!(counts(&mut asking), alone);
                if room == 1000 {
                    // All but the first.
                    assert_eq!(asking.came as u64, alone.executions - 1);
                    // Readers know nearly all of their executions from the beginning on.
                    assert!(asking.most < 40, "{} wait at one time", asking.most);
                }
                assert!(asking.came > 0 && asking.asked.iter().all(Option::is_none));
            }
        }
    }
}
