//! Every image of every cut, without looking at what the recovery reads: Yat's way, for comparison; and how many that would be.

use super::met::Met;
use super::state::{CrashStack, FirstCrash};
use super::{Options, SearchError, Searched};
use crate::subject::{Job, RunDetail, Subject};
use landfall_model::count::Count;
use landfall_model::image::Image;
use landfall_model::line::Line;
use landfall_model::log::{Cut, Entry, Log};
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(super) fn search(
    subject: &mut impl Subject,
    base: &Image,
    log: &Log,
    options: &Options,
    found: &mut Searched,
) -> Result<(), SearchError> {
    let mut eager = Eager {
        subject,
        options,
        log,
        first: FirstCrash {
            newest: base.clone(),
            ..FirstCrash::default()
        },
        changed: log.lines().collect(),
        met: Met::default(),
        found,
    };
    let mut cuts = log.sufficient_cuts().into_iter().peekable();
    for (at, entry) in log.entries().iter().enumerate() {
        if cuts.next_if_eq(&Cut(at as u32)).is_some() {
            eager.look(Cut(at as u32))?;
        }
        match *entry {
            Entry::Store { piece, .. } => {
                let line = piece.addr.line();
                eager.first.store(log, at as u32, line);
                eager.first.settle(&[line]); // Nothing is left out for being old.
                eager.changed.push(line);
            }
            Entry::Durable { line, version } => eager.first.durable(line, version),
        }
    }
    if cuts.next().is_some() {
        eager.look(log.end())?;
    }
    Ok(())
}

struct Eager<'a, S> {
    subject: &'a mut S,
    options: &'a Options,
    log: &'a Log,
    first: FirstCrash,
    changed: Vec<Line>,
    met: Met,
    found: &'a mut Searched,
}

impl<S: Subject> Eager<'_, S> {
    fn look(&mut self, cut: Cut) -> Result<(), SearchError> {
        self.first.cut = cut;
        self.subject.at_cut(cut, self.found.behaviours.len());
        self.images(CrashStack::default())
    }

    /// Runs the recovery on every image of a crash state.
    fn images(&mut self, state: CrashStack) -> Result<(), SearchError> {
        self.found.cuts += 1;
        let mut todo = vec![(state.open_lines(&self.first), state)];
        while let Some((mut open, state)) = todo.pop() {
            let Some(line) = open.pop() else {
                self.run(state)?;
                continue;
            };
            let candidates = state.line(&self.first, line).cloned().unwrap_or_default();
            for candidate in candidates.iter() {
                let mut chosen = state.clone();
                chosen.narrow(&self.first, line, vec![candidate.clone()]);
                todo.push((open.clone(), chosen));
            }
        }
        Ok(())
    }

    fn run(&mut self, state: CrashStack) -> Result<(), SearchError> {
        let level = state.crashed.len() + 1;
        let cut_too = (level as u32) < self.options.failures;
        let changed = std::mem::take(&mut self.changed);
        let execution = self.subject.run(&Job {
            image: &self.first.newest,
            changed: &changed,
            overrides: &state.overrides(&self.first),
            failures: level as u32,
            wanted: if cut_too {
                RunDetail::Events
            } else {
                RunDetail::Reads
            },
        })?;
        let run = self.found.runs;
        self.found.runs += 1;
        self.found.uncut += u32::from(execution.is_left_uncut());
        let reads = execution.reads.iter().rev().copied();
        let crashes = || state.crashes(&self.first, self.log);
        let ended = execution.ended;
        self.met.meet(self.found, reads, ended, run, crashes, level);
        if cut_too && !execution.shortened {
            let log = Arc::new(execution.log_torn(self.options.platform, self.options.tear));
            for cut in log.sufficient_cuts() {
                self.images(state.crash(&self.first, &log, cut))?;
            }
        }
        Ok(())
    }
}

/// How many images there are at the sufficient cuts of a log, all told.
pub fn count(log: &Log) -> Count {
    let mut feasible: FxHashMap<Line, (u32, u32)> = FxHashMap::default();
    let (mut total, mut product) = (Count::from(0), Count::from(1));
    let mut cuts = log.sufficient_cuts().into_iter().peekable();
    for (at, entry) in log.entries().iter().enumerate() {
        if cuts.next_if_eq(&Cut(at as u32)).is_some() {
            total.add(&product);
        }
        let line = match entry {
            Entry::Store { piece, .. } => piece.addr.line(),
            Entry::Durable { line, .. } => *line,
        };
        let (first, newest) = feasible.entry(line).or_insert((0, 0));
        let before = *newest - *first + 1;
        match entry {
            Entry::Store { .. } => *newest += log.versions_since(at as u32, line).len() as u32,
            Entry::Durable { version, .. } => *first = version.0,
        }
        product.multiply(*newest - *first + 1);
        product.divide(before);
    }
    if cuts.next().is_some() {
        total.add(&product);
    }
    total
}
