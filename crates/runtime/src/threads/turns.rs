//! Turns of loops. A turn that ends where it began, and of which others have seen nothing, did not happen: where the search does not say
//! that it shall, it is taken back, and its thread waits until something that it read is different. Where the search does say so, or
//! where nobody else can go on, it stays, and its thread is left there: the search sees to it that there is an execution without that
//! turn (docs/design/algorithms.md §3).
//!
//! Instrumented code says at the head of a loop what its function keeps there for later. What a thread does to memory and to locks is
//! seen here; whatever cannot be undone, or cannot be known, makes the turn one that happened.

mod changes;
mod fresh;
mod kept;
mod noted;
mod observed;
mod returned;
mod rounds;
mod time;
mod unsettled;
mod waiting;

use self::changes::Leaves;
pub(super) use self::changes::{counts_as_own, each_head};
pub(super) use self::fresh::{finds_changes, publishes, untouched, woken};
use self::kept::{AtHead, digest};
pub(super) use self::noted::{
    change, changed, committed, lasts, loses, pushes, read, read_and_changed, synchronised, touched,
};
use self::observed::TurnsSeen;
use self::rounds::Rounds;
pub(super) use self::rounds::{looks_again, looks_once};
use self::time::Time;
pub(super) use self::time::looks_at_clock;
use self::unsettled::Unsettled;
pub(super) use self::unsettled::{drained, settle};
pub(super) use self::waiting::{add_asleep, in_vain, log_wait, make_last, may_go_on, release};
use super::{MOST, block, leftovers, section, store_buffer, tables, threads, transactions, wakes};
use crate::run::endless::Digest;
use crate::run::shared::trace_len;
use crate::run::trace::{Origin, Site};
use crate::run::{compaction, shared};
use crate::state::run;
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;

/// Heads of loops that a thread is in, or was lately.
const HEADS: usize = 8;
/// Places that it read since it was at the oldest of them; and that it changed; and locks that it holds.
const READS: usize = 512;
const CHANGES: usize = 256;
const HELD: usize = 16;
/// Of a head, instead of what lasts: its thread was not there; or was, but what it did since is not known.
const FORGOTTEN: u64 = u64::MAX;
const TIDIED: u64 = u64::MAX - 1;

#[derive(Clone, Copy)]
#[repr(C)]
struct Read {
    place: u64,
    length: usize,
    /// Somebody else changed it after it was read.
    changed: bool,
    /// How many changes of its own thread's came before it.
    after: usize,
    /// What it found, as one word; and once it found something else, which was not its own thread's doing.
    value: u64,
    found_another: bool,
}

/// Bytes that a thread changed, what they held before and after.
#[derive(Clone, Copy)]
#[repr(C)]
struct Change {
    address: usize,
    length: usize,
    before: u64,
    left: u64,
    /// Nobody can tell when it was made.
    hidden: bool,
    view: View,
    /// What left the store buffer: which entry it was, from 1 on.
    entry: u32,
}

/// To whom bytes changed.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum View {
    All,
    /// The thread itself: it stored into its buffer.
    Own,
    /// The others: a store left the buffer.
    Others,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Held {
    lock: u64,
    /// The how many-th that its thread took.
    number: u64,
}

/// Where everything was before the first step of a turn.
#[derive(Clone, Copy)]
#[repr(C)]
struct Before {
    trace: u64,
    /// Steps of the thread itself, and how often threads took turns.
    own: u64,
    switches: u64,
    steps: u32,
    /// Who had been woken.
    woken: u32,
}

/// The head of a loop, as it was when the thread was there last.
/// No larger than 128 bytes: what is larger would be copied by a function that may be the program's.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    activation: u64,
    number: u64,
    kept: AtHead,
    /// What lasts that the thread has done, up to then.
    lasting: u64,
    reads: usize,
    changes: usize,
    /// Locks that it held, and how many it had taken.
    balance: u64,
    locks: u64,
    /// It had just taken the newest of them, with nothing read or done since.
    fresh: bool,
    /// Somebody saw what the turn had not undone yet, who had not seen the same of one before.
    seen: bool,
    begun: bool,
    /// How many stores that others can see it had put into its store buffer, and how much in all.
    entries: u32,
    pushed: u32,
    /// It has put more in there: since it last waited for that, or before its first step.
    undrained: bool,
    early: bool,
    /// The search says that its turn happens.
    stays: bool,
    before: Before,
}

