//! One server process and the conversation with it. Jobs and executions pass through shared memory, several jobs in flight;
//! whatever a run does to its process, the server answers or is replaced.

use crate::decode::decode_most;
use crate::error::SubjectError;
use crate::execution::{Execution, Foreign, Outcome};
use crate::files;
use crate::job::{Image, Isolation, Job};
use crate::launch::launch;
use crate::outcome::outcome;
use crate::program::Program;
use crate::shared::{Shared, futex_wait, futex_wake};
use crate::sites::Sites;
use crate::symbols::Symbols;
use landfall_vocab::shared::{
    End, JobHeader, MOST_SLEEPERS, SLOTS, TICK, isolation, job, phase, point, slot_state,
};
use std::collections::VecDeque;
use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

/// Time for constructors.
const START: Duration = Duration::from_secs(30);
/// Time between killing a run and killing its server.
const GRACE: Duration = Duration::from_secs(3);
/// In-place runs between two that are compared with a fork, at most; at first, as many as there were before.
const SAMPLE_EVERY: u64 = 4096;
/// Events kept of a run that does not end; past them, only its first reads.
const MOST_OF_A_HANG: usize = 1_000_000;
/// How long to sleep before looking whether the server still lives.
const PULSE: Duration = Duration::from_millis(50);

/// A program started and waiting right before `main`.
#[derive(Debug)]
pub struct Server {
    program: Program,
    shared: Shared,
    child: Child,
    errors: std::fs::File,
    sites: Sites,
    /// Everything ever made part of the base, to bring a replaced server to the same state.
    base: Vec<Image>,
    /// The ring slot of the next job.
    next: usize,
    /// Jobs posted and not collected.
    in_flight: usize,
    /// Size of the last trace, which bounds how many may be in flight.
    trace_bytes: u64,
    /// In-place runs before the next one is compared with a fork.
    next_sample: u64,
    /// Plain accesses that are steps.
    points: Option<Arc<Vec<u64>>>,
}

impl Server {
    pub fn start(program: &Program) -> Result<Server, SubjectError> {
        let (shared, child, errors) = launch(program)?;
        let mut server = Server {
            program: program.clone(),
            shared,
            child,
            errors,
            sites: Sites::default(),
            base: Vec::new(),
            next: 0,
            in_flight: 0,
            trace_bytes: 0,
            next_sample: 1,
            points: None,
        };
        server.await_start()?;
        server.read_sites();
        if let Some(directory) = &program.pm_dir {
            let failed = |cause| SubjectError::PoolFiles {
                directory: directory.display().to_string(),
                cause,
            };
            let base = files::base(&directory.canonicalize().map_err(failed)?).map_err(failed)?;
            server.set_base(base)?;
        }
        Ok(server)
    }

    fn read_sites(&mut self) {
        let (table, strings) = self.shared.sites();
        self.sites = Sites::parse(&table, &strings);
    }

    /// Names for the numbers in traces.
    pub fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Where the executable was loaded: code addresses minus this are addresses in its file.
    pub fn load_address(&self) -> u64 {
        self.shared.control().exe_base.load(Relaxed)
    }

