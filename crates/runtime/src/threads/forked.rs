//! Processes that the program forks, as threads that share less: each is one thread, and has all memory for itself but what is mapped
//! shared, and persistent memory. What it has for itself lies at the addresses at which its parent's does, and is put there when it goes on
//! (`images`). Nobody else can tell what happens to it, so that is no step; locks and the like in it are told apart by who has them.
//!
//! A child that is waited for is joined. Where any will do, it is asked which of them ended first, as `lf_nondet` asks for a value: POSIX leaves
//! that open. Of descriptors, each process has its own (`files/holders`); files and pipes behind them are one. Actions of signals are its own.

#![allow(non_upper_case_globals)] // libc names system calls in lower case

mod images;

use super::clone::{self, Cloned};
use super::context::{Status, thread_pointer};
use super::lifecycle::{self, How};
use super::{channel_calls, raw_clone, signals, tables, threads, unseen};
use crate::files::holders;
use crate::hooks::any_value;
use crate::memory::shadow::is_persistent;
use crate::run::outcome;
use crate::run::trace::Origin;
use crate::run::tracked;
use crate::state::server;
use crate::syscalls::dispatch::{self, Call};
use crate::syscalls::signals::is_handled;
use core::cell::Cell;
pub(super) use images::switched;
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::step;
use landfall_vocab::shared::{End, FORKED_AT, InputKind};
use landfall_vocab::window;
use libc::*;

/// Processes of a run, with the one that it begins with.
pub(crate) const MOST: usize = 16;

/// Mappings that processes share.
const MOST_SHARED: usize = 16;

/// Those of a run.
#[repr(C)]
pub(crate) struct Family {
    /// There are several.
    several: Cell<bool>,
    count: Cell<usize>,
    all: [Cell<Kin>; MOST],
    shared: [Cell<(usize, usize)>; MOST_SHARED],
    shared_count: Cell<usize>,
    images: images::Images,
}

/// A child; of number 0, the process that the run begins with, nothing is said.
#[derive(Clone, Copy)]
#[repr(C)]
struct Kin {
    thread: usize,
    parent: usize,
    /// As `wait` tells it.
    status: i32,
    waited_for: bool,
}

fn family() -> &'static Family {
    &threads().family
}

/// Are there several?
#[inline(always)]
pub(crate) fn several() -> bool {
    family().several.get()
}

/// Whose the running thread is.
pub(crate) fn current() -> usize {
    of(threads().current.get())
}

fn of(thread: usize) -> usize {
    usize::from(tables().contexts[thread].process.get())
}

/// The number by which the program knows the running process, and its parent.
pub(crate) fn ids() -> (isize, isize) {
    const FIRST: isize = 1000;
    let id = |process: usize| match process {
        0 => FIRST,
        number => FIRST + family().all[number].get().thread as isize,
    };
    match several() {
        true if current() != 0 => (id(current()), id(family().all[current()].get().parent)),
        _ => (FIRST, FIRST - 1),
    }
}

/// Is this memory of the running process's own?
#[inline(always)]
pub(super) fn hides(address: usize) -> bool {
    several() && is_own(address)
}

#[inline(never)]
fn is_own(address: usize) -> bool {
    let (state, state_end) = tracked::own_state();
    let shared = &family().shared[..family().shared_count.get()];
    !is_persistent(address)
        && !(state..state_end).contains(&address)
        && !window::CHANNELS.contains(&(address as u64))
        && !shared
            .iter()
            .any(|range| (range.get().0..range.get().1).contains(&address))
}

/// A lock or the like at an address, by which nobody takes it for what another process has there.
pub(super) fn key(object: usize) -> usize {
    const LEAST: usize = 1 << 12;
    match several() && (LEAST..1 << 47).contains(&object) && current() != 0 && is_own(object) {
        true => object | current() << FORKED_AT,
        false => object,
    }
}

/// Is it a call that makes a process, or one that means another than where there is one?
pub(crate) fn is_for(call: &Call) -> bool {
    match call.number {
        SYS_fork => true,
        SYS_clone => is_fork(call.arguments[0]),
        // SAFETY: the program made this call: its argument is what the kernel would take.
        SYS_clone3 => is_fork(unsafe { *(call.arguments[0] as *const usize) }),
        SYS_wait4 | SYS_waitid => family().count.get() > 0,
        SYS_exit_group => several(),
        _ => false,
    }
}

pub(crate) fn is_fork(flags: usize) -> bool {
    flags as i32 & (CLONE_VM | CLONE_THREAD | CLONE_VFORK) == 0
}

/// Makes the call: its result.
///
/// # Safety
/// The program made it, and `context` is what the kernel kept of it.
pub(crate) unsafe fn perform(call: &Call, context: *mut ucontext_t, caller: usize) -> isize {
    let [a, b, c, d, ..] = call.arguments;
    // SAFETY: what the caller promises.
    unsafe {
        match call.number {
            SYS_fork => fork(&asks(0, 0, 0), context, caller),
            SYS_clone => fork(&asks(a, c, d), context, caller),
            SYS_clone3 => {
                let asked = *(a as *const [usize; 4]);
                fork(&asks(asked[0], asked[3], asked[2]), context, caller)
            }
            SYS_wait4 => wait4(a as i32, b, c as i32, caller),
            SYS_waitid => waitid((a, b), c, d as i32, caller),
            _ => {
                exits(a as i32, caller);
                dispatch::perform(call, false)
            }
        }
    }
}

