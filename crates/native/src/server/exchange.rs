//! Jobs go into slots of shared memory and come back as executions.

use super::{ABANDONED, GRACE, MOST_OF_A_HANG, PULSE, Server};
use crate::deadline::Deadline;
use crate::decode::{Decoded, decode_most};
use crate::error::SubjectError;
use crate::execution::{Execution, Foreign, Outcome};
use crate::job::{Draw, HtmFailures, Job, Policy, WaitPatience};
use crate::outcome::outcome;
use crate::shared::{futex_wait, futex_wake, set_bits, set_signals, set_streamed};
use landfall_vocab::shared::{
    DRAW_ORDER, End, JobHeader, MOST_INPUTS, MOST_SLEEPERS, SLOTS, TICK, htm, isolation, job,
    slot_state,
};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

impl Server {
    pub(super) fn post(
        &mut self,
        job: &Job,
        lines: &[crate::job::Line],
        flags: u32,
    ) -> Result<usize, SubjectError> {
        if let Some(points) = &job.threads.points
            && !self
                .points
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, points))
        {
            self.set_points(points);
        }
        let told = self.streamed.as_ref();
        let told = told.map(|lines| lines.as_ref().map(Arc::as_ptr));
        if told != Some(job.threads.streamed.as_ref().map(Arc::as_ptr)) {
            let lines = job.threads.streamed.clone();
            set_streamed(&self.shared.control().streamed, lines.as_deref());
            self.streamed = Some(lines);
            self.told += 1;
        }
        if let Some(signals) = &job.threads.signals
            && !(self.signals.as_ref()).is_some_and(|known| Arc::ptr_eq(known, signals))
        {
            set_signals(self.shared.control(), signals);
            self.signals = Some(signals.clone());
            self.told += 1;
        }
        let mut header = header(job, lines.len(), flags);
        header.told = self.told;
        if self.in_flight == 0 {
            // One job at a time always uses the first slot, whose memory is there already.
            self.next = 0;
            self.shared.control().cursor.store(0, Release);
        }
        if self.shared.slot(self.next).state().load(Acquire) != slot_state::FREE {
            // Posted ahead, and nobody came for it.
            self.await_slot(self.next, job.limits.patience());
        }
        let slot = self.shared.slot(self.next);
        if !slot.fill(header, lines, job) {
            return Err(SubjectError::ImageTooLarge { lines: lines.len() });
        }
        slot.state().store(slot_state::POSTED, Release);
        let control = self.shared.control();
        control.doorbell.fetch_add(1, SeqCst);
        if control.server_asleep.load(SeqCst) != 0 {
            futex_wake(&control.doorbell);
        }
        self.next += 1;
        self.in_flight += 1;
        Ok(self.next - 1)
    }

    /// Waits for everything that is in flight, which nobody wants any more.
    pub(crate) fn settle(&mut self) {
        self.abandon(self.next.saturating_sub(SLOTS)..self.next);
        self.in_flight = 0;
    }

    /// Waits a little for jobs whose executions nobody wants any more. A server that has too much to do is replaced.
    pub(crate) fn abandon(&mut self, jobs: impl IntoIterator<Item = usize>) {
        let end = Instant::now() + ABANDONED;
        for index in jobs {
            if self.shared.slot(index).state().load(Acquire) == slot_state::FREE {
                continue;
            }
            let patience = WaitPatience {
                wall: Duration::MAX,
                until: Deadline::new(Some(end)).later(Duration::ZERO),
            };
            if self.await_slot(index, patience) != Waited::Done {
                // If it cannot be, whoever wants something of it will say so.
                let _ = self.replace();
                return;
            }
        }
    }

    /// From now on plain accesses of these origins are steps where threads run.
    pub(super) fn set_points(&mut self, origins: &Arc<Vec<u64>>) {
        set_bits(&self.shared.control().points, origins);
        self.points = Some(origins.clone());
        self.told += 1;
    }

    pub(super) fn collect(&mut self, index: usize, job: &Job) -> Result<Execution, SubjectError> {
        let waited = self.await_slot(index, job.limits.patience());
        let execution = self.read(index, job, waited, KeepTrace::Events);
        self.notice_sites();
        self.shared.trim(index, execution.trace_bytes);
        if waited == Waited::ServerGone {
            self.replace()?;
        }
        Ok(execution)
    }

    /// A run that loads a library brings sites that were not there before.
    pub(super) fn notice_sites(&mut self) {
        if self.shared.control().sites.load(Relaxed) > self.sites.len() as u64 {
            self.read_sites();
        }
    }

    /// Waits for a slot to be done; a run that takes longer than there is patience is killed.
    pub(super) fn await_slot(&mut self, index: usize, patience: WaitPatience) -> Waited {
        let mut waited = self.wait(index, patience);
        let (end, status, _) = self.shared.slot(index).end();
        if waited == Waited::Done && end == End::Died as u32 && status == libc::SIGKILL {
            // Nothing a run does ends it so, and it was not us.
            self.killed = true;
            waited = Waited::ServerGone;
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        self.trace_bytes = self.shared.slot(index).trace_len();
        waited
    }

    pub(super) fn wait(&mut self, index: usize, patience: WaitPatience) -> Waited {
        const SPINS: u32 = 2000;
        for _ in 0..SPINS {
            if self.take(index) {
                return Waited::Done;
            }
            std::hint::spin_loop();
        }
        let mut started = Instant::now();
        let mut killed: Option<Instant> = None;
        loop {
            let seen = self.shared.control().finished.load(Acquire);
            // A run that waits for its client takes no time of its own.
            started += self.answer(patience.until);
            if self.take(index) {
                return if killed.is_some() {
                    Waited::Killed
                } else {
                    Waited::Done
                };
            }
            self.shared.control().checker_asleep.store(1, SeqCst);
            if self.take(index) {
                self.shared.control().checker_asleep.store(0, SeqCst);
                return if killed.is_some() {
                    Waited::Killed
                } else {
                    Waited::Done
                };
            }
            futex_wait(&self.shared.control().finished, seen, PULSE);
            self.shared.control().checker_asleep.store(0, SeqCst);
            let ended = self.child.try_wait();
            if !matches!(ended, Ok(None)) {
                // It may have finished the job before it died.
                if self.take(index) {
                    return Waited::Done;
                }
                let status = ended.ok().flatten();
                self.killed = status.is_some_and(|status| status.signal() == Some(libc::SIGKILL));
                return Waited::ServerGone;
            }
            match killed {
                None if started.elapsed() > patience.wall || patience.until.reached().is_some() => {
                    killed = Some(Instant::now());
                    let run = self.shared.control().child_pid.load(Acquire) as i32;
                    if run > 0 {
                        kill(run);
                    }
                }
                Some(when) if when.elapsed() > GRACE => {
                    self.kill_all();
                    return Waited::ServerGone;
                }
                _ => {}
            }
        }
    }

    /// Answers a run that asks what a command of its client says; how long that took.
    fn answer(&self, until: Deadline) -> Duration {
        let Some(asked) = self.shared.question() else {
            return Duration::ZERO;
        };
        let began = Instant::now();
        let answer = match &self.program.client {
            Some(script) => {
                let learnt = script.learn(&asked, &self.directory(), until);
                self.shared.set_replies(script.conversation().replies());
                learnt
            }
            None => Err("there is no client".to_owned()),
        };
        self.shared.answered(answer);
        began.elapsed()
    }

    pub(super) fn take(&self, index: usize) -> bool {
        let slot = self.shared.slot(index);
        // Nobody else takes it: looking does, and leaves the line where the run can use it.
        let done = slot.state().load(Acquire) == slot_state::DONE;
        if done {
            slot.state().store(slot_state::FREE, Relaxed);
        }
        done
    }

    pub(super) fn read(
        &self,
        index: usize,
        job: &Job,
        waited: Waited,
        keep: KeepTrace,
    ) -> Execution {
        let slot = self.shared.slot(index);
        let raw = slot.outcome();
        let outcome = self.outcome(&raw, waited);
        let most = match (keep, &outcome) {
            (KeepTrace::Nothing, _) => None,
            (
                KeepTrace::Events,
                Outcome::Hang { .. }
                | Outcome::Exhausted { .. }
                | Outcome::Stuck { .. }
                | Outcome::Wedged,
            ) => Some(MOST_OF_A_HANG),
            (KeepTrace::Events, _) => Some(usize::MAX),
        };
        let Decoded {
            events,
            stacks,
            damaged,
            interrupted,
            ..
        } = most
            .map(|most| slot.trace(|trace| decode_most(trace, most, job.limits.until)))
            .unwrap_or_default();
        // Of an execution that was not read to its end nothing is known.
        let outcome = if interrupted {
            Outcome::Wedged
        } else {
            outcome
        };
        let frames = (raw.frames as usize).min(raw.frame.len());
        let left = raw.budget_left.max(0) as u64;
        Execution {
            events,
            stacks,
            outcome,
            stack: (raw.pc != 0)
                .then_some(raw.pc + 1)
                .into_iter()
                .chain(raw.frame[..frames].iter().copied())
                .collect(),
            stdout: slot.stdout(raw.stdout_len, job.limits.output_bytes),
            stderr: slot.stderr(raw.stderr_len, job.limits.output_bytes),
            foreign: (raw.foreign.reads + raw.foreign.writes > 0).then_some(Foreign {
                reads: raw.foreign.reads,
                writes: raw.foreign.writes,
                address: raw.foreign.address,
                pc: raw.foreign.pc,
            }),
            steps: job.limits.events.saturating_sub(left),
            damaged,
            in_place: raw.isolation == isolation::RESTART,
            audit_bytes: raw.audit_bytes,
            trace_bytes: slot.trace_len(),
            read_input: raw.read_input != 0,
            squeezed: slot.squeezed(),
            final_state: slot.final_state(),
        }
    }

    pub(super) fn outcome(&self, raw: &landfall_vocab::shared::Outcome, waited: Waited) -> Outcome {
        match waited {
            Waited::Done => outcome(raw),
            Waited::Killed if raw.end != End::Died as u32 => outcome(raw),
            Waited::Killed | Waited::ServerGone => Outcome::Wedged,
        }
    }
}

