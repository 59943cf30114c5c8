//! Threads come and go: create, join, detach, exit, yield.

use super::context::{self, Status, Step};
use super::steps::{self, depart, point};
use super::{
    MOST, cleanup, clone, descriptor, direct, forked, frames, given_stacks, identity, leftovers,
    on, sets, signals, sleep_sets, store_buffer, tables, thread_specific, threads, turns, unseen,
};
use crate::caller;
use crate::libc::real::real;
use crate::memory::accesses;
use crate::memory::shadow::is_persistent;
use crate::run::outcome::{self};
use crate::run::trace::Origin;
use crate::state::{Mode, run, server, watch, watching};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::step;
use landfall_vocab::shared::{CREATIONS, End};

/// The first thing a new thread does on its stack.
pub(super) unsafe extern "C" fn entered() -> ! {
    // SAFETY: the program gave this function, of that type, for the thread to begin with.
    unsafe {
        let context = &tables().contexts[threads().current.get()];
        clone::begins();
        let start: unsafe extern "C" fn(usize) -> usize = core::mem::transmute(context.start.get());
        context.result.set(start(context.argument.get()));
        ended()
    }
}

/// The running thread ends itself from within.
pub(super) fn exit(result: usize) -> ! {
    tables().contexts[threads().current.get()]
        .result
        .set(result);
    cleanup::unwind()
}

/// Ends the running thread as libc would when its function has returned: thread-local destructors, then thread-specific ones.
pub(super) fn ended() -> ! {
    signals::look(Origin::NONE);
    // SAFETY: libc's own function, on the thread that ends.
    unsafe {
        if let Some(destroy) = real().__call_tls_dtors() {
            destroy();
        }
    }
    thread_specific::destroy();
    frames::leaves(0);
    given_stacks::leaves(threads().current.get());
    clone::ends();
    leave()
}

/// The last step of the running thread.
pub(super) fn leave() -> ! {
    let result = tables().contexts[threads().current.get()].result.get();
    point(Step::new(step::EXIT, result, 0));
    depart(Status::Done)
}

/// A thread's number, by the descriptor that is its `pthread_t`.
pub(super) fn number_of(thread: usize) -> Option<usize> {
    (0..threads().count.get()).find(|&i| {
        let context = &tables().contexts[i];
        context.status.get() != Status::Unused && context.thread_pointer.get() == thread
    })
}

/// A thread to be.
pub(super) struct How {
    pub(super) detached: bool,
    /// Another thread had its number, and has ended.
    pub(super) again: bool,
    /// It is a process of its own.
    pub(super) kin: bool,
    /// Memory of the program's, where that was asked for.
    pub(super) stack: Option<(usize, usize)>,
    pub(super) start: usize,
    pub(super) argument: usize,
}

impl How {
    pub(super) fn new(start: usize, argument: usize) -> How {
        How {
            detached: false,
            again: false,
            kin: false,
            stack: None,
            start,
            argument,
        }
    }
}

/// The number that a thread's next child gets: that of one which it knows to have ended, or a new one.
pub(super) fn next_number(parent: usize) -> usize {
    match tables().contexts[parent].spare.get() {
        0 => threads().count.get(),
        spare => spare,
    }
}

/// A thread has been joined. Whoever joined it may give its number, and those that it could have given, to others: all that these do
/// comes after what it did. One that left a lock behind is remembered by its number.
fn spare(number: usize, by: usize) {
    let (joined, joiner) = (&tables().contexts[number], &tables().contexts[by]);
    let mut last = joined;
    if turns::holds_nothing(number) {
        joined.next_spare.set(joined.spare.get());
        joined.spare.set(number);
    }
    if joined.spare.get() == 0 {
        return;
    }
    let first = joined.spare.replace(0);
    let mut at = first;
    while at != 0 {
        last = &tables().contexts[at];
        at = last.next_spare.get();
    }
    last.next_spare.set(joiner.spare.get());
    joiner.spare.set(first);
}

/// The step that creates a thread: its number, and whether another one had it before.
pub(super) fn new_number(caller: usize) -> (usize, bool) {
    number_for(Builtin::thread, caller)
}

