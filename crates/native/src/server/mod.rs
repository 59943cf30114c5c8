//! One server process and the conversation with it. Jobs and executions pass through shared memory, several jobs in flight;
//! whatever a run does to its process, the server answers or is replaced.

mod exchange;
mod life;
mod rewriting;

use crate::deadline::Deadline;
use crate::error::SubjectError;
use crate::execution::{Execution, Outcome};
use crate::files;
use crate::inputs::{InputAsked, InputsAsked};
use crate::job::{Image, Isolation, Job, KnownSignals, WaitPatience};
use crate::launch::launch;
use crate::program::Program;
use crate::shared::SharedMapping;
use crate::sites::Sites;
use crate::symbols::Symbols;
pub(crate) use exchange::header;
use exchange::{KeepTrace, Waited};
use landfall_model::image::FreshMemory;
use landfall_vocab::shared::{End, InputKind, SLOTS, isolation, job};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::time::Duration;

/// Time for constructors.
const START: Duration = Duration::from_secs(30);
/// Time between killing a run and killing its server.
const GRACE: Duration = Duration::from_millis(500);
/// Time for runs that nobody wants.
const ABANDONED: Duration = Duration::from_millis(500);
/// In-place runs between two that are compared with a fork, at most; at first, as many as there were before.
const SAMPLE_EVERY: u64 = 4096;
/// Events kept of a run that does not end; past them, only its first reads.
const MOST_OF_A_HANG: usize = 1_000_000;
/// How long to sleep before looking whether the server still lives.
const PULSE: Duration = Duration::from_millis(50);

/// What a run says of its trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTold {
    /// How much of it repeats what was asked for, and its digest.
    pub(crate) kept: (u64, u64),
    /// A thread did what may come out differently another time.
    pub(crate) opaque: bool,
}

