//! Threads come and go: create, join, detach, exit, yield.

use super::context::{Context, Status, Step};
use super::steps::{self, depart, point};
use super::{MOST, buffer, on, sleepers, specific, threads};
use crate::caller;
use crate::outcome::{self, Report};
use crate::real::real;
use crate::stack;
use crate::state::{state, watch};
use landfall_vocab::record::step;
use landfall_vocab::shared::{CREATIONS, End};

/// The first thing a new thread does on its stack.
pub(super) unsafe extern "C" fn entered() -> ! {
    let context = &raw const (*threads()).contexts[(*threads()).current];
    let start: unsafe extern "C" fn(usize) -> usize = core::mem::transmute((*context).start);
    let result = start((*context).argument);
    finish(result)
}

/// Ends the running thread as libc would: thread-local destructors, then thread-specific ones.
pub(super) unsafe fn finish(result: usize) -> ! {
    if let Some(destroy) = (*real()).__call_tls_dtors {
        destroy();
    }
    specific::destroy();
    let threads = threads();
    (*threads).contexts[(*threads).current].result = result;
    point(Step::new(step::EXIT, (*threads).current, 0));
    depart(Status::Done)
}

/// A thread's number, by the descriptor that is its `pthread_t`.
unsafe fn number_of(thread: usize) -> Option<usize> {
    let threads = threads();
    (0..(*threads).count).find(|&i| {
        let context = &raw const (*threads).contexts[i];
        (*context).status != Status::Unused && (*context).thread_pointer == thread
    })
}

pub(super) unsafe fn create(
    to: *mut usize,
    detached: bool,
    start: usize,
    argument: usize,
    caller: usize,
) -> i32 {
    let threads = threads();
    point(Step::new(step::CREATE, 0, caller));
    if (*threads).creations {
        sleepers::executed(CREATIONS, 1, true);
    }
    let number = (*threads).count;
    if number == MOST {
        let text: &[&[u8]] = &[b"more than 32 threads in one run, those that were joined included: let it create fewer"];
        let frame = stack::frame_pointer();
        outcome::end(
            End::Thread,
            Report {
                frame,
                text,
                ..Report::default()
            },
        )
    }
    if number >= usize::from((*threads).companions) {
        // The checker sees that, and starts over with more.
        steps::stop(End::Limit, 0)
    }
    (*threads).contexts[(*threads).current].among_others = true;
    let Some(mut context) = Context::new(number, start, argument) else {
        return libc::EAGAIN;
    };
    crate::heap::begin(number);
    context.detached = detached;
    // C++ skips atomics while libc says that there is one thread only.
    let single = (*state()).single_threaded as *mut u8;
    if !single.is_null() {
        *single = 0;
    }
    *to = context.thread_pointer;
    (*threads).contexts[number] = context;
    steps::announce(number, Step::new(step::BEGIN, number, caller));
    (*threads).count += 1;
    (*threads).apart += 1;
    watch(true);
    0
}

pub(super) unsafe fn join(thread: usize, caller: usize) -> Result<usize, i32> {
    let threads = threads();
    let Some(number) = number_of(thread) else {
        return Err(libc::ESRCH);
    };
    if (*threads).contexts[number].detached {
        return Err(libc::EINVAL);
    }
    if number == (*threads).current {
        return Err(libc::EDEADLK);
    }
    point(Step::new(step::JOIN, number, caller));
    (*threads).contexts[number].detached = true; // joined: nobody may join it again
    (*threads).apart -= 1;
    (*state()).clock = (*state()).clock.max((*threads).contexts[number].clock);
    let alone = (*threads).apart == 0 && buffer::is_empty((*threads).current);
    if alone && !(*threads).persistency {
        watch(false);
    }
    Ok((*threads).contexts[number].result)
}

pub(super) unsafe fn detach(thread: usize) -> i32 {
    match number_of(thread) {
        Some(number) => {
            (*threads()).contexts[number].detached = true;
            0
        }
        None => libc::ESRCH,
    }
}

pub(super) unsafe fn yielded(caller: usize) {
    point(Step::new(step::YIELD, 0, caller));
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: usize, state: &mut i32) -> i32;
}

crate::weak!(
    "pthread_create" => pthread_create, "pthread_join" => pthread_join, "pthread_detach" => pthread_detach,
    "pthread_exit" => pthread_exit, "sched_yield" => sched_yield, "pthread_yield" => sched_yield,
    "pthread_cancel" => pthread_cancel, "pthread_tryjoin_np" => pthread_tryjoin,
    "pthread_timedjoin_np" => pthread_tryjoin, "pthread_clockjoin_np" => pthread_tryjoin,
);

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __lf_weak_pthread_create(
    to: *mut usize,
    attributes: usize,
    start: usize,
    argument: usize,
) -> i32 {
    if !on() {
        return (*real()).pthread_create.map_or(libc::ENOSYS, |create| {
            create(to, attributes, start, argument)
        });
    }
    let mut state = 0;
    if attributes != 0 {
        pthread_attr_getdetachstate(attributes, &mut state);
    }
    create(
        to,
        state == libc::PTHREAD_CREATE_DETACHED,
        start,
        argument,
        caller!(),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_join(thread: usize, to: *mut usize) -> i32 {
    if !on() {
        return (*real())
            .pthread_join
            .map_or(libc::ENOSYS, |join| join(thread, to));
    }
    match join(thread, caller!()) {
        Ok(result) => {
            if !to.is_null() {
                *to = result;
            }
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_tryjoin(_thread: usize, _to: *mut usize) -> i32 {
    if !on() {
        return libc::ENOSYS;
    }
    refuse(b"pthread_tryjoin_np and pthread_timedjoin_np are not supported: whether a thread has ended yet is no step; use pthread_join")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_detach(thread: usize) -> i32 {
    if !on() {
        return (*real())
            .pthread_detach
            .map_or(libc::ENOSYS, |detach| detach(thread));
    }
    detach(thread)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_exit(result: usize) -> ! {
    if on() {
        finish(result)
    }
    if let Some(exit) = (*real()).pthread_exit {
        exit(result);
    }
    outcome::internal(b"pthread_exit came back", 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_sched_yield() -> i32 {
    if on() {
        yielded(caller!());
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_pthread_cancel(_thread: usize) -> i32 {
    if !on() {
        return libc::ESRCH;
    }
    refuse(b"pthread_cancel: cancelling threads is not supported; let the thread end by itself")
}

unsafe fn refuse(why: &[u8]) -> ! {
    let frame = stack::frame_pointer();
    outcome::end(
        End::Forbidden,
        Report {
            frame,
            text: &[why],
            ..Report::default()
        },
    )
}