fn number_for(what: Builtin, caller: usize) -> (usize, bool) {
    point(Step {
        kind: step::CREATE,
        object: 0,
        origin: Origin::library(what, caller),
    });
    if threads().creations.get() {
        sleep_sets::executed(CREATIONS, 1, true);
    }
    let me = threads().current.get();
    let number = next_number(me);
    let again = number < threads().count.get();
    if number == MOST {
        outcome::fail(
            End::Thread,
            &[b"more than 512 threads in one run that their creator has not joined: let it create fewer"],
        )
    }
    if number >= usize::from(threads().companions.get()) {
        // The checker sees that, and starts over with more.
        steps::stop_at_once(End::Limit)
    }
    if again {
        let next = tables().contexts[number].next_spare.get();
        tables().contexts[me].spare.set(next);
    }
    (number, again)
}

/// There is a thread with that number.
pub(super) fn counts(number: usize, again: bool) {
    if !again {
        threads().count.set(number + 1);
        threads().thread_words.set(sets::words(number + 1));
        tables().used.set(number + 1);
    }
}

/// # Safety
/// `to` is where the program wants the id, and `how` what it asked for.
pub(super) unsafe fn create(to: *mut usize, how: How, caller: usize) -> i32 {
    // SAFETY: what the caller promises.
    unsafe { bear(to, how, caller).err().unwrap_or(0) }
}

/// The number of a new thread.
///
/// # Safety
/// `to` is where the program wants the id, or nowhere, and `how` what it asked for.
pub(super) unsafe fn bear(to: *mut usize, mut how: How, caller: usize) -> Result<usize, i32> {
    if !how.kin {
        forked::refuses_threads();
        if threads().count.get() == 1 {
            crate::run::checkpoint::reached();
        }
    }
    // SAFETY: what the caller promises.
    unsafe {
        let expected = match threads().creations.get() {
            // Whoever creates first gets the next number.
            true => None,
            false => give_id(to, next_number(threads().current.get()), caller),
        };
        let number;
        (number, how.again) = match how.kin {
            true => number_for(Builtin::fork, caller),
            false => new_number(caller),
        };
        let me = threads().current.get();
        tables().contexts[me].among_others.set(true);
        if let Some((low, high)) = how.stack {
            given_stacks::taken_away(low, high - low);
        }
        let Some(id) = tables().contexts[number].begin_thread(number, &how) else {
            return Err(libc::EAGAIN);
        };
        // What the other one allocated may still be in use.
        if !how.again {
            crate::memory::heap::begin(number);
        }
        turns::begin_thread(number);
        frames::begin(number);
        // C++ skips atomics while libc says that there is one thread only.
        let single = server().single_threaded.get() as *mut u8;
        if !single.is_null() {
            *single = 0;
        }
        counts(number, how.again);
        if !watching() {
            frames::begin_to_look();
        }
        frames::stores(0, how.argument as u64);
        threads().apart.set(threads().apart.get() + 1);
        threads().only_main.set(false);
        watch(true);
        if how.stack.is_some() {
            given_stacks::given(number, Origin::library(Builtin::pthread_create, caller));
        }
        unseen::created();
        if to.is_null() {
            // Nobody asks.
        } else if expected != Some(id) && is_persistent(to as usize) {
            let origin = Origin::library(Builtin::pthread_create, caller);
            direct::store(to as usize, (&raw const id).cast(), 8, 0, origin);
            // It comes after that step, too.
            point(Step::new(step::CREATE, number, caller));
        } else if expected != Some(id) {
            *to = id;
        }
        identity::started(number, &how, caller);
        steps::announce(number, Step::new(step::BEGIN, number, caller));
        Ok(number)
    }
}

/// Stores the id of the thread that is about to be created, which so finds it there: libc stores it first, too.
///
/// # Safety
/// `to` is where the program wants the id.
unsafe fn give_id(to: *mut usize, number: usize, caller: usize) -> Option<usize> {
    if to.is_null() || number >= usize::from(threads().companions.get()) {
        return None;
    }
    let id = descriptor::made(number)?;
    let origin = Origin::library(Builtin::pthread_create, caller);
    // SAFETY: what the caller promises.
    unsafe { accesses::hand_over(to as usize, (&raw const id).cast(), 8, origin) };
    Some(id)
}

/// Somebody who joins wants to know what the thread returned, or does not.
pub(super) fn join(thread: usize, wants: bool, caller: usize) -> Result<usize, i32> {
    let Some(number) = number_of(thread) else {
        return Err(libc::ESRCH);
    };
    if tables().contexts[number].detached.get() {
        return Err(libc::EINVAL);
    }
    if number == threads().current.get() {
        return Err(libc::EDEADLK);
    }
    await_end(number, caller);
    spare(number, threads().current.get());
    let result = tables().contexts[number].result.get();
    if wants && result != 0 {
        identity::returned(number);
    }
    Ok(result)
}

