//! A native schedule that does what a refuting execution does, one event after the other.
//!
//! The proof knows events, the native run transitions. An event of a proof is looked for by what it does and where: the
//! address, if that is persistent memory (both have it at the same place), else the line of the source. What the run does besides
//! (accesses that the proof needs no event for) is done on the way. A load happens when its thread makes it, a store when it leaves the
//! store buffer: which is what the order of the proof's events speaks of.

use crate::names::ProgramNames;
use landfall_explore::schedule::{
    Access, Act, Job, Order, Persistency, Process, Processes, Step, Threads, ThreadsError, Trace,
};
use landfall_native::NativeThreads;
use landfall_prove::witness::{self, Deed, Refutation};

/// Transitions of a native run until an event must have shown itself.
const PATIENCE: usize = 300;
/// Runs in all.
const RUNS: u64 = 20_000;

/// Who takes the steps, in this order, as far as the refutation says.
pub(crate) fn schedule(
    native: &mut NativeThreads<'_>,
    names: &ProgramNames,
    refutation: &Refutation,
) -> Result<Vec<Process>, ThreadsError> {
    let order = native.order(Persistency::Lines);
    let mut known: Vec<u64> = refutation.steps.iter().filter_map(persistent).collect();
    known.sort_unstable();
    known.dedup();
    let mut guide = Guide {
        native,
        names,
        order,
        known,
        schedule: Vec::new(),
        issued: Vec::new(),
        enabled: Processes::default(),
        waits: false,
        trace: Trace::default(),
    };
    guide.look()?;
    let whole = refutation.alone || !refutation.failed;
    let wanted = |step: &&witness::RefutationStep| {
        (whole || step.before_failure) && !step.joined && step.deed != Deed::Other
    };
    for (number, step) in refutation.steps.iter().enumerate() {
        if !wanted(&step) {
            continue;
        }
        if guide.native.runs > RUNS {
            break;
        }
        let mut later = refutation.steps[number + 1..].iter();
        guide.waits =
            is_in_vain(step) && !later.any(|later| later.thread == step.thread && !later.joined);
        match step.deed {
            Deed::WriteBack => guide.issue(step)?,
            _ => guide.follow(step)?,
        }
    }
    Ok(guide.schedule)
}

struct Guide<'a, 's> {
    native: &'a mut NativeThreads<'s>,
    names: &'a ProgramNames,
    order: Order,
    /// Where events of the proof access persistent memory.
    known: Vec<u64>,
    schedule: Vec<Process>,
    /// Write-backs that were seen begun: by whom, and the line.
    issued: Vec<(usize, u64)>,
    /// Who can go on after it, as bits.
    enabled: Processes,
    /// The event is one that its thread waits for, and nothing comes after it: nobody is to bring it about.
    waits: bool,
    trace: Trace,
}

/// It looked at a lock or the like, and could not go on.
fn is_in_vain(step: &witness::RefutationStep) -> bool {
    step.deed == Deed::Lock && step.written.is_none()
}

impl Guide<'_, '_> {
    /// Runs what there is, and sees who can go on.
    fn look(&mut self) -> Result<(), ThreadsError> {
        let job = Job {
            follow: &self.schedule,
            keep: 0,
            sleep: &[],
            order: self.order,
            // What follows is asked for one by one: threads that spin would go on for long.
            limit: self.schedule.len() + 1,
        };
        self.trace.restart(0);
        self.native.run(&job, &mut self.trace)?;
        let next = self.trace.enabled.get(self.schedule.len());
        self.enabled = next.cloned().unwrap_or_default();
        Ok(())
    }

    fn can(&self, process: Process) -> bool {
        self.enabled.contains(process)
    }

    /// Goes on until an event has happened. An event that is no transition of the run changes nothing.
    fn follow(&mut self, wanted: &witness::RefutationStep) -> Result<(), ThreadsError> {
        let before = (self.schedule.len(), self.enabled.clone());
        for _ in 0..PATIENCE {
            let Some(process) = self.who(wanted) else {
                break;
            };
            let at = self.schedule.len();
            self.schedule.push(process);
            self.look()?;
            let Some(step) = self.trace.steps.get(at).copied() else {
                break;
            };
            if self.shows(&step, wanted) {
                return Ok(());
            }
            // Every store of the program to persistent memory is an event: the thread is beyond the one that was looked for.
            let own = self.order.thread(process) == wanted.thread.index();
            if own && step.persistent && step.access == Access::Write && self.is_known(&step) {
                break;
            }
        }
        self.schedule.truncate(before.0);
        self.enabled = before.1;
        Ok(())
    }

