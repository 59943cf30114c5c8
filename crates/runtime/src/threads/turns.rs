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
mod returned;
mod rounds;
mod time;
mod waiting;

use self::changes::Leaves;
pub(super) use self::changes::{counts_as_own, each_head};
pub(super) use self::fresh::{finds_changes, publishes, untouched, woken};
use self::kept::{Kept, digest};
use self::rounds::Rounds;
pub(super) use self::rounds::{looks_again, looks_once};
use self::time::Time;
pub(super) use self::time::looks_at_clock;
pub(super) use self::waiting::{add_asleep, in_vain, log_wait, make_last, may_go_on, release};
use super::context::{Step, decide};
use super::steps::announce;
use super::{MOST, block, leftovers, section, tables, threads, transactions, visible, wakes};
use crate::run::endless::Digest;
use crate::run::shared::trace_len;
use crate::run::trace::{Origin, Site};
use crate::run::{compaction, shared};
use crate::state::watching;
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use landfall_vocab::record::step;
use landfall_vocab::shared::LOCK;

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
}

/// Bytes that a thread changed, and what they held before.
#[derive(Clone, Copy)]
#[repr(C)]
struct Change {
    address: usize,
    length: usize,
    before: u64,
    /// Nobody can tell when it was made.
    hidden: bool,
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
    steps: usize,
    /// Who had been woken.
    woken: usize,
    /// Steps of the thread itself, and how often threads took turns.
    own: u64,
    switches: u64,
}

/// The head of a loop, as it was when the thread was there last.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    activation: u64,
    number: u64,
    kept: Kept,
    /// What lasts that the thread has done, up to then.
    lasting: u64,
    reads: usize,
    changes: usize,
    /// Locks that it held, and how many it had taken.
    balance: u64,
    locks: u64,
    /// It had just taken the newest of them, with nothing read or done since.
    fresh: bool,
    seen: bool,
    begun: bool,
    /// The search says that its turn happens.
    stays: bool,
    before: Before,
}

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
    }

    fn watch(&self) -> &[Cell<Read>] {
        &self.watch[..self.watch_count.get()]
    }

    /// Has something changed that it waits for?
    fn changed(&self) -> bool {
        self.watch_many.get() && self.many_changed.get()
            || self.watch().iter().any(|read| read.get().changed)
    }

    /// It waits for a change of what it read from there on.
    fn watch_reads(&self, from: usize) {
        let reads = self.reads(from);
        for (read, to) in reads.iter().zip(&self.watch) {
            to.set(read.get());
        }
        self.watch_count.set(reads.len());
        self.watch_many.set(self.many.get());
    }
}

/// The running thread does what cannot be undone, or is not known.
pub(super) fn lasts(thread: usize) {
    if watching() {
        of(thread).lasts();
    }
}

/// It read something.
pub(super) fn read(thread: usize, place: u64, length: usize) {
    let turns = of(thread);
    turns.stales(thread, place);
    if turns.count.get() == 0 {
        return;
    }
    let known = |read: &Cell<Read>| {
        let read = read.get();
        read.place == place && read.length == length
    };
    let newest = turns.heads().iter().map(|head| head.get().reads).max();
    if turns.reads(newest.unwrap_or(0)).iter().any(known) {
        return;
    }
    let count = turns.read_count.get();
    if count == READS {
        turns.many.set(true);
        return;
    }
    turns.reads[count].set(Read {
        place,
        length,
        changed: false,
        after: turns.change_count.get(),
    });
    turns.read_count.set(count + 1);
}

fn overlap(a: u64, a_length: usize, b: u64, b_length: usize) -> bool {
    a < b + b_length as u64 && b < a + a_length as u64
}

/// Bytes changed.
pub(super) fn changed(by: usize, place: u64, length: usize) {
    for thread in 0..threads().count.get() {
        let turns = of(thread);
        if thread == by || turns.count.get() == 0 {
            continue;
        }
        turns
            .many_changed
            .set(turns.many_changed.get() | turns.many.get());
        for read in turns.reads(0).iter().chain(turns.watch()) {
            let was = read.get();
            let touched = overlap(was.place, was.length, place, length);
            read.set(Read {
                changed: was.changed | touched,
                ..was
            });
        }
    }
}

/// Bytes are there no more: nobody looks whether what was changed there is undone.
pub(super) fn loses(address: usize, length: usize) {
    for thread in 0..threads().count.get() {
        let turns = of(thread);
        let inside = |change: &Cell<Change>| {
            let change = change.get();
            overlap(change.address as u64, change.length, address as u64, length)
        };
        if turns.changes(0).iter().any(inside) {
            turns.lasts();
        }
    }
}

/// A thread has changed bytes of one line, at once; what it found there, as [`visible::found`] says it.
pub(super) fn change(thread: usize, address: usize, length: usize, before: u64, hidden: bool) {
    let turns = of(thread);
    turns.stales(thread, address as u64);
    if turns.count.get() == 0 {
        return;
    }
    let count = turns.change_count.get();
    if count == CHANGES {
        return turns.lasts();
    }
    turns.changes[count].set(Change {
        address,
        length,
        before,
        hidden,
    });
    turns.change_count.set(count + 1);
}

