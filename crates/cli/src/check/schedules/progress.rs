//! How far a search for schedules has come: how many of how many (ALGORITHMS.md §4). On a terminal as a live line, and for the report.

use crate::progress::{Live, Samples};
use landfall_explore::schedule::Estimate;
use landfall_report::Sample;
use std::io::Write;
use std::time::{Duration, Instant};

/// Often enough to look alive.
const EVERY: Duration = Duration::from_millis(100);
/// Before this a guess at the time left would jump about.
const SETTLED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Progress {
    live: Live,
    last: Option<Instant>,
    samples: Samples,
}

impl Progress {
    pub(super) fn new(live: Live) -> Progress {
        Progress {
            live,
            last: None,
            samples: Samples::default(),
        }
    }

    pub(super) fn tick(&mut self, estimate: &Estimate, started: Instant) {
        self.samples.step(|| Sample {
            seconds: started.elapsed().as_secs_f64(),
            runs: estimate.executions(),
            schedules: estimate.executions(),
            estimate: Some(estimate.size()),
            ..Sample::default()
        });
        if matches!(self.live, Live::Silent) {
            return;
        }
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last < EVERY) {
            return;
        }
        self.last = Some(now);
        let line = line(
            estimate.share(),
            estimate.size(),
            estimate.executed() / estimate.work().max(1.0),
            now - started,
        );
        // Where nobody reads it, nobody misses it.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        let _ = std::io::stderr().flush();
    }

    /// Clears the line.
    pub(super) fn done(self) -> Vec<Sample> {
        if self.last.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
        self.samples.finish()
    }
}

/// `[ 34% of ~150 schedules, 12 s left ]`; `work` is the share of the work that is done.
fn line(share: f64, size: f64, work: f64, elapsed: Duration) -> String {
    let percent = (share * 100.0).min(100.0) as u32;
    let left = match work {
        work if work > 0.0 && elapsed >= SETTLED => {
            let left = elapsed.as_secs_f64() * (1.0 / work - 1.0).max(0.0);
            format!(", {} left", time(left as u64))
        }
        _ => String::new(),
    };
    format!("[ {percent}% of ~{} schedules{left} ]", size.round())
}

fn time(seconds: u64) -> String {
    match seconds {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_share_and_time_left() {
        let line = |seconds| line(0.344, 150.2, 0.5, Duration::from_secs(seconds));
        assert_eq!(line(12), "[ 34% of ~150 schedules, 12 s left ]");
        assert_eq!(line(0), "[ 34% of ~150 schedules ]");
        assert_eq!(time(90), "1:30 min");
    }
}
