//! One transition, and when two of them depend on each other.
//!
//! A transition does at most one visible thing: it reads, writes or writes back bytes of one object (a line of memory, a
//! lock). What a thread does after that, up to its next visible operation, belongs to the same transition. Under TSO a
//! thread's stores are made visible by its *companion*, a process whose transitions are the commits of the store buffer.
//! Non-temporal stores keep no order with stores to other lines (docs/design/model.md §2): each line of them between two fences has a
//! process of its own, a *stream*.

use super::processes::Processes;
use super::section::{SectionKey, Sections, UsualSections};
use super::sync::{self, Op};
use landfall_model::event::Atomicity;
use rustc_hash::FxHashMap;

/// A thread, or (from [`Order::threads`] on) the companion that commits a thread's store buffer, or (from twice as many on) one
/// of the streams that commit its non-temporal stores.
pub type Process = u16;

/// No object: the transition is visible to nobody.
pub const NOWHERE: u32 = u32::MAX;

/// What the program did; the search looks at [`Access`] only, people and checkers look here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    Load,
    Store,
    /// A buffered store reaches memory.
    Commit,
    Rmw,
    Cas,
    /// On a lock, a semaphore, a condition …
    Sync(Op),
    /// `clflush`.
    Flush,
    /// Completes the write-backs of its thread.
    Fence,
    /// A hardware transaction, all of it: one that commits, or one that its own code aborted and that only read. What it accessed is a
    /// set as that of a critical section ([`Step::section`]).
    Transaction,
    /// A thread is created, or ends, or nothing comes of it: no store and no fence.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    None,
    Read,
    Write,
    /// Writes a line back.
    Flush,
}

/// What an atomic access asks for in the source, as far as data races are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Orders {
    pub acquire: bool,
    pub release: bool,
    /// It reads what it replaces.
    pub updates: bool,
}

impl Orders {
    /// The strongest that there are for such an access.
    pub fn strongest(act: Act, writes: bool) -> Orders {
        let locked = matches!(act, Act::Rmw | Act::Cas);
        Orders {
            acquire: locked || !writes,
            release: writes,
            updates: locked && writes,
        }
    }
}

/// When a transition is possible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Until {
    Now,
    /// None of these bits of the object is set: a lock is free.
    Clear(u64),
    /// Some of these bits are: a semaphore is not 0, a signal has reached the thread.
    Any(u64),
    /// Some of these bits are, and not everybody whom a signal reached may go on ([`Op::WakeToLook`]).
    Contested(u64),
    /// Something that the thread read in its last turn of a loop has changed since: [`Step::more`]. Only of what waits still: a turn
    /// that was in vain is no part of an execution, or its end.
    Changed,
}

