//! When a thread takes a signal: before whatever could tell when the handler ran. The handler runs as a call, on top of the thread's stack.

use super::super::context::{Status, Step};
use super::super::steps::{effect, point};
use super::super::{block, objects, on, tables, threads, turns, unseen};
use super::info::{self, SignalInfo, describe};
use super::{
    COMES_AGAIN, JUMPS, WORD, all, are_on, blocks, comes_again, is_sender, is_touched, of,
};
use crate::memory::bytes;
use crate::run::outcome;
use crate::run::trace::{self, Origin};
use crate::state::run;
use crate::syscalls::handlers;
use crate::syscalls::signals::{Action, Handler, is_handled};
use core::mem::MaybeUninit;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::{End, HANDLERS, LOCK, signal_at, signal_number, signal_word, timer};

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
    deliver(origin) != Ran::None
}

/// Which handlers ran.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    None,
    /// All of them let go on what they interrupt (`SA_RESTART`).
    Restarting,
    Interrupting,
}

fn restarts(signal: usize) -> bool {
    run().actions[signal].get().flags & libc::SA_RESTART as u64 != 0
}

fn deliver(origin: Origin) -> Ran {
    let mut ran = Ran::None;
    if !is_possible() {
        return ran;
    }
    let me = threads().current.get();
    loop {
        let mut again = false;
        for (word, signal) in deliverable(me, is_handled) {
            if !is_masked(signal)
                && let Some(info) = take(word, step::DELIVER, origin)
            {
                ran = match restarts(signal) && ran != Ran::Interrupting {
                    true => Ran::Restarting,
                    false => Ran::Interrupting,
                };
                handle(signal, info);
                again = true;
            }
        }
        if !again {
            return ran;
        }
    }
}

/// Where a thread is in a call that waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Waiting {
    Soon,
    Already,
}

/// The running thread waits, in a call that a signal ends: does one come while it does? What comes before the call comes at its own time.
pub(in super::super) fn interrupts(waiting: Waiting, origin: Origin) -> bool {
    ends_call(waiting, true, origin)
}

/// The same, of a thread that waits already; where its call does not start over, any handler ends it.
pub(in super::super) fn interrupts_any(starts_over: bool, origin: Origin) -> bool {
    ends_call(Waiting::Already, starts_over, origin)
}

fn ends_call(waiting: Waiting, starts_over: bool, origin: Origin) -> bool {
    let me = threads().current.get();
    let lets_go = |signal: usize| starts_over && restarts(signal);
    let ends = |signal: usize| is_handled(signal) && !lets_go(signal) && !is_masked(signal);
    if !are_on() || !is_possible() || deliverable(me, ends).next().is_none() {
        return false;
    }
    if waiting == Waiting::Soon {
        look(origin);
    }
    let ran = deliver(origin);
    all().looked.set(true);
    ran == Ran::Interrupting || !starts_over && ran == Ran::Restarting
}

/// The step that takes a signal, if it is pending: what that says.
fn take(word: usize, kind: u8, origin: Origin) -> Option<SignalInfo> {
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
        return None;
    }
    effect(word, WRITE, found.into());
    signal.count.set(found - u32::from(pending != 0));
    Some(info::taken(word))
}

/// Is the running thread in a handler? One that was left by a jump lies below.
pub(super) fn is_handling() -> bool {
    let me = threads().current.get();
    let here = 0u8;
    let frame = of(me).frame.get();
    let here = &raw const here as usize;
    frame != 0 && (here < frame && !is_set_aside(frame) || is_set_aside(here))
}

