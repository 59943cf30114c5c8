//! What a critical section, or a hardware transaction, accesses where it is moved to. It may look at one place and then decide about another, so that is not always what it
//! accessed where it was. Whether its reversal is explored already depends on that, and a guess in either direction would be wrong: less
//! loses executions, and so does more, since who sleeps beside it is woken by what it does, not by what was thought.
//!
//! What a transition does depends on its past alone: all that happens before it. So what sections did is kept by their pasts. Of one that is moved
//! it is tried whether it does what it did some other time: then its past is known, and if it had the same past, that is it. Otherwise the
//! program is run up to there, once. Nearly always the reversal is explored next from there on, and that run is then its execution. So it is
//! with a compare-and-swap that is moved before a transaction: only that knew what it replaced.

use super::{Race, Search};
use crate::schedule::section::SectionKey;
use crate::schedule::step::{Access, Act, Process, Step};
use crate::schedule::threads::{Job, Threads, ThreadsError, TriedOut};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// A lock, where it is taken, and by whom.
type SectionPlace = (Process, u32, u32);

/// What such a transition does, as far as that is not always the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ForeseenDeed {
    section: u32,
    access: Access,
}

impl ForeseenDeed {
    fn by(step: &Step) -> ForeseenDeed {
        ForeseenDeed {
            section: step.section,
            access: step.access,
        }
    }

