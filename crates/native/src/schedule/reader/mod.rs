//! From the records of one run to the transitions of a trace. What a thread knows of others (who created it, whom it joined,
//! which of its stores are in memory) is kept as in `landfall_testkit::interpret`, which the tests hold it against.

mod access;
mod activations;
mod alike;
mod block;
mod buffer;
mod entered;
mod milestone;
mod naming;
mod section;
mod signals;
mod stored;
mod sync;
mod told;
mod transaction;

use super::numbers::{Numbers, place};
use crate::judge::{Atomics, atomicity};
pub use activations::{Activation, Activations};
use entered::EnteredStores;
use landfall_explore::schedule::sync::Op;
use landfall_explore::schedule::{
    Access, Act, Birth, Order, Orders, Persistency, Process, Processes, Step, ThreadFailure,
    ThreadsError, Trace, Trailing, TransactionStore,
};
use landfall_vocab::record::{COMPANIONS, RecordKind, Traced, flag, step};
use landfall_vocab::shared::{CREATIONS, End, FEW_THREADS};
use milestone::Milestones;
pub use naming::{NamedBlock, Naming};
use signals::LearnedSignals;
use std::collections::{HashMap, VecDeque};
use stored::StoredAs;
use sync::drains;
use told::ToldAccesses;

/// Something that waits in a thread's buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    /// Who commits it, and that process' tick then: entries of a thread are numbered in program order.
    process: Process,
    tick: u32,
    /// Its line; none for a fence.
    line: Option<u32>,
    /// What it comes behind in other queues, as [`Step::behind`].
    behind: u32,
    streams: bool,
    need: [(Process, u32); 2],
    joined: u32,
    site: u32,
    plain: bool,
    unjudged: bool,
    orders: Orders,
    issued: u32,
    visible: bool,
}

#[derive(Debug, Default)]
struct ReaderThread {
    tick: u32,
    /// It has made a transition.
    stepped: bool,
    born: [(Process, u32); 2],
    /// Commits of those who had its number before.
    inherited: u32,
    /// Threads joined since its last transition, as [`Sets`] has them; and which set that is, once somebody asked.
    joined: Vec<(Process, u32)>,
    joined_set: u32,
    /// The barrier that it has arrived at, and in which round.
    meets: (u32, u64),
    /// Its own commits up to here come before its next transition.
    drained: u32,
    buffer: VecDeque<Buffered>,
    pushed: u32,
    committed: u32,
    /// Its own stores, newest last: line, bytes, their commit.
    own: Vec<(u32, u64, (Process, u32))>,
    /// Everything it put into its store buffer.
    entries: EnteredStores,
    /// Where in there its last fence was; and streams that it waited for where no transition says so.
    epoch: usize,
    floor: Vec<(Process, u32)>,
    /// What it watches while it spins.
    watches: Vec<(u32, u64)>,
    /// Where it was last.
    site: u32,
    /// It is not to be preempted before its next step.
    sealed: bool,
    /// It is in an atomic block.
    in_block: bool,
    /// What it does is not judged.
    unjudged: bool,
    /// It is in a critical section that is this transition, as far as is known; or in a hardware transaction.
    section: Option<u32>,
    /// What each of its questions came after, whether a transaction is spoiled: two sets.
    questions: Vec<(u32, u32)>,
}

impl ReaderThread {
    fn clear(&mut self) {
        self.tick = 0;
        self.stepped = false;
        self.born = [(0, 0); 2];
        self.inherited = 0;
        self.joined.clear();
        self.joined_set = 0;
        self.meets = (0, 0);
        self.drained = 0;
        self.buffer.clear();
        (self.pushed, self.committed) = (0, 0);
        self.own.clear();
        self.entries.clear();
        self.epoch = 0;
        self.floor.clear();
        self.watches.clear();
        (self.site, self.sealed, self.in_block) = (0, false, false);
        self.unjudged = false;
        self.section = None;
        self.questions.clear();
    }
}

