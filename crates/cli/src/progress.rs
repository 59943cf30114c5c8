//! The live line: how far a search has come, and how long it may still take (ALGORITHMS.md §4). Only on a terminal.

use landfall_explore::schedule::Estimate;
use landfall_explore::subject::{Execution, Job, Subject, SubjectError};
use landfall_model::log::{Cut, Log};
use std::io::Write;
use std::time::{Duration, Instant};

/// Often enough to look alive.
const EVERY: Duration = Duration::from_millis(100);
/// Before this a guess at the time left would jump about.
const SETTLED: Duration = Duration::from_secs(1);

/// A subject, and somebody who watches its search.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    inner: S,
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    started: Instant,
    last: Option<Instant>,
    known: Vec<Cut>,
    done: usize,
    runs: u64,
    behaviours: usize,
}

impl<S> Watched<S> {
    pub(crate) fn new(inner: S, log: &Log, show: bool) -> Watched<S> {
        let shown = show.then(|| Shown {
            started: Instant::now(),
            last: None,
            known: log.sufficient_cuts(),
            done: 0,
            runs: 0,
            behaviours: 0,
        });
        Watched { inner, shown }
    }

    /// Clears the line.
    pub(crate) fn done(self) -> S {
        if self.shown.is_some_and(|shown| shown.last.is_some()) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
        self.inner
    }
}

impl Shown {
    fn tick(&mut self) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last < EVERY) {
            return;
        }
        self.last = Some(now);
        let line = self.line(now - self.started);
        // Where nobody reads it, nobody misses it.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        let _ = std::io::stderr().flush();
    }

    fn line(&self, elapsed: Duration) -> String {
        let (done, known) = (self.done, self.known.len().max(1));
        let percent = 100 * done / known;
        let left = match done {
            1.. if elapsed >= SETTLED => {
                let left = elapsed.as_secs_f64() * (known - done) as f64 / done as f64;
                format!(", about {} left", time(left))
            }
            _ => String::new(),
        };
        format!(
            "{} executions, {} behaviours, power failures {done}/{known} ({percent} %){left}",
            self.runs, self.behaviours
        )
    }
}

/// The same for the schedules of a program: how many of how many.
#[derive(Debug)]
pub(crate) struct Schedules {
    show: bool,
    last: Option<Instant>,
}

impl Schedules {
    pub(crate) fn new(show: bool) -> Schedules {
        Schedules { show, last: None }
    }

    pub(crate) fn tick(&mut self, estimate: &Estimate, started: Instant) {
        if !self.show {
            return;
        }
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last < EVERY) {
            return;
        }
        self.last = Some(now);
        let line = schedules(
            estimate.share(),
            estimate.size(),
            estimate.executed() / estimate.work().max(1.0),
            now - started,
        );
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        let _ = std::io::stderr().flush();
    }

    /// Clears the line.
    pub(crate) fn done(self) {
        if self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// `[ 34% of ~150 schedules, 12 s left ]`; `work` is the share of the work that is done.
fn schedules(share: f64, size: f64, work: f64, elapsed: Duration) -> String {
    let percent = (share * 100.0).min(100.0) as u32;
    let left = match work {
        work if work > 0.0 && elapsed >= SETTLED => {
            let left = elapsed.as_secs_f64() * (1.0 / work - 1.0).max(0.0);
            format!(", {} left", time(left))
        }
        _ => String::new(),
    };
    format!("[ {percent}% of ~{} schedules{left} ]", size.round())
}

fn time(seconds: f64) -> String {
    match seconds as u64 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

impl<S: Subject> Subject for Watched<S> {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let execution = self.inner.run(job)?;
        if let Some(shown) = &mut self.shown {
            shown.runs += 1;
            shown.tick();
        }
        Ok(execution)
    }

    fn run_all(
        &mut self,
        jobs: &[Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        let shown = &mut self.shown;
        self.inner.run_all(jobs, &mut |execution| {
            if let Some(shown) = shown {
                shown.runs += 1;
                shown.tick();
            }
            each(execution);
        })
    }

    fn at_cut(&mut self, cut: Cut, behaviours: usize) {
        if let Some(shown) = &mut self.shown {
            shown.done = shown.known.partition_point(|&known| known < cut);
            shown.behaviours = behaviours;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_told_by_share_and_time_left() {
        let line = |seconds| schedules(0.344, 150.2, 0.5, Duration::from_secs(seconds));
        assert_eq!(line(12), "[ 34% of ~150 schedules, 12 s left ]");
        assert_eq!(line(0), "[ 34% of ~150 schedules ]");
    }

    #[test]
    fn the_line_tells_how_far_and_how_long() {
        let shown = Shown {
            started: Instant::now(),
            last: None,
            known: vec![Cut(1), Cut(2), Cut(3), Cut(4)],
            done: 1,
            runs: 12,
            behaviours: 7,
        };
        let line = shown.line(Duration::from_secs(30));
        let expected =
            "12 executions, 7 behaviours, power failures 1/4 (25 %), about 1:30 min left";
        assert_eq!(line, expected);
        assert!(!shown.line(Duration::from_millis(1)).contains("left"));
        assert_eq!(time(7260.0), "2:01 h");
    }
}
