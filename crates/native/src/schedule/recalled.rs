//! Executions that are put together from what threads are known to do, instead of run ([`super::recall`]).

use super::NativeThreads;
use super::ahead::Landed;
use super::reading::TraceReading;
use crate::execution::Outcome;
use crate::server::RunTold;
use landfall_explore::schedule::{self, Processes, Threads, ThreadsError, Trace};

impl NativeThreads<'_> {
    /// Goes on from the last execution, if what threads do in this one is known.
    pub(super) fn goes_on(&mut self, job: &schedule::Job<'_>, trace: &mut Trace) -> bool {
        if self.reads.is_some() || self.sealing.is_some() || self.reader.whole {
            return false;
        }
        let told = (&self.job, self.threads);
        let Some(code) = self.recall.go_on(told, job, trace) else {
            return false;
        };
        let reader = &self.reader;
        self.recall
            .tell_alike(trace, |trace| reader.tell_alike(trace));
        self.outcome = Outcome::Exited { code };
        self.runs += 1;
        self.recalled += 1;
        self.continued += 1;
        true
    }

    /// Takes in an execution that is put together from what is known, if it can be.
    pub(super) fn recalled(
        &mut self,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Result<Option<Processes>, ThreadsError> {
        let Some(played) = self.recall.play(&self.job) else {
            return Ok(None);
        };
        let compares = self.recall.compares();
        let wrong = || {
            ThreadsError::CannotRun("a thread did something else though it found the same".into())
        };
        if compares && !self.comes_true(&played)? {
            return Err(wrong());
        }
        let told = self.job.threads.keep;
        let enabled = self.take_in(played, told, job.keep, trace)?;
        if compares && !self.recall.would_go_on_to(self.threads, job, trace) {
            self.mistaken = true;
            return Err(wrong());
        }
        Ok(Some(enabled))
    }

    /// Is a run of the job like this?
    fn comes_true(&mut self, played: &Landed) -> Result<bool, ThreadsError> {
        let patience = self.job.limits.patience();
        let cleared = self.ahead.clear_the_way(self.server, patience);
        let ran = cleared.and_then(|()| {
            self.server
                .run_raw_with(&self.job, |bytes, _: RunTold| bytes == played.trace)
        });
        match ran {
            Ok((Outcome::Wedged | Outcome::Died { .. }, ..)) if self.stopped() => {
                Err(ThreadsError::Stopped)
            }
            Ok((outcome, _, same)) => {
                self.mistaken = !same || outcome != played.outcome;
                Ok(!self.mistaken)
            }
            Err(error) => {
                let why = error.to_string();
                self.error = Some(error);
                Err(ThreadsError::CannotRun(why))
            }
        }
    }

    /// Reads the trace of a run whose slot was needed, or of none.
    pub(super) fn take_in(
        &mut self,
        landed: Landed,
        told: usize,
        keep: usize,
        trace: &mut Trace,
    ) -> Result<Processes, ThreadsError> {
        self.sizes.clear();
        let learns = landed.told.is_some();
        let sizes = (learns && self.recall.wants_sizes()).then_some(&mut self.sizes);
        let mut reading = TraceReading {
            until: self.job.limits.until,
            threads: self.threads,
            keep,
            told,
            reader: &mut self.reader,
            beginning: &mut self.beginning,
            sealing: &mut self.sealing,
            reads: &mut self.reads,
            trace,
            sizes,
        };
        let read = reading.read(&landed.trace, landed.told.map(|told| told.kept));
        let opaque = landed.told.is_none_or(|told| told.opaque);
        if landed.told.is_none() {
            self.recalled += 1;
            self.recall.take_back(landed.trace);
        }
        let ran = Ok((landed.outcome, landed.enabled, (read, opaque)));
        self.ran_as(ran, learns.then_some(&*trace))
    }
}
