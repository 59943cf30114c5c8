//! A native program as the schedule search sees it: follow these choices, go on, say what each transition touched.

mod ahead;
mod beginning;
mod leftovers;
mod numbers;
mod reader;
mod reading;
mod recall;
mod recalled;
mod recoveries;
mod room;
mod sealing;
mod told;
mod unseen;
mod wanted;

use crate::deadline::Deadline;
use crate::error::SubjectError;
use crate::execution::{Execution, Outcome};
use crate::job::{Job, Policy, Sleeper, Threading};
use crate::judge::Atomics;
use crate::server::Server;
use ahead::RunAhead;
use beginning::Beginning;
use landfall_explore::schedule::{
    self, Access, End, Leftovers, Points, Process, Processes, Sets, Sleepers, Step, Threads,
    ThreadsError, Trace, TriedOut,
};
use landfall_finding::Limit;
use landfall_model::line::Line;
use landfall_vocab::shared::{ANY_CALL, MOST_PROCESSES, signal_at};
use reader::TraceReader;
pub use reader::{Activation, Activations, NamedBlock, Naming};
use reading::TraceReading;
use recall::{Recall, TraceSizes};
pub use recoveries::{EverySchedule, FailedSchedule};
pub use sealing::Sealing;
pub(crate) use sealing::is_called;
use std::sync::Arc;
use told::ToldSchedule;
pub use unseen::{Unseen, UnseenKind};

/// How stores reach memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Model {
    /// At once.
    Sc,
    /// Through a store buffer for each thread.
    #[default]
    Tso,
}

/// Executions that ended before the program did, and whether it would have is not known.
#[derive(Debug, Default)]
pub struct Cut {
    /// One has more steps than are searched.
    pub steps: bool,
    /// The first that took more time or events than it may.
    pub unfinished: Option<Unfinished>,
}

#[derive(Clone, Debug)]
pub struct Unfinished {
    pub outcome: Outcome,
    /// What repeats it.
    pub job: Job,
}

/// A server, run under one schedule after the other.
#[derive(Debug)]
pub struct NativeThreads<'s> {
    server: &'s mut Server,
    /// What every run starts from.
    job: Job,
    threads: usize,
    model: Model,
    reader: TraceReader,
    beginning: Beginning,
    ahead: RunAhead,
    recall: Recall,
    /// Of the run that is being read: see [`TraceReading::sizes`].
    sizes: Vec<TraceSizes>,
    sleepers: Sleepers,
    sealing: Option<Sealing>,
    /// Executions that were not looked at to their end.
    pub cut: Cut,
    /// What executions read of the image they start on, if anyone asks.
    reads: Option<recoveries::Reads>,
    /// How the last execution ended.
    pub outcome: Outcome,
    /// Runs of the program; more than executions where the runtime's guess at who sleeps was wrong.
    pub runs: u64,
    /// Bytes of trace, of all runs.
    pub bytes: u64,
    /// Of the last one.
    last_bytes: u64,
    /// What went wrong, where [`ThreadsError`] says only that something did.
    pub error: Option<SubjectError>,
    /// More threads than there is room for were seen, or [`NativeThreads::several_create`]: start over with at least so many.
    pub more_threads: Option<usize>,
    /// More streams of non-temporal stores were wanted than there are: start over with at least so many.
    pub more_streams: Option<usize>,
    /// What was put together without a run is not what the run does: start over, and run everything.
    mistaken: bool,
    /// Executions that were put together without a run; and those among them that went on from the one before.
    pub recalled: u64,
    pub continued: u64,
    told: ToldSchedule,
    /// The server that knows what turns of loops left behind.
    leftovers_of: u32,
}

/// Streams a thread can have.
const MOST_STREAMS: usize = 32;

/// Streams there can be for so many threads.
fn most_streams(threads: usize) -> usize {
    let room = MOST_PROCESSES / threads.max(1);
    room.saturating_sub(2).min(MOST_STREAMS)
}

