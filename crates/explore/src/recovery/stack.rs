//! Several power failures: recoveries are executions too, and are cut like the first (docs/design/model.md §5). There is one tree for each
//! number of failures. Each cut is walked from the root, with what was possible at an earlier cut left out.

use super::met::Met;
use super::mistakes::{Mistakes, covers, left};
use super::state::{CrashStack, FirstCrash};
use super::{Options, SearchError, Searched, WAVE};
use crate::subject::{Job, Read, RunDetail, SeenStores, Subject, SubjectError};
use crate::tree::{Branch, Forest, Here, Leaf};
use landfall_model::image::Image;
use landfall_model::line::{Line, LineBytes};
use landfall_model::log::{Cut, Entry, Log, Version};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// Walks of known trees between two questions whether to go on.
const ASK_EVERY: u32 = 256;

pub(super) fn search(
    subject: &mut impl Subject,
    forest: &mut Forest,
    base: &Image,
    log: &Log,
    options: &Options,
    found: &mut Searched,
) -> Result<(), SearchError> {
    let mut stack = Stack {
        subject,
        forest,
        options,
        log,
        first: FirstCrash {
            newest: base.clone(),
            ..FirstCrash::default()
        },
        changed: log.lines().collect(),
        todo: Vec::new(),
        wave: Vec::new(),
        met: FxHashMap::default(),
        apart: Met::default(),
        mistakes: Mistakes::default(),
        found,
        looked: false,
        walked: 0,
    };
    let mut grown: Vec<Line> = Vec::new();
    let mut cuts = log.sufficient_cuts().into_iter().peekable();
    for (at, entry) in log.entries().iter().enumerate() {
        if cuts.next_if_eq(&Cut(at as u32)).is_some() {
            stack.look(Cut(at as u32), &mut grown)?;
        }
        match *entry {
            Entry::Store { piece, .. } => {
                let line = piece.addr.line();
                stack.first.store(log, at as u32, line);
                stack.changed.push(line);
                grown.push(line);
            }
            Entry::Durable { line, version } => stack.first.durable(line, version),
        }
    }
    if cuts.next().is_some() {
        stack.look(log.end(), &mut grown)?;
    }
    Ok(())
}

/// Where a walk goes on.
#[derive(Clone, Debug)]
struct StackWalk {
    /// `None`: at the root.
    at: Option<Branch>,
    state: CrashStack,
}

impl StackWalk {
    /// Power failures so far.
    fn level(&self) -> u32 {
        self.state.crashed.len() as u32 + 1
    }
}

struct Stack<'a, S> {
    subject: &'a mut S,
    forest: &'a mut Forest,
    options: &'a Options,
    log: &'a Log,
    first: FirstCrash,
    /// Lines of the newest image that changed since the last run.
    changed: Vec<Line>,
    todo: Vec<StackWalk>,
    /// Walks that need a run to go on.
    wave: Vec<StackWalk>,
    /// Where the behaviour of a run (level, number) stands.
    met: FxHashMap<(u32, u32), usize>,
    /// Where the behaviour of a run stands, when each cut has trees of its own.
    apart: Met,
    mistakes: Mistakes,
    found: &'a mut Searched,
    looked: bool,
    walked: u32,
}

