//! Several servers of one program, so that the runs of a wave use all processors. Results come in the order of the jobs.

use crate::covered::Covered;
use crate::error::SubjectError;
use crate::execution::Execution;
use crate::job::{self, Job};
use crate::server::Server;
use crate::skim::{FlushesWanted, Skimmed, skim};
use landfall_explore::subject::RunDetail;
use landfall_model::line::{Line, LineBytes};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

/// Past this many lines a new base is cheaper than sending them with every job.
const MOST_AHEAD: usize = 64;
/// Jobs that one worker finishes faster than another could be woken.
const TOO_FEW: usize = 4;
/// Executions a worker may be ahead of the search: they hold memory.
const AHEAD: usize = 16;

/// A server of the check's own, or one that was lent.
#[derive(Debug)]
enum Lent<'a> {
    Theirs(&'a mut Server),
    Ours(Box<Server>),
}

#[derive(Debug)]
pub(crate) struct Worker<'a> {
    server: Lent<'a>,
    /// Lines of the search's image that the server's base does not have yet.
    ahead: BTreeMap<Line, LineBytes>,
    /// What its runs looked at, if anyone asks.
    pub(crate) covered: Option<Covered>,
}

/// One run as a worker hands it over.
pub(crate) type TaskRan = (Execution, Skimmed);

/// Lines that a run finds different from the search's image.
pub(crate) type Overrides<'a> = &'a [(Line, LineBytes)];

/// A job of the search without its image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerTask<'a> {
    pub(crate) overrides: Overrides<'a>,
    pub(crate) failures: u32,
    pub(crate) wanted: RunDetail,
    pub(crate) flushes: FlushesWanted,
}

impl<'a> Worker<'a> {
    pub(crate) fn lent(server: &'a mut Server) -> Worker<'a> {
        Worker {
            server: Lent::Theirs(server),
            ahead: BTreeMap::new(),
            covered: None,
        }
    }

    pub(crate) fn own(server: Server) -> Worker<'a> {
        Worker {
            server: Lent::Ours(Box::new(server)),
            ahead: BTreeMap::new(),
            covered: None,
        }
    }

    fn server(&mut self) -> &mut Server {
        match &mut self.server {
            Lent::Theirs(server) => server,
            Lent::Ours(server) => server,
        }
    }

    /// The image changed.
    pub(crate) fn advance(&mut self, line: Line, bytes: LineBytes) {
        self.ahead.insert(line, bytes);
    }

    fn work(
        &mut self,
        tasks: &[WorkerTask<'_>],
        template: &Job,
        each: impl FnMut(usize, Execution, Skimmed) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        if self.ahead.len() > MOST_AHEAD {
            let lines = std::mem::take(&mut self.ahead).into_iter();
            let lines = lines.map(|(line, bytes)| to_line(line, bytes)).collect();
            self.server().set_base(job::Image { lines })?;
        }
        let jobs: Vec<Job> = tasks
            .iter()
            .map(|task| {
                let mut native = template.clone();
                native.failures = task.failures;
                native.reads_only = task.wanted == RunDetail::Reads;
                let ahead = self.ahead.iter().map(|(&line, &bytes)| (line, bytes));
                let ahead = ahead.filter(|&(line, _)| task.overrides.iter().all(|o| o.0 != line));
                let lines = ahead.chain(task.overrides.iter().copied());
                native.image.lines = lines.map(|(line, bytes)| to_line(line, bytes)).collect();
                native
            })
            .collect();
        let covered = RefCell::new(self.covered.take());
        let worked = self.server().skim_all(
            &jobs,
            |at, trace| {
                let mut covered = covered.borrow_mut();
                skim(
                    trace,
                    tasks[at].wanted,
                    tasks[at].flushes,
                    covered.as_mut(),
                    template.limits.until,
                )
            },
            each,
        );
        self.covered = covered.into_inner();
        worked
    }
}

fn to_line(line: Line, bytes: LineBytes) -> job::Line {
    job::Line {
        offset: line.start().0,
        bytes,
    }
}

/// Runs the tasks on all workers. `each` gets the executions in order, and may end it.
pub(crate) fn work_all(
    workers: &mut [Worker<'_>],
    tasks: &[WorkerTask<'_>],
    template: &Job,
    mut each: impl FnMut(Execution, Skimmed) -> ControlFlow<()>,
) -> Result<(), SubjectError> {
    if tasks.len() < TOO_FEW || workers.len() < 2 {
        let Some(worker) = workers.first_mut() else {
            return Ok(());
        };
        return worker.work(tasks, template, |_, execution, skimmed| {
            each(execution, skimmed)
        });
    }
    let share = tasks.len().div_ceil(workers.len());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for (worker, tasks) in workers.iter_mut().zip(tasks.chunks(share)) {
            let (send, receive) = mpsc::sync_channel::<TaskRan>(AHEAD);
            let stop = &stop;
            let thread = scope.spawn(move || {
                worker.work(tasks, template, |_, execution, skimmed| {
                    if stop.load(Relaxed) || send.send((execution, skimmed)).is_err() {
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })
            });
            lanes.push((thread, receive, tasks.len()));
        }
        let mut result = Ok(());
        let mut broken = false;
        for (thread, receive, count) in lanes {
            for (execution, skimmed) in receive.iter().take(count) {
                if !broken && each(execution, skimmed).is_break() {
                    broken = true;
                    stop.store(true, Relaxed);
                }
                if broken {
                    break;
                }
            }
            drop(receive);
            match thread.join() {
                // After a failed worker, what later ones did would be out of order.
                Ok(Err(error)) if result.is_ok() && !broken => {
                    result = Err(error);
                    broken = true;
                    stop.store(true, Relaxed);
                }
                Ok(_) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        result
    })
}