const _: () = assert!(size_of::<Head>() <= 128);

/// Which head of a loop, in which activation of its function.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LoopHead {
    activation: u64,
    number: u64,
}

impl LoopHead {
    pub(crate) const NONE: LoopHead = LoopHead {
        activation: 0,
        number: 0,
    };
}

#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Waits {
    No = 0,
    /// Its turn did not happen: until something it read is different.
    ForChange,
    /// Its turn stays: for ever.
    Left,
}

/// What is known of one thread.
#[repr(C)]
struct Turns {
    heads: [Cell<Head>; HEADS],
    /// Where each of them is, and when the thread was there.
    places: [Cell<(Origin, u64)>; HEADS],
    /// Where its function keeps things.
    rooms: [Cell<usize>; HEADS],
    /// Who saw their turns.
    observed: [TurnsSeen; HEADS],
    /// The how many-th arrival at any head that was.
    arrived: [Cell<u64>; HEADS],
    arrivals: Cell<u64>,
    count: Cell<usize>,
    next: Cell<usize>,
    activations: Cell<u64>,
    lasting: Cell<u64>,
    reads: [Cell<Read>; READS],
    read_count: Cell<usize>,
    /// More was read than there is room for: any change is one.
    many: Cell<bool>,
    many_changed: Cell<bool>,
    changes: [Cell<Change>; CHANGES],
    change_count: Cell<usize>,
    held: [Cell<Held>; HELD],
    held_count: Cell<usize>,
    locks: Cell<u64>,
    balance: Cell<u64>,
    own: Cell<u64>,
    /// It has just taken a lock, and has neither read nor done anything since.
    fresh: Cell<bool>,
    /// Others may know addresses of its stack.
    published: Cell<bool>,
    waits: Cell<Waits>,
    /// What it waits for a change of.
    watch: [Cell<Read>; READS],
    watch_count: Cell<usize>,
    watch_many: Cell<bool>,
    /// Nobody else goes on: its next turn stays, in vain or not.
    last: Cell<bool>,
    /// Where it waits, and its arrival there.
    origin: Cell<Origin>,
    waits_since: Cell<u64>,
    /// The head at which it was last.
    latest: Cell<LoopHead>,
    /// What lasts, and what it had changed, when a wait of its own ended.
    woken_lasting: Cell<u64>,
    woken_changes: Cell<usize>,
    woken_pushed: Cell<u32>,
    /// Stores that others can see: how many went into the buffer, and how many have left it.
    entries: Cell<u32>,
    entries_left: Cell<u32>,
    unsettled: Unsettled,
    rounds: Rounds,
    time: Time,
}

#[repr(C)]
pub(super) struct AllTurns {
    switches: Cell<u64>,
    all: [Turns; MOST],
}

fn all() -> &'static AllTurns {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().turns.get() }
}

fn of(thread: usize) -> &'static Turns {
    &all().all[thread]
}

/// At the start of a run; the last one had `before` threads.
pub(super) fn begin(before: usize) {
    all().switches.set(0);
    for turns in &all().all[..before] {
        turns.count.set(0);
        turns.forget();
        turns.activations.set(0);
        turns.held_count.set(0);
        turns.locks.set(0);
        turns.balance.set(0);
        turns.lasting.set(0);
        turns.own.set(0);
        turns.arrivals.set(0);
        turns.fresh.set(false);
        turns.published.set(false);
        turns.waits.set(Waits::No);
        turns.last.set(false);
        turns.latest.set(LoopHead::NONE);
        turns.entries.set(0);
        turns.entries_left.set(0);
        turns.rounds.end();
        turns.time.goes_on();
    }
}