    /// Source positions of code addresses in this server and its runs.
    pub fn symbols(&self) -> Symbols {
        let executable = self
            .program
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.program.path.clone());
        Symbols::new(
            self.child.id(),
            executable.display().to_string(),
            self.load_address(),
        )
    }

    /// The server's process, for tests.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Runs in forks and in place so far.
    pub fn runs(&self) -> (u64, u64) {
        let control = self.shared.control();
        (control.forks.load(Relaxed), control.restarts.load(Relaxed))
    }

    /// Why runs of this server that could have happened in place happened in forks, if some did.
    pub fn fallback(&self) -> Option<String> {
        let said = self.program.isolation != Isolation::Fork
            && self.shared.control().text_len.load(Relaxed) > 0;
        said.then(|| self.shared.text())
    }

    /// Runs in forks from now on, for the reason given.
    fn give_up_restarting(&mut self, why: &str) {
        self.shared.set_text(why);
        self.shared
            .control()
            .isolation
            .store(isolation::FORK, Release);
    }

    fn sample_is_due(&self) -> bool {
        self.program.isolation == Isolation::Auto && self.runs().1 >= self.next_sample
    }

    /// With `auto`, some runs are done both ways; a difference ends restarting in place, before anyone relied on it.
    fn sample(
        &mut self,
        job: &Job,
        execution: &Execution,
    ) -> Result<Option<Execution>, SubjectError> {
        if !execution.in_place || !self.sample_is_due() {
            return Ok(None);
        }
        let restarts = self.runs().1;
        self.next_sample = restarts + restarts.clamp(1, SAMPLE_EVERY);
        let check = Job {
            fork: true,
            ..job.clone()
        };
        let index = self.post(&check, &check.image.lines, 0)?;
        let forked = self.collect(index, &check)?;
        let same = forked.events == execution.events
            && forked.outcome == execution.outcome
            && forked.stdout == execution.stdout
            && forked.stderr == execution.stderr;
        if same {
            return Ok(None);
        }
        self.give_up_restarting("a run in place did not do what the same run in a fork does");
        Ok(Some(forked))
    }

    /// What was made part of the base so far; after a start, the pool files that were found.
    pub fn base(&self) -> &[Image] {
        &self.base
    }

    /// Makes an image part of what later images are deltas of.
    pub fn set_base(&mut self, image: Image) -> Result<(), SubjectError> {
        let most = landfall_vocab::shared::IMAGE_LEN / landfall_vocab::shared::IMAGE_LINE;
        for lines in image.lines.chunks(most as usize) {
            let index = self.post(&Job::default(), lines, job::SET_BASE)?;
            self.await_slot(index, Duration::from_secs(60));
        }
        self.base.push(image);
        Ok(())
    }

    /// Runs one job.
    pub fn run(&mut self, job: &Job) -> Result<Execution, SubjectError> {
        let index = self.post(job, &job.image.lines, 0)?;
        let execution = self.collect(index, job)?;
        Ok(self.sample(job, &execution)?.unwrap_or(execution))
    }

    /// Runs one job and hands its trace over as it is, undecoded.
    pub fn run_raw<R>(
        &mut self,
        job: &Job,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<(Outcome, R), SubjectError> {
        let index = self.post(job, &job.image.lines, 0)?;
        let waited = self.await_slot(index, job.limits.wall);
        let slot = self.shared.slot(index);
        let end = self.outcome(&slot.outcome(), waited);
        let result = slot.trace(read);
        self.shared.trim(index, slot.trace_len());
        if waited == Waited::ServerGone {
            self.replace()?;
        }
        Ok((end, result))
    }

    /// The same for a run under a schedule: says who could have gone on where it was stopped, and is compared with a fork now and
    /// then.
    pub(crate) fn run_raw_with<R>(
        &mut self,
        job: &Job,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<(Outcome, u64, R), SubjectError> {
        if self.sample_is_due() {
            let execution = self.run(job)?;
            if !execution.in_place {
                self.next_sample = u64::MAX;
            }
        }
        let index = self.post(job, &job.image.lines, 0)?;
        let waited = self.await_slot(index, job.limits.wall);
        let slot = self.shared.slot(index);
        let raw = slot.outcome();
        let enabled = raw.address;
        let end = self.outcome(&raw, waited);
        let result = slot.trace(read);
        self.shared.trim(index, slot.trace_len());
        if waited == Waited::ServerGone {
            self.replace()?;
        }
        Ok((end, enabled, result))
    }

    /// From now on plain accesses of these origins are steps where threads run.
    fn set_points(&mut self, origins: &Arc<Vec<u64>>) {
        let points = &self.shared.control().points;
        for word in points {
            word.store(0, Relaxed);
        }
        for &origin in &**origins {
            let bit = point(origin);
            points[bit / 64].fetch_or(1 << (bit % 64), Relaxed);
        }
        self.points = Some(origins.clone());
    }

    /// Runs many jobs like [`run_all`](Self::run_all), each trace seen as it lies in shared memory. The executions have events
    /// only if they did not end well. Stops when `each` says so.
    pub(crate) fn skim_all<R>(
        &mut self,
        jobs: &[Job],
        see: impl Fn(usize, &[u8]) -> R,
        mut each: impl FnMut(usize, Execution, R) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        let mut flying = VecDeque::new();
        let mut posted = 0;
        for (done, job) in jobs.iter().enumerate() {
            // A run that is to be compared goes alone: what others did in between would not be the same.
            let depth = if self.sample_is_due() {
                1
            } else {
                self.depth()
            };
            while posted < jobs.len() && (flying.is_empty() || flying.len() < depth) {
                let job = &jobs[posted];
                flying.push_back(self.post(job, &job.image.lines, 0)?);
                posted += 1;
            }
            let Some(index) = flying.pop_front() else {
                break;
            };
            let waited = self.await_slot(index, job.limits.wall);
            let mut execution = self.read(index, job, waited, Keep::Nothing);
            self.notice_sites();
            let due = execution.in_place && self.sample_is_due() && flying.is_empty();
            if due || !execution.outcome.is_ok() {
                execution = self.read(index, job, waited, Keep::Events);
            }
            let mut seen = self.shared.slot(index).trace(|trace| see(done, trace));
            self.shared.trim(index, execution.trace_bytes);
            if waited == Waited::ServerGone {
                self.replace()?;
                // It forgot what was in flight: post the rest again.
                flying.clear();
                posted = done + 1;
            }
            if due && self.sample(job, &execution)?.is_some() {
                let forked = Job {
                    fork: true,
                    ..job.clone()
                };
                let index = self.post(&forked, &forked.image.lines, 0)?;
                let waited = self.await_slot(index, forked.limits.wall);
                execution = self.read(index, &forked, waited, Keep::Events);
                seen = self.shared.slot(index).trace(|trace| see(done, trace));
            }
            if each(done, execution, seen).is_break() {
                self.drain(flying);
                break;
            }
        }
        Ok(())
    }

    /// Waits for jobs whose executions nobody wants any more.
    fn drain(&mut self, flying: VecDeque<usize>) {
        for index in flying {
            self.await_slot(index, Duration::from_secs(1));
        }
    }

    /// Runs many jobs, keeping several in flight; executions come in the order of the jobs.
    pub fn run_all(
        &mut self,
        jobs: &[Job],
        mut each: impl FnMut(usize, Execution),
    ) -> Result<(), SubjectError> {
        let mut flying = VecDeque::new();
        let mut posted = 0;
        let mut start = 0;
        if let Some(job) = jobs
            .first()
            .filter(|_| self.program.isolation == Isolation::Auto)
        {
            // Alone, so that it can be sampled before others follow.
            each(0, self.run(job)?);
            (posted, start) = (1, 1);
        }
        for done in start..jobs.len() {
            while posted < jobs.len() && (flying.is_empty() || flying.len() < self.depth()) {
                let job = &jobs[posted];
                flying.push_back(self.post(job, &job.image.lines, 0)?);
                posted += 1;
            }
            let Some(index) = flying.pop_front() else {
                break;
            };
            let process = self.process();
            let execution = self.collect(index, &jobs[done])?;
            if self.process() != process {
                // The server was replaced and forgot what was in flight: post the rest again.
                flying.clear();
                posted = done + 1;
            }
            each(done, execution);
        }
        Ok(())
    }

    /// How many jobs to keep in flight: as many as there are slots, unless their traces would fill the memory.
    fn depth(&self) -> usize {
        const MEMORY: u64 = 256 << 20;
        usize::try_from(MEMORY / self.trace_bytes.max(1))
            .unwrap_or(SLOTS)
            .clamp(1, SLOTS)
    }

    fn post(
        &mut self,
        job: &Job,
        lines: &[crate::job::Line],
        flags: u32,
    ) -> Result<usize, SubjectError> {
        let header = header(job, lines.len(), flags);
        if let Some(points) = &job.threads.points
            && !self
                .points
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, points))
        {
            self.set_points(points);
        }
        if self.in_flight == 0 {
            // One job at a time always uses the first slot, whose memory is there already.
            self.next = 0;
            self.shared.control().cursor.store(0, Release);
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

    fn collect(&mut self, index: usize, job: &Job) -> Result<Execution, SubjectError> {
        let waited = self.await_slot(index, job.limits.wall);
        let execution = self.read(index, job, waited, Keep::Events);
        self.notice_sites();
        self.shared.trim(index, execution.trace_bytes);
        if waited == Waited::ServerGone {
            self.replace()?;
        }
        Ok(execution)
    }

    /// A run that loads a library brings sites that were not there before.
    fn notice_sites(&mut self) {
        if self.shared.control().sites.load(Relaxed) > self.sites.len() as u64 {
            self.read_sites();
        }
    }

    /// Waits for a slot to be done; a run that takes longer than `wall` is killed.
    fn await_slot(&mut self, index: usize, wall: Duration) -> Waited {
        let waited = self.wait(index, wall);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.trace_bytes = self.shared.slot(index).trace_len();
        waited
    }

    fn wait(&mut self, index: usize, wall: Duration) -> Waited {
        const SPINS: u32 = 2000;
        for _ in 0..SPINS {
            if self.take(index) {
                return Waited::Done;
            }
            std::hint::spin_loop();
        }
        let started = Instant::now();
        let mut killed: Option<Instant> = None;
        loop {
            let seen = self.shared.control().finished.load(Acquire);
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
            let dead = !matches!(self.child.try_wait(), Ok(None));
            if dead {
                // It may have finished the job before it died.
                return if self.take(index) {
                    Waited::Done
                } else {
                    Waited::ServerGone
                };
            }
            match killed {
                None if started.elapsed() > wall => {
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

    fn take(&self, index: usize) -> bool {
        let state = self.shared.slot(index);
        state
            .state()
            .compare_exchange(slot_state::DONE, slot_state::FREE, Acquire, Relaxed)
            .is_ok()
    }

    fn read(&self, index: usize, job: &Job, waited: Waited, keep: Keep) -> Execution {
        let slot = self.shared.slot(index);
        let raw = slot.outcome();
        let outcome = self.outcome(&raw, waited);
        let most = match (keep, &outcome) {
            (Keep::Nothing, _) => None,
            (Keep::Events, Outcome::Hang { .. } | Outcome::Wedged) => Some(MOST_OF_A_HANG),
            (Keep::Events, _) => Some(usize::MAX),
        };
        let (events, stacks, damaged) = most
            .map(|most| slot.trace(|trace| decode_most(trace, most)))
            .map_or_else(Default::default, |(e, s, d, _)| (e, s, d));
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
            squeezed: slot.squeezed(),
        }
    }

    fn outcome(&self, raw: &landfall_vocab::shared::Outcome, waited: Waited) -> Outcome {
        match waited {
            Waited::Done => outcome(raw),
            Waited::Killed if raw.end != End::Died as u32 => outcome(raw),
            Waited::Killed | Waited::ServerGone => Outcome::Wedged,
        }
    }

    fn await_start(&mut self) -> Result<(), SubjectError> {
        let program = self.program.path.display().to_string();
        let started = Instant::now();
        loop {
            let control = self.shared.control();
            match control.phase.load(Acquire) {
                phase::SERVING => return Ok(()),
                phase::REFUSED => {
                    return Err(SubjectError::Refused {
                        program,
                        why: self.shared.text(),
                    });
                }
                seen => futex_wait(&control.phase, seen, PULSE),
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                if self.shared.control().phase.load(Acquire) == phase::REFUSED {
                    return Err(SubjectError::Refused {
                        program,
                        why: self.shared.text(),
                    });
                }
                if status.success() {
                    return Err(SubjectError::NotInstrumented { program });
                }
                let output = self.server_output();
                return Err(SubjectError::EndedEarly {
                    program,
                    status: status.to_string(),
                    output,
                });
            }
            if started.elapsed() > START {
                self.kill_all();
                return Err(SubjectError::NotInstrumented { program });
            }
        }
    }

    fn server_output(&mut self) -> String {
        let mut text = Vec::new();
        let _ = self.errors.rewind();
        let _ = (&self.errors).take(4096).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        if text.trim().is_empty() {
            String::new()
        } else {
            format!(":\n{}", text.trim_end())
        }
    }

    /// Starts over with a new process on fresh shared memory.
    fn replace(&mut self) -> Result<(), SubjectError> {
        self.kill_all();
        let (shared, child, errors) = launch(&self.program)?;
        (self.shared, self.child, self.errors, self.next) = (shared, child, errors, 0);
        self.in_flight = 0;
        self.await_start()?;
        for image in std::mem::take(&mut self.base) {
            self.set_base(image)?;
        }
        self.points = None;
        Ok(())
    }

    fn kill_all(&mut self) {
        // SAFETY: the group was created for this server and is gone once it is reaped, which happens below.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// What of a trace becomes part of an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Events,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    Done,
    Killed,
    ServerGone,
}

/// What the runtime is told about a job.
pub(crate) fn header(job: &Job, lines: usize, flags: u32) -> JobHeader {
    let set = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
    JobHeader {
        flags: flags
            | set(job.stacks, job::STACKS)
            | set(job.reads_only, job::READS_ONLY)
            | set(job.fork, job::FORK)
            | set(job.audit, job::AUDIT)
            | set(job.schedule.is_some(), job::THREADS)
            | set(job.threads.everywhere, job::EVERYWHERE)
            | set(job.threads.persistency, job::PERSISTENCY)
            | set(job.threads.buffered, job::TSO),
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
        steps: job.threads.most_steps.unwrap_or(u64::MAX),
    }
}

fn kill(process: i32) {
    // SAFETY: a system call. The process is a child the server has not reaped: it clears the number before reaping.
    unsafe { libc::kill(process, libc::SIGKILL) };
}
