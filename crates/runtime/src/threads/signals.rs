//! Signals that arrive at any time. One that is sent, or a timer that is set, is a process of its own: a *sender*, which has a thread's
//! number and neither stack nor code, and whose steps make the signal pending (`step::PEND`). When that happens is a choice like any
//! other, so a timer may be late. A thread looks (`step::DELIVER`) before whatever could tell when the handler ran, and if the signal
//! is pending, its handler runs there, on top of the thread's stack, and sees what the thread's store buffer holds.
//!
//! Where a thread must look is learned: which signals are sent, and which words of memory their handlers touch. Before accesses of those;
//! before locks and the like; and, where others could see what the handler does, before each step. Two places with nothing in between that
//! does not commute with the handler are one.

mod delivery;
mod info;

use super::context::{Status, Step};
use super::steps::{self, announce, point};
use super::{lifecycle, objects, on, sleep_sets, tables, threads, turns};
use crate::run::outcome;
use crate::run::shared::{self, control};
use crate::run::trace::{self, Origin};
use crate::state::{run, watch};
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use delivery::is_handling;
pub(crate) use delivery::look;
pub(super) use delivery::{
    Waiting, before_access, before_push, before_step, interrupts, interrupts_any, is_spent, pause,
    poll, wait_for, would_interrupt,
};
pub(super) use delivery::{has_looked, stay_inside};
pub(super) use info::{SignalInfo, SignalInfos, describe};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::{
    End, HANDLERS, LOCK, SIGNAL_WORDS, job, point as point_bit, signal_at, signal_number,
    signal_word, timer,
};

/// Signals of one program that are told apart, each for the process or for a thread.
pub(super) const MOST: usize = 32;

/// A word that nobody has: some handler does not return.
const JUMPS: u64 = 0;

/// Bytes of which is told together whether handlers touch them.
const WORD: u64 = 8;

/// Of one run.
#[repr(C)]
pub(super) struct Signals {
    on: Cell<bool>,
    /// The running thread has just looked, and is about to announce what it looked for.
    looked: Cell<bool>,
    /// It is between the load and the store of one instruction.
    inside: Cell<bool>,
    /// Some handler does not return: a thread looks everywhere.
    jumps: Cell<bool>,
    /// Signals that are sent: the numbers of their words, as far as the checker knows.
    sent: [Cell<u32>; MOST],
    count: Cell<usize>,
}

/// Of one thread, or of a sender.
#[repr(C)]
pub(crate) struct ThreadSignals {
    /// Of a sender: how often it is still to make its signal pending; and that it is one.
    times: Cell<u32>,
    sends: Cell<bool>,
    /// Its timer goes off again and again; it was set anew, or stopped.
    repeats: Cell<bool>,
    stopped: Cell<bool>,
    /// It is for the process, and the main thread gets it.
    for_process: Cell<bool>,
    /// Who made it, when the last time is due, and whether its maker knows that it is over.
    maker: Cell<usize>,
    due: Cell<u64>,
    joined: Cell<bool>,
    /// What its signal says, and whether that was said.
    info: Cell<SignalInfo>,
    said: Cell<bool>,
    /// The function in which a signal would arrive now, and the one that the handler interrupts: of those that must not be interrupted by
    /// themselves ([`super::unsafe_calls`]).
    pub(super) inside: Cell<Option<&'static [u8]>>,
    interrupted: Cell<Option<&'static [u8]>>,
    /// Of a thread in a handler: where its stack was when the signal arrived. Zero for none.
    frame: Cell<usize>,
}

impl ThreadSignals {
    pub(super) fn begin(&self) {
        let ThreadSignals {
            times,
            sends,
            repeats,
            stopped,
            for_process,
            maker,
            due,
            joined,
            info,
            said,
            inside,
            interrupted,
            frame,
        } = self;
        times.set(0);
        sends.set(false);
        repeats.set(false);
        stopped.set(false);
        for_process.set(false);
        maker.set(0);
        due.set(0);
        joined.set(false);
        info.set(SignalInfo::of(0));
        said.set(false);
        inside.set(None);
        interrupted.set(None);
        frame.set(0);
    }

    /// The function that the handler interrupts which the thread is in.
    pub(super) fn interrupts(&self) -> Option<&'static [u8]> {
        self.interrupted.get().filter(|_| is_handling())
    }
}

fn all() -> &'static Signals {
    &threads().signals
}

fn of(thread: usize) -> &'static ThreadSignals {
    &tables().contexts[thread].signals
}

/// Do signals arrive at any time in this run?
#[inline(always)]
pub(super) fn are_on() -> bool {
    all().on.get()
}

/// The same, of who does not know whether there are threads.
pub(crate) fn are_expected() -> bool {
    on() && are_on()
}

