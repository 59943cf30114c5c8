//! Executions that are put together from what threads are known to do, instead of run ([`super::recall`]).

use super::NativeThreads;
use super::ahead::Landed;
use super::reading::TraceReading;
use crate::execution::Outcome;
use crate::server::RunTold;
use landfall_explore::schedule::{Processes, Threads, ThreadsError, Trace};

impl NativeThreads<'_> {
    /// Takes in an execution that is put together from what is known, if it can be.
    pub(super) fn recalled(
        &mut self,
        keep: usize,
        trace: &mut Trace,
    ) -> Result<Option<Processes>, ThreadsError> {
        let Some(played) = self.recall.play(&self.job) else {
            return Ok(None);
        };
        if self.recall.compares() && !self.comes_true(&played)? {
            return Err(ThreadsError::CannotRun(
                "a thread did something else though it found the same".into(),
            ));
        }
        let told = self.job.threads.keep;
        self.take_in(played, told, keep, trace).map(Some)
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
        };
        let read = reading.read(&landed.trace, landed.told.map(|told| told.kept));
        let opaque = landed.told.is_none_or(|told| told.opaque);
        if landed.told.is_none() {
            self.recalled += 1;
            self.recall.take_back(landed.trace);
        }
        let learns = landed.told.is_some();
        self.ran_as(Ok((landed.outcome, landed.enabled, (read, opaque))), learns)
    }
}
