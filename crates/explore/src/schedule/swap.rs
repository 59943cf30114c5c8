//! Both orders of a data race: the beginning of an execution after which the two accesses are the next steps of their processes, so that either
//! may come first.

use super::data_races::{DataRace, Party};
use super::explored::Explored;
use super::step::{Access, Process, Step};

/// What comes before a data race, and who takes part in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Swap {
    pub before: Vec<Process>,
    pub first: Process,
    pub second: Process,
}

impl Swap {
    /// The schedule in which they come as they did, or the other way round. Afterwards the second one's thread goes on.
    pub fn schedule(&self, swapped: bool) -> Vec<Process> {
        let mut schedule = self.before.clone();
        match swapped {
            false => schedule.extend([self.first, self.second]),
            true => schedule.extend([self.second, self.first]),
        }
        schedule
    }
}

/// Of the last execution, where the accesses of a race are transitions and nothing comes between them.
pub fn swap(search: &dyn Explored, race: &DataRace) -> Option<Swap> {
    let steps = &search.trace().steps;
    let is_by = |step: &Step, party: &Party| {
        search.order().thread(step.process) == usize::from(party.thread)
            && step.site == party.site
            && (step.access == Access::Write) == party.write
            && step.object == race.object
            && step.mask & race.mask != 0
    };
    let before = |first: usize, second: usize| {
        let step = &steps[first];
        let known = search.clock(second).get(usize::from(step.process));
        known.is_some_and(|&known| known >= step.tick)
    };
    for second in (0..steps.len()).filter(|&at| is_by(&steps[at], &race.second)) {
        let Some(first) = (0..second).rfind(|&at| is_by(&steps[at], &race.first)) else {
            continue;
        };
        let between = |&at: &usize| before(first, at) && before(at, second);
        if (first + 1..second).any(|at| between(&at)) {
            continue;
        }
        let needed = |&at: &usize| {
            at != first && (before(at, first) && at < first || before(at, second)) && at < second
        };
        let needed = (0..second).filter(needed);
        return Some(Swap {
            before: needed.map(|at| steps[at].process).collect(),
            first: steps[first].process,
            second: steps[second].process,
        });
    }
    None
}
