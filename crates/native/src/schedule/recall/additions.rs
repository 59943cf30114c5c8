//! What each way adds to an execution, as the search sees it: that depends on what its thread has done and found, like the way itself.
//! It is learned from runs as they are read.

use super::known::{Known, NONE, Went};
use landfall_explore::schedule::{
    Birth, Process, Sets, SourceFence, Step, ThreadFailure, Trace, Trailing,
};

/// An object, bytes of it, and whether they are written.
type Accessed = (u32, u64, bool);

/// How much of an execution was there at some moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in super::super) struct TraceSizes {
    pub(in super::super) steps: usize,
    pub(in super::super) trailing: usize,
    pub(in super::super) fences: usize,
    pub(in super::super) births: usize,
    pub(in super::super) failures: usize,
}

/// Of an execution, what steps do not say.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    pub(super) trailing: Vec<Trailing>,
    pub(super) fences: Vec<SourceFence>,
    pub(super) births: Vec<Birth>,
    pub(super) failures: Vec<ThreadFailure>,
}

/// What is added; where something says after which transition it comes, counted from the first one that is added.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Addition {
    step: Option<Step>,
    /// What the step found is what memory holds.
    finds: bool,
    trailing: Box<[Trailing]>,
    fences: Box<[SourceFence]>,
    births: Box<[Birth]>,
    failures: Box<[ThreadFailure]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Additions {
    /// By way, and by the deed that a commit is of.
    of_ways: Vec<Option<Addition>>,
    of_commits: Vec<Option<Addition>>,
    /// Sets that steps and accesses name, by their number.
    sets: Vec<(u32, Vec<(Process, u32)>)>,
    /// What is accessed in sections that steps name.
    sections: Vec<(u32, Vec<Accessed>)>,
}

/// A run added something else than another one did on the same way.
#[derive(Debug)]
pub(super) struct Different;

impl Beside {
    pub(super) fn clear(&mut self) {
        self.cut(&TraceSizes::default());
    }

    pub(super) fn sizes(&self, steps: usize) -> TraceSizes {
        TraceSizes {
            steps,
            trailing: self.trailing.len(),
            fences: self.fences.len(),
            births: self.births.len(),
            failures: self.failures.len(),
        }
    }

    pub(super) fn cut(&mut self, to: &TraceSizes) {
        self.trailing.truncate(to.trailing);
        self.fences.truncate(to.fences);
        self.births.truncate(to.births);
        self.failures.truncate(to.failures);
    }

    pub(super) fn is_of(&self, trace: &Trace) -> bool {
        self.trailing == trace.trailing
            && self.fences == trace.fences
            && self.births == trace.births
            && self.failures == trace.failures
    }

    pub(super) fn copy_to(&self, trace: &mut Trace) {
        trace.trailing.clone_from(&self.trailing);
        trace.fences.clone_from(&self.fences);
        trace.births.clone_from(&self.births);
        trace.failures.clone_from(&self.failures);
    }
}

impl Addition {
    fn of(trace: &Trace, (from, to): (&TraceSizes, &TraceSizes), finds: bool) -> Option<Addition> {
        let mut step = match trace.steps.get(from.steps..to.steps)? {
            [] => None,
            [step] => Some(*step),
            _ => return None,
        };
        if let Some(step) = step.as_mut().filter(|_| finds) {
            step.found = 0;
        }
        let first = from.steps as u32;
        let mut trailing: Box<[Trailing]> = trace.trailing.get(from.trailing..to.trailing)?.into();
        for access in &mut trailing {
            access.after = access.after.wrapping_sub(first);
        }
        let mut fences: Box<[SourceFence]> = trace.fences.get(from.fences..to.fences)?.into();
        for fence in &mut fences {
            fence.after = fence.after.wrapping_sub(first);
            fence.trailing -= from.trailing as u32;
        }
        Some(Addition {
            step,
            finds,
            trailing,
            fences,
            births: trace.births.get(from.births..to.births)?.into(),
            failures: trace.failures.get(from.failures..to.failures)?.into(),
        })
    }

