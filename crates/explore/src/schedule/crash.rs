//! What a power failure can leave of a Mazurkiewicz trace.
//!
//! The cuts of one linearisation are not those of its trace: with `x = 1; clflush x` and `y = 1; clflush y` in two threads,
//! no cut of the order x, flush x, y, flush y leaves x = 0, y = 1. A power failure of the trace is a set of its
//! transitions that is closed under happens-before. Flushes only take away, so for a choice of one version per line the
//! smallest such set decides: the stores chosen, and all that happens before them. Of the write-backs that are complete
//! in there, each must come before every store to its line that is newer than the version chosen. So the choice is
//! possible unless such constraints go round in a circle:
//!
//! > `f` before a newer store to its line, which happens before `f'`, before a newer store to *its* line, … before `f`.
//!
//! That is DPTSOsyn (MODEL.md §6) on the graph of the trace. It asks the schedule search only to order the stores of one
//! line ([`super::Persistency::Lines`]); flushes and fences multiply no schedules.

use super::search::Search;
use super::step::{Access, Act, Step};

#[derive(Clone, Debug)]
struct Line {
    object: u32,
    /// The transition that made version `i + 1`.
    stores: Vec<u32>,
}

/// A write-back that some fence (or, for `clflush`, itself) completes.
#[derive(Clone, Debug)]
struct Completed {
    line: usize,
    /// Process and tick of what completes it.
    by: (u8, u32),
    /// Of each line, the newest version whose store happens before it.
    sees: Vec<u32>,
}

#[derive(Clone, Debug)]
pub struct Crashes {
    lines: Vec<Line>,
    flushes: Vec<Completed>,
    /// For each line and each version from 1 on: which flushes are complete where its store has happened, as bits.
    complete: Vec<Vec<Vec<u64>>>,
}