impl<'s> NativeThreads<'s> {
    /// `threads` is how many there may be, main included.
    pub fn new(
        server: &'s mut Server,
        job: Job,
        threads: usize,
        model: Model,
    ) -> NativeThreads<'s> {
        // Whoever spoils transactions has a number, too.
        let threads = match job.threads.transactions {
            true => 2 * threads,
            false => threads,
        };
        // Somebody else may have asked for runs ahead.
        server.settle();
        server.forget_leftovers(true);
        let mut job = job;
        job.schedule = Some(Vec::new());
        job.threads = Threading {
            buffered: model == Model::Tso,
            everywhere: true,
            creations: job.threads.creations,
            blocks: job.threads.blocks,
            mappings: job.threads.mappings,
            transactions: job.threads.transactions,
            htm: job.threads.htm,
            again: job.threads.again,
            non_temporal: job.threads.non_temporal,
            streamed: job.threads.streamed,
            most: threads as u16,
            run_all: job.threads.run_all,
            signals: job.threads.signals,
            timer_signals: job.threads.timer_signals,
            ..Threading::default()
        };
        let mut reader = TraceReader::default();
        reader.buffered = model == Model::Tso;
        reader.creations = job.threads.creations;
        reader.blocks = job.threads.blocks;
        reader.mappings = job.threads.mappings;
        reader.transactions = job.threads.transactions;
        reader.again = job.threads.again;
        reader.non_temporal.0 = job.threads.non_temporal || job.threads.streamed.is_none();
        reader.all_stream = job.threads.streamed.is_none();
        reader.expect_streams(job.threads.streamed.as_deref());
        reader.companions = job.threads.companions().into();
        let mut recall = Recall::default();
        if job.threads.run_all {
            recall.switch_off();
        }
        reader.signals.known = job.threads.signals.clone();
        NativeThreads {
            server,
            job,
            threads,
            model,
            reader,
            beginning: Beginning::default(),
            ahead: RunAhead::default(),
            recall,
            sizes: Vec::new(),
            sleepers: Sleepers::default(),
            sealing: None,
            cut: Cut::default(),
            reads: None,
            outcome: Outcome::Exited { code: 0 },
            runs: 0,
            bytes: 0,
            last_bytes: u64::MAX,
            error: None,
            more_threads: None,
            more_streams: None,
            mistaken: false,
            recalled: 0,
            continued: 0,
            told: ToldSchedule::default(),
            leftovers_of: 0,
        }
    }

    /// Each thread has so many streams for its non-temporal stores, or as many as there can be.
    pub fn with_streams(mut self, streams: usize) -> NativeThreads<'s> {
        if self.model == Model::Tso {
            let streams = streams.min(most_streams(self.threads));
            self.reader.streams = streams;
            self.job.threads.streams = streams as u8;
            self.reader.companions = self.job.threads.companions().into();
        }
        self
    }

    /// Did a thread make non-temporal stores to more lines, between two fences, than there can be streams? Then some were in an order
    /// that x86 does not promise.
    pub fn crowded(&self) -> bool {
        self.reader.wanted > self.reader.streams
    }

    pub fn server(&self) -> &Server {
        self.server
    }

    /// Did code that was not compiled with `landfall cc` touch persistent memory? What it does is no step of a schedule.
    pub fn foreign(&self) -> bool {
        self.reader.foreign
    }

    /// What threads did to each other that is no step of a schedule, each place once.
    pub fn unseen(&self) -> impl Iterator<Item = Unseen> + '_ {
        let all = self.reader.unseen.iter();
        all.map(|&(what, site)| Unseen::new(what, self.origin(site)))
    }

    /// Does any call hand memory to a function that nobody knows?
    pub fn hands_over(&self) -> bool {
        !self.reader.handed.is_empty()
    }

    /// Is this such a call?
    pub fn is_handed(&self, site: u32) -> bool {
        self.reader.handed.contains(&site)
    }

    /// Such a call, which may as well do nothing with it.
    pub fn is_guessed(&self, site: u32) -> bool {
        self.reader.guessed.contains(&site)
    }

    /// Was a thread in some execution kept from timing out once more?
    pub fn late(&self) -> bool {
        self.reader.late
    }

    /// How often timers that repeat may go off at any time, where some execution has one.
    pub fn timer_signals(&self) -> u64 {
        match self.reader.signals.repeats {
            true => self.job.threads.timer_signals.max(1).into(),
            false => 0,
        }
    }

    /// In some execution, did threads wait for a timer that had gone off as often as is asked for?
    pub fn waits_for_timer(&self) -> bool {
        self.reader.signals.spent
    }

    /// Is every thread told the same where it asks for a value?
    pub fn tells_all_the_same(&self) -> bool {
        self.job.inputs.iter().all(|input| input.call == ANY_CALL)
    }

    /// From now on stores to persistent memory, flushes and fences are transitions: power failures are looked at.
    pub fn persist(&mut self) {
        self.job.threads.persistency = true;
    }

    /// From now on turns of loops that were in vain happen where the schedule says so.
    pub fn turns_happen(&mut self) {
        self.job.threads.turns = true;
    }

    /// From now on every run is read from its first record on, be its beginning known or not: the yardstick for going on from
    /// milestones.
    pub fn read_whole(&mut self) {
        self.reader.whole = true;
    }

    /// From now on every execution is run: the yardstick for what is put together.
    pub fn run_everything(&mut self) {
        self.recall.switch_off();
    }

    /// From now on every execution that is put together is run as well, and the two are compared.
    pub fn compare_everything(&mut self) {
        self.recall.compare_all();
    }

    /// Which stores the source is taken to have made atomic; the steps say it.
    pub fn set_atomics(&mut self, atomics: Atomics) {
        self.reader.atomics = atomics;
    }

    /// From now on steps say whether their thread is to be left alone before them.
    pub fn seal(&mut self, sealing: Sealing) {
        self.job.threads.announced = true;
        self.sealing = Some(sealing);
    }

    /// From now on executions are told with names: who called, and where blocks of the heap come from.
    pub fn name_things(&mut self) {
        self.job.threads.announced = true;
        self.job.threads.named = true;
        self.reader.naming = Some(Naming::default());
        self.reader.whole = true;
    }

    /// Of the last execution, if it was asked for.
    pub fn naming(&self) -> Option<&Naming> {
        self.reader.naming.as_ref()
    }

    /// From now on runs are waited for until then.
    pub fn until(&mut self, until: Deadline) {
        self.job.limits.until = until;
    }

    /// Who goes on where the search does not say.
    pub fn prefer(&mut self, policy: Policy) {
        self.job.threads.policy = policy;
    }

    /// The line of persistent memory that an object of the search stands for.
    pub fn line(&self, object: u32) -> Option<Line> {
        let offset = landfall_vocab::window::offset_of(self.reader.objects.word(object)?)?;
        Some(Line(offset / landfall_vocab::window::LINE))
    }

    /// The origin that a site of the search stands for: site and code offset of the call, as in events.
    pub fn origin(&self, site: u32) -> landfall_vocab::record::Origin {
        let word = self.reader.sites.word(site).unwrap_or(0);
        landfall_vocab::record::Origin {
            site: word as u32,
            caller: (word >> 32) as u32,
        }
    }

    /// The address of the line or lock that an object of the search stands for.
    pub fn address(&self, object: u32) -> Option<u64> {
        self.reader
            .objects
            .word(object)
            .map(landfall_vocab::shared::address_of)
    }

    /// Does an object stand for atomic blocks?
    pub fn is_blocks(&self, object: u32) -> bool {
        self.reader.objects.word(object) == Some(landfall_vocab::shared::BLOCKS)
    }

    /// Is it nobody's thread, but who answers whether transactions of one are aborted?
    pub fn is_spoiler(&self, process: Process) -> bool {
        let process = usize::from(process);
        (self.room_for_threads()..self.threads).contains(&process)
    }

    /// Is that answered there?
    pub fn is_answer(&self, object: u32) -> bool {
        let place = self.reader.objects.word(object);
        place.is_some_and(landfall_vocab::shared::is_answer)
    }

    /// The signal that an object stands for, and the thread that it is for.
    pub fn signal(&self, object: u32) -> Option<(Option<usize>, usize)> {
        signal_at(self.reader.objects.word(object)?)
    }

    /// The job that repeats an execution: every choice of it.
    pub fn replay(&self, schedule: &[Process]) -> Job {
        let mut job = self.job.clone();
        let choices = schedule.iter().map(|&process| self.choice(process));
        job.schedule = Some(choices.collect());
        job.threads.sleepers.clear();
        job.threads.most_steps = None;
        (job.threads.announced, job.threads.named) = (false, false);
        job.threads.turns = false;
        job.threads.leftovers = false;
        job.threads.policy = Policy::Quiet;
        job
    }

    /// An execution under this schedule, and what it leaves.
    pub fn to_the_end(&mut self, schedule: &[Process]) -> Result<Execution, SubjectError> {
        self.server.settle();
        let mut job = self.replay(schedule);
        job.final_state = true;
        self.runs += 1;
        self.server.run(&job)
    }

    /// From now on the same accesses are steps as in that job.
    pub fn adopt(&mut self, job: &Job) {
        self.recall.start_over();
        self.job.threads.everywhere = job.threads.everywhere;
        self.job.threads.sections = job.threads.sections;
        self.job.threads.points.clone_from(&job.threads.points);
    }

    /// A process of the search as the runtime numbers it.
    fn choice(&self, process: Process) -> Process {
        let spread = (self.reader.companions - self.threads) as Process;
        match usize::from(process) / self.threads.max(1) {
            0 if self.reader.transactions && usize::from(process) >= self.threads / 2 => {
                process + spread / 2
            }
            0 => process,
            1 => process + spread,
            // The runtime was told how many threads there are.
            _ => process + 2 * spread,
        }
    }

    fn put_to_sleep(&mut self, steps: &[Step], sets: &Sets) {
        let mut sleepers = std::mem::take(&mut self.job.threads.sleepers);
        sleepers.clear();
        for step in steps {
            let process = self.choice(step.process).into();
            let mut add = |object: u32, mask: u64, writes: bool| {
                if let Some(place) = self.reader.objects.word(object) {
                    sleepers.push(Sleeper {
                        place,
                        mask,
                        process,
                        writes: writes.into(),
                    });
                }
            };
            if step.access == Access::None {
                // Nothing wakes it.
                sleepers.push(Sleeper {
                    process,
                    ..Sleeper::default()
                });
                continue;
            }
            let writes = step.access == Access::Write;
            // Of persistent memory, stores to one line are in conflict (`Persistency::Lines`).
            let mask = if writes && step.persistent {
                u64::MAX
            } else {
                step.mask
            };
            add(step.object, mask, writes);
            for &(object, mask) in &sets.watched[step.more as usize] {
                add(object, mask, false);
            }
            if step.section != 0 {
                for &(object, mask, writes) in sets.accessed(step.section) {
                    add(object, mask, writes);
                }
            }
        }
        self.job.threads.sleepers = sleepers;
    }

    /// Runs once and reads what happened.
    fn once(&mut self, keep: usize, trace: &mut Trace) -> Result<Processes, ThreadsError> {
        let told = self.job.threads.keep;
        let patience = self.job.limits.patience();
        let cleared = self.ahead.clear_the_way(self.server, patience);
        self.sizes.clear();
        let sizes = self.recall.wants_sizes().then_some(&mut self.sizes);
        let mut reading = TraceReading {
            sizes,
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
        let ran = cleared.and_then(|()| {
            self.server.run_raw_with(&self.job, |bytes, told| {
                (reading.read(bytes, Some(told.kept)), told.opaque)
            })
        });
        self.ran(ran, trace)
    }

    fn ran(&mut self, ran: ScheduleRan, trace: &Trace) -> Result<Processes, ThreadsError> {
        self.ran_as(ran, Some(trace))
    }

    /// `learns` from this execution, if anything.
    fn ran_as(
        &mut self,
        ran: ScheduleRan,
        learns: Option<&Trace>,
    ) -> Result<Processes, ThreadsError> {
        self.runs += 1;
        let (outcome, enabled, (read, opaque)) = match ran {
            Ok(ran) => ran,
            Err(error) => {
                let why = error.to_string();
                self.error = Some(error);
                return Err(ThreadsError::CannotRun(why));
            }
        };
        // Killed because nobody waits any more: that says nothing about the program.
        if matches!(outcome, Outcome::Wedged | Outcome::Died { .. }) && self.stopped() {
            return Err(ThreadsError::Stopped);
        }
        self.last_bytes = read?;
        self.bytes += self.last_bytes;
        if let Some(execution) = learns {
            let trace = self.beginning.trace();
            self.recall.learn(trace, &outcome, opaque, &self.job);
            self.recall.learn_additions(execution, &self.sizes);
        }
        self.outcome = outcome;
        let unexpected = self.several_create()
            || self.sees_blocks()
            || self.sees_transactions()
            || self.sees_numbers_again();
        if self.reader.created > self.room_for_threads() || unexpected {
            self.more_threads = Some(self.reader.created.max(self.room_for_threads()));
            return Err(ThreadsError::CannotRun("more threads than before".into()));
        }
        if self.learned_of_signals() {
            return Err(ThreadsError::CannotRun(
                "signals that were not expected".into(),
            ));
        }
        // Whoever others can tell apart needs streams.
        let (expected, seen) = self.reader.non_temporal;
        if seen && !expected || !self.reader.more_lines.is_empty() {
            self.more_streams = Some(self.reader.streams);
            return Err(ThreadsError::CannotRun(
                "non-temporal stores that others can see".into(),
            ));
        }
        let most = most_streams(self.threads);
        if self.crowded() && self.reader.streams < most {
            self.more_streams = Some(self.reader.wanted.min(most));
            return Err(ThreadsError::CannotRun(
                "more non-temporal stores than before".into(),
            ));
        }
        Ok(self.reader.could_go_on(enabled))
    }

    /// What the runtime is to do.
    fn tell(&mut self, job: &schedule::Job<'_>, trace: &Trace) {
        let mut told = std::mem::take(&mut self.told);
        let choices = told.choices(job.follow, |process| self.choice(process));
        let schedule = self.job.schedule.get_or_insert_default();
        schedule.clear();
        schedule.extend_from_slice(choices);
        self.told = told;
        self.put_to_sleep(job.sleep, &trace.sets);
        self.job.threads.keep = job.keep;
        self.job.threads.most_steps = Some(job.limit as u64);
    }

    /// A run ended in a way that says nothing about the program.
    fn refuse(&self, trace: &Trace) -> Result<(), ThreadsError> {
        match &self.outcome {
            // What a spinning thread waits for may be stored in a block: that it can go on is a guess.
            Outcome::Strayed if self.reader.blocks => Ok(()),
            Outcome::Strayed => Err(ThreadsError::Diverged {
                at: trace.steps.len(),
            }),
            Outcome::Internal { why }
            | Outcome::Thread { why }
            | Outcome::Forbidden { why, .. } => Err(ThreadsError::CannotRun(why.clone())),
            _ => Ok(()),
        }
    }
}