/// Goes on when that thread has ended.
pub(super) fn await_end(number: usize, caller: usize) {
    point(Step::new(step::JOIN, number, caller));
    tables().contexts[number].detached.set(true); // joined: nobody may join it again
    threads().apart.set(threads().apart.get() - 1);
    run()
        .clock
        .set(run().clock.get().max(tables().contexts[number].clock.get()));
    let alone = threads().apart.get() == 0 && store_buffer::is_empty(threads().current.get());
    if alone && !threads().persistency.get() && !signals::are_on() {
        // What threads left behind may be read when they are gone.
        threads().only_main.set(leftovers::is_on());
        watch(leftovers::is_on());
    }
}

pub(super) fn detach(thread: usize) -> i32 {
    match number_of(thread) {
        Some(number) => {
            tables().contexts[number].detached.set(true);
            0
        }
        None => libc::ESRCH,
    }
}

pub(super) fn yielded(caller: usize) {
    point(Step::new(step::YIELD, 0, caller));
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: usize, state: &mut i32) -> i32;
    fn pthread_attr_getstack(attributes: usize, start: &mut usize, length: &mut usize) -> i32;
}

crate::weak!(
    "pthread_create" => pthread_create, "pthread_join" => pthread_join, "pthread_detach" => pthread_detach,
    "pthread_exit" => pthread_exit, "sched_yield" => sched_yield, "pthread_yield" => sched_yield,
    "pthread_cancel" => pthread_cancel, "pthread_tryjoin_np" => pthread_tryjoin,
    "pthread_timedjoin_np" => pthread_tryjoin, "pthread_clockjoin_np" => pthread_tryjoin,
    "pthread_self" => pthread_self, "thrd_current" => pthread_self,
);

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __lf_weak_pthread_create(
    to: *mut usize,
    attributes: usize,
    start: usize,
    argument: usize,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        // A constructor creates a thread: it does so in every run.
        if server().mode.get() == Mode::Constructing {
            crate::run::serve::from_constructor();
        }
        if !on() {
            return real().pthread_create().map_or(libc::ENOSYS, |create| {
                create(to, attributes, start, argument)
            });
        }
        let mut state = 0;
        let mut stack = None;
        if attributes != 0 {
            pthread_attr_getdetachstate(attributes, &mut state);
            let (mut low, mut length) = (0, 0);
            pthread_attr_getstack(attributes, &mut low, &mut length);
            // Where none was given it ends at zero.
            stack = (low.wrapping_add(length) != 0).then_some((low, low.wrapping_add(length)));
        }
        let how = How {
            detached: state == libc::PTHREAD_CREATE_DETACHED,
            again: false,
            kin: false,
            stack,
            start,
            argument,
        };
        create(to, how, caller!())
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_join(thread: usize, to: *mut usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            return real()
                .pthread_join()
                .map_or(libc::ENOSYS, |join| join(thread, to));
        }
        match join(thread, !to.is_null(), caller!()) {
            Ok(result) => {
                if !to.is_null() {
                    let origin = Origin::library(Builtin::pthread_join, caller!());
                    accesses::hand_over(to as usize, (&raw const result).cast(), 8, origin);
                }
                0
            }
            Err(error) => error,
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pthread_tryjoin(_thread: usize, _to: *mut usize) -> i32 {
    if !on() {
        return libc::ENOSYS;
    }
    refuse(b"pthread_tryjoin_np and pthread_timedjoin_np are not supported: whether a thread has ended yet is no step; use pthread_join")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_detach(thread: usize) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            return real()
                .pthread_detach()
                .map_or(libc::ENOSYS, |detach| detach(thread));
        }
    }
    detach(thread)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_exit(result: usize) -> ! {
    if on() {
        exit(result)
    }
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if let Some(exit) = real().pthread_exit() {
            exit(result);
        }
    }
    outcome::internal(b"pthread_exit came back", 0)
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pthread_self() -> usize {
    if on() {
        identity::asked();
    }
    context::thread_pointer()
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_sched_yield() -> i32 {
    if on() {
        yielded(caller!());
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_pthread_cancel(_thread: usize) -> i32 {
    if !on() {
        return libc::ESRCH;
    }
    refuse(b"pthread_cancel: cancelling threads is not supported; let the thread end by itself")
}

fn refuse(why: &[u8]) -> ! {
    outcome::fail(End::Forbidden, &[why])
}