/// At the start of a run with threads, when all is zero.
pub(super) fn begin(flags: u32) {
    if flags & job::SIGNALS == 0 {
        return;
    }
    all().on.set(true);
    for number in 0..SIGNAL_WORDS {
        if is_known(number) {
            let count = all().count.get();
            if count == MOST {
                break;
            }
            all().sent[count].set(number as u32);
            all().count.set(count + 1);
        }
    }
    all().jumps.set(is_touched(JUMPS));
    info::begin();
    watch(true);
}

/// Is a handler left by a jump, as far as is known?
pub(super) fn handlers_jump() -> bool {
    are_on() && all().jumps.get()
}

/// Do handlers touch this word, as far as is known?
fn is_touched(word: u64) -> bool {
    let bit = point_bit(word);
    control().handled[bit / 64].load(Relaxed) >> (bit % 64) & 1 != 0
}

fn is_known(number: usize) -> bool {
    control().signal_words[number / 64].load(Relaxed) >> (number % 64) & 1 != 0
}

/// A signal may arrive at any time from here on. Where the run is not prepared for that, the checker is told, and starts over.
pub(crate) fn may_arrive() -> bool {
    if on() && are_on() {
        return true;
    }
    let asked = shared::job().flags & job::SIGNALS != 0;
    if on() || asked {
        control().signals.store(1, Relaxed);
    }
    if on() {
        steps::stop_at_once(End::Limit)
    }
    if asked {
        outcome::fail(End::Thread, &[b"a signal may arrive at any time"])
    }
    false
}

pub(super) fn is_sender(thread: usize) -> bool {
    of(thread).sends.get()
}

/// Is every thread that could still do something a sender?
pub(super) fn only_senders_left() -> bool {
    let ready = &threads().ready;
    ready.iter(threads().thread_words.get()).all(is_sender)
}

/// Sends a signal, `times` times, to a thread or to the process: its sender.
pub(super) fn send(
    to: Option<usize>,
    (signal, info): (usize, SignalInfo),
    times: u32,
    due: u64,
    caller: usize,
) -> usize {
    // Linux gives it to the main thread, unless that blocks it.
    let to_main = to.is_none() && !is_blocked_by_main(signal);
    let to = if to_main { Some(0) } else { to };
    let number = signal_number(to, signal);
    let me = threads().current.get();
    let origin = Origin::library(Builtin::thread, caller);
    if !is_known(number) {
        trace::access(me, HANDLERS, WRITE, origin, [number as u64, 0, 0]);
    }
    let (sender, again) = lifecycle::new_number(caller);
    tables().contexts[sender].begin_sender();
    lifecycle::counts(sender, again);
    turns::begin_thread(sender);
    let sends = of(sender);
    sends.sends.set(true);
    sends.for_process.set(to_main);
    sends.times.set(times);
    sends.maker.set(me);
    sends.due.set(due);
    sends.info.set(info);
    announce(
        sender,
        Step {
            kind: step::PEND,
            object: signal_word(number),
            origin,
        },
    );
    sender
}

fn is_blocked_by_main(signal: usize) -> bool {
    control().main_blocks.load(Relaxed) >> (signal - 1) & 1 != 0
}

/// The running thread blocks these signals from now on.
pub(crate) fn blocks(mask: u64) {
    if !on() || !are_on() || threads().current.get() != 0 {
        return;
    }
    let known = control().main_blocks.load(Relaxed);
    let sent = (&all().sent)[..all().count.get()].iter();
    let sent =
        sent.filter_map(|number| signal_at(signal_word(number.get() as usize) as u64 | LOCK));
    let fresh = sent.fold(0, |all, (_, signal)| all | 1 << (signal - 1)) & mask & !known;
    if fresh != 0 {
        turns::lasts(0);
        trace::access(0, HANDLERS, READ | WRITE, Origin::NONE, [fresh, 0, 0]);
    }
}

/// Is a signal that is being handled going to arrive again?
fn comes_again(signal: usize) -> bool {
    let of_it = |word: usize| signal_at(word as u64 | LOCK).is_some_and(|(_, of)| of == signal);
    (0..threads().count.get()).any(|sender| {
        let context = &tables().contexts[sender];
        is_sender(sender)
            && context.status.get() == Status::Ready
            && of_it(context.step.get().object)
    })
}

/// Signals that queue are as often pending as they were sent.
fn queues(word: usize) -> bool {
    signal_at(word as u64 | LOCK).is_some_and(|(_, signal)| signal >= 34)
}

/// A sender was chosen: its signal is pending from now on.
pub(super) fn arrives(sender: usize) {
    let context = &tables().contexts[sender];
    let Step { object, origin, .. } = context.step.get();
    let sends = of(sender);
    let arrives = match sends.stopped.get() {
        true => Arrival::Never,
        false if sends.repeats.get() && sends.times.get() == 1 => Arrival::ForEver,
        false => Arrival::Once,
    };
    let info = match arrives {
        Arrival::Never => sends.info.get(),
        Arrival::Once | Arrival::ForEver => oldest_info(sender, object),
    };
    pend(sender, (object, info), origin, arrives);
    if sends.for_process.get() && tables().contexts[0].status.get() == Status::Done {
        // The main thread has ended: another one gets it.
        let signal = signal_at(object as u64 | LOCK).map_or(1, |(_, signal)| signal);
        trace::access(
            0,
            HANDLERS,
            READ | WRITE,
            Origin::NONE,
            [1 << (signal - 1), 0, 0],
        );
    }
    let left = sends.times.get() - 1;
    sends.times.set(left);
    if left == 0 || sends.stopped.get() {
        context.status.set(Status::Done);
        threads().ready.remove(sender);
    } else {
        announce(sender, context.step.get());
    }
}

