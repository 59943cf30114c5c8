//! Signals that arrive at any time. One that is sent, or a timer that is set, is a process of its own: a *sender*, which has a thread's
//! number and neither stack nor code, and whose steps make the signal pending (`step::PEND`). When that happens is a choice like any
//! other, so a timer may be late. A thread looks (`step::DELIVER`) before whatever could tell when the handler ran, and if the signal
//! is pending, its handler runs there, on top of the thread's stack, and sees what the thread's store buffer holds.
//!
//! Where a thread must look is learned: which signals are sent, and which words of memory their handlers touch. Before accesses of those;
//! before locks and the like; and, where others could see what the handler does, before each step. Two places with nothing in between that
//! does not commute with the handler are one.

use super::context::{Status, Step};
use super::steps::{self, announce, effect, point};
use super::{block, lifecycle, objects, on, sleep_sets, tables, threads, turns, unseen};
use crate::memory::bytes;
use crate::run::outcome;
use crate::run::shared::{self, control};
use crate::run::trace::{self, Origin};
use crate::state::{run, watch};
use crate::syscalls::signals::{Action, is_handled};
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
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
    watch(true);
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
pub(super) fn send(to: Option<usize>, signal: usize, times: u32, due: u64, caller: usize) -> usize {
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
    pend(sender, object, origin, arrives);
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
fn pend(by: usize, word: usize, origin: Origin, arrives: Arrival) {
    let signal = objects().get(word);
    let found = signal.count.get() & !COMES_AGAIN;
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
    turns::touched(by, place, 1);
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
    pend(threads().current.get(), object, origin, Arrival::Never);
    of(sender).stopped.set(true);
}

/// The running thread sends itself a signal that it blocks.
pub(super) fn pend_for_itself(to: Option<usize>, signal: usize, caller: usize) {
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
    pend(me, signal_word(number), origin, Arrival::Once);
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

/// Can a signal be delivered here and now? Not inside of a system call that is performed on the stack for signals, nor in an atomic block.
fn is_possible() -> bool {
    on() && are_on() && run().call.get().is_none() && !block::is_inside()
}

/// Signals that may be delivered to a thread, by the numbers of their words.
fn deliverable(
    thread: usize,
    wanted: impl Fn(usize) -> bool,
) -> impl Iterator<Item = (usize, usize)> {
    let known = (&all().sent)[..all().count.get()].iter();
    known.filter_map(move |number| {
        let word = signal_word(number.get() as usize);
        let (to, signal) = signal_at(word as u64 | LOCK)?;
        (to.is_none_or(|to| to == thread) && wanted(signal)).then_some((word, signal))
    })
}

fn is_masked(signal: usize) -> bool {
    run().mask.get() >> (signal - 1) & 1 != 0
}

/// Takes what is pending. Did a handler run?
pub(crate) fn look(origin: Origin) -> bool {
    if !is_possible() {
        return false;
    }
    let me = threads().current.get();
    let mut ran = false;
    loop {
        let mut again = false;
        for (word, signal) in deliverable(me, is_handled) {
            if !is_masked(signal) && take(word, step::DELIVER, origin) {
                handle(signal);
                again = true;
            }
        }
        if !again {
            return ran;
        }
        ran = true;
    }
}

/// The step that takes a signal, if it is pending.
fn take(word: usize, kind: u8, origin: Origin) -> bool {
    point(Step {
        kind,
        object: word,
        origin,
    });
    let signal = objects().get(word);
    let found = signal.count.get();
    let pending = found & !COMES_AGAIN;
    if pending == 0 && kind == step::DELIVER {
        effect(word, READ, found.into());
        return false;
    }
    effect(word, WRITE, found.into());
    signal.count.set(found - u32::from(pending != 0));
    true
}

/// Is the running thread in a handler? One that was left by a jump lies below.
fn is_handling() -> bool {
    let me = threads().current.get();
    let here = 0u8;
    let frame = of(me).frame.get();
    frame != 0 && (&raw const here as usize) < frame
}

/// Runs a handler on top of the running thread's stack.
fn handle(signal: usize) {
    let me = threads().current.get();
    let slot = &run().actions[signal];
    let action = slot.get();
    turns::lasts(me);
    if unseen::several() {
        unseen::used(
            unseen::key::ACTION | signal as u64,
            unseen::Use::Looks,
            landfall_vocab::record::unseen::SIGNAL,
            Origin::NONE,
        );
    }
    if action.flags & libc::SA_RESETHAND as u32 as u64 != 0 {
        slot.set(Action {
            handler: libc::SIG_DFL,
            ..action
        });
    }
    let before = run().mask.get();
    run().mask.set(before | action.blocks(signal));
    let own = 1 << (signal - 1);
    let others = action.blocks(signal) & !own;
    blocks(others | if comes_again(signal) { own } else { 0 });
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    let mut context = MaybeUninit::<libc::ucontext_t>::uninit();
    let outer = of(me).frame.replace(&raw const info as usize);
    let inside = of(me).inside.take();
    let interrupted = of(me).interrupted.replace(inside);
    // SAFETY: both are all numbers and pointers, for which zero is a value; the program has set this handler, of that type.
    unsafe {
        bytes::fill(info.as_mut_ptr().cast(), 0, size_of::<libc::siginfo_t>());
        bytes::fill(
            context.as_mut_ptr().cast(),
            0,
            size_of::<libc::ucontext_t>(),
        );
        (*info.as_mut_ptr()).si_signo = signal as i32;
        let mask = (&raw mut (*context.as_mut_ptr()).uc_sigmask).cast::<u64>();
        *mask = before;
        let handler: unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t) =
            core::mem::transmute(action.handler);
        handler(signal as i32, info.as_mut_ptr(), context.as_mut_ptr());
        run().mask.set(*mask);
    }
    of(me).frame.set(outer);
    of(me).inside.set(inside);
    of(me).interrupted.set(interrupted);
}

/// Could others see what a handler of the running thread does?
fn is_seen() -> bool {
    threads().persistency.get()
        || tables().contexts[threads().current.get()]
            .among_others
            .get()
}

/// The running thread is about to access bytes of a line, in a step that it announces.
#[inline(always)]
pub(super) fn before_access(address: usize, length: usize, is_step: bool, origin: Origin) {
    if are_on() {
        let looked = accesses(address, length, is_step, origin);
        all().looked.set(looked && is_step);
    }
}

/// The same, where nothing is announced: a store buffer takes it.
#[inline(always)]
pub(super) fn before_push(address: usize, length: usize, is_step: bool, origin: Origin) {
    if are_on() {
        accesses(address, length, is_step, origin);
    }
}

/// Did it look?
#[inline(never)]
fn accesses(address: usize, length: usize, is_step: bool, origin: Origin) -> bool {
    if !is_possible() {
        return false;
    }
    let handling = is_handling() && !is_own_frame(address);
    let mut handled = all().jumps.get();
    if !handled && of(threads().current.get()).frame.get() != 0 && !is_handling() {
        // A handler was left by a jump: whatever its thread had done by then, not only what the handler touches, may show.
        of(threads().current.get()).frame.set(0);
        trace::access(0, HANDLERS, READ, origin, [JUMPS, 0, 0]);
    }
    // A fence touches nothing.
    for word in address as u64 / WORD..(address + length).div_ceil(WORD as usize) as u64 {
        let known = is_touched(word * WORD);
        handled |= known;
        if handling && !known {
            let me = threads().current.get();
            trace::access(me, HANDLERS, READ, origin, [word * WORD, 0, 0]);
        }
    }
    if handled || is_step && is_seen() {
        look(origin);
        true
    } else {
        false
    }
}

/// Memory of the handler's own: what lies above it on the stack.
fn is_own_frame(address: usize) -> bool {
    let me = threads().current.get();
    let (low, _) = tables().contexts[me].stack.get();
    (low..of(me).frame.get()).contains(&address)
}

/// The running thread is about to announce a step.
#[inline(always)]
pub(super) fn before_step(step: &Step) {
    if are_on() && !all().looked.replace(false) {
        steps_ahead(step);
    }
}

#[inline(never)]
fn steps_ahead(step: &Step) {
    let looks = match step.kind {
        step::PEND
        | step::DELIVER
        | step::AWAIT_SIGNAL
        | step::BEGIN
        | step::EXIT
        | step::YIELD
        | step::SLEEP
        | step::AWAIT => false,
        step::READ | step::WRITE | step::UPDATE | step::FLUSH | step::ORDER | step::FENCE => {
            is_seen()
        }
        _ => true,
    };
    if looks {
        look(step.origin);
    }
}

/// Nobody can go on: does a thread only wait that a signal would interrupt? There is an execution in which that came before.
pub(super) fn would_interrupt() -> bool {
    if !are_on() {
        return false;
    }
    let mut waiting = (0..threads().count.get()).filter(|&thread| {
        !is_sender(thread) && tables().contexts[thread].status.get() == Status::Ready
    });
    waiting.any(|thread| {
        let context = &tables().contexts[thread];
        let mask = match thread == threads().current.get() {
            true => run().mask.get(),
            false => context.mask(),
        };
        let handled = |signal: usize| is_handled(signal) && mask >> (signal - 1) & 1 == 0;
        deliverable(thread, handled).any(|(word, _)| is_pending(word))
            && context.step.get().kind != step::AWAIT_SIGNAL
    })
}

fn is_pending(word: usize) -> bool {
    objects().get(word).count.get() & !COMES_AGAIN != 0
}

/// Nobody can go on: might a timer go off once more than is asked for? Says so.
pub(super) fn is_spent() -> bool {
    let words = (&all().sent)[..all().count.get()].iter();
    let mut words = words.map(|number| signal_word(number.get() as usize));
    let spent = are_on() && words.any(|word| objects().get(word).count.get() & COMES_AGAIN != 0);
    if spent {
        trace::access(0, HANDLERS, 0, Origin::NONE, [timer::SPENT, 0, 0]);
    }
    spent
}

/// Waits for one of these signals, and takes it: which one.
pub(super) fn wait_for(wanted: impl Fn(usize) -> bool, caller: usize) -> usize {
    let me = threads().current.get();
    let origin = Origin::library(Builtin::thread, caller);
    let mut words = deliverable(me, &wanted);
    // Of one that nobody sends, as far as is known, nothing comes.
    let (word, signal) = words
        .next()
        .unwrap_or((signal_word(signal_number(Some(me), 0)), 0));
    if words.next().is_some() {
        outcome::fail(
            End::Forbidden,
            &[b"a thread waits for any of several signals, and more than one of them is sent: which comes first is not searched"],
        )
    }
    take(word, step::AWAIT_SIGNAL, origin);
    signal
}

/// Takes one of these signals, if one is pending.
pub(super) fn poll(wanted: impl Fn(usize) -> bool, caller: usize) -> Option<usize> {
    let me = threads().current.get();
    let origin = Origin::library(Builtin::thread, caller);
    let mut words = deliverable(me, &wanted);
    let taken = words.find(|&(word, _)| take(word, step::DELIVER, origin));
    taken.map(|(_, signal)| signal)
}

/// Waits until a handler has run.
pub(super) fn pause(caller: usize) {
    let signal = wait_for(|signal| is_handled(signal) && !is_masked(signal), caller);
    handle(signal);
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