/// Runs a handler on top of the running thread's stack.
fn handle(signal: usize, told: SignalInfo) {
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
        describe(info.as_mut_ptr(), signal, told);
        bytes::fill(
            context.as_mut_ptr().cast(),
            0,
            size_of::<libc::ucontext_t>(),
        );
        let mask = (&raw mut (*context.as_mut_ptr()).uc_sigmask).cast::<u64>();
        *mask = before;
        let here = &raw const info as usize;
        let (info, context) = (info.as_mut_ptr(), context.as_mut_ptr());
        match handlers::other_stack(&action, here) {
            Some(top) => handlers::call_on(top, action.handler, signal, info, context),
            None => {
                let handler: Handler = core::mem::transmute(action.handler);
                handler(signal as i32, info, context);
            }
        }
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
pub(in super::super) fn before_access(
    address: usize,
    length: usize,
    is_step: bool,
    origin: Origin,
) {
    if are_on() {
        if all().inside.replace(false) {
            return all().looked.set(is_step);
        }
        let looked = accesses(address, length, is_step, origin);
        all().looked.set(looked && is_step);
    }
}

/// What comes next belongs to the instruction that the thread is in: no signal arrives there.
pub(in super::super) fn stay_inside() {
    all().inside.set(are_on());
}

/// The thread has looked before what it announces next.
#[inline(always)]
pub(in super::super) fn has_looked() {
    if are_on() {
        all().looked.set(true);
    }
}

/// The same, where nothing is announced: a store buffer takes it.
#[inline(always)]
pub(in super::super) fn before_push(address: usize, length: usize, is_step: bool, origin: Origin) {
    if are_on() && !all().inside.replace(false) {
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
    notices_jump(origin);
    let mut handled = all().jumps.get();
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

/// Was a handler left by a jump? Whatever its thread had done by then, not only what the handler touches, may show.
fn notices_jump(origin: Origin) {
    let frame = &of(threads().current.get()).frame;
    if !all().jumps.get() && frame.get() != 0 && !is_handling() {
        frame.set(0);
        trace::access(0, HANDLERS, READ, origin, [JUMPS, 0, 0]);
    }
}

/// Is it on the stack that the running thread has set aside for handlers?
fn is_set_aside(address: usize) -> bool {
    run().alternate.get().has(address)
}

/// Memory of the handler's own: what lies above it on the stack.
fn is_own_frame(address: usize) -> bool {
    let me = threads().current.get();
    let (low, _) = tables().contexts[me].stack.get();
    (low..of(me).frame.get()).contains(&address) || is_set_aside(address)
}

/// The running thread is about to announce a step.
#[inline(always)]
pub(in super::super) fn before_step(step: &Step) {
    if are_on() && !all().looked.replace(false) {
        steps_ahead(step);
    }
}

#[inline(never)]
fn steps_ahead(step: &Step) {
    if is_possible() {
        notices_jump(step.origin);
    }
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
pub(in super::super) fn would_interrupt() -> bool {
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
pub(in super::super) fn is_spent() -> bool {
    let words = (&all().sent)[..all().count.get()].iter();
    let mut words = words.map(|number| signal_word(number.get() as usize));
    let spent = are_on() && words.any(|word| objects().get(word).count.get() & COMES_AGAIN != 0);
    if spent {
        trace::access(0, HANDLERS, 0, Origin::NONE, [timer::SPENT, 0, 0]);
    }
    spent
}

/// Waits for one of these signals, and takes it: which one, and what it says.
pub(in super::super) fn wait_for(
    wanted: impl Fn(usize) -> bool,
    caller: usize,
) -> (usize, SignalInfo) {
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
    let info = take(word, step::AWAIT_SIGNAL, origin);
    (signal, info.unwrap_or(SignalInfo::of(libc::SI_USER)))
}

/// Takes one of these signals, if one is pending.
pub(in super::super) fn poll(
    wanted: impl Fn(usize) -> bool,
    caller: usize,
) -> Option<(usize, SignalInfo)> {
    let me = threads().current.get();
    let origin = Origin::library(Builtin::thread, caller);
    let mut words = deliverable(me, &wanted);
    words.find_map(|(word, signal)| Some((signal, take(word, step::DELIVER, origin)?)))
}

/// Waits until a handler has run.
pub(in super::super) fn pause(caller: usize) {
    let (signal, info) = wait_for(|signal| is_handled(signal) && !is_masked(signal), caller);
    handle(signal, info);
}
