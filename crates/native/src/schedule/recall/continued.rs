//! The next execution goes on from where it leaves the last one: that much of it is gone back, and the rest is put together as transitions
//! at once, without a trace in between.

use super::additions::{Additions, Beside, TraceSizes};
use super::course::{Course, CourseMoment, pick};
use super::known::{Known, Went};
use landfall_explore::schedule::{Job, Process, Processes, Sleepers, Step, Trace};
use landfall_vocab::shared::FEW_THREADS;

#[derive(Clone, Debug)]
pub(super) struct Continued {
    course: Course,
    /// Before each choice.
    moments: Vec<(CourseMoment, TraceSizes)>,
    /// Who was chosen.
    went: Vec<Process>,
    beside: Beside,
    sleepers: Sleepers,
    /// All of that is of the last execution; nothing that it rests on was changed since.
    holds: bool,
}

impl Default for Continued {
    fn default() -> Continued {
        Continued {
            course: Course::to_go_back_on(),
            moments: Vec::new(),
            went: Vec::new(),
            beside: Beside::default(),
            sleepers: Sleepers::default(),
            holds: false,
        }
    }
}

impl Continued {
    /// The last execution was another one, or memory is used for something else.
    pub(super) fn forget(&mut self) {
        self.holds = false;
    }

    /// Puts the execution together that a job asks for, with this many threads. The code it ends with; if it is not known, nothing is left in the
    /// trace that was not there before.
    pub(super) fn run(
        &mut self,
        (known, additions): (&mut Known, &Additions),
        threads: usize,
        job: &Job<'_>,
        trace: &mut Trace,
    ) -> Option<i32> {
        if known.places.is_empty() || trace.steps.len() != job.keep {
            return None;
        }
        let code = self.go_on((known, additions), threads, job, trace);
        self.holds = code.is_some();
        match code {
            Some(_) => self.beside.copy_to(trace),
            None => {
                trace.steps.truncate(job.keep);
                trace.enabled.truncate(job.keep);
            }
        }
        code
    }

    /// Is an execution what this would have made of it? Also where that is not known.
    pub(super) fn agrees(
        &mut self,
        (known, additions): (&mut Known, &Additions),
        threads: usize,
        job: &Job<'_>,
        trace: &Trace,
    ) -> bool {
        let mut again = Trace::default();
        let follow: Vec<Process> = trace.steps.iter().map(|step| step.process).collect();
        let job = Job {
            follow: &follow,
            keep: 0,
            sleep: &[],
            ..*job
        };
        self.forget();
        again.sets.clone_from(&trace.sets);
        let code = self.run((known, additions), threads, &job, &mut again);
        self.forget();
        code.is_none()
            || again.steps == trace.steps
                && again.enabled == trace.enabled
                && self.beside.is_of(trace)
    }

    fn go_on(
        &mut self,
        (known, additions): (&mut Known, &Additions),
        threads: usize,
        job: &Job<'_>,
        trace: &mut Trace,
    ) -> Option<i32> {
        let mut memory = std::mem::take(&mut known.memory);
        let back = self.holds
            && self.went.get(..job.keep) == job.follow.get(..job.keep)
            && match self.moments.get(job.keep).copied() {
                Some((moment, sizes)) => {
                    self.course.go_back(&moment, &mut memory);
                    self.beside.cut(&sizes);
                    true
                }
                None => false,
            };
        if back {
            self.moments.truncate(job.keep);
            self.went.truncate(job.keep);
        } else {
            memory.begin(FEW_THREADS);
            self.course.begin();
            self.moments.clear();
            self.went.clear();
            self.beside.clear();
        }
        let mut putting = Putting {
            known,
            additions,
            threads,
            memory: &mut memory,
            asleep: 0,
        };
        let code = self.put_together(&mut putting, back, job, trace);
        known.memory = memory;
        code
    }

    fn put_together(
        &mut self,
        with: &mut Putting<'_>,
        back: bool,
        job: &Job<'_>,
        trace: &mut Trace,
    ) -> Option<i32> {
        let order = &job.order;
        if !back {
            self.pass(with, 0, false)?;
        }
        self.sleepers
            .restart(order, &trace.steps[..job.keep], job.sleep);
        with.sleep(&self.sleepers);
        while !self.course.now.ends {
            if let Some(thread) = self.course.hurries(with.known, with.memory) {
                self.pass(with, thread, false)?;
                continue;
            }
            let steps = self.course.now.steps;
            let enabled = self.course.enabled(with.known, with.memory);
            if enabled == 0 || steps >= job.limit {
                return None;
            }
            let process = match job.follow.get(steps) {
                Some(&told) => with.choice(told),
                None => pick(enabled & !with.asleep, self.course.now.current)?,
            };
            if process >= 64 || enabled >> process & 1 == 0 {
                return None;
            }
            let moment = self.course.moment();
            self.moments.push((moment, self.beside.sizes(steps)));
            let step = match process.checked_sub(FEW_THREADS) {
                None => self.pass(with, process, true)?,
                Some(thread) => self.commit(with, thread)?,
            }?;
            self.went.push(step.process);
            if steps < job.keep {
                // What the search has is what this would have been.
                let there = trace.steps.get(steps)?;
                if *there
                    != (Step {
                        found: there.found,
                        ..step
                    })
                {
                    return None;
                }
                continue;
            }
            trace.steps.push(step);
            trace.enabled.push(with.processes(enabled));
            if with.asleep != 0 {
                self.sleepers.executed(order, &step, &trace.sets);
                with.sleep(&self.sleepers);
            }
        }
        self.course.now.code
    }

    /// A thread takes the step that it stands before: its transition, if that is one.
    fn pass(
        &mut self,
        with: &mut Putting<'_>,
        thread: usize,
        chosen: bool,
    ) -> Option<Option<Step>> {
        let steps = self.course.now.steps;
        let passed = (self.course).pass(with.known, with.memory, thread, chosen)?;
        let went = Went::Way(passed.way);
        (with.additions).add(went, passed.replaced, &mut self.beside, steps)
    }

    fn commit(&mut self, with: &mut Putting<'_>, thread: usize) -> Option<Option<Step>> {
        let steps = self.course.now.steps;
        let (store, found) = self.course.commit(with.memory, thread)?;
        let went = Went::Commit(store.deed);
        with.additions.add(went, found, &mut self.beside, steps)
    }
}

/// What an execution is put together of.
struct Putting<'a> {
    known: &'a mut Known,
    additions: &'a Additions,
    threads: usize,
    memory: &'a mut super::memory::SteppedMemory,
    /// As the runtime numbers processes.
    asleep: u64,
}

impl Putting<'_> {
    /// A process of the search as the runtime numbers it.
    fn choice(&self, process: Process) -> usize {
        match usize::from(process).checked_sub(self.threads) {
            None => process.into(),
            Some(companion) => FEW_THREADS + companion,
        }
    }

    fn processes(&self, enabled: u64) -> Processes {
        let companions = enabled >> FEW_THREADS;
        Processes::from(enabled & u64::from(u32::MAX) | companions << self.threads)
    }

    fn sleep(&mut self, sleepers: &Sleepers) {
        let asleep = sleepers.processes().low();
        let companions = asleep >> self.threads;
        self.asleep = asleep & ((1 << self.threads) - 1) | companions << FEW_THREADS;
    }
}