/// What a server says of a run: how it ended, who could have gone on, bytes of trace, and whether it may come out differently.
type ScheduleRan = Result<(Outcome, u64, (Result<u64, ThreadsError>, bool)), SubjectError>;

impl Threads for NativeThreads<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn looks_when_alone(&self) -> bool {
        false
    }

    fn stopped(&self) -> bool {
        self.job.limits.until.reached().is_some()
    }

    fn buffered(&self) -> bool {
        self.model == Model::Tso
    }

    fn streams(&self) -> usize {
        self.reader.streams
    }

    fn preempt_at(&mut self, points: &Points) {
        self.recall.start_over();
        let (sites, locks): (&[u32], Option<&[u32]>) = match points {
            Points::Everywhere => (&[], None),
            Points::Sites(sites) => (sites, None),
            Points::Sections { sites, locks } => (sites, Some(locks)),
        };
        self.job.threads.sections = locks.is_some();
        self.job.threads.everywhere = *points == Points::Everywhere;
        if self.job.threads.everywhere {
            return;
        }
        let origins = sites.iter().map(|&site| self.reader.sites.word(site));
        let locks = locks.unwrap_or_default().iter();
        let locks = locks.map(|&lock| self.reader.objects.word(lock));
        self.job.threads.points = Some(Arc::new(origins.chain(locks).flatten().collect()));
    }

    fn run(&mut self, job: &schedule::Job<'_>, trace: &mut Trace) -> Result<(), ThreadsError> {
        if self.stopped() {
            return Err(ThreadsError::Stopped);
        }
        if job.follow.is_empty() {
            // Of another search, perhaps.
            self.ahead.forget(self.server);
            self.recall.begin_search();
        }
        if self.goes_on(job, trace) {
            return Ok(());
        }
        self.tell(job, trace);
        let mut follow: Vec<Process> = self.job.schedule.take().unwrap_or_default();
        loop {
            self.job.schedule = Some(follow);
            trace.restart(job.keep);
            let enabled = match self.recalled(job, trace)? {
                Some(enabled) => enabled,
                None => self.once(job.keep, trace)?,
            };
            follow = self.job.schedule.take().unwrap_or_default();
            self.refuse(trace)?;
            match self.awake_instead(job, trace, follow.len(), &enabled) {
                Some((at, process)) => {
                    follow.truncate(at.min(follow.len()));
                    let told = follow.len();
                    follow.extend(
                        trace.steps[told..at]
                            .iter()
                            .map(|step| self.choice(step.process)),
                    );
                    follow.push(self.choice(process));
                }
                None => break,
            }
        }
        self.job.schedule = Some(follow);
        self.ended(trace);
        Ok(())
    }

    fn overlook_leftovers(&mut self, on: bool) {
        self.begin_leftovers(on);
    }

    fn leftovers(&self) -> Option<Leftovers> {
        self.leftover_news()
    }

    fn room_ahead(&self) -> usize {
        match self.recall.compares_all() || self.recall.is_at_once() {
            true => 0,
            false => self.ahead.room(self.last_bytes),
        }
    }

    fn ahead(&mut self, job: &schedule::Job<'_>, trace: &Trace) -> Option<u32> {
        self.tell(job, trace);
        match self.recall.play(&self.job) {
            Some(played) => Some(self.ahead.keep(self.server, &self.job, played)),
            None => self.ahead.post(self.server, &self.job),
        }
    }

    fn run_ahead(
        &mut self,
        number: u32,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        self.take_ahead(number, job, trace)
    }

    fn try_out(
        &mut self,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
    ) -> Result<TriedOut, ThreadsError> {
        self.try_and_keep(job, trace)
    }

    fn not_wanted(&mut self, number: u32) {
        self.ahead.take(number, self.server);
    }
}