    /// The transition, if that is what it does.
    pub(super) fn of(self, step: &Step) -> Step {
        Step {
            section: self.section,
            access: self.access,
            ..*step
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Foresight {
    /// Per process, its transitions in the last execution: the tick, and what it and its past are called.
    of: Vec<Vec<(u32, u64)>>,
    /// By that name, what a transition does.
    known: FxHashMap<u64, ForeseenDeed>,
    /// What was ever done by transitions that begin in one place.
    seen: FxHashMap<SectionPlace, Vec<ForeseenDeed>>,
    row: Vec<u32>,
    /// Races whose second transition has to be run to know.
    pub(super) unknown: Vec<Race>,
    /// The leaf that the last reversal became, if it is a branch of its own.
    pub(super) leaf: Option<u32>,
}

impl Foresight {
    /// What a transition is called, by all that happens before it.
    fn name(&self, step: &Step, clock: &[u32]) -> u64 {
        let mut hasher = FxHasher::default();
        (step.process, step.tick).hash(&mut hasher);
        for (process, (of, &known)) in self.of.iter().zip(clock).enumerate() {
            let own = process == usize::from(step.process);
            let last = if own { step.tick - 1 } else { known };
            let newest = of.iter().rev().find(|(tick, _)| *tick <= last);
            newest.map_or(0, |(_, name)| *name).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn learn(&mut self, step: &Step, name: u64) {
        self.known.insert(name, ForeseenDeed::by(step));
        let key = SectionKey::of(step);
        let seen = self.seen.entry((key.process, key.lock, key.site));
        let seen = seen.or_default();
        if !seen.contains(&ForeseenDeed::by(step)) {
            seen.push(ForeseenDeed::by(step));
        }
    }
}

impl Search {
    /// Keeps what sections accessed in the last execution, if that is not always the same.
    pub(super) fn remember_sections(&mut self) {
        let transactions = self.trace.sets.have_transactions();
        if !self.trace.sets.sections_vary() && !transactions {
            return;
        }
        let mut foresight = std::mem::take(&mut self.foresight);
        foresight.of.resize(self.happens.width(), Vec::new());
        foresight.of.iter_mut().for_each(Vec::clear);
        for (at, step) in self.trace.steps.iter().enumerate() {
            let name = foresight.name(step, self.happens.clock(at));
            foresight.of[usize::from(step.process)].push((step.tick, name));
            if step.section != 0 || transactions && step.act == Act::Cas {
                foresight.learn(step, name);
            }
        }
        self.foresight = foresight;
    }

    /// What the past of a transition is called that comes after what is executed up to `depth` and the sequence.
    fn name_after(&self, depth: usize, step: &Step, row: &mut Vec<u32>) -> u64 {
        row.clear();
        row.resize(self.happens.width(), 0);
        for event in (0..depth as u32).chain(self.sequence.iter().copied()) {
            let before = &self.trace.steps[event as usize];
            if self
                .order
                .depends(before, step, &self.trace.sets, |_| u32::MAX)
            {
                let clock = self.happens.clock(event as usize);
                for (mine, &theirs) in row.iter_mut().zip(clock) {
                    *mine = theirs.max(*mine);
                }
            }
        }
        self.foresight.name(step, row)
    }

    /// What a transition does that comes after what is executed up to `depth` and the sequence, if that is known.
    pub(super) fn foresee(&mut self, depth: usize, step: &Step) -> Option<ForeseenDeed> {
        let place = (step.process, step.object, step.site);
        let mut row = std::mem::take(&mut self.foresight.row);
        let seen = self.foresight.seen.get(&place);
        let found = seen.into_iter().flatten().copied().find(|does| {
            let name = self.name_after(depth, &does.of(step), &mut row);
            self.foresight.known.get(&name) == Some(does)
        });
        self.foresight.row = row;
        found
    }

    /// Runs the program where it has to be known what sections access, and reverses those races.
    pub(super) fn find_out<T: Threads>(&mut self, threads: &mut T) -> Result<(), ThreadsError> {
        while let Some(race) = self.foresight.unknown.pop() {
            let depth = race.first as usize;
            let step = self.trace.steps[race.second as usize];
            self.without.clear();
            self.without.push(race.first);
            self.put_before(race);
            let kept = match self.foresee(depth, &step) {
                Some(_) => TriedOut::Known,
                None => self.try_out(threads, depth, &step)?,
            };
            self.foresight.leaf = None;
            self.reverse(race);
            match (kept, self.foresight.leaf) {
                (TriedOut::Kept(number), Some(leaf)) => self.wakeup.asked_for(leaf, number),
                (TriedOut::Kept(number), None) => {
                    threads.not_wanted(number);
                    self.counts.tried_out += 1;
                }
                (TriedOut::Ran | TriedOut::Known, _) => {}
            }
        }
        Ok(())
    }

    fn try_out<T: Threads>(
        &mut self,
        threads: &mut T,
        depth: usize,
        step: &Step,
    ) -> Result<TriedOut, ThreadsError> {
        let steps = &self.trace.steps;
        let before = (0..depth as u32).chain(self.sequence.iter().copied());
        let mut follow: Vec<Process> = before.map(|at| steps[at as usize].process).collect();
        let at = follow.len();
        follow.push(step.process);
        // Who will sleep if it becomes a branch of its own: the last one there.
        let mut ahead = std::mem::take(&mut self.ahead);
        self.sleepers_after_all(depth, &mut ahead);
        let mut trial = self.trace.begin_like(depth);
        std::mem::swap(&mut trial.sets, &mut self.trace.sets);
        let job = Job {
            follow: &follow,
            keep: depth,
            sleep: &ahead.asleep,
            order: self.order,
            limit: self.options.limit.max(follow.len()),
        };
        let run = threads.try_out(&job, &mut trial);
        std::mem::swap(&mut trial.sets, &mut self.trace.sets);
        self.ahead = ahead;
        let kept = run?;
        self.counts.tried_out += u64::from(kept == TriedOut::Ran);
        let same = |found: &&Step| {
            (found.process, found.tick, found.object, found.site)
                == (step.process, step.tick, step.object, step.site)
        };
        let Some(found) = trial.steps.get(at).filter(same) else {
            return Err(ThreadsError::Diverged { at });
        };
        let mut row = std::mem::take(&mut self.foresight.row);
        let name = self.name_after(depth, found, &mut row);
        self.foresight.row = row;
        self.foresight.learn(found, name);
        Ok(kept)
    }
}
