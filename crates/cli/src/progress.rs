//! How far a search has come: on a terminal as a live line with the time it may still take (ALGORITHMS.md §4), and in any case as a
//! few samples for the report.

use landfall_explore::subject::{Execution, Job, Subject, SubjectError};
use landfall_model::log::{Cut, Log};
use landfall_report::Sample;
use std::io::Write;
use std::time::{Duration, Instant};

/// Often enough to look alive.
const EVERY: Duration = Duration::from_millis(100);
/// Before this a guess at the time left would jump about.
const SETTLED: Duration = Duration::from_secs(1);
/// Samples that are kept. With twice as many, every other one is forgotten, and from then on they are taken half as often.
const MOST_SAMPLES: usize = 128;

/// Is the live line wanted?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Live {
    Shown,
    Silent,
}

/// A subject, and somebody who watches its search.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    inner: S,
    seen: Seen,
    live: Option<Line>,
}

/// What is known about a search so far.
#[derive(Debug)]
struct Seen {
    started: Instant,
    known: Vec<Cut>,
    done: usize,
    runs: u64,
    behaviours: usize,
    /// Of the tree of recoveries.
    size: usize,
    samples: Samples,
}

/// A few samples of a search that may be short or long.
#[derive(Debug)]
pub(crate) struct Samples {
    kept: Vec<Sample>,
    seen: u64,
    every: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            kept: Vec::new(),
            seen: 0,
            every: 1,
        }
    }
}

impl Samples {
    /// One more step of the search: most of them are not looked at.
    pub(crate) fn step(&mut self, sample: impl FnOnce() -> Sample) {
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            self.take(sample());
        }
    }

    pub(crate) fn take(&mut self, sample: Sample) {
        if self.kept.len() >= 2 * MOST_SAMPLES {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
        self.kept.push(sample);
    }

    pub(crate) fn finish(self) -> Vec<Sample> {
        self.kept
    }
}

/// The line on the terminal.
#[derive(Debug, Default)]
struct Line {
    last: Option<Instant>,
}

/// What a search did over time.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) samples: Vec<Sample>,
    /// Power failures of the first execution that were tried.
    pub(crate) cuts: Vec<Cut>,
}

impl<S> Watched<S> {
    pub(crate) fn new(inner: S, log: &Log, live: Live) -> Watched<S> {
        Watched {
            inner,
            seen: Seen {
                started: Instant::now(),
                known: log.sufficient_cuts(),
                done: 0,
                runs: 0,
                behaviours: 0,
                size: 0,
                samples: Samples::default(),
            },
            live: (live == Live::Shown).then(Line::default),
        }
    }

    /// Clears the line. `behaviours` is how many there were in the end.
    pub(crate) fn done(mut self, behaviours: usize, complete: bool) -> (S, History) {
        if self.live.is_some_and(|line| line.last.is_some()) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
        self.seen.behaviours = behaviours;
        if complete {
            self.seen.done = self.seen.known.len();
        }
        let last = self.seen.sample();
        self.seen.samples.take(last);
        let Seen {
            samples,
            mut known,
            done,
            ..
        } = self.seen;
        known.truncate(done);
        let history = History {
            samples: samples.finish(),
            cuts: known,
        };
        (self.inner, history)
    }
}

impl Seen {
    fn ran(&mut self) {
        self.runs += 1;
        let mut samples = std::mem::take(&mut self.samples);
        samples.step(|| self.sample());
        self.samples = samples;
    }

    fn sample(&self) -> Sample {
        Sample {
            seconds: self.started.elapsed().as_secs_f64(),
            runs: self.runs,
            behaviours: self.behaviours as u64,
            nodes: self.size as u64,
            schedules: 0,
            estimate: self.estimate(),
        }
    }

    /// How many runs there will be, if the power failures to come need as many as those behind us.
    fn estimate(&self) -> Option<f64> {
        let (done, known) = (self.done as f64, self.known.len() as f64);
        (self.done > 0).then(|| self.runs as f64 * known / done)
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

impl Line {
    fn tick(&mut self, seen: &Seen) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last < EVERY) {
            return;
        }
        self.last = Some(now);
        let line = seen.line(now - seen.started);
        // Where nobody reads it, nobody misses it.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        let _ = std::io::stderr().flush();
    }
}

fn time(seconds: f64) -> String {
    match seconds as u64 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

impl<S: Subject> Subject for Watched<S> {
    fn stopped(&mut self) -> bool {
        self.inner.stopped()
    }

    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let execution = self.inner.run(job)?;
        self.seen.ran();
        if let Some(line) = &mut self.live {
            line.tick(&self.seen);
        }
        Ok(execution)
    }

    fn run_all(
        &mut self,
        jobs: &[Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        let Watched { inner, seen, live } = self;
        inner.run_all(jobs, &mut |execution| {
            seen.ran();
            if let Some(line) = live {
                line.tick(seen);
            }
            each(execution);
        })
    }

    fn at_cut(&mut self, cut: Cut, behaviours: usize) {
        let seen = &mut self.seen;
        seen.done = seen.known.partition_point(|&known| known < cut);
        seen.behaviours = behaviours;
        self.inner.at_cut(cut, behaviours);
    }

    fn tree_holds(&mut self, size: usize) {
        self.seen.size = size;
        self.inner.tree_holds(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            started: Instant::now(),
            known: vec![Cut(1), Cut(2), Cut(3), Cut(4)],
            done: 1,
            runs: 12,
            behaviours: 7,
            size: 0,
            samples: Samples::default(),
        }
    }

    #[test]
    fn the_line_tells_how_far_and_how_long() {
        let line = seen().line(Duration::from_secs(30));
        let expected =
            "12 executions, 7 behaviours, power failures 1/4 (25 %), about 1:30 min left";
        assert_eq!(line, expected);
        assert!(!seen().line(Duration::from_millis(1)).contains("left"));
        assert_eq!(time(7260.0), "2:01 h");
    }

    #[test]
    fn a_long_search_has_few_samples_and_they_span_it() {
        let mut seen = seen();
        seen.runs = 0;
        (0..100_000).for_each(|_| seen.ran());
        let samples = seen.samples.finish();
        assert!((MOST_SAMPLES..=2 * MOST_SAMPLES).contains(&samples.len()));
        assert!(samples[0].runs < 2_000);
        assert!(samples.last().unwrap().runs > 98_000);
        let estimates = samples.iter().map(|s| s.estimate);
        assert!(
            estimates
                .zip(&samples)
                .all(|(e, s)| e == Some(s.runs as f64 * 4.0))
        );
    }
}