impl Until {
    /// Is it possible where the object holds `value`? `Changed` is not a question of one value.
    pub fn admits(self, value: u64) -> bool {
        match self {
            Until::Now | Until::Changed => true,
            Until::Clear(bits) => value & bits == 0,
            Until::Any(bits) => value & bits != 0,
            Until::Contested(bits) => sync::is_contested_by(bits, value),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    pub process: Process,
    pub act: Act,
    pub access: Access,
    pub until: Until,
    /// Is the object persistent memory?
    pub persistent: bool,
    /// A data access, which synchronises with nothing; a fence of a thread's that orders stores only.
    pub plain: bool,
    /// An atomic access: what it passes on and takes over.
    pub orders: Orders,
    /// Of a commit: its thread's tick when the store was issued.
    pub issued: u32,
    /// Of a store to persistent memory: what the source says of it, and whether it is durable at once (a file's metadata).
    pub atomic: Atomicity,
    pub at_once: bool,
    /// A non-temporal store: durable at its thread's next fence, wherever caches are persistent.
    pub streams: bool,
    /// A lock or the like was destroyed before; or it is destroyed or made anew while others hold it or wait for it.
    pub gone: bool,
    pub in_use: bool,
    /// Its thread is not to be preempted before it ([`super::seal`]).
    pub sealed: bool,
    /// Its thread says that what it does there is not to be judged: it is no part of a data race.
    pub unjudged: bool,
    /// Ascending within a process. Not dense: creating a thread, joining one and ending take a tick too.
    pub tick: u32,
    /// This process' transitions up to `need.1` come before it: who issued a committed store, whose stores a fence
    /// waits for, who created the thread. Tick 0 asks for nothing.
    pub need: (Process, u32),
    /// This process' transitions up to `also.1` come before it, too: a created thread comes after its creator and after what its creator had committed.
    pub also: (Process, u32),
    /// And these: an index into [`Sets`]; 0 is empty. Stores before a non-temporal one on its line, and the other way round;
    /// the streams that a fence waits for; the arrivals of its round before who passes a barrier.
    pub behind: u32,
    /// Threads that it knows to have ended (joins): their transitions come before it. An index into [`Sets`], as `behind` is.
    pub joined: u32,
    pub object: u32,
    /// Which bytes of the object; of a synchronisation object, which bits of its word.
    pub mask: u64,
    /// A load under TSO: the commit of its thread's newest earlier store to these bytes, tick 0 if there is none.
    /// The load returns that store, committed or not, unless another store got in between.
    pub own: (Process, u32),
    /// Further bytes that it reads: whose change makes it possible ([`Until::Changed`]), or a futex's word. An index into
    /// [`Sets`]; 0 is empty.
    pub more: u32,
    /// Of a critical section: what was accessed inside, an index into [`Sets`]; 0 of all others.
    pub section: u32,
    /// Of a critical section: the condition that it signalled, or that its thread waits for from then on. `NOWHERE` of all others.
    pub condition: u32,
    /// What the object held before (of a synchronisation object, its whole word; of a critical section, that condition's).
    pub found: u64,
    /// What it held after.
    pub left: u64,
    /// What a compare-and-swap asked for; of an arrival at a barrier, how many that waits for.
    pub expect: u64,
    /// The instruction, as the executor numbers them.
    pub site: u32,
}

impl Step {
    /// Is it a hardware transaction that happened?
    pub fn commits(&self) -> bool {
        self.act == Act::Transaction && self.left == 1
    }

    pub const NOTHING: Step = Step {
        process: 0,
        act: Act::Other,
        access: Access::None,
        until: Until::Now,
        persistent: false,
        plain: false,
        orders: Orders {
            acquire: false,
            release: false,
            updates: false,
        },
        issued: 0,
        atomic: Atomicity::Plain,
        at_once: false,
        streams: false,
        gone: false,
        in_use: false,
        sealed: false,
        unjudged: false,
        tick: 0,
        need: (0, 0),
        also: (0, 0),
        behind: 0,
        joined: 0,
        object: NOWHERE,
        mask: 0,
        own: (0, 0),
        more: 0,
        section: 0,
        condition: NOWHERE,
        found: 0,
        left: 0,
        expect: 0,
        site: 0,
    };

    /// Waits for a condition in a loop, was reached, and would only look again: the execution in which it looks then, and has not waited,
    /// shows what follows.
    pub fn would_look(&self) -> bool {
        match self.until {
            Until::Contested(bits) => self.found & bits != 0 && !self.until.admits(self.found),
            _ => false,
        }
    }

    /// Does it arrive at a barrier?
    #[inline]
    pub fn arrives(&self) -> bool {
        self.act == Act::Sync(Op::Arrive) && self.expect != 0
    }

    /// Of an arrival: in which round that is.
    pub fn round(&self) -> u64 {
        self.found / self.expect.max(1)
    }

    /// Do both arrive at one barrier?
    #[inline]
    pub(super) fn meets(&self, other: &Step) -> bool {
        self.object == other.object && self.arrives() && other.arrives()
    }

    /// Of an arrival that waits for its turn: the same after so many others. Is it in another round then?
    pub(super) fn is_shifted_by(&self, others: u64) -> bool {
        let parties = self.expect.max(1);
        self.found % parties + others >= parties
    }

    /// It waits while `step` is executed.
    pub(super) fn sees(&mut self, step: &Step) {
        if self.meets(step) {
            self.found = step.left;
        }
    }

    /// What it does to a synchronisation object, if anything: how, which bits, what it found and left.
    pub(super) fn touch(&self, object: u32) -> Option<Touch> {
        if self.section == 0 {
            return (self.object == object).then_some(Touch {
                access: self.access,
                mask: self.mask,
                found: self.found,
                left: self.left,
            });
        }
        if self.object == object {
            return Some(Touch {
                access: self.access,
                mask: self.mask,
                found: 0,
                left: 0,
            });
        }
        (self.condition == object && object != NOWHERE).then_some(Touch {
            access: Access::Write,
            mask: sync::changed_by_section(self.found, self.left),
            found: self.found,
            left: self.left,
        })
    }

    /// Does it make some line durable, at least up to what was logged before?
    pub fn guarantees(&self) -> bool {
        matches!(self.act, Act::Flush | Act::Fence | Act::Rmw | Act::Cas)
    }
}

/// What a transition does to a synchronisation object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) access: Access,
    pub(super) mask: u64,
    pub(super) found: u64,
    pub(super) left: u64,
}

/// Sets that steps name by their index, the same for the whole search. The first of each is empty.
#[derive(Clone, Debug)]
pub struct Sets {
    /// Bytes whose change a thread waits for.
    pub watched: Vec<Vec<(u32, u64)>>,
    /// Transitions that come before one: processes, and the tick up to which.
    pub behind: Vec<Vec<(Process, u32)>>,
    numbers: FxHashMap<Vec<(Process, u32)>, u32>,
    sections: Sections,
}

impl Default for Sets {
    fn default() -> Sets {
        Sets {
            watched: vec![Vec::new()],
            behind: vec![Vec::new()],
            numbers: FxHashMap::default(),
            sections: Sections::default(),
        }
    }
}

impl Sets {
    pub fn watch(&mut self, set: &[(u32, u64)]) -> u32 {
        let known = self.watched.iter().position(|known| known == set);
        known.unwrap_or_else(|| {
            self.watched.push(set.to_vec());
            self.watched.len() - 1
        }) as u32
    }