    fn add(&self, beside: &mut Beside, first: usize) {
        let (first, before) = (first as u32, beside.trailing.len() as u32);
        for access in &self.trailing {
            beside.trailing.push(Trailing {
                after: access.after.wrapping_add(first),
                ..*access
            });
        }
        for fence in &self.fences {
            beside.fences.push(SourceFence {
                after: fence.after.wrapping_add(first),
                trailing: fence.trailing + before,
                ..*fence
            });
        }
        beside.births.extend_from_slice(&self.births);
        beside.failures.extend_from_slice(&self.failures);
    }
}

impl Additions {
    /// A run was read, and `known` has learned its ways. `sizes` of its execution are from before each of its records of steps, and from
    /// its end.
    pub(super) fn learn(
        &mut self,
        known: &Known,
        trace: &Trace,
        sizes: &[TraceSizes],
    ) -> Result<(), Different> {
        let went = known.went();
        if went.is_empty() {
            return Ok(());
        }
        if sizes.len() != went.len() {
            return Err(Different);
        }
        let mut from = &TraceSizes::default();
        for (&went, to) in went.iter().zip(sizes) {
            let (place, finds, chosen) = match went {
                Went::Way(way) => {
                    let number = way as usize;
                    if self.of_ways.len() <= number {
                        self.of_ways.resize(number + 1, None);
                    }
                    let way = &known.ways[number];
                    let chosen = known.places[way.from as usize].chosen;
                    (&mut self.of_ways[number], way.replaced != NONE, chosen)
                }
                Went::Commit(NONE) => return Err(Different),
                Went::Commit(deed) => {
                    let number = deed as usize;
                    if self.of_commits.len() <= number {
                        self.of_commits.resize(number + 1, None);
                    }
                    (&mut self.of_commits[number], true, true)
                }
            };
            let addition = Addition::of(trace, (from, to), finds).ok_or(Different)?;
            if addition.step.is_some() != chosen {
                return Err(Different);
            }
            match place {
                Some(known) if *known != addition => return Err(Different),
                Some(_) => {}
                None => {
                    let steps = addition.step.iter().map(|step| step.joined);
                    let accesses = addition.trailing.iter().map(|access| access.joined);
                    for set in steps.chain(accesses).filter(|&set| set != 0) {
                        if !self.sets.iter().any(|(known, _)| *known == set) {
                            self.sets.push((set, trace.sets.joined(set).to_vec()));
                        }
                    }
                    let section = addition.step.map_or(0, |step| step.section);
                    if section != 0 && !self.sections.iter().any(|(known, _)| *known == section) {
                        let accessed = trace.sets.accessed(section).to_vec();
                        self.sections.push((section, accessed));
                    }
                    *place = Some(addition);
                }
            }
            from = to;
        }
        Ok(())
    }

    /// Do sets have the numbers that they had when this was learned?
    pub(super) fn mean_the_same(&self, sets: &Sets) -> bool {
        { self.sets.iter() }.all(|(number, set)| sets.joined(*number) == set) && {
            self.sections.iter()
        }
        .all(|(number, section)| sets.accessed(*number) == section)
    }

    /// Adds what a way, or the commit of a store, adds besides its step. That one, if it has one.
    pub(super) fn add(
        &self,
        went: Went,
        found: u64,
        beside: &mut Beside,
        steps: usize,
    ) -> Option<Option<Step>> {
        let addition = match went {
            Went::Way(way) => self.of_ways.get(way as usize),
            Went::Commit(deed) => self.of_commits.get(deed as usize),
        };
        let addition = addition?.as_ref()?;
        addition.add(beside, steps);
        Some(addition.step.map(|step| match addition.finds {
            true => Step { found, ..step },
            false => step,
        }))
    }
}