/// A program started and waiting right before `main`.
#[derive(Debug)]
pub struct Server {
    program: Program,
    shared: SharedMapping,
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
    /// Of processes that are gone: what [`Server::asked`] says.
    asked: bool,
    /// Plain accesses that are steps.
    points: Option<Arc<Vec<u64>>>,
    /// Lines to which non-temporal stores have streams, as last told.
    streamed: Option<Option<Arc<Vec<u64>>>>,
    /// What the program was told of signals.
    signals: Option<Arc<KnownSignals>>,
    /// How often something changed that the control block tells runs.
    told: u32,
    /// The process is gone, and it was not us.
    killed: bool,
    rewriting: rewriting::Rewriting,
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
            asked: false,
            points: None,
            streamed: None,
            signals: None,
            told: 0,
            killed: false,
            rewriting: rewriting::Rewriting::default(),
        };
        server.await_start()?;
        server.read_sites();
        server.rewrite_what_is_known()?;
        if let Some(directory) = program.pools.as_ref().or(program.pm_dir.as_ref()) {
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

    /// Where the program runs.
    pub fn directory(&self) -> std::path::PathBuf {
        match &self.program.directory {
            Some(directory) => directory.clone(),
            None => std::env::current_dir().unwrap_or_default(),
        }
    }

    /// Who talks to the program.
    pub fn client(&self) -> Option<&crate::client::ClientScript> {
        self.program.client.as_ref()
    }

    /// Did any run so far ask for persistent memory, or how often the power has failed? If not, they do the same after a power failure.
    pub fn asked(&self) -> bool {
        self.asked || self.shared.control().asked.load(Relaxed) != 0
    }

    /// Did any run so far get to where a signal may arrive at any time?
    pub fn signals(&self) -> bool {
        self.shared.control().signals.load(Relaxed) != 0
    }

    /// Did any run so far begin a hardware transaction?
    pub fn transactions(&self) -> bool {
        self.shared.control().transactions.load(Relaxed) != 0
    }

    /// Runs in forks and in place so far.
    pub fn runs(&self) -> (u64, u64) {
        let control = self.shared.control();
        (control.forks.load(Relaxed), control.restarts.load(Relaxed))
    }

    /// Of the runs in place, those that were not executed from the beginning: they went on from where the first thread is created.
    pub fn went_on(&self) -> u64 {
        self.shared.control().went_on.load(Relaxed)
    }

    /// Has a run asked the persistent heap for a block?
    pub fn allocates(&self) -> bool {
        self.shared.control().allocates.load(Relaxed) != 0
    }

    /// Has time jumped in a run, for a thread that looked at the clock in vain?
    pub fn time_jumped(&self) -> bool {
        self.shared.control().time_jumped.load(Relaxed) != 0
    }

    /// Did a turn of a loop leave something behind that counts; and was something read that did not?
    pub(crate) fn leftovers(&self) -> (bool, bool) {
        let leftovers = &self.shared.control().leftovers;
        let is_set = |flag: &std::sync::atomic::AtomicU32| flag.load(SeqCst) != 0;
        (is_set(&leftovers.some), is_set(&leftovers.wrong))
    }

    /// Forgets them; and whose count, if this is another search.
    pub(crate) fn forget_leftovers(&mut self, anew: bool) {
        self.told += 1;
        let leftovers = &self.shared.control().leftovers;
        leftovers.some.store(0, SeqCst);
        leftovers.wrong.store(0, SeqCst);
        if leftovers.filled.load(SeqCst) == 0 {
            return;
        }
        let clear = |words: &[AtomicU64]| words.iter().for_each(|word| word.store(0, SeqCst));
        clear(&leftovers.left);
        clear(&leftovers.read);
        clear(&leftovers.overlooked);
        if anew {
            clear(&leftovers.counted);
            leftovers.filled.store(0, SeqCst);
        }
    }

    /// Where runs asked for any value and were not told one.
    fn inputs(&self) -> InputsAsked {
        let control = self.shared.control();
        let count = control.inputs.load(Relaxed) as usize;
        let known = control.input.iter().take(count).filter_map(|input| {
            let what = input.what.load(Relaxed);
            let origin = input.origin.load(Relaxed);
            Some(InputAsked {
                failures: (what >> 48) as u8,
                thread: (what >> 32) as u16,
                call: what as u32,
                kind: InputKind::from_number((what >> 56) as u8)?,
                origin: landfall_vocab::record::Origin {
                    site: origin as u32,
                    caller: (origin >> 32) as u32,
                },
            })
        });
        InputsAsked {
            calls: known.collect(),
            more: control.more_inputs.load(Relaxed) & 1 != 0,
            more_waits: control.more_inputs.load(Relaxed) & 2 != 0,
        }
    }

    /// Forgets where runs asked for values: others that ask for all of that again are still to come.
    pub fn forget_inputs(&mut self) {
        let control = self.shared.control();
        control.inputs.store(0, Relaxed);
        control.more_inputs.store(0, Relaxed);
        self.told += 1;
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
        self.rewrite_what_was_trapped()?;
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

    /// What memory holds that nobody wrote to.
    pub fn fresh(&self) -> FreshMemory {
        self.program.fresh.memory()
    }

    /// Makes an image part of what later images are deltas of.
    pub fn set_base(&mut self, image: Image) -> Result<(), SubjectError> {
        let most = landfall_vocab::shared::IMAGE_LEN / landfall_vocab::shared::IMAGE_LINE;
        for lines in image.lines.chunks(most as usize) {
            let index = self.post(&Job::default(), lines, job::SET_BASE)?;
            let patience = WaitPatience {
                wall: Duration::from_secs(60),
                until: Deadline::default().later(Duration::MAX),
            };
            self.await_slot(index, patience);
        }
        self.base.push(image);
        Ok(())
    }

    /// Runs one job.
    pub fn run(&mut self, job: &Job) -> Result<Execution, SubjectError> {
        loop {
            self.rewrite_what_was_trapped()?;
            let trial = self.trial();
            let index = self.post(job, &job.image.lines, trial.flags())?;
            let execution = self.collect(index, job)?;
            if execution.outcome == Outcome::Limit && self.begins_again(trial) {
                continue;
            }
            return Ok(self.sample(job, &execution)?.unwrap_or(execution));
        }
    }

    /// Runs one job and hands its trace over as it is, undecoded.
    pub fn run_raw<R>(
        &mut self,
        job: &Job,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<(Outcome, R), SubjectError> {
        let index = self.post(job, &job.image.lines, 0)?;
        let waited = self.await_slot(index, job.limits.patience());
        let slot = self.shared.slot(index);
        let end = self.outcome(&slot.outcome(), waited);
        let result = slot.trace(read);
        self.shared.trim(index, slot.trace_len());
        if waited == Waited::ServerGone {
            self.replace()?;
        }
        Ok((end, result))
    }

    /// Runs one job under a schedule and hands its trace over undecoded: says who could have gone on where it was stopped, and is compared with a fork now and
    /// then. `read` also gets how much of the trace repeats the job's `keep` first choices, and its digest.
    pub(crate) fn run_raw_with<R>(
        &mut self,
        job: &Job,
        read: impl FnOnce(&[u8], RunTold) -> R,
    ) -> Result<(Outcome, u64, R), SubjectError> {
        if self.sample_is_due() {
            let execution = self.run(job)?;
            if !execution.in_place {
                self.next_sample = u64::MAX;
            }
        }
        let index = self.post(job, &job.image.lines, 0)?;
        self.collect_raw(index, job.limits.patience(), read)
    }

    /// Posts a job that [`collect_raw`](Self::collect_raw) will ask for later; `None` if this is no time for that.
    pub(crate) fn post_ahead(&mut self, job: &Job) -> Result<Option<usize>, SubjectError> {
        if self.sample_is_due() {
            return Ok(None);
        }
        self.post(job, &job.image.lines, 0).map(Some)
    }

    /// The slot of the next job, where some are in flight.
    pub(crate) fn next_slot(&self) -> usize {
        self.next
    }

    /// What came of a job that was posted, as [`run_raw_with`](Self::run_raw_with) tells it.
    pub(crate) fn collect_raw<R>(
        &mut self,
        index: usize,
        patience: WaitPatience,
        read: impl FnOnce(&[u8], RunTold) -> R,
    ) -> Result<(Outcome, u64, R), SubjectError> {
        let waited = self.await_slot(index, patience);
        let slot = self.shared.slot(index);
        let (end, code, enabled) = slot.end();
        let end = match waited {
            // Most of them: the rest of what is reported need not be looked at.
            Waited::Done if end == End::Exited as u32 => Outcome::Exited { code },
            _ => self.outcome(&slot.outcome(), waited),
        };
        let told = RunTold {
            kept: slot.kept(),
            opaque: slot.opaque(),
        };
        let result = slot.trace(|trace| read(trace, told));
        self.shared.trim(index, slot.trace_len());
        if waited == Waited::ServerGone {
            self.replace()?;
        }
        Ok((end, enabled, result))
    }

    /// Runs many jobs like [`run_all`](Self::run_all), each trace seen as it lies in shared memory. The executions have events
    /// only if they did not end well. Stops when `each` says so.
    pub(crate) fn skim_all<R>(
        &mut self,
        jobs: &[Job],
        see: impl Fn(usize, &[u8]) -> R,
        mut each: impl FnMut(usize, Execution, R) -> ControlFlow<()>,
    ) -> Result<(), SubjectError> {
        self.rewrite_what_was_trapped()?;
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
            let waited = self.await_slot(index, job.limits.patience());
            let mut execution = self.read(index, job, waited, KeepTrace::Nothing);
            self.notice_sites();
            let due = execution.in_place && self.sample_is_due() && flying.is_empty();
            if due || !execution.outcome.is_ok() {
                execution = self.read(index, job, waited, KeepTrace::Events);
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
                let waited = self.await_slot(index, forked.limits.patience());
                execution = self.read(index, &forked, waited, KeepTrace::Events);
                seen = self.shared.slot(index).trace(|trace| see(done, trace));
            }
            if each(done, execution, seen).is_break() {
                self.abandon(flying);
                break;
            }
        }
        Ok(())
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
}

impl Server {
    /// Tells who looks for values where they were asked for.
    fn tell_inputs(&self) {
        let asked = self.inputs();
        if !asked.is_empty() {
            self.program.inputs.add(asked);
        }
    }
}