    /// Does one write what the other reads besides its object?
    fn watches(&self, reads: &Step, writes: &Step) -> bool {
        let meets =
            |&(object, mask): &(u32, u64)| object == writes.object && mask & writes.mask != 0;
        reads.more != 0
            && writes.access == Access::Write
            && self.watched[reads.more as usize].iter().any(meets)
    }

    pub fn come_after(&mut self, set: &[(Process, u32)]) -> u32 {
        if set.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(set) {
            return number;
        }
        let number = self.behind.len() as u32;
        self.behind.push(set.to_vec());
        self.numbers.insert(set.to_vec(), number);
        number
    }

    /// A critical section in which these bytes were accessed: object, bytes, whether they were written. Never 0.
    pub fn section(&mut self, key: SectionKey, accesses: &mut Vec<(u32, u64, bool)>) -> u32 {
        self.sections.number(key, accesses)
    }

    /// A critical section: may it access something else in another place?
    pub(super) fn varies(&self, section: &Step) -> bool {
        self.sections.usual.is_varying(section)
    }

    /// Are there such critical sections?
    pub(super) fn sections_vary(&self) -> bool {
        self.sections.usual.any_vary()
    }

    /// A critical section of a lock enters the queue of a condition, or else signals it: what is accessed by that. Or the other lock of which
    /// sections do that, which must not be.
    pub fn at_condition(
        &mut self,
        condition: u32,
        lock: u32,
        enters: bool,
    ) -> Result<(u32, u64, bool), u32> {
        self.sections.at_condition(condition, lock, enters)
    }

    /// What critical sections access, in this search and those before.
    pub(super) fn usual_sections(&mut self) -> &mut UsualSections {
        &mut self.sections.usual
    }

    /// Is something done to the object in critical sections, besides by transitions of its own?
    pub(super) fn is_condition(&self, object: u32) -> bool {
        self.sections.is_condition(object)
    }

    /// What was accessed in one.
    pub fn accessed(&self, section: u32) -> &[(u32, u64, bool)] {
        self.sections.get(section)
    }

    /// Do two critical sections of one lock come in either order with the same effect?
    pub fn share_nothing(&self, a: u32, b: u32) -> bool {
        self.sections.share_nothing(a, b)
    }

    /// Does one of them, which is a critical section, do something to the condition that is the other's object?
    fn share_condition(&self, a: &Step, b: &Step) -> bool {
        let touches = |section: u32, other: &Step| {
            let writes = other.access == Access::Write;
            matches!(other.act, Act::Sync(_))
                && other.access != Access::None
                && (self.sections).touches(section, (other.object, other.mask, writes))
        };
        match (a.section, b.section) {
            (section, 0) if section != 0 => touches(section, b),
            (0, section) if section != 0 => touches(section, a),
            _ => false,
        }
    }