/// What of a trace becomes part of an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepTrace {
    Events,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    Done,
    Killed,
    ServerGone,
}

/// What the runtime is told about a job.
pub(crate) fn header(job: &Job, lines: usize, flags: u32) -> JobHeader {
    let set = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
    let stop = job.threads.stop.as_ref();
    JobHeader {
        flags: flags
            | set(job.stacks, job::STACKS)
            | set(job.reads_only, job::READS_ONLY)
            | set(job.fork, job::FORK)
            | set(job.audit, job::AUDIT)
            | set(job.final_state, job::STATE)
            | set(job.schedule.is_some(), job::THREADS)
            | set(job.threads.everywhere, job::EVERYWHERE)
            | set(job.threads.persistency, job::PERSISTENCY)
            | set(job.threads.buffered, job::TSO)
            | set(job.threads.announced, job::ANNOUNCED)
            | set(job.threads.named, job::NAMED)
            | set(job.threads.turns, job::TURNS)
            | set(job.threads.sections, job::SECTIONS)
            | set(job.threads.leftovers, job::LEFTOVERS)
            | set(job.threads.creations, job::CREATIONS)
            | set(job.threads.mappings, job::MAPPINGS)
            | set(job.threads.transactions, job::TRANSACTIONS)
            | set(
                job.threads.signals.is_some() || job.threads.asks_for_signals,
                job::SIGNALS,
            )
            | set(
                job.threads.policy == Policy::PreemptFirst,
                job::PREEMPT_FIRST,
            ),
        stop_origin: stop.map_or(0, |stop| stop.origin),
        stop_at: stop.map_or(0, |stop| stop.bytes.0),
        stop_length: stop.map_or(0, |stop| stop.bytes.1.into()),
        stop_thread: stop.map_or(0, |stop| stop.thread.into()),
        stop_steps: stop.map_or(0, |stop| stop.steps),
        failures: job.failures,
        budget: i64::try_from(job.limits.events).unwrap_or(i64::MAX),
        trace_limit: job.limits.trace_bytes,
        lines: lines as u64,
        stdin_len: job.stdin.len() as u64,
        ticks: (job.limits.processor.as_millis() as u64 / TICK).max(1),
        output_limit: job.limits.output_bytes,
        memory: job.limits.memory_bytes,
        choices: job.schedule.as_ref().map_or(0, |steps| steps.len() as u64),
        keep: job.threads.keep as u64,
        sleepers: job.threads.sleepers.len().min(MOST_SLEEPERS) as u64,
        inputs: job.inputs.len().min(MOST_INPUTS) as u64,
        steps: job.threads.most_steps.unwrap_or(u64::MAX),
        dice: match job.threads.policy {
            Policy::Dice(dice, _) => dice.get(),
            Policy::Quiet | Policy::PreemptFirst => 0,
        },
        draw: match job.threads.policy {
            Policy::Dice(_, Draw::Ranks { depth, .. }) => depth.max(1),
            Policy::Dice(_, Draw::Order) => DRAW_ORDER,
            _ => 0,
        },
        length: match job.threads.policy {
            Policy::Dice(_, Draw::Ranks { length, .. }) => length.max(1),
            _ => 0,
        },
        companions: job.threads.companions().into(),
        streams: job.threads.streams.into(),
        signals: job.threads.timer_signals,
        htm: match job.threads.htm.failures {
            HtmFailures::Full => htm::FULL,
            HtmFailures::Retry => htm::RETRY,
            HtmFailures::Stm => htm::STM,
        },
        cache_sets: job.threads.htm.cache.sets,
        cache_ways: job.threads.htm.cache.ways,
        told: 0,
        unused: 0,
    }
}

fn kill(process: i32) {
    // SAFETY: a system call. The process is a child the server has not reaped: it clears the number before reaping.
    unsafe { libc::kill(process, libc::SIGKILL) };
}