/// Objects and sites keep their numbers for the whole search; the rest is of one execution.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceReader {
    pub(super) objects: Numbers,
    pub(super) sites: Numbers,
    threads: Vec<ReaderThread>,
    /// Words of synchronisation objects, by their numbers; and which were used.
    words: Vec<u64>,
    used: Vec<u32>,
    /// Who arrived at barriers: at which, in which round, who and when.
    arrivals: Vec<(u32, u64, Process, u32)>,
    /// What was accessed in the critical section that somebody is in.
    accessed: Vec<(u32, u64, bool)>,
    /// The condition that it waits for or signalled, and its word before and after.
    signalled: Option<(u32, u64, u64)>,
    /// The transition whose access is still to come.
    open: Option<Open>,
    /// Transitions so far, and of how many it is known what they are.
    at: usize,
    keep: usize,
    known: usize,
    /// Threads that have been created.
    pub(super) created: usize,
    /// The first thread that creates others, plus one, and whether there is another; and whether creations are in conflict.
    pub(super) creators: (usize, bool),
    pub(super) creations: bool,
    /// A thread has the number of one that was joined; and it was expected.
    pub(super) again_seen: bool,
    pub(super) again: bool,
    /// There was an atomic block; and it was expected.
    pub(super) block_seen: bool,
    pub(super) blocks: bool,
    /// Memory was taken away; and that was expected.
    pub(super) mapping_seen: bool,
    pub(super) mappings: bool,
    /// There was a hardware transaction; and that was expected.
    pub(super) transaction_seen: bool,
    pub(super) transactions: bool,
    /// Accesses that were no transitions, before the transaction that somebody is in.
    trailing_before: usize,
    stores: Vec<TransactionStore>,
    /// Threads that looked at what tells them from others, in any execution.
    observed: Vec<Process>,
    /// How persistent memory was stored to last.
    stored_as: StoredAs,
    /// Which stores the source is taken to have made atomic.
    pub(super) atomics: Atomics,
    run: u32,
    told: ToldAccesses,
    milestones: Milestones,
    /// Every run is read from its first record on.
    pub(super) whole: bool,
    /// Some thread had timed out so often that it was not allowed to once more.
    pub(super) late: bool,
    pub(super) buffered: bool,
    /// Code that is not ours touched persistent memory in some execution: that is seen, but is no step.
    pub(super) foreign: bool,
    /// What was done to others that is no step: what, and where.
    pub(super) unseen: Vec<(u8, u32)>,
    /// Calls that hand memory to functions which nobody knows.
    pub(super) handed: Vec<u32>,
    /// Those of them that may as well do nothing to it.
    pub(super) guessed: Vec<u32>,
    /// Call stacks of steps and of blocks of the heap, if anyone asks.
    pub(super) naming: Option<Naming>,
    most: usize,
    /// Who could have gone at the last choice besides the first processes, and at the end: words of a set.
    others: Vec<(usize, u64)>,
    last_others: Vec<(usize, u64)>,
    /// The number of the first store buffer, as the runtime has it.
    pub(super) companions: usize,
    /// Who touched lines while there were several threads, where there are non-temporal stores; and lines that should have streams.
    pub(super) touched: HashMap<u32, Touched>,
    pub(super) non_temporal: (bool, bool),
    pub(super) more_lines: Vec<u64>,
    pub(super) all_stream: bool,
    /// Threads that nobody has joined.
    apart: usize,
    /// For each condition or lock: the threads that wait for it or read under it, in the order of the search.
    members: HashMap<u32, Vec<Process>>,
    /// There are more of them than a word has bits.
    crowd: bool,
    /// What is known of signals that arrive at any time.
    pub(super) signals: LearnedSignals,
    /// Streams that each thread has, and that some would need.
    pub(super) streams: usize,
    pub(super) wanted: usize,
}

/// What is known of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    by: Process,
    several: bool,
    streams: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    thread: usize,
    commits: bool,
    kind: u8,
    object: u64,
    /// Who could have gone, as far as it fits into a word.
    enabled: u64,
    more: u32,
}

fn word(record: &Traced<'_>, number: usize) -> u64 {
    let bytes = record.payload.get(8 * number..8 * number + 8);
    bytes.map_or(0, |bytes| {
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    })
}

/// Is a transition what it was before? What a plain store replaced is no part of that: it may be memory that nobody has stored to, such as
/// what libraries left behind on the stack.
fn is_same(before: &Step, mut now: Step) -> bool {
    if now.plain && matches!(now.act, Act::Store | Act::Commit) {
        now.found = before.found;
    }
    // What is accessed in a critical section is known at its end.
    if now.act == Act::Sync(Op::Section) {
        now.section = before.section;
        (now.condition, now.found, now.left) = (before.condition, before.found, before.left);
    }
    if now.act == Act::Transaction {
        (now.section, now.access) = (before.section, before.access);
        (now.found, now.left) = (before.found, before.left);
    }
    *before == now
}