/// What one thread sends again and again says what it says in that order, whichever of its senders was chosen first.
fn oldest_info(sender: usize, word: usize) -> SignalInfo {
    let maker = of(sender).maker.get();
    let same = |other: &usize| {
        let known = of(*other);
        is_sender(*other)
            && known.maker.get() == maker
            && !known.said.get()
            && tables().contexts[*other].step.get().object == word
    };
    let oldest = (0..threads().count.get()).find(same).unwrap_or(sender);
    // A timer says the same each time.
    of(oldest).said.set(of(oldest).times.get() == 1);
    of(oldest).info.get()
}

/// What a step makes of a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// Its timer is stopped.
    Never,
    Once,
    /// And it comes again for whoever waits for it.
    ForEver,
}

/// In a signal's word: it comes again. Below, how often it is pending.
const COMES_AGAIN: u32 = 1 << 16;

/// A step that makes a signal pending, if at all.
fn pend(by: usize, (word, info): (usize, SignalInfo), origin: Origin, arrives: Arrival) {
    let signal = objects().get(word);
    let found = signal.count.get() & !COMES_AGAIN;
    if arrives != Arrival::Never && (found == 0 || queues(word)) {
        info::arrived(word, info);
    }
    let once = if queues(word) { found + 1 } else { 1 };
    let left = match arrives {
        Arrival::Never => found,
        Arrival::Once => once,
        Arrival::ForEver => once | COMES_AGAIN,
    };
    signal.count.set(left);
    let place = word as u64 | LOCK;
    trace::access(by, place, WRITE, origin, [left.into(), 0, 0]);
    sleep_sets::executed(place, 1, true);
    turns::touched(by, place, 1, None);
    turns::changed(by, place, 1);
}

/// A timer is stopped, or set anew: its sender has made its signal pending by now, or will not.
pub(super) fn stop(sender: usize, caller: usize) {
    let object = tables().contexts[sender].step.get().object;
    let origin = Origin::library(Builtin::thread, caller);
    all().looked.set(true);
    point(Step {
        kind: step::PEND,
        object,
        origin,
    });
    let info = of(sender).info.get();
    pend(
        threads().current.get(),
        (object, info),
        origin,
        Arrival::Never,
    );
    of(sender).stopped.set(true);
}

/// The running thread sends itself a signal that it blocks.
pub(super) fn pend_for_itself(
    to: Option<usize>,
    (signal, info): (usize, SignalInfo),
    caller: usize,
) {
    let to = match is_blocked_by_main(signal) {
        true => to,
        false => to.or(Some(0)),
    };
    let number = signal_number(to, signal);
    let me = threads().current.get();
    let origin = Origin::library(Builtin::thread, caller);
    if !is_known(number) {
        trace::access(me, HANDLERS, WRITE, origin, [number as u64, 0, 0]);
    }
    all().looked.set(true);
    point(Step {
        kind: step::PEND,
        object: signal_word(number),
        origin,
    });
    pend(me, (signal_word(number), info), origin, Arrival::Once);
}

/// The timer of a sender: what is left of its time.
pub(super) fn time_left(sender: usize) -> u64 {
    of(sender).due.get().saturating_sub(run().clock.get())
}

/// Senders that the running thread has made, and that are due.
fn due(sender: &usize) -> bool {
    let me = threads().current.get();
    let sends = of(*sender);
    sends.sends.get()
        && sends.maker.get() == me
        && !sends.joined.get()
        && sends.due.get() <= run().clock.get()
}

/// The running thread has slept: what it set to go off meanwhile has. Did a handler run?
pub(super) fn slept(caller: usize) -> bool {
    if !are_on() {
        return false;
    }
    for sender in 0..threads().count.get() {
        if due(&sender) && !of(sender).stopped.get() {
            of(sender).joined.set(true);
            all().looked.set(true);
            point(Step::new(step::JOIN, sender, caller));
        }
    }
    look(Origin::library(Builtin::thread, caller))
}

/// The timer of a sender goes off again and again.
pub(super) fn repeats(sender: usize) {
    of(sender).repeats.set(true);
    trace::access(0, HANDLERS, 0, Origin::NONE, [timer::REPEATS, 0, 0]);
}

/// How often a timer that repeats goes off.
pub(super) fn times(repeats: bool) -> u32 {
    match repeats {
        true => shared::job().signals.max(1),
        false => 1,
    }
}