    /// A hardware transaction accessed these bytes.
    pub fn transaction(&mut self, key: SectionKey, accesses: &mut Vec<(u32, u64, bool)>) -> u32 {
        self.sections.transaction(key, accesses)
    }

    /// Have there been hardware transactions?
    pub fn have_transactions(&self) -> bool {
        self.sections.has_transactions()
    }

    /// Is something of what two transitions with sets of accesses touch the same, and one of them writes it?
    pub(super) fn share_accesses(&self, a: &Step, b: &Step) -> bool {
        !self.share_nothing(a.section, b.section)
    }

    /// Does one of them, a hardware transaction, do what does not commute with the other?
    fn share_transaction(&self, a: &Step, b: &Step) -> bool {
        let one = |transaction: &Step, other: &Step| {
            transaction.act == Act::Transaction
                && self.meets_transaction(transaction.section, other)
        };
        one(a, b) || one(b, a)
    }

    fn meets_transaction(&self, transaction: u32, other: &Step) -> bool {
        if other.section != 0 {
            return !self.share_nothing(transaction, other.section);
        }
        let touches =
            |object, mask, writes| self.sections.touches(transaction, (object, mask, writes));
        let itself = matches!(other.access, Access::Read | Access::Write)
            && touches(other.object, other.mask, other.access == Access::Write);
        let watched = self.watched[other.more as usize].iter();
        itself || { watched }.any(|&(object, mask)| touches(object, mask, false))
    }

    /// Is a transition a compare-and-swap whose outcome the transaction before it may decide?
    pub(super) fn is_decided_by(&self, swap: &Step, first: &Step) -> bool {
        swap.act == Act::Cas
            && first.act == Act::Transaction
            && (self.sections).touches(first.section, (swap.object, swap.mask, false))
    }

    /// Is a transition among those that a set names?
    fn names(&self, set: u32, first: &Step) -> bool {
        let mut set = self.behind[set as usize].iter();
        set.any(|&(process, tick)| process == first.process && first.tick <= tick)
    }

    /// The threads that one knows to have ended, and the ticks up to which they went.
    pub fn joined(&self, set: u32) -> &[(Process, u32)] {
        self.behind.get(set as usize).map_or(&[], Vec::as_slice)
    }
}

/// How much of persistency decides whether two transitions depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Persistency {
    /// No persistent memory is looked at.
    #[default]
    Ignored,
    /// Stores to one line are ordered, as a line's versions are. Enough: [`super::crash`] finds what a power failure
    /// can leave of a trace.
    Lines,
    /// A store and a `clflush` of its line are ordered as well.
    Flushes,
    /// What guarantees durability is ordered with every persistent store, so that the cuts of *one* linearisation are
    /// those of its whole trace. Many more traces; a yardstick for [`Persistency::Lines`].
    Cuts,
}

/// The dependence of one search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Threads; their companions follow, and their streams.
    pub threads: usize,
    /// How many streams each thread has.
    pub streams: usize,
    pub persistency: Persistency,
}

impl Order {
    pub fn thread(&self, process: Process) -> usize {
        let process = process as usize;
        if process < self.threads {
            process
        } else if process < 2 * self.threads {
            process - self.threads
        } else {
            (process - 2 * self.threads) / self.streams.max(1)
        }
    }

    /// How many processes there can be where stores wait in buffers.
    pub fn processes(&self) -> usize {
        self.threads * (2 + self.streams)
    }

    /// One of a thread's streams.
    pub fn stream(&self, thread: usize, number: usize) -> usize {
        2 * self.threads + thread * self.streams + number
    }

    /// What commits a thread's stores.
    pub fn commits_of(&self, thread: usize) -> impl Iterator<Item = Process> + use<> {
        let streams = self.stream(thread, 0)..self.stream(thread, self.streams);
        let all = std::iter::once(self.companion(thread)).chain(streams);
        all.map(|process| process as Process)
    }

    pub fn companion(&self, thread: usize) -> usize {
        thread + self.threads
    }

    /// Does it commit stores that a thread made?
    pub fn is_companion(&self, process: Process) -> bool {
        process as usize >= self.threads
    }

