//! One execution that was run again, with what happens before what.

use super::explored::Explored;
use super::happens::Happens;
use super::step::{Order, Process};
use super::threads::{Job, Points, Threads, ThreadsError};
use super::trace::Trace;

/// A schedule, followed once more.
#[derive(Debug)]
pub struct Replayed {
    trace: Trace,
    order: Order,
    happens: Happens,
    points: Points,
}

impl Replayed {
    /// Follows `schedule` with these scheduling points.
    pub fn run<T: Threads>(
        threads: &mut T,
        order: Order,
        schedule: &[Process],
        points: &Points,
    ) -> Result<Replayed, ThreadsError> {
        threads.preempt_at(points);
        let mut trace = Trace::default();
        let job = Job {
            follow: schedule,
            keep: 0,
            sleep: &[],
            order,
            limit: usize::MAX,
        };
        threads.run(&job, &mut trace)?;
        let processes = match threads.buffered() {
            true => order.processes(),
            false => order.threads,
        };
        let mut happens = Happens::new(order, processes);
        let mut races = Vec::new();
        for at in 0..trace.steps.len() {
            happens.push(&trace.steps, at, &trace.sets, &mut races);
        }
        Ok(Replayed {
            trace,
            order,
            happens,
            points: points.clone(),
        })
    }
}

impl Explored for Replayed {
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