impl TraceReader {
    /// The first `keep` transitions are those of the execution before: so many are `known` to be, the others are compared.
    pub(super) fn begin(&mut self, threads: usize, keep: usize, known: usize) {
        self.most = threads;
        self.run = self.run.wrapping_add(1);
        if self.threads.len() < threads {
            self.threads.resize_with(threads, ReaderThread::default);
        }
        for thread in &mut self.threads {
            thread.clear();
        }
        for object in self.used.drain(..) {
            self.words[object as usize] = 0;
        }
        self.arrivals.clear();
        self.open = None;
        (self.at, self.keep, self.created) = (0, keep, 1);
        self.apart = 0;
        self.creators = (0, false);
        self.others.clear();
        self.last_others.clear();
        self.known = known;
        if let Some(naming) = &mut self.naming {
            naming.begin();
        }
    }

    fn companion(&self, thread: usize) -> Process {
        (thread + self.most) as Process
    }

    /// How processes are numbered.
    fn order(&self) -> Order {
        Order {
            threads: self.most,
            streams: self.streams,
            persistency: Persistency::Ignored,
        }
    }

    /// A set of processes, from the runtime's numbers to the search's: its first word, and what was said of the others.
    fn processes(&self, first: u64, others: &[(usize, u64)]) -> Processes {
        if others.is_empty() && self.companions == FEW_THREADS && self.most <= FEW_THREADS {
            let companions = first >> FEW_THREADS;
            let threads = self.threads_of(first & u64::from(u32::MAX));
            return Processes::from(threads | companions << self.most);
        }
        let words = std::iter::once((0, first)).chain(others.iter().copied());
        let mut processes = Processes::default();
        for (at, mut word) in words {
            while word != 0 {
                let process = 64 * at + word.trailing_zeros() as usize;
                word &= word - 1;
                // Threads, store buffers, streams: of each, the search has as many as there are threads.
                let behind = match process / self.companions {
                    0 if self.transactions && 2 * process >= self.companions => {
                        (self.companions - self.most) / 2
                    }
                    0 => 0,
                    1 => self.companions - self.most,
                    _ => 2 * (self.companions - self.most),
                };
                processes.insert((process - behind) as Process);
            }
        }
        processes
    }

    /// Who could have gone on at the end, of whom the runtime named the first ones.
    pub(super) fn could_go_on(&self, first: u64) -> Processes {
        self.processes(first, &self.last_others)
    }

    /// A thread has announced its next step.
    pub(super) fn announced(&mut self, thread: usize, sealed: bool) {
        if let Some(known) = self.threads.get_mut(thread) {
            known.sealed = sealed;
        }
    }

    fn site(&mut self, record: &Traced<'_>) -> u32 {
        self.sites
            .of(u64::from(record.origin.site) | u64::from(record.origin.caller) << 32)
    }

