//! What one execution did.

use super::processes::Processes;
use super::step::{Access, Act, Order, Orders, Process, Sets, Step};
use landfall_model::event::Atomicity;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum End {
    /// Every thread ended and every store buffer is empty.
    Complete,
    /// A thread assumed what does not hold: it is no execution of the program. What others did is what they could have done before.
    Assumed,
    /// Nobody can go on: [`Trace::blocked`] says what each waits for.
    Deadlock,
    /// Some thread went through a turn of a loop in vain, at a moment that the search had chosen, and was left there: without that turn
    /// it would go on. What happened is the beginning of an execution, and that nobody goes on says nothing.
    InVain,
    /// A transaction was aborted because of a conflict that nobody can have made: it is no execution of the program, and says nothing.
    Unfounded,
    /// Only processes that the search had put to sleep could go on: the execution repeats another one.
    Asleep,
    /// The executor stopped it after its limit of transitions.
    Limit,
}

/// A shared access that was no scheduling point, for race detection and saturation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trailing {
    /// Index of the last transition before it; `u32::MAX` before the first.
    pub after: u32,
    pub thread: Process,
    /// Its thread's tick when it happened.
    pub tick: u32,
    /// What its thread knows besides its own transitions up to then, as in [`Step`].
    pub need: [(Process, u32); 2],
    pub joined: u32,
    pub object: u32,
    pub mask: u64,
    pub write: bool,
    /// It belongs to that transition, an atomic block or a critical section: who knows of the one knows of the other.
    pub within: bool,
    /// It is atomic, and no transition because it is part of such a block.
    pub atomic: bool,
    /// As in [`Step`].
    pub unjudged: bool,
    pub site: u32,
}

/// A fence of the source. What it does to store buffers, if anything, is said elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceFence {
    /// Index of the last transition before it; `u32::MAX` before the first.
    pub after: u32,
    /// How many of [`Trace::trailing`] came before it.
    pub trailing: u32,
    pub thread: Process,
    /// Its thread's tick, which is its own.
    pub tick: u32,
    pub orders: Orders,
}

/// A `clflushopt` or `clwb`. It is no transition: where nothing forces it to come after a store, it can come before it,
/// and that guarantees less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteBack {
    pub thread: Process,
    pub object: u32,
    /// Its thread's tick when it was issued: it comes after those transitions.
    pub issued: u32,
    /// And after what its thread's stores are committed by, up to here: the last store to the line, the last fence.
    pub after: (Process, u32),
    /// What its thread had put into the store buffer before it: a fence there with a later tick completes it.
    pub buffered: u32,
    /// What its thread knows besides its own transitions up to then, as in [`Step`].
    pub need: [(Process, u32); 2],
    pub joined: u32,
    pub site: u32,
}

/// A store to persistent memory of a hardware transaction that committed: at most eight bytes of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionStore {
    /// Index of the transition that the transaction is.
    pub at: u32,
    pub object: u32,
    pub mask: u64,
    pub value: u64,
    pub atomic: Atomicity,
    pub site: u32,
}

impl TransactionStore {
    /// As if it were a transition of its own.
    pub(super) fn alone(&self) -> Step {
        Step {
            object: self.object,
            mask: self.mask,
            left: self.value,
            site: self.site,
            atomic: self.atomic,
            act: Act::Store,
            access: Access::Write,
            persistent: true,
            ..Step::NOTHING
        }
    }
}

/// What came of an attempt at a hardware transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptFate {
    /// Its code ran, to its end or until it aborted itself.
    Ran,
    /// Aborted for no reason.
    Spurious,
    /// Aborted because of another thread's access.
    Conflict,
}

/// An attempt at a hardware transaction, where conflicts are told apart from other aborts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The transition that it is.
    pub at: u32,
    pub fate: AttemptFate,
    /// What its code accessed, or would have, in program order.
    pub footprint: Vec<FootprintAccess>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FootprintAccess {
    /// Object, bytes, and whether they are written. Where conflicts are about lines, all bytes of these.
    pub accessed: (u32, u64, bool),
    /// As in [`Step`]: the commit of its thread's newest earlier store to these bytes.
    pub own: (Process, u32),
}

/// A thread creates another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Birth {
    pub parent: Process,
    /// The parent's, right after it.
    pub tick: u32,
    pub site: u32,
    /// Its number; what it runs on what argument, as a number (0 if that is not known); and the transitions of its parent before it.
    pub child: Process,
    pub what: u64,
    pub after: u32,
}

/// A thread waits, and what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// For the transition to become possible.
    Step(Step),
    /// For another thread to end.
    Join {
        thread: Process,
        of: Process,
        site: u32,
    },
    /// At a barrier, for the others.
    Barrier {
        thread: Process,
        object: u32,
        site: u32,
    },
}