/// A thread begins; another one may have had its number in this run.
pub(super) fn begin_thread(thread: usize) {
    let turns = of(thread);
    turns.forget();
    turns.fresh.set(false);
    turns.published.set(false);
    turns.waits.set(Waits::No);
    turns.last.set(false);
    turns.rounds.end();
    turns.time.goes_on();
}

/// Has a thread given all locks back?
pub(super) fn holds_nothing(thread: usize) -> bool {
    let turns = of(thread);
    turns.held_count.get() == 0 && turns.balance.get() == 0
}

impl Turns {
    fn heads(&self) -> &[Cell<Head>] {
        &self.heads[..self.count.get()]
    }

    fn reads(&self, from: usize) -> &[Cell<Read>] {
        &self.reads[from.min(self.read_count.get())..self.read_count.get()]
    }

    fn changes(&self, from: usize) -> &[Cell<Change>] {
        &self.changes[from.min(self.change_count.get())..self.change_count.get()]
    }

    /// Of all heads.
    fn forget(&self) {
        self.unsettled.is_none();
        if leftovers::is_on() {
            for place in &self.places[..self.count.get()] {
                leftovers::counts(place.get().0);
            }
        }
        self.count.set(0);
        self.next.set(0);
        self.read_count.set(0);
        self.change_count.set(0);
        self.many.set(false);
        self.many_changed.set(false);
    }

    /// Reads and changes that no head asks for any more.
    fn tidy(&self) {
        if self.unsettled.is_some() && !self.many.get() {
            return;
        }
        let oldest = |of: fn(&Head) -> usize| self.heads().iter().map(|head| of(&head.get())).min();
        if oldest(|head| head.reads) == Some(self.read_count.get())
            && oldest(|head| head.changes) >= Some(self.change_count.get())
        {
            self.read_count.set(0);
            self.change_count.set(0);
            self.many.set(false);
            self.many_changed.set(false);
            for head in self.heads() {
                head.set(Head {
                    reads: 0,
                    changes: 0,
                    ..head.get()
                });
            }
        } else if self.read_count.get() > READS / 2 || self.many.get() {
            let newest = self.heads().iter().map(|head| head.get()).next_back();
            let place = &self.places[self.count.get().saturating_sub(1)];
            self.places[0].swap(place);
            self.forget();
            self.count.set(usize::from(newest.is_some()));
            if let Some(newest) = newest {
                self.observed[0].is_lost(self.arrivals.get());
                self.heads[0].set(Head {
                    reads: 0,
                    changes: 0,
                    lasting: TIDIED,
                    ..newest
                });
            }
        }
    }

    fn lasts(&self) {
        self.fresh.set(false);
        self.time.goes_on();
        self.lasting.set(self.lasting.get() + 1);
        self.change_count.set(0);
        self.unsettled.is_none();
    }
}

/// A thread, `next`, takes the step that it stands before, which is a choice; `current` ran last.
pub(super) fn step_begins(next: usize, current: usize) {
    if next != current {
        switched();
    }
    let turns = of(next);
    turns.own.set(turns.own.get() + 1);
    turns.rounds.end();
    if turns.count.get() == 0 {
        return;
    }
    let before = Before {
        trace: trace_len().load(Relaxed),
        steps: threads().steps.get() as u32,
        woken: tables().asleep.woken() as u32,
        own: turns.own.get() - 1,
        switches: all().switches.get(),
    };
    let stays = turns.last.get() || shared::choice(threads().steps.get()).is_some();
    for head in turns.heads() {
        let was = head.get();
        if !was.begun {
            head.set(Head {
                begun: true,
                stays,
                before,
                ..was
            });
        }
    }
}

/// Is a thread in a turn that it has changed nothing in? Whoever leaves it there makes it stay.
pub(super) fn looks(thread: usize) -> bool {
    let turns = of(thread);
    turns.heads().iter().any(|head| {
        let head = head.get();
        head.begun
            && !head.seen
            && !head.stays
            && head.lasting == turns.lasting.get()
            && head.changes == turns.change_count.get()
            && head.pushed == store_buffer::pushed(thread)
            && head.balance == turns.balance.get()
    })
}

/// Another thread goes on.
pub(super) fn switched() {
    all().switches.set(all().switches.get() + 1);
}

