//! Random power failures: for programs too large, or too little under control, to be searched. A number and a seed name each try.

use super::met::Met;
use super::{Options, SearchError, Searched};
use crate::subject::{Job, RunDetail, Subject};
use crate::tree::Forest;
use landfall_model::crash::PowerFailure;
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Log, Version};
use std::sync::Arc;

/// How many, and which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tries {
    pub count: u32,
    pub seed: u64,
}

/// So many random crashes; the same for the same seed. A behaviour's `run` is the number of the try that showed it first. What
/// recoveries read becomes the trees of `forest`: part of what a search would know, for whoever judges.
pub fn search(
    subject: &mut impl Subject,
    forest: &mut Forest,
    base: &Image,
    log: &Log,
    options: &Options,
    tries: Tries,
    found: &mut Searched,
) -> Result<(), SearchError> {
    let mut met = Met::default();
    for number in 0..tries.count {
        let mut dice = Dice::new(tries.seed, number);
        let mut image = base.clone();
        let mut crashed = log.clone();
        let mut crashes: Vec<PowerFailure> = Vec::new();
        for level in 1..=options.failures.max(1) {
            let (crash, lines) = dice.crash(&crashed, &image);
            found.cuts += 1;
            crashes.push(crash);
            for (line, bytes) in lines {
                image.set_line(line, bytes);
            }
            let overrides: Vec<(Line, LineBytes)> = image.delta(base).collect();
            let cut_too = level < options.failures;
            let execution = subject.run(&Job {
                image: base,
                changed: &[],
                overrides: &overrides,
                failures: level,
                wanted: if cut_too {
                    RunDetail::Events
                } else {
                    RunDetail::Reads
                },
            })?;
            found.runs += 1;
            found.uncut += u32::from(execution.is_left_uncut());
            let reads = execution.reads.iter().rev().copied();
            let (ended, all) = (execution.ended, || crashes.clone());
            met.meet(found, reads, ended, number, all, level as usize);
            let cut_too = cut_too && !execution.shortened;
            let last = !cut_too;
            if cut_too {
                crashed = execution.log_torn(options.platform, options.tear);
            }
            let tree = forest.level(level);
            match tree.add(
                execution.reads,
                ended,
                cut_too.then(|| Arc::new(crashed.clone())),
            ) {
                Ok(Some(run)) => tree.annotate(run, execution.marks, execution.judged),
                Ok(None) => {}
                Err(_) => found.contradictions += 1,
            }
            if last {
                break;
            }
        }
    }
    Ok(())
}

/// A small reproducible source of choices (splitmix64).
struct Dice(u64);

impl Dice {
    fn new(seed: u64, number: u32) -> Dice {
        let mut dice = Dice(seed ^ u64::from(number).wrapping_mul(0xD134_2543_DE82_EF95));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(n) * (self.next() >> 32)) >> 32) as u32
    }

    /// A cut anywhere, and a feasible version of every line.
    fn crash(&mut self, log: &Log, base: &Image) -> (PowerFailure, Vec<(Line, LineBytes)>) {
        let cut = Cut(self.below(log.end().0 + 1));
        let mut names: Vec<Line> = log.lines().collect();
        names.sort_unstable();
        let mut crash = PowerFailure {
            cut,
            old: Vec::new(),
        };
        let mut lines = Vec::new();
        for line in names {
            let (first, newest) = (log.frontier(line, cut), log.newest(line, cut));
            let version = Version(first.0 + self.below(newest.0 - first.0 + 1));
            if version != newest {
                crash.old.push((line, version));
            }
            let mut bytes = base.line(line);
            log.apply(line, version, &mut bytes);
            lines.push((line, bytes));
        }
        (crash, lines)
    }
}
