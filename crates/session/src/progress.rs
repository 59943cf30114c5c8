//! How far a search for power failures has come: for who watches, and as a few samples for the report.

use crate::observer::{CheckWatch, Progress, Ticker};
use landfall_explore::subject::{Execution, Job, SeenStores, Subject, SubjectError};
use landfall_finding::Sample;
use landfall_model::log::{Cut, Log};
use smallvec::SmallVec;
use std::time::Instant;

/// Samples that are kept. With twice as many, every other one is forgotten, and from then on they are taken half as often.
const MOST_SAMPLES: usize = 128;

/// A subject, and somebody who watches its search.
#[derive(Debug)]
pub(crate) struct Watched<'a, S> {
    inner: S,
    seen: SearchState,
    ticker: Ticker<'a>,
}

/// What is known about a search so far.
#[derive(Debug)]
struct SearchState {
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

/// What a search did over time.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) samples: Vec<Sample>,
    /// Power failures of the first execution that were tried.
    pub(crate) cuts: Vec<Cut>,
}

impl<'a, S> Watched<'a, S> {
    pub(crate) fn new(inner: S, log: &Log, watch: &'a CheckWatch<'a>) -> Watched<'a, S> {
        Watched {
            inner,
            seen: SearchState {
                started: Instant::now(),
                known: log.sufficient_cuts(),
                done: 0,
                runs: 0,
                behaviours: 0,
                size: 0,
                samples: Samples::default(),
            },
            ticker: Ticker::new(watch),
        }
    }

    /// The search is over. `behaviours` is how many there were in the end.
    pub(crate) fn done(mut self, behaviours: usize, complete: bool) -> (S, History) {
        self.ticker.done();
        self.seen.behaviours = behaviours;
        if complete {
            self.seen.done = self.seen.known.len();
        }
        let last = self.seen.sample();
        self.seen.samples.take(last);
        let SearchState {
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

impl SearchState {
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

    fn progress(&self) -> Progress {
        Progress::PowerFailures {
            executions: self.runs,
            behaviours: self.behaviours,
            tried: self.done,
            known: self.known.len(),
            elapsed: self.started.elapsed(),
        }
    }
}

impl<S: Subject> Subject for Watched<'_, S> {
    fn stopped(&mut self) -> bool {
        self.inner.stopped()
    }

    fn mistakes(&mut self, seen: &SeenStores) -> SmallVec<[u64; 2]> {
        self.inner.mistakes(seen)
    }

    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let execution = self.inner.run(job)?;
        self.seen.ran();
        self.ticker.tick(|| self.seen.progress());
        Ok(execution)
    }

    fn run_all(
        &mut self,
        jobs: &[Job<'_>],
        each: &mut dyn FnMut(Execution),
    ) -> Result<(), SubjectError> {
        let Watched {
            inner,
            seen,
            ticker,
        } = self;
        inner.run_all(jobs, &mut |execution| {
            seen.ran();
            ticker.tick(|| seen.progress());
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

    fn seen() -> SearchState {
        SearchState {
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
