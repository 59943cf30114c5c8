//! Executions that are wanted, of runs that were begun ahead; and runs that are tried out, and are wanted later, perhaps.

use super::NativeThreads;
use super::ahead;
use super::reading::TraceReading;
use crate::execution::Outcome;
use landfall_explore::schedule::{self, Processes, Threads, ThreadsError, Trace, TriedOut};

impl NativeThreads<'_> {
    pub(super) fn take_ahead(
        &mut self,
        number: u32,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let Some(flight) = self.ahead.take(number, self.server) else {
            return self.run(job, trace);
        };
        // At once is sooner than from a trace; and some are to be compared.
        if flight.is_put_together() && self.recall.wants_sizes() {
            return self.run(job, trace);
        }
        let enabled = self.land(flight, job.keep, trace)?;
        // Killed from outside, or by one that was in flight with it.
        let lost = matches!(self.outcome, Outcome::Died { .. } | Outcome::Wedged);
        let stopped = self.outcome == Outcome::Asleep && job.sleep.is_empty();
        if lost
            || stopped
            || self.refuse(trace).is_err()
            || self
                .awake_instead(job, trace, job.follow.len(), &enabled)
                .is_some()
        {
            trace.restart(job.keep);
            return self.run(job, trace);
        }
        self.ended(trace);
        Ok(())
    }

    /// Runs a job, and keeps what it reported where there is room: it counts when it is wanted.
    pub(super) fn try_and_keep(
        &mut self,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Result<TriedOut, ThreadsError> {
        if self.stopped() {
            return Err(ThreadsError::Stopped);
        }
        if self.recall.compares_all() || self.ahead.room(self.last_bytes) == 0 {
            return self.run_to_know(job, trace);
        }
        self.tell(job, trace);
        if let Some(played) = self.recall.play(&self.job) {
            self.recall.take_back(played.trace);
            return self.run_to_know(job, trace);
        }
        let posted = self.ahead.post(self.server, &self.job);
        let patience = self.job.limits.patience();
        let looked = posted.map(|number| self.ahead.look(number, self.server, patience));
        let (Some(number), Some(Ok(Some(landed)))) = (posted, looked) else {
            return self.run_to_know(job, trace);
        };
        trace.restart(job.keep);
        self.take_in(landed, job.keep, job.keep, trace)?;
        self.runs -= 1;
        if matches!(self.outcome, Outcome::Died { .. } | Outcome::Wedged)
            || self.refuse(trace).is_err()
        {
            self.ahead.take(number, self.server);
            return self.run_to_know(job, trace);
        }
        Ok(TriedOut::Kept(number))
    }

    fn run_to_know(
        &mut self,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Result<TriedOut, ThreadsError> {
        let before = (self.runs, self.recalled, self.continued);
        self.run(job, trace)?;
        if self.recalled == before.1 {
            return Ok(TriedOut::Ran);
        }
        // It counts when it is wanted.
        (self.runs, self.recalled, self.continued) = before;
        Ok(TriedOut::Known)
    }

    /// Reads the trace of a run that was posted ahead.
    fn land(
        &mut self,
        flight: ahead::Flight,
        keep: usize,
        trace: &mut Trace,
    ) -> Result<Processes, ThreadsError> {
        if let Some(landed) = flight.landed {
            return self.take_in(landed, flight.keep, keep, trace);
        }
        let patience = self.job.limits.patience();
        self.sizes.clear();
        let sizes = self.recall.wants_sizes().then_some(&mut self.sizes);
        let mut reading = TraceReading {
            sizes,
            until: self.job.limits.until,
            threads: self.threads,
            keep,
            told: flight.keep,
            reader: &mut self.reader,
            beginning: &mut self.beginning,
            sealing: &mut self.sealing,
            reads: &mut self.reads,
            trace,
        };
        let ran = self
            .server
            .collect_raw(flight.slot, patience, |bytes, told| {
                (reading.read(bytes, Some(told.kept)), told.opaque)
            });
        self.ran(ran, trace)
    }
}