impl<S: Subject> Stack<'_, S> {
    fn look(&mut self, cut: Cut, grown: &mut Vec<Line>) -> Result<(), SearchError> {
        self.found.cuts += 1;
        self.first.cut = cut;
        self.subject.at_cut(cut, self.found.behaviours.len());
        let trees = (1..=self.options.failures).filter_map(|level| self.forest.known(level));
        self.subject
            .tree_holds(trees.map(|tree| tree.reads() + tree.runs() as usize).sum());
        grown.sort_unstable();
        grown.dedup();
        if !self.options.share {
            *self.forest = Forest::default();
        }
        let state = self.first.state(grown);
        self.push(StackWalk { at: None, state });
        loop {
            while let Some(walk) = self.todo.pop() {
                self.walked += 1;
                if self.walked.is_multiple_of(ASK_EVERY) && self.subject.stopped() {
                    return Err(SubjectError::Stopped.into());
                }
                self.walk(walk);
            }
            if self.wave.is_empty() {
                break;
            }
            self.run_wave()?;
        }
        self.first.settle(grown);
        self.looked = true;
        grown.clear();
        Ok(())
    }

    fn push(&mut self, walk: StackWalk) {
        // A state without anything fresh was walked at an earlier cut, and so was all that follows from it.
        if walk.state.fresh > 0 || !self.looked || !self.options.share {
            self.todo.push(walk);
        }
    }

    /// Goes down the tree as far as it is known, one way; the others are left to do.
    fn walk(&mut self, mut walk: StackWalk) {
        let level = walk.level();
        let tree = self.forest.level(level);
        let start = match walk.at {
            None => tree.root(),
            Some(branch) => tree.child(branch),
        };
        let Some(mut place) = start else {
            self.wave.push(walk);
            return;
        };
        loop {
            let tree = self.forest.level(level);
            let read = match tree.here(place) {
                Here::Read(read, _) => read,
                Here::Leaf(leaf) => {
                    let leaf = leaf.clone();
                    return self.arrive(walk, &leaf);
                }
            };
            let line = read.line();
            let mut values: SmallVec<[u64; 4]> = SmallVec::new();
            match walk.state.line(&self.first, line) {
                None => values.push(read.value(&self.first.newest.line(line))),
                Some(candidates) => {
                    for candidate in candidates.iter() {
                        let value = read.value(&candidate.bytes);
                        if !values.contains(&value) {
                            values.push(value);
                        }
                    }
                }
            }
            let (run, depth) = tree.name(place);
            let branch = |value| Branch { run, depth, value };
            if let [value] = values[..] {
                match tree.step(place, value) {
                    Some(next) => place = next,
                    None => {
                        walk.at = Some(branch(value));
                        self.wave.push(walk);
                        return;
                    }
                }
                continue;
            }
            let Some(candidates) = walk.state.line(&self.first, line).cloned() else {
                return; // More than one value, so it has candidates.
            };
            for value in values {
                let mut state = walk.state.clone();
                let part = candidates.iter().filter(|c| read.value(&c.bytes) == value);
                state.narrow(&self.first, line, part.cloned().collect());
                self.push(StackWalk {
                    at: Some(branch(value)),
                    state,
                });
            }
            return;
        }
    }

    /// A recovery ends; and it may be cut itself.
    fn arrive(&mut self, walk: StackWalk, leaf: &Leaf) {
        let level = walk.level();
        let crashes = || walk.state.crashes(&self.first, self.log);
        if self.options.share {
            match self.met.get(&(level, leaf.run)) {
                Some(&at) => self.found.behaviours[at].times += 1,
                None => {
                    let at = self.found.behaviours.len();
                    self.met.insert((level, leaf.run), at);
                    self.found.behaviours.push(super::Behaviour {
                        ended: leaf.ended,
                        run: leaf.run,
                        crashes: crashes().into(),
                        times: 1,
                    });
                    if self.mistakes.shows(leaf.ended, at) {
                        let reads = self.forest.level(level).path_of(leaf.run);
                        let shown = self.subject.mistakes(&self.seen(&walk.state, &reads));
                        self.mistakes.show(&shown);
                    }
                }
            }
        } else {
            let tree = self.forest.level(level);
            let depth = tree.depth(leaf.run);
            let reads = tree.above(tree.place(leaf.run, depth));
            let (ended, run) = (leaf.ended, leaf.run);
            self.apart
                .meet(self.found, reads, ended, run, crashes, level as usize);
        }
        let Some(log) = leaf.log.as_ref().filter(|_| level < self.options.failures) else {
            return;
        };
        for cut in log.sufficient_cuts() {
            self.found.cuts += 1;
            let state = walk.state.crash(&self.first, log, cut);
            self.push(StackWalk { at: None, state });
        }
    }

    /// What these reads tell of the first execution's stores, where every line is as new as they allow. Of lines that a recovery has
    /// stored to since, they tell nothing.
    fn seen(&self, state: &CrashStack, reads: &[Read]) -> SeenStores {
        let cut = self.first.cut;
        let mut seen = SeenStores {
            cut,
            ..SeenStores::default()
        };
        for read in reads {
            let line = read.read.line();
            let content = state.line(&self.first, line).and_then(|c| c.last());
            let chain = content.and_then(|content| content.chain.split_first());
            let Some((&version, later)) = chain else {
                continue;
            };
            if later.iter().any(|&version| version != Version(0)) {
                continue;
            }
            let (there, lost) = left(self.log, line, version, self.log.newest(line, cut));
            let covers = |store: &&Cut| covers(self.log, read.read, **store);
            seen.found.extend(there.iter().rev().find(covers));
            seen.missed.extend(lost.iter().find(covers));
        }
        seen
    }

    /// Does what a walk has read, where it is about to leave the tree, tell of a mistake that is well known?
    fn is_well_known(&mut self, walk: &StackWalk) -> bool {
        let Some(branch) = walk.at else {
            return false;
        };
        let tree = self.forest.level(walk.level());
        let place = tree.place(branch.run, branch.depth);
        let mut reads = tree.reads_to(place);
        if let Here::Read(read, _) = tree.here(place) {
            let value = branch.value;
            reads.push(Read { read, value });
        }
        let shown = self.subject.mistakes(&self.seen(&walk.state, &reads));
        self.mistakes.is_known(&shown)
    }

    /// Runs what the waiting walks need, each once, and lets them go on.
    fn run_wave(&mut self) -> Result<(), SearchError> {
        let mut waiting = std::mem::take(&mut self.wave);
        if self.mistakes.any {
            waiting.retain(|walk| {
                let known = walk.at.filter(|_| self.is_well_known(walk));
                let new = known.map(|branch| self.mistakes.skip(walk.level(), branch));
                self.found.skipped += u32::from(new == Some(true));
                known.is_none()
            });
        }
        let mut asked: FxHashSet<(u32, Option<Branch>)> = FxHashSet::default();
        let runs: Vec<&StackWalk> = waiting
            .iter()
            .filter(|walk| asked.insert((walk.level(), walk.at)))
            .collect();
        for runs in runs.chunks(WAVE) {
            let overrides: Vec<Vec<(Line, LineBytes)>> = runs
                .iter()
                .map(|walk| walk.state.overrides(&self.first))
                .collect();
            let changed = std::mem::take(&mut self.changed);
            let jobs: Vec<Job<'_>> = runs
                .iter()
                .zip(&overrides)
                .enumerate()
                .map(|(at, (walk, overrides))| Job {
                    image: &self.first.newest,
                    changed: if at == 0 { &changed } else { &[] },
                    overrides,
                    failures: walk.level(),
                    wanted: match walk.level() < self.options.failures {
                        true => RunDetail::Events,
                        false => RunDetail::Reads,
                    },
                })
                .collect();
            let (forest, options) = (&mut *self.forest, self.options);
            let found = &mut *self.found;
            let mut done = runs.iter();
            let mut diverged = None;
            let ended = self.subject.run_all(&jobs, &mut |execution| {
                let Some(walk) = done.next().filter(|_| diverged.is_none()) else {
                    return;
                };
                found.runs += 1;
                found.uncut += u32::from(execution.is_left_uncut());
                let cut_too = walk.level() < options.failures && !execution.shortened;
                let log =
                    cut_too.then(|| Arc::new(execution.log_torn(options.platform, options.tear)));
                let tree = forest.level(walk.level());
                match tree.graft(walk.at, execution.reads, execution.ended, log) {
                    Ok(run) => tree.annotate(run, execution.marks, execution.judged),
                    Err(difference) => {
                        diverged = Some((difference, walk.state.crashes(&self.first, self.log)));
                    }
                }
            });
            if let Some((difference, crashes)) = diverged {
                return Err(SearchError::Diverged {
                    difference,
                    crashes,
                });
            }
            if let Err(error) = ended {
                // What was run counts.
                self.todo.extend(waiting);
                while let Some(walk) = self.todo.pop() {
                    self.walk(walk);
                }
                return Err(error.into());
            }
        }
        // The walks that were left first are taken first.
        self.todo.extend(waiting.into_iter().rev());
        Ok(())
    }
}