/// A failed assertion, or whatever the executor calls a failure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadFailure {
    pub thread: Process,
    pub site: u32,
    pub code: u32,
}

/// Filled by an executor, run after run: the buffers are reused.
#[derive(Clone, Debug)]
pub struct Trace {
    pub steps: Vec<Step>,
    /// Before each transition, the processes that could have made one.
    pub enabled: Vec<Processes>,
    pub trailing: Vec<Trailing>,
    pub fences: Vec<SourceFence>,
    pub write_backs: Vec<WriteBack>,
    /// In the order of the trace, and in each transaction in program order.
    pub transaction_stores: Vec<TransactionStore>,
    /// In the order of the trace, where conflicts are told apart.
    pub attempts: Vec<Attempt>,
    /// Who created threads, if the executor says so.
    pub births: Vec<Birth>,
    pub blocked: Vec<Wait>,
    pub failures: Vec<ThreadFailure>,
    /// Locks of which it turned out that their critical sections are not single transitions.
    pub broken: Vec<u32>,
    /// Threads that assumed what does not hold, before anything failed.
    pub assumed: Processes,
    /// Per thread, the first one that it is like: the same code on the same argument, created with it, and nobody can tell them apart.
    /// Empty if the executor does not say.
    pub alike: Vec<Process>,
    pub end: End,
    /// What steps name by an index.
    pub sets: Sets,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace {
            steps: Vec::new(),
            enabled: Vec::new(),
            trailing: Vec::new(),
            fences: Vec::new(),
            write_backs: Vec::new(),
            transaction_stores: Vec::new(),
            attempts: Vec::new(),
            births: Vec::new(),
            blocked: Vec::new(),
            failures: Vec::new(),
            broken: Vec::new(),
            assumed: Processes::default(),
            alike: Vec::new(),
            end: End::Complete,
            sets: Sets::default(),
        }
    }
}

impl Trace {
    /// So many transitions come first, all of the first thread, and before there was another one: everybody else comes after them. The
    /// last of them may still be going on.
    pub fn alone(&self) -> usize {
        let first = self.births.first().filter(|birth| birth.parent == 0);
        first.map_or(0, |birth| (birth.after as usize).saturating_sub(1))
    }

    /// The first of these that did not happen while the first thread was alone: by the transition before each.
    pub fn not_alone<T>(&self, all: &[T], after: impl Fn(&T) -> u32) -> usize {
        let alone = self.alone();
        all.partition_point(|of| (after(of).wrapping_add(1) as usize) < alone)
    }

    /// Forgets the last execution but for its first `keep` transitions, which the next one repeats.
    pub fn restart(&mut self, keep: usize) {
        self.steps.truncate(keep);
        self.enabled.truncate(keep);
        let known = (self.transaction_stores).partition_point(|store| (store.at as usize) < keep);
        self.transaction_stores.truncate(known);
        let known = (self.attempts).partition_point(|attempt| (attempt.at as usize) < keep);
        self.attempts.truncate(known);
        self.trailing.clear();
        self.fences.clear();
        self.write_backs.clear();
        self.births.clear();
        self.blocked.clear();
        self.failures.clear();
        self.broken.clear();
        self.assumed = Processes::default();
        self.alike.clear();
        self.end = End::Complete;
    }

    /// What the transactions among these transitions stored to persistent memory.
    pub fn stores_of(&self, steps: std::ops::Range<usize>) -> &[TransactionStore] {
        let before = |at: usize| {
            let stores = &self.transaction_stores;
            stores.partition_point(|store| (store.at as usize) < at)
        };
        &self.transaction_stores[before(steps.start)..before(steps.end)]
    }

    /// The beginning of an execution that shares the first `keep` transitions of this one.
    pub(super) fn begin_like(&self, keep: usize) -> Trace {
        Trace {
            steps: self.steps[..keep].to_vec(),
            enabled: self.enabled[..keep].to_vec(),
            transaction_stores: self.stores_of(0..keep).to_vec(),
            ..Trace::default()
        }
    }

    /// Switches away from a thread that could have gone on, among the first `count` transitions. Commits of store buffers are free,
    /// and who only waits for them could have gone on.
    pub fn preemptions(&self, order: Order, count: usize) -> u32 {
        let mut preemptions = 0;
        let mut running: Option<Process> = None;
        for (step, enabled) in self.steps.iter().zip(&self.enabled).take(count) {
            if order.is_companion(step.process) {
                continue;
            }
            let goes_on = |last| last != step.process && order.goes_on(enabled, last);
            preemptions += u32::from(running.is_some_and(goes_on));
            running = Some(step.process);
        }
        preemptions
    }
}