impl Crashes {
    /// Of the search's last execution.
    pub fn of(search: &Search) -> Crashes {
        let trace = search.trace();
        let steps = &trace.steps[..];
        let lines = lines(steps);
        let threads = search.order().threads;
        let line_of = |object: u32| lines.iter().position(|line| line.object == object);
        let known = |clock: &[u32], at: u32| {
            let step = &steps[at as usize];
            clock[step.process as usize] >= step.tick
        };
        let seen_by = |clock: &[u32]| -> Vec<u32> {
            let newest =
                |line: &Line| line.stores.partition_point(|&store| known(clock, store)) as u32;
            lines.iter().map(newest).collect()
        };
        let mut flushes = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            if step.act == Act::Flush
                && let Some(line) = line_of(step.object)
            {
                flushes.push(Completed {
                    line,
                    by: (step.process, step.tick),
                    sees: seen_by(search.clock(at)),
                });
            }
        }
        for write_back in &trace.write_backs {
            let Some(line) = line_of(write_back.object) else {
                continue;
            };
            let thread = usize::from(write_back.thread);
            let of_thread = |step: &&Step| usize::from(step.process) == thread;
            let of_companion = |step: &&Step| usize::from(step.process) == thread + threads;
            let completes = |step: &&Step| match step.act {
                Act::Rmw | Act::Cas | Act::Fence if of_thread(step) => {
                    step.tick > write_back.issued
                }
                Act::Fence if of_companion(step) => step.tick > write_back.buffered,
                _ => false,
            };
            let Some(fence) = steps.iter().find(completes) else {
                continue;
            };
            // What comes before it: its thread up to where it was issued, and what it cannot overtake in the buffer.
            let mut clock = vec![0; search.clock(0).len()];
            let issued = |step: &Step| of_thread(&step) && step.tick <= write_back.issued;
            let behind = |step: &Step| of_companion(&step) && step.tick <= write_back.after;
            for (at, _) in steps
                .iter()
                .enumerate()
                .filter(|(_, step)| issued(step) || behind(step))
            {
                for (mine, &theirs) in clock.iter_mut().zip(search.clock(at)) {
                    *mine = theirs.max(*mine);
                }
            }
            flushes.push(Completed {
                line,
                by: (fence.process, fence.tick),
                sees: seen_by(&clock),
            });
        }
        let complete = lines.iter().map(|line| {
            let stores = line.stores.iter().map(|&store| {
                let clock = search.clock(store as usize);
                let mut bits = vec![0u64; flushes.len().div_ceil(64)];
                for (index, flush) in flushes.iter().enumerate() {
                    if clock[usize::from(flush.by.0)] >= flush.by.1 {
                        bits[index / 64] |= 1 << (index % 64);
                    }
                }
                bits
            });
            stores.collect()
        });
        Crashes {
            complete: complete.collect(),
            lines,
            flushes,
        }
    }

    /// How many lines were stored to.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    pub fn object(&self, line: usize) -> u32 {
        self.lines[line].object
    }

    /// The transitions that made the versions of a line, from version 1 on.
    pub fn stores(&self, line: usize) -> &[u32] {
        &self.lines[line].stores
    }

    fn is_complete(&self, flush: usize, versions: &[u32]) -> bool {
        versions.iter().enumerate().any(|(line, &version)| {
            version > 0
                && self.complete[line][version as usize - 1][flush / 64] >> (flush % 64) & 1 != 0
        })
    }

    /// Can a power failure leave exactly these versions?
    pub fn possible(&self, versions: &[u32]) -> bool {
        self.circle(versions).is_none()
    }

    /// Write-backs each of which would have to come before the next, if the power failed with these versions.
    fn circle(&self, versions: &[u32]) -> Option<Vec<usize>> {
        let complete: Vec<usize> = (0..self.flushes.len())
            .filter(|&flush| self.is_complete(flush, versions))
            .collect();
        // `a` comes before a store that is newer than chosen, and that store before `b`.
        let before = |a: usize, b: usize| {
            let line = self.flushes[a].line;
            self.flushes[b].sees[line] > versions[line]
        };
        // Those that nothing comes before are not in a circle; then those that only such come before; and so on.
        let mut left = complete;
        loop {
            let count = left.len();
            let still = left.clone();
            left.retain(|&b| still.iter().any(|&a| before(a, b)));
            if left.is_empty() {
                return None;
            }
            if left.len() == count {
                break;
            }
        }
        // Everyone left has a predecessor: going back must come round.
        let mut path = vec![left[0]];
        loop {
            let last = *path.last()?;
            let previous = *left.iter().find(|&&a| before(a, last))?;
            if let Some(at) = path.iter().position(|&flush| flush == previous) {
                return Some(path.split_off(at));
            }
            path.push(previous);
        }
    }

    /// Versions that a power failure can leave among those admitted, if there are any. Breaks one circle after the
    /// other: some line in it must be newer.
    pub fn find(&self, admits: &impl Fn(usize, u32) -> bool) -> Option<Vec<u32>> {
        self.find_from(&vec![0; self.lines.len()], admits)
    }

    fn find_from(&self, least: &[u32], admits: &impl Fn(usize, u32) -> bool) -> Option<Vec<u32>> {
        let mut versions = Vec::with_capacity(least.len());
        for (line, &from) in least.iter().enumerate() {
            let newest = self.lines[line].stores.len() as u32;
            versions.push((from..=newest).find(|&version| admits(line, version))?);
        }
        let Some(circle) = self.circle(&versions) else {
            return Some(versions);
        };
        circle.iter().find_map(|&flush| {
            let line = self.flushes[flush].line;
            let mut raised = versions.clone();
            raised[line] += 1;
            self.find_from(&raised, admits)
        })
    }
}

fn lines(steps: &[Step]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if step.persistent && step.access == Access::Write {
            match lines.iter_mut().find(|line| line.object == step.object) {
                Some(line) => line.stores.push(at as u32),
                None => lines.push(Line {
                    object: step.object,
                    stores: vec![at as u32],
                }),
            }
        }
    }
    lines
}