    /// Among those that can go on, is this thread, if only its store buffer?
    pub fn goes_on(&self, enabled: &Processes, thread: Process) -> bool {
        enabled.contains(thread)
            || self
                .commits_of(thread.into())
                .any(|commits| enabled.contains(commits))
    }

    /// A thread and its own store buffer see each other in program order only.
    pub fn same_thread(&self, a: Process, b: Process) -> bool {
        self.thread(a) == self.thread(b)
    }

    pub(super) fn orders_flushes(&self) -> bool {
        matches!(self.persistency, Persistency::Flushes | Persistency::Cuts)
    }

    /// Is the conflict with other objects than its own?
    pub(super) fn is_wide(&self, step: &Step, sets: &Sets) -> bool {
        step.more != 0
            || sets.have_transactions()
                && (step.act == Act::Transaction || sets.sections.meets_transactions(step))
            || sets.sections.has_conditions()
                && match step.section {
                    0 => sets.is_condition(step.object),
                    section => sets.sections.concerns_conditions(section),
                }
            || (self.persistency == Persistency::Cuts && (step.guarantees() || step.persistent))
    }

    /// Do the two touch the same thing in a way that does not commute? Says nothing about who executes them.
    pub fn conflicts(&self, a: &Step, b: &Step, sets: &Sets) -> bool {
        if sets.have_transactions() && sets.share_transaction(a, b) {
            return true;
        }
        if a.object == b.object && a.object != NOWHERE {
            if a.meets(b) {
                return a.round() != b.round();
            }
            if a.section != 0 && b.section != 0 {
                return !sets.share_nothing(a.section, b.section);
            }
            let overlap = a.mask & b.mask != 0;
            let line = self.persistency != Persistency::Ignored && a.persistent;
            match (a.access, b.access) {
                (Access::Write, Access::Read) | (Access::Read, Access::Write) if overlap => {
                    return true;
                }
                (Access::Write, Access::Write) if overlap || line => return true,
                (Access::Write, Access::Flush) | (Access::Flush, Access::Write)
                    if self.orders_flushes() && line =>
                {
                    return true;
                }
                _ => {}
            }
        }
        if sets.sections.has_conditions() && sets.share_condition(a, b) {
            return true;
        }
        if self.persistency == Persistency::Cuts {
            let orders =
                |a: &Step, b: &Step| a.guarantees() && b.persistent && b.access == Access::Write;
            if orders(a, b) || orders(b, a) {
                return true;
            }
        }
        sets.watches(a, b) || sets.watches(b, a)
    }

    /// Must `first` be executed before `second`, whatever they touch?
    #[inline]
    pub(super) fn follows(&self, first: &Step, second: &Step, sets: &Sets) -> bool {
        first.process == second.process
            || (second.need.0 == first.process && first.tick <= second.need.1)
            || (second.also.0 == first.process && first.tick <= second.also.1)
            || second.joined != 0 && sets.names(second.joined, first)
            || second.behind != 0 && sets.names(second.behind, first)
    }

    /// `asleep` could be executed, and `step` is instead: does it depend on that?
    pub fn wakes(
        &self,
        asleep: &Step,
        step: &Step,
        sets: &Sets,
        committed: impl Fn(Process) -> u32,
    ) -> bool {
        if asleep.meets(step) {
            return self.follows(asleep, step, sets) || step.is_shifted_by(1);
        }
        self.depends(asleep, step, sets, committed)
    }

    /// `first` is executed before `second`: must it be? `committed` is the tick up to which a companion has committed
    /// right before that one of the two which writes.
    ///
    /// A load that finds a store of its own thread in the store buffer does not see memory, so what is written there
    /// before that store is committed does not concern it.
    pub fn depends(
        &self,
        first: &Step,
        second: &Step,
        sets: &Sets,
        committed: impl Fn(Process) -> u32,
    ) -> bool {
        if self.follows(first, second, sets) {
            return true;
        }
        if self.same_thread(first.process, second.process) || !self.conflicts(first, second, sets) {
            return false;
        }
        let hidden = |load: &Step, other: &Step| {
            load.own.1 != 0
                && !sets.watches(load, other)
                && other.access == Access::Write
                && committed(load.own.0) < load.own.1
        };
        !hidden(first, second) && !hidden(second, first)
    }
}