/// Somebody touches bytes, or a lock: others may have changed them, and not undone that yet.
pub(super) fn touched(by: usize, place: u64, length: usize) {
    for thread in 0..threads().count.get() {
        let turns = of(thread);
        if thread == by || turns.count.get() == 0 {
            continue;
        }
        if place & LOCK != 0 {
            let held = turns.held[..turns.held_count.get()].iter();
            let since = held.filter(|held| held.get().lock == place);
            if let Some(number) = since.map(|held| held.get().number).max() {
                see(turns, |head| head.locks < number);
            }
            continue;
        }
        for (at, change) in turns.changes(0).iter().enumerate() {
            let Change {
                address,
                length: changed,
                before,
                ..
            } = change.get();
            if overlap(address as u64, changed, place, length) {
                // SAFETY: its thread has written there.
                let now = unsafe { visible::found(address, changed) };
                if now != before {
                    see(turns, |head| head.changes <= at);
                }
            }
        }
    }
}

fn see(turns: &Turns, of: impl Fn(&Head) -> bool) {
    for head in turns.heads() {
        let was = head.get();
        head.set(Head {
            seen: was.seen || of(&was),
            ..was
        });
    }
}

/// A step on a lock or the like happened, of this kind; it changed the object unless it only looked.
pub(super) fn synchronised(thread: usize, place: u64, kind: u8, looked: bool) {
    let turns = of(thread);
    let mix = (place | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    turns.fresh.set(kind == step::LOCK && !looked);
    match kind {
        _ if looked => read(thread, place, 1),
        step::LOCK
        | step::TRY_LOCK
        | step::LOCK_SHARED
        | step::TRY_LOCK_SHARED
        | step::LOCK_EXCLUSIVE
        | step::TRY_LOCK_EXCLUSIVE
        | step::HOLD => {
            let count = turns.held_count.get();
            turns.locks.set(turns.locks.get() + 1);
            turns.balance.set(turns.balance.get().wrapping_add(mix));
            if count == HELD {
                return turns.lasts();
            }
            turns.held[count].set(Held {
                lock: place,
                number: turns.locks.get(),
            });
            turns.held_count.set(count + 1);
        }
        step::UNLOCK | step::UNLOCK_SHARED | step::RELEASE | step::LET_GO => {
            if kind == step::RELEASE {
                turns.lasts();
            }
            wakes::unlocked(place);
            turns.balance.set(turns.balance.get().wrapping_sub(mix));
            let held = &turns.held[..turns.held_count.get()];
            if let Some(at) = held.iter().rposition(|held| held.get().lock == place) {
                held[at].set(held[held.len() - 1].get());
                turns.held_count.set(held.len() - 1);
            }
        }
        _ => turns.lasts(),
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
        steps: threads().steps.get(),
        woken: tables().asleep.woken(),
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
    // SAFETY: what the caller promises.
    unsafe { arrive(Origin::source(site), number, room, (length, counted)) }
}

/// At the head of a loop, while several threads run. `room` begins with the number of the function's activation, or zero, and what
/// it keeps follows: so many bytes, and so many more that only count how often it went round.
///
/// # Safety
/// There is a word, and so many bytes behind it.
pub(super) unsafe fn arrive(
    origin: Origin,
    number: u64,
    room: *mut u64,
    (length, counted): (usize, usize),
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
    let below = tables().contexts[me].stack.get().0..(&raw const kept) as usize;
    wakes::at_head(me, here, || {
        known.is_some_and(|head| {
            let was = head.get();
            was.kept == kept
                && was.balance == now.balance
                && turns.woken_lasting.get() == now.lasting
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
            arrives(count);
        } else {
            let at = turns.next.get() % HEADS;
            if leftovers::is_on() {
                leftovers::counts(turns.places[at].get().0);
            }
            turns.heads[at].set(now);
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
    let leaves = match same && !was.seen {
        true => turns.leaves(&was, below.clone()),
        false => Leaves::Changes,
    };
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
    section::breaks();
    if leaves == Leaves::Leftovers {
        turns.tell_leftovers(&was, (me, origin), &below);
    }
    let steps = threads().steps.get() - was.before.steps;
    let own = turns.own.get() - was.before.own;
    let alone = steps as u64 == own
        && all().switches.get() == was.before.switches
        && trace_len().load(Relaxed) < compaction::FIRST;
    turns.watch_reads(was.reads);
    turns.origin.set(origin);
    turns.waits_since.set(turns.arrivals.get());
    let stays = was.begun && !threads().policy.get().is_random() || turns.last.get();
    if was.begun && alone && !was.stays {
        trace_len().store(was.before.trace, Relaxed);
        threads().steps.set(was.before.steps);
        tables().asleep.sleep_again(was.before.woken);
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
        ..now
    });
    announce(
        me,
        Step {
            kind: step::AWAIT,
            object: 0,
            origin,
        },
    );
    decide();
    turns.waits.set(Waits::No);
    turns.watch_count.set(0);
    turns.time.goes_on();
}