/// # Safety
/// Instrumented code calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_turn(
    site: *const Site,
    number: u64,
    room: *mut u64,
    length: usize,
    counted: usize,
) {
    let origin = Origin::source(site);
    // Its caller's frame begins there: what calls of ours and of the program had below is gone.
    let gone_up_to = run().entered.get();
    // SAFETY: what the caller promises.
    unsafe { comes(origin, number, room, (length, counted), gone_up_to) }
}

/// At the head of a loop, while several threads run. `room` begins with the number of the function's activation, or zero, and what
/// it keeps follows: so many bytes, and so many more that only count how often it went round.
///
/// # Safety
/// There is a word, and so many bytes behind it.
pub(super) unsafe fn arrive(origin: Origin, number: u64, room: *mut u64, lengths: (usize, usize)) {
    let here = 0u8;
    // SAFETY: what the caller promises.
    unsafe { comes(origin, number, room, lengths, (&raw const here) as usize) }
}

/// The part of a thread's stack below an address on it.
fn frames_below(thread: usize, address: usize) -> Range<usize> {
    let (low, high) = tables().contexts[thread].stack.get();
    match (low..high).contains(&address) {
        true => low..address,
        false => low..low,
    }
}

/// # Safety
/// There is a word, and so many bytes behind it.
unsafe fn comes(
    origin: Origin,
    number: u64,
    room: *mut u64,
    (length, counted): (usize, usize),
    gone_up_to: usize,
) {
    if !super::on() || block::is_inside() || crate::syscalls::dispatch::uninterrupted() {
        return;
    }
    let me = threads().current.get();
    let turns = of(me);
    // SAFETY: what the caller promises.
    let (activation, kept) = unsafe {
        if *room == 0 {
            turns.activations.set(turns.activations.get() + 1);
            *room = turns.activations.get();
        }
        (*room, digest(room, length, counted))
    };
    let now = Head {
        activation,
        number,
        kept,
        lasting: turns.lasting.get(),
        reads: turns.read_count.get(),
        changes: turns.change_count.get(),
        balance: turns.balance.get(),
        locks: turns.locks.get(),
        fresh: turns.fresh.get(),
        seen: false,
        begun: false,
        entries: turns.entries.get(),
        pushed: store_buffer::pushed(me),
        undrained: false,
        early: false,
        stays: false,
        before: Before {
            trace: 0,
            steps: 0,
            woken: 0,
            own: 0,
            switches: 0,
        },
    };
    let same = |head: &&Cell<Head>| {
        let head = head.get();
        head.activation == activation && head.number == number
    };
    let known = turns.heads().iter().find(same);
    let arrives = |at: usize| {
        turns.rooms[at].set(room as usize);
        turns.arrivals.set(turns.arrivals.get() + 1);
        turns.arrived[at].set(turns.arrivals.get());
        turns.time.comes(at);
        if leftovers::is_on() {
            turns.places[at].set((origin, leftovers::arrives(me)));
        }
    };
    let here = LoopHead { activation, number };
    turns.latest.set(here);
    let below = frames_below(me, gone_up_to);
    wakes::at_head(me, here, || {
        known.is_some_and(|head| {
            let was = head.get();
            was.kept == kept
                && was.balance == now.balance
                && turns.woken_lasting.get() == now.lasting
                && turns.woken_pushed.get() == now.pushed
                && turns.undone(turns.woken_changes.get(), below.clone())
        })
    });
    let Some(known) = known else {
        if turns.count.get() == HEADS {
            turns.leave_returned(me, activation, room as usize);
        }
        let now = Head {
            reads: turns.read_count.get(),
            ..now
        };
        let count = turns.count.get();
        if count < HEADS {
            turns.count.set(count + 1);
            turns.heads[count].set(now);
            turns.observed[count].begins();
            arrives(count);
        } else {
            let at = turns.next.get() % HEADS;
            if leftovers::is_on() {
                leftovers::counts(turns.places[at].get().0);
            }
            turns.heads[at].set(now);
            turns.observed[at].begins();
            arrives(at);
            turns.next.set(turns.next.get() + 1);
        }
        return;
    };
    let was = known.get();
    let position = turns
        .heads()
        .iter()
        .position(|head| core::ptr::eq(head, known));
    if let Some(at) = position
        && turns.lets_time_pass(at, &was, below.clone())
    {
        arrives(at);
        turns.observed[at].went_on();
        known.set(now);
        return turns.tidy();
    }
    let same = was.lasting == now.lasting && was.balance == now.balance;
    if same && was.kept.differs_in_count(&kept) && turns.goes_round(known, now, below.clone()) {
        return;
    }
    let same = same && was.kept == kept;
    super::turns_back(same);
    turns.rounds.end();
    let leaves = match same {
        true => turns.leaves(&was, below.clone()),
        false => Leaves::Changes,
    };
    if let Some(at) = position {
        match leaves {
            Leaves::Nothing => turns.observed[at].went_round(),
            Leaves::Leftovers | Leaves::Changes => turns.observed[at].went_on(),
        }
    }
    let leaves = if was.seen { Leaves::Changes } else { leaves };
    let in_vain = match leaves {
        Leaves::Nothing => true,
        Leaves::Leftovers => leftovers::overlooks(origin),
        Leaves::Changes => false,
    };
    let before = position.map_or(u64::MAX, |at| turns.arrived[at].get());
    if let Some(at) = position {
        arrives(at);
    }
    // Whoever follows another one's schedule needs the thread to go on as it says.
    let happened = threads().turns_happen.get() && was.begun && was.stays;
    if !in_vain || happened && !turns.last.get() {
        known.set(now);
        // Loops inside of the one that it waits in go round as they like.
        let inside = was.lasting == FORGOTTEN || before > turns.waits_since.get();
        turns.last.set(turns.last.get() && inside);
        return turns.tidy();
    }
    let steps = threads().steps.get() - was.before.steps as usize;
    let own = turns.own.get() - was.before.own;
    let alone = steps as u64 == own
        && all().switches.get() == was.before.switches
        && trace_len().load(Relaxed) < compaction::FIRST;
    // What it has put into its buffer since is taken out again: nobody will see it.
    let pushed = now.pushed.saturating_sub(was.pushed) as usize;
    let taken_back = was.begun
        && alone
        && !was.stays
        && (pushed == 0 || !was.early && store_buffer::may_take_out(me, pushed));
    if was.undrained && !taken_back {
        turns.unsettled.begins(turns, &was, origin);
        return known.set(now);
    }
    turns.unsettled.is_cut_off(&was);
    section::breaks();
    if leaves == Leaves::Leftovers {
        turns.tell_leftovers(&was, (me, origin), &below);
    }
    turns.watch_reads(
        was.reads..turns.read_count.get(),
        was.changes..turns.change_count.get(),
    );
    turns.origin.set(origin);
    turns.waits_since.set(turns.arrivals.get());
    let stays = was.begun && !threads().policy.get().is_random() || turns.last.get();
    if taken_back {
        if pushed != 0 {
            store_buffer::take_out(me, pushed);
            turns.entries.set(was.entries);
        }
        trace_len().store(was.before.trace, Relaxed);
        threads().steps.set(was.before.steps as usize);
        tables().asleep.sleep_again(was.before.woken as usize);
        turns.own.set(was.before.own);
        transactions::taken_back(me);
        if leaves == Leaves::Leftovers {
            turns.take_leftovers_back(&was, &below);
        }
        super::repeated::moved(me, origin);
        turns.waits.set(Waits::ForChange);
    } else if stays {
        turns.waits.set(Waits::Left);
    } else {
        // Nothing in it was a step, or nobody reverses races.
        turns.waits.set(Waits::ForChange);
    }
    turns.last.set(false);
    // Of what it read and undid in that turn its other loops know nothing.
    turns.read_count.set(was.reads);
    turns.change_count.set(was.changes);
    turns.forget_since(before);
    known.set(Head {
        reads: was.reads,
        changes: was.changes,
        entries: turns.entries.get(),
        pushed: store_buffer::pushed(me),
        ..now
    });
    turns.awaits(me, origin);
}
