//! Barriers.

use super::context::{Status, Step};
use super::steps::{effect, point};
use super::{object_lifetime, objects, on, tables, threads, word};
use crate::caller;
use crate::run::outcome::{self};
use landfall_vocab::record::access::{READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::End;

crate::weak!(
    "pthread_barrier_init" => barrier_init, "pthread_barrier_destroy" => barrier_destroy,
    "pthread_barrier_wait" => barrier_wait,
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_barrier_init(
    barrier: *mut u32,
    _attributes: usize,
    count: u32,
) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if count == 0 {
            return libc::EINVAL;
        }
        // The program's memory remembers the count as well: it may be initialised before the run that uses it.
        if on() {
            object_lifetime::made(barrier as usize, 0, caller!());
        }
        *word(barrier) = count;
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_barrier_destroy(barrier: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if on() {
            object_lifetime::destroyed(barrier as usize, barrier as usize, 0, caller!());
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lf_weak_barrier_wait(barrier: *mut u32) -> i32 {
    // SAFETY: the program calls it: its arguments are what libc's own function takes.
    unsafe {
        if !on() {
            if *barrier <= 1 {
                return libc::PTHREAD_BARRIER_SERIAL_THREAD;
            }
            outcome::fail(
                End::Deadlock,
                &[b"pthread_barrier_wait waits for something that cannot happen"],
            )
        }
        let caller = caller!();
        let me = threads().current.get();
        let object = objects().get(barrier as usize);
        point(Step::new(step::ARRIVE, barrier as usize, caller));
        if object_lifetime::is_gone(barrier as usize) {
            effect(barrier as usize, READ, 0);
            return libc::EINVAL;
        }
        effect(barrier as usize, WRITE, (*word(barrier)).max(1).into());
        object.count.set(object.count.get() + 1);
        if object.count.get() >= (*word(barrier)).max(1) {
            let words = threads().thread_words.get();
            for thread in object.waiting.iter(words) {
                if tables().contexts[thread].status.get() == Status::Ready {
                    tables().contexts[thread].released.set(true);
                }
            }
            object.count.set(0);
            object.waiting.clear(words);
            return libc::PTHREAD_BARRIER_SERIAL_THREAD;
        }
        object.waiting.insert(me);
        tables().contexts[me].released.set(false);
        point(Step::new(step::PASS, barrier as usize, caller));
        0
    }
}