    /// Goes on until a thread has begun a write-back, which is no transition by itself: it belongs to the one before it.
    fn issue(&mut self, wanted: &witness::RefutationStep) -> Result<(), ThreadsError> {
        let thread = wanted.thread.index();
        let Some(line) = persistent(wanted).map(|offset| offset / 64) else {
            return Ok(());
        };
        let one = (thread, line);
        let before = self.issued.iter().filter(|&&known| known == one).count();
        let start = (self.schedule.len(), self.enabled.clone());
        for _ in 0..PATIENCE {
            if self.write_backs()?.filter(|&begun| begun == one).count() > before {
                self.issued.push(one);
                return Ok(());
            }
            let Some(process) = self.who(wanted) else {
                break;
            };
            self.schedule.push(process);
            self.look()?;
        }
        self.schedule.truncate(start.0);
        self.enabled = start.1;
        Ok(())
    }

    /// The write-backs that were begun so far.
    fn write_backs(&mut self) -> Result<impl Iterator<Item = (usize, u64)>, ThreadsError> {
        let mut trace = Trace::default();
        if !self.schedule.is_empty() {
            let job = Job {
                follow: &self.schedule,
                keep: 0,
                sleep: &[],
                order: self.order,
                limit: self.schedule.len(),
            };
            self.native.run(&job, &mut trace)?;
        }
        let native = &self.native;
        let begun = trace.write_backs.into_iter();
        Ok(begun.filter_map(|of| {
            let line = native.line(of.object)?;
            Some((usize::from(of.thread), line.start().0 / 64))
        }))
    }

    /// The thread or its store buffer, whichever it takes; where both wait, somebody they may wait for.
    fn who(&self, wanted: &witness::RefutationStep) -> Option<Process> {
        let thread = wanted.thread.index();
        let mut own: Vec<Process> = self.order.commits_of(thread).collect();
        let thread = thread as Process;
        match wanted.deed {
            Deed::Store | Deed::Flush => own.push(thread),
            _ => own.insert(0, thread),
        }
        // Whoever creates the thread comes before others that are there: each with its store buffer, which it may wait for.
        let mut others: Vec<Process> = (0..self.order.processes() as Process).collect();
        others.sort_by_key(|&p| self.order.thread(p));
        if self.waits {
            others.clear();
        }
        own.into_iter().chain(others).find(|&p| self.can(p))
    }

    /// Does a transition touch what events of the proof touch? The library has words of its own (a lock, a heap's).
    fn is_known(&self, step: &Step) -> bool {
        let Some(line) = self.native.line(step.object) else {
            return false;
        };
        let here = |offset: &u64| {
            let byte = offset.checked_sub(line.start().0);
            byte.is_some_and(|byte| byte < 64 && step.mask >> byte & 1 == 1)
        };
        self.known.iter().any(here)
    }

    fn shows(&self, step: &Step, wanted: &witness::RefutationStep) -> bool {
        if self.order.thread(step.process) != wanted.thread.index() {
            return false;
        }
        let run = match wanted.deed {
            Deed::Load => step.act == Act::Load,
            Deed::Store => matches!(step.act, Act::Commit | Act::Store),
            Deed::Rmw => matches!(step.act, Act::Rmw | Act::Cas),
            Deed::Lock | Deed::Unlock => matches!(step.act, Act::Sync(_)),
            Deed::Flush => step.act == Act::Flush,
            Deed::WriteBack | Deed::Other => false,
        };
        let persistent = persistent(wanted);
        let line = self.native.line(step.object).filter(|_| step.persistent);
        run && match (persistent, line) {
            (Some(offset), Some(line)) => {
                let place = offset.checked_sub(line.start().0);
                place.is_some_and(|byte| {
                    byte < 64 && (wanted.deed == Deed::Flush || step.mask >> byte & 1 == 1)
                })
            }
            (None, None) => self.same_place(step, wanted),
            _ => false,
        }
    }

    fn same_place(&self, step: &Step, wanted: &witness::RefutationStep) -> bool {
        let here = self.names.origin(self.native.origin(step.site));
        match (here, &wanted.place) {
            (Some(here), Some(there)) => {
                let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
                here.line == there.line && name(&here.file) == name(&there.file)
            }
            _ => true,
        }
    }
}

/// Where an event accesses persistent memory. The state of a lock is not there, even if the lock is.
fn persistent(step: &witness::RefutationStep) -> Option<u64> {
    match step.deed {
        Deed::Lock | Deed::Unlock => None,
        _ => landfall_native::persistent_offset(step.at?),
    }
}
