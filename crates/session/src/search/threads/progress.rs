//! How far a search for schedules has come: for who watches, and as a few samples for the report.

use crate::observer::{CheckWatch, Progress, Ticker};
use crate::progress::Samples;
use landfall_explore::schedule::Estimate;
use landfall_finding::Sample;
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct ScheduleProgress<'a> {
    ticker: Ticker<'a>,
    samples: Samples,
}

impl<'a> ScheduleProgress<'a> {
    pub(crate) fn new(watch: &'a CheckWatch<'a>) -> ScheduleProgress<'a> {
        ScheduleProgress {
            ticker: Ticker::new(watch),
            samples: Samples::default(),
        }
    }

    pub(crate) fn tick(&mut self, estimate: &Estimate, started: Instant) {
        self.samples.step(|| Sample {
            seconds: started.elapsed().as_secs_f64(),
            runs: estimate.executions(),
            schedules: estimate.executions(),
            estimate: Some(estimate.size()),
            ..Sample::default()
        });
        self.ticker.tick(|| Progress::Schedules {
            share: estimate.share(),
            estimate: estimate.size(),
            work: estimate.executed() / estimate.work().max(1.0),
            elapsed: started.elapsed(),
        });
    }

    pub(crate) fn done(self) -> Vec<Sample> {
        self.ticker.done();
        self.samples.finish()
    }
}