    /// Takes in one record.
    pub(super) fn record(
        &mut self,
        record: &Traced<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        let thread = self.thread_of(usize::from(record.thread % COMPANIONS), record);
        let of_thread = matches!(
            record.kind,
            RecordKind::Step
                | RecordKind::Access
                | RecordKind::Blocked
                | RecordKind::Watched
                | RecordKind::Foreign
                | RecordKind::Ended
        );
        if thread >= self.room(record) && of_thread {
            // The caller sees `created` and starts over with more room.
            self.created = self.created.max(thread + 1);
            return Ok(());
        }
        match record.kind {
            RecordKind::Step => {
                self.close(trace)?;
                self.others.clear();
                self.stored_as = StoredAs::default();
                self.step(thread, record, trace)?;
                // Nothing more is heard of these.
                if matches!(record.flags, step::ORDER | step::FLUSH | step::SPOIL) {
                    self.close(trace)?;
                }
            }
            RecordKind::Access => return self.access(thread, record, trace),
            RecordKind::Watched => {
                let (place, mask) = place(record.value);
                let object = self.objects.of(place);
                let watches = &mut self.threads[thread].watches;
                match watches.iter_mut().find(|(known, _)| *known == object) {
                    Some((_, known)) => *known |= mask,
                    None => watches.push((object, mask)),
                }
            }
            RecordKind::Foreign => self.hand_over(thread, record, trace),
            RecordKind::Ended => {
                self.close(trace)?;
                let site = match (record.origin.site, record.origin.caller) {
                    (0, 0) => self.threads[thread].site,
                    _ => self.site(record),
                };
                if record.value == End::Assumed as u64 && trace.failures.is_empty() {
                    trace.assumed.insert(thread as Process);
                }
                // Leaving with 0 is no failure, nor is an assumption that does not hold.
                if ![End::Exited as u64, End::Assumed as u64].contains(&record.value) {
                    if let Some(naming) = &mut self.naming {
                        naming.fails(thread, &self.threads[thread].joined);
                    }
                    trace.failures.push(ThreadFailure {
                        thread: thread as Process,
                        site,
                        code: record.value as u32 | (record.value >> 32 << 8) as u32,
                    });
                }
            }
            RecordKind::Others => {
                let word = (usize::from(record.thread), record.value);
                match (record.flags, self.open) {
                    (0, Some(_)) => self.others.push(word),
                    // Of one of which nothing more is heard.
                    (0, None) if self.at > self.keep => {
                        let further = self.processes(0, &[word]);
                        if let Some(enabled) = trace.enabled.last_mut() {
                            enabled.add(&further);
                        }
                    }
                    (0, None) => {}
                    _ => self.last_others.push(word),
                }
            }
            RecordKind::Unseen => {
                let what = (record.flags, self.site(record));
                if !self.unseen.contains(&what) {
                    self.unseen.push(what);
                }
            }
            RecordKind::Started => {
                let birth = trace.births.iter_mut().rev();
                if let Some(birth) = { birth }.find(|birth| usize::from(birth.child) == thread) {
                    birth.what = record.value;
                }
            }
            RecordKind::Identity if !self.observed.contains(&(thread as Process)) => {
                self.observed.push(thread as Process);
            }
            RecordKind::Read => self.foreign |= record.flags & flag::FOREIGN != 0,
            RecordKind::Store | RecordKind::Run | RecordKind::Fill => {
                self.foreign |= record.flags & flag::FOREIGN != 0;
                self.stored_as = StoredAs {
                    atomic: atomicity(record.flags, record.mask, self.atomics),
                    at_once: record.flags & flag::DURABLE != 0,
                };
            }
            RecordKind::Blocked => {
                self.close(trace)?;
                self.blocked(thread, record, trace);
            }
            _ => {}
        }
        Ok(())
    }