fn asks(flags: usize, parent: usize, child: usize) -> Cloned {
    Cloned {
        flags: flags as i32,
        stack: 0,
        parent,
        child,
        storage: 0,
    }
}

fn refuse(why: &[u8]) -> ! {
    outcome::fail(End::Forbidden, &[why])
}

/// # Safety
/// As above.
unsafe fn fork(cloned: &Cloned, context: *mut ucontext_t, caller: usize) -> isize {
    let me = threads().current.get();
    if server().in_place.get() {
        outcome::needs_fork(&[b"fork"]);
    }
    let others = |number: usize| {
        of(number) == current() && tables().contexts[number].status.get() == Status::Ready
    };
    if (0..threads().count.get()).any(|number| number != me && others(number)) {
        refuse(b"fork: a process with several threads forks; let it fork before it creates them, or after it has joined them");
    }
    if me != 0 && of(me) == 0 {
        refuse(b"fork: a thread other than the first one forks");
    }
    if signals::are_on() || is_handled(SIGCHLD as usize) {
        refuse(b"fork: signals between processes are not searched; leave out handlers and timers");
    }
    let parent = current();
    let how = How {
        detached: true,
        kin: true,
        ..How::new(raw_clone::returns as *const () as usize, 0)
    };
    // SAFETY: what the caller promises; the child has a stack of its own to begin on, and comes back on a copy of its parent's.
    unsafe {
        let thread = match lifecycle::bear(core::ptr::null_mut(), how, caller) {
            Ok(thread) => thread,
            Err(error) => return -(error as isize),
        };
        // Others may have forked before it was our turn.
        let number = family().count.get() + 1;
        if number == MOST {
            refuse(b"fork: more than 15 child processes in one run");
        }
        if !several() {
            holders::begin(parent);
            family().several.set(true);
            threads().leftovers.set(false);
        }
        holders::inherit(parent, number);
        family().count.set(number);
        family().all[number].set(Kin {
            thread,
            parent,
            status: 0,
            waited_for: false,
        });
        let (own, child) = (&tables().contexts[me], &tables().contexts[thread]);
        child.process.set(number as u8);
        child.thread_pointer.set(thread_pointer());
        let at = raw_clone::kept_for(context, thread);
        child.stack.set(own.stack.get());
        images::copied(
            number,
            (*context).uc_mcontext.gregs[REG_RSP as usize] as usize,
        );
        if !super::objects().inherit(|at| inherited(at, parent, number)) {
            refuse(b"fork: the process holds a lock of its own, of which the child would have a copy that nobody can unlock");
        }
        clone::begin(thread, cloned, at, caller) as isize
    }
}

/// A lock or the like at this place: where it is its process's own, how the child's copy is called.
fn inherited(at: usize, parent: usize, child: usize) -> Option<usize> {
    let (whose, address) = (at >> FORKED_AT, at & ((1 << FORKED_AT) - 1));
    let own = whose == parent && address < 1 << 47 && is_own(address);
    own.then_some(address | child << FORKED_AT)
}

/// Others see this mapping.
fn found(start: usize, end: usize) {
    let shared = &family().shared;
    let count = family().shared_count.get();
    if shared[..count]
        .iter()
        .any(|range| range.get() == (start, end))
    {
        return;
    }
    if count == MOST_SHARED {
        refuse(b"fork: the program has more than 16 shared mappings");
    }
    shared[count].set((start, end));
    family().shared_count.set(count + 1);
}

/// The running process exits. If it is the one that the run began with, the run is over, and this comes back.
pub(crate) fn exits(code: i32, caller: usize) {
    if super::on() && several() {
        match current() {
            0 => closes(0, caller),
            _ => ends((code & 0xff) << 8, caller),
        }
    }
}

/// The running process ends, and whoever waits for it is told this.
pub(crate) fn ends(status: i32, caller: usize) -> ! {
    let process = current();
    let kin = &family().all[process];
    kin.set(Kin {
        status,
        ..kin.get()
    });
    closes(process, caller);
    tables().contexts[threads().current.get()].result.set(0);
    lifecycle::leave()
}

/// What a process that ends was the last to have of pipes and sockets is closed: others may find that.
fn closes(process: usize, caller: usize) {
    if holders::is_last_of_channel(process) {
        channel_calls::enter(caller);
        holders::leave(process);
        channel_calls::leave(caller);
    } else {
        holders::leave(process);
    }
}

/// Children of the running process that match, and that it has not waited for.
fn children(wanted: i32) -> impl DoubleEndedIterator<Item = usize> {
    let me = current();
    (1..=family().count.get()).filter(move |&number| {
        let kin = family().all[number].get();
        let id = 1000 + kin.thread as i32;
        kin.parent == me && !kin.waited_for && (matches!(wanted, -1 | 0) || wanted == id)
    })
}