impl NativeThreads<'_> {
    /// The runtime only guesses who sleeps. Where it chose one that does, or stopped though somebody was awake: who goes
    /// on instead, and where.
    fn awake_instead(
        &mut self,
        job: &schedule::Job<'_>,
        trace: &mut Trace,
        told: usize,
        enabled: &Processes,
    ) -> Option<(usize, Process)> {
        let stopped = self.outcome == Outcome::Asleep;
        if job.sleep.is_empty() {
            return None;
        }
        self.sleepers
            .restart(&job.order, &trace.steps[..job.keep], job.sleep);
        for at in job.keep..trace.steps.len() {
            let step = trace.steps[at];
            let sleeping = self.sleepers.processes();
            if sleeping.is_empty() {
                // The rest was right, but for where it stopped.
                break;
            }
            if at >= told && sleeping.contains(step.process) {
                let Some(awake) = trace.enabled[at].without(sleeping).lowest() else {
                    trace.steps.truncate(at);
                    trace.enabled.truncate(at);
                    trace.blocked.clear();
                    trace.failures.clear();
                    trace.end = End::Asleep;
                    return None;
                };
                return Some((at, awake));
            }
            self.sleepers.executed(&job.order, &step, &trace.sets);
        }
        let awake = enabled.without(self.sleepers.processes()).lowest();
        awake
            .filter(|_| stopped)
            .map(|awake| (trace.steps.len(), awake))
    }

    fn ended(&mut self, trace: &mut Trace) {
        if trace.end == End::Complete {
            trace.end = self.end(trace);
        }
        match self.outcome.limit() {
            None => {}
            Some(Limit::Steps) => self.cut.steps = true,
            Some(_) if self.cut.unfinished.is_none() => {
                let schedule: Vec<Process> = trace.steps.iter().map(|s| s.process).collect();
                self.cut.unfinished = Some(Unfinished {
                    outcome: self.outcome.clone(),
                    job: self.replay(&schedule),
                });
            }
            Some(_) => {}
        }
    }

    fn end(&self, trace: &Trace) -> End {
        match self.outcome {
            Outcome::Asleep | Outcome::Strayed => End::Asleep,
            Outcome::Assumed => End::Assumed,
            Outcome::InVain => End::InVain,
            Outcome::Limit
            | Outcome::Hang { .. }
            | Outcome::Exhausted { .. }
            | Outcome::Stuck { .. }
            | Outcome::Wedged => End::Limit,
            Outcome::Deadlock { .. } if !trace.blocked.is_empty() => End::Deadlock,
            _ => End::Complete,
        }
    }
}