    fn step(
        &mut self,
        thread: usize,
        record: &Traced<'_>,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        if record.thread >= COMPANIONS {
            self.open(thread, record, trace);
            return Ok(());
        }
        let site = self.site(record);
        let known = &mut self.threads[thread];
        known.site = site;
        let choice = record.is_choice();
        match record.flags {
            step::BEGIN | step::YIELD | step::SLEEP => return Ok(()),
            step::CREATE => {
                self.again_seen |= (record.value as usize) < self.created;
                self.created = self.created.max(record.value as usize + 1);
                let (first, several) = self.creators;
                self.creators = match first {
                    0 => (thread + 1, false),
                    first => (first, several || first != thread + 1),
                };
                if choice {
                    // A transition of its own; the child comes after it.
                    self.open(thread, record, trace);
                    self.close(trace)?;
                    self.bear(thread, record.value as usize, site, trace);
                    return Ok(());
                }
                known.tick += 1;
                self.fence_off(thread);
                self.bear(thread, record.value as usize, site, trace);
                return Ok(());
            }
            step::EXIT => {
                known.tick += 1;
                self.fence_off(thread);
                return Ok(());
            }
            step::JOIN => {
                self.join(thread, record.value as usize);
                return Ok(());
            }
            step::FENCE => {
                self.fence_off(thread);
                return Ok(());
            }
            _ => {}
        }
        self.open(thread, record, trace);
        Ok(())
    }

    /// A thread knows that another one has ended, and whatever that one knew.
    fn join(&mut self, thread: usize, of: usize) {
        self.apart = self.apart.saturating_sub(1);
        let Some(other) = self.threads.get(of).filter(|_| of != thread) else {
            return;
        };
        // Where another thread may have its number later, only so much is known.
        let (tick, pushed) = match self.again {
            true => (other.tick, other.pushed),
            false => (u32::MAX, u32::MAX),
        };
        let mut all = other.joined.clone();
        all.push((of as Process, tick));
        if self.buffered {
            all.extend(self.order().commits_of(of).map(|commits| (commits, pushed)));
        }
        let known = &mut self.threads[thread];
        for (process, tick) in all {
            match known.joined.iter_mut().find(|(of, _)| *of == process) {
                Some((_, known)) => *known = tick.max(*known),
                None => known.joined.push((process, tick)),
            }
        }
        known.joined_set = 0;
        // Whom it created before does not know of it.
        known.tick += 1;
    }

    /// Lines whose non-temporal stores have streams already.
    pub(super) fn expect_streams(&mut self, lines: Option<&Vec<u64>>) {
        for &line in lines.into_iter().flatten() {
            let known = Touched {
                by: 0,
                several: true,
                streams: true,
            };
            self.touched.insert(self.objects.of(line), known);
        }
    }

    /// A thread touches a line. Non-temporal stores to it have streams where others touch it, too: while it is alone, nobody does.
    fn touch(&mut self, thread: usize, object: u32, streams: bool) {
        self.non_temporal.1 |= streams;
        if !self.non_temporal.0 || self.all_stream || self.apart == 0 {
            return;
        }
        let touched = self.touched.entry(object).or_insert(Touched {
            by: thread as Process,
            several: false,
            streams: false,
        });
        let known = touched.several && touched.streams;
        touched.several |= usize::from(touched.by) != thread;
        touched.streams |= streams;
        if touched.several && touched.streams && !known {
            self.more_lines.extend(self.objects.word(object));
        }
    }

    /// The threads that one knows to have ended, as steps name them.
    fn joined(&mut self, thread: usize, trace: &mut Trace) -> u32 {
        let known = &mut self.threads[thread];
        if known.joined_set == 0 && !known.joined.is_empty() {
            known.joined_set = trace.sets.come_after(&known.joined);
        }
        known.joined_set
    }

    /// The new thread comes after its creator, and after what its creator had committed.
    fn bear(&mut self, parent: usize, child: usize, site: u32, trace: &mut Trace) {
        let companion = self.companion(parent);
        let known = &self.threads[parent];
        let by_parent = |step: &&Step| self.order().thread(step.process) == parent;
        let open = self.open.is_some_and(|open| open.thread == parent);
        // Of an execution that is followed, what comes later is there already.
        let known_steps = trace.steps.iter().take(self.at);
        trace.births.push(Birth {
            parent: parent as Process,
            tick: known.tick,
            site,
            child: child as Process,
            what: 0,
            after: known_steps.filter(by_parent).count() as u32 + u32::from(open),
        });
        let born = [
            (parent as Process, known.tick),
            (companion, if self.buffered { known.committed } else { 0 }),
        ];
        self.apart += 1;
        // What it waited for where no transition of its own says so.
        let floor = known.floor.clone();
        if let Some(child) = self.threads.get_mut(child) {
            // Another one may have had its number.
            (child.stepped, child.drained, child.meets) = (false, 0, (0, 0));
            child.inherited = child.pushed;
            child.joined.clear();
            child.joined_set = 0;
            child.own.clear();
            child.epoch = child.entries.len();
            child.born = born;
            child.floor = floor;
        }
    }

    fn open(&mut self, thread: usize, record: &Traced<'_>, trace: &mut Trace) {
        let mut more = 0;
        let watches = &mut self.threads[thread].watches;
        // Its store buffer goes on without it.
        if !watches.is_empty() && record.thread < COMPANIONS {
            watches.sort_unstable();
            more = trace.sets.watch(watches);
            watches.clear();
        }
        self.late |= record.flags == step::LATE_WAKE;
        self.open = Some(Open {
            thread,
            commits: record.thread >= COMPANIONS,
            kind: record.flags,
            object: record.value,
            enabled: word(record, 0),
            more,
        });
    }

    /// What comes before a transition of this thread whatever memory holds.
    fn structure(&self, thread: usize, drains: bool) -> [(Process, u32); 2] {
        let known = &self.threads[thread];
        let drained = if drains && self.buffered {
            match known.committed > known.inherited {
                true => known.committed,
                false => 0,
            }
        } else {
            known.drained
        };
        match (drained, known.stepped) {
            (0, false) => known.born,
            (0, true) => [(0, 0); 2],
            (tick, _) => [(self.companion(thread), tick), (0, 0)],
        }
    }

    /// Transitions so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// A transition of which nothing more will be heard.
    pub(super) fn close(&mut self, trace: &mut Trace) -> Result<(), ThreadsError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut step = match open.commits {
            true => self.leaves(&open)?,
            false => self.skeleton(&open, self.threads[open.thread].site, trace),
        };
        if open.kind == step::SPOIL {
            self.spoils(&open, &mut step, trace);
        }
        if open.kind == step::FLUSH {
            let (place, mask) = place(open.object);
            (step.object, step.mask) = (self.objects.of(place), mask);
            (step.act, step.access) = (Act::Flush, Access::Flush);
            step.persistent = true;
        }
        if open.kind == step::ORDER {
            step.act = Act::Fence;
        }
        step.plain |= open.kind == step::ORDER && open.object == step::STORES_ONLY;
        if open.kind == step::CREATE && self.creations {
            let (place, mask) = place(CREATIONS);
            (step.object, step.mask) = (self.objects.of(place), mask);
            (step.access, step.left) = (Access::Write, open.object);
        }
        self.finish(&open, step, trace)
    }

    fn skeleton(&mut self, open: &Open, site: u32, trace: &mut Trace) -> Step {
        let joined = self.joined(open.thread, trace);
        let behind = match open.kind {
            step::PASS => self.behind_arrivals(open.thread, trace),
            kind => self.behind_streams(open.thread, drains(kind), trace),
        };
        let known = &self.threads[open.thread];
        let [need, also] = self.structure(open.thread, drains(open.kind));
        Step {
            process: open.thread as Process,
            tick: known.tick + 1,
            need,
            also,
            behind,
            joined,
            // Where the program asks for it, it is.
            sealed: known.sealed && open.kind != step::PREEMPT,
            unjudged: known.unjudged,
            site,
            ..Step::NOTHING
        }
    }

    fn finish(
        &mut self,
        open: &Open,
        mut step: Step,
        trace: &mut Trace,
    ) -> Result<(), ThreadsError> {
        self.concerns_blocks(&mut step, trace);
        if !open.commits {
            let known = &mut self.threads[open.thread];
            if drains(open.kind) {
                known.epoch = known.entries.len();
            }
            known.floor.clear();
            known.tick += 1;
            known.stepped = true;
            known.joined.clear();
            known.joined_set = 0;
            known.drained = 0;
        }
        if let Some(naming) = &mut self.naming {
            naming.step(&step, open.commits);
        }
        let at = self.at;
        self.at += 1;
        if at < self.keep {
            return match at < self.known || is_same(&trace.steps[at], step) {
                true => Ok(()),
                false => Err(ThreadsError::Diverged { at }),
            };
        }
        trace.steps.push(step);
        trace
            .enabled
            .push(self.processes(open.enabled, &self.others));
        Ok(())
    }

    fn trail(
        &mut self,
        thread: usize,
        (write, atomic): (bool, bool),
        object: u32,
        mask: u64,
        site: u32,
        trace: &mut Trace,
    ) {
        if let Some(naming) = &mut self.naming {
            naming.access(thread, site);
        }
        let joined = self.joined(thread, trace);
        let need = self.besides(thread);
        let known = &self.threads[thread];
        if known.section.is_some() {
            let bytes = self.whole_lines(thread, object, mask, write);
            self.accessed.push((object, bytes, write));
        }
        let known = &self.threads[thread];
        let access = Trailing {
            after: (self.at as u32).wrapping_sub(1),
            thread: thread as Process,
            tick: known.tick,
            need,
            joined,
            object,
            mask,
            write,
            within: known.in_block || known.section.is_some(),
            atomic,
            unjudged: known.unjudged,
            site,
        };
        if self.told.first_time(&access, self.run) {
            trace.trailing.push(access);
        }
    }

    /// What a thread knows besides its own transitions.
    fn besides(&self, thread: usize) -> [(Process, u32); 2] {
        let known = &self.threads[thread];
        match known.stepped {
            true => [(0, 0); 2],
            false => known.born,
        }
    }

    pub(super) fn end(&mut self, trace: &mut Trace) -> Result<(), ThreadsError> {
        self.close(trace)?;
        self.tell_alike(trace);
        Ok(())
    }
}