/// Waits for one of these children to end: which, and how it did.
fn waits(wanted: i32, options: i32, caller: usize) -> Result<(i32, i32), isize> {
    if options & (WNOHANG | WNOWAIT) != 0 {
        refuse(b"waitpid: whether a child has ended yet is no step; wait for it, without WNOHANG and WNOWAIT");
    }
    let Some(last) = children(wanted).next_back() else {
        return Err(-(ECHILD as isize));
    };
    // POSIX leaves open which it is of several that have ended.
    let first = |number: &usize| *number == last || any_value::any(InputKind::Child, caller) == 0;
    let number = children(wanted).find(first).unwrap_or(last);
    let kin = &family().all[number];
    let context = &tables().contexts[threads().current.get()];
    context.takes_any.set(children(wanted).count() > 1);
    lifecycle::await_end(kin.get().thread, caller);
    context.takes_any.set(false);
    kin.set(Kin {
        waited_for: true,
        ..kin.get()
    });
    family().several.set(unseen::several());
    Ok((1000 + kin.get().thread as i32, kin.get().status))
}

/// Nobody can go on: does somebody wait for a child though another one has ended that it would have been told of?
pub(super) fn might_take_another() -> bool {
    let waits = |thread: usize| {
        let context = &tables().contexts[thread];
        let other = |number: usize| {
            let kin = family().all[number].get();
            kin.parent == of(thread)
                && !kin.waited_for
                && tables().contexts[kin.thread].status.get() == Status::Done
        };
        context.status.get() == Status::Ready
            && context.step.get().kind == step::JOIN
            && context.takes_any.get()
            && (1..=family().count.get()).any(other)
    };
    family().count.get() > 1 && (0..threads().count.get()).any(waits)
}

/// # Safety
/// The program wants the status at `to`, if anywhere.
unsafe fn wait4(wanted: i32, to: usize, options: i32, caller: usize) -> isize {
    if wanted < -1 {
        refuse(b"waitpid: groups of processes are not modelled");
    }
    match waits(wanted, options, caller) {
        Ok((id, status)) => {
            // SAFETY: what the caller promises.
            unsafe { tell(to, status, caller) };
            id as isize
        }
        Err(error) => error,
    }
}

/// # Safety
/// The program wants to be told at `to`, if anywhere.
unsafe fn waitid((kind, id): (usize, usize), to: usize, options: i32, caller: usize) -> isize {
    let wanted = match kind as u32 {
        P_ALL => -1,
        P_PID => id as i32,
        _ => refuse(b"waitid: only P_PID and P_ALL are modelled"),
    };
    if options & WEXITED == 0 {
        refuse(b"waitid: only the end of a child (WEXITED) is modelled");
    }
    match waits(wanted, options & !WEXITED, caller) {
        Ok((id, status)) => {
            let by_signal = status & 0x7f != 0;
            let (code, value) = match by_signal {
                true => (CLD_KILLED, status & 0x7f),
                false => (CLD_EXITED, status >> 8),
            };
            // Where the kernel has them: number, error, code, a gap, the process, its user, its status.
            let told = [SIGCHLD, 0, code, 0, id, 0, value];
            for (at, &word) in told.iter().enumerate().filter(|_| to != 0) {
                // SAFETY: what the caller promises.
                unsafe { tell(to + 4 * at, word, caller) };
            }
            0
        }
        Err(error) => error,
    }
}

/// # Safety
/// The program wants it at `to`, if anywhere.
unsafe fn tell(to: usize, word: i32, caller: usize) {
    if to != 0 {
        let origin = Origin::library(Builtin::system_call, caller);
        // SAFETY: what the caller promises.
        unsafe { super::visible::store(to, (&raw const word).cast(), 4, 0, origin) };
    }
}

/// The running process, which a signal would end that it sends itself: its end, if it is a child and has not failed.
pub(crate) fn dies_of(signal: i32, caller: usize) {
    let failures = [SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP];
    let ignored = [
        SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
    ];
    if several() && current() != 0 && !failures.contains(&signal) && !ignored.contains(&signal) {
        ends(signal & 0x7f, caller)
    }
}

/// Memory is about to be unmapped, or to be something else. What a process has since it was forked is only its own.
pub(crate) fn remaps(start: usize, length: usize) {
    let shared = &family().shared[..family().shared_count.get()];
    let end = start.saturating_add(length);
    let meets = |range: (usize, usize)| range.0 < end && start < range.1;
    if several() && (shared.iter().any(|range| meets(range.get())) || images::any_in(&meets)) {
        refuse(b"a process unmaps or changes memory that it has in common with others, or has a copy of: not modelled while there are several processes");
    }
}

/// A process creates a thread.
pub(super) fn refuses_threads() {
    if several() {
        refuse(b"a program with several processes creates a thread: each has one thread only; wait for the children before");
    }
}
