//! Atomic blocks (`__VERIFIER_atomic_begin` … `_end`): beginning one is a step, in conflict with every access of others, and what
//! follows up to its end belongs to that step. It begins and ends with an empty store buffer, like a locked instruction.
//!
//! A thread that ends the process in the middle of a block (an assumption that does not hold) has done nothing of it: what it stored is
//! put back before others go on.

use super::context::Step;
use super::steps::point;
use super::{on, repeated, signals, sleep_sets, tables, threads, transactions};
use crate::caller;
use crate::memory::bytes;
use crate::run::outcome;
use crate::run::trace::{self, Origin};
use core::cell::{Cell, UnsafeCell};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::record::access::{LOCKED, NOTHING, READ, WRITE};
use landfall_vocab::record::step;
use landfall_vocab::shared::{BLOCKS, End};
use landfall_vocab::window::LINE;

/// Stores of one block that can be taken back.
const MOST: usize = 256;

#[derive(Clone, Copy)]
#[repr(C)]
struct Stored {
    address: usize,
    length: usize,
    bytes: [u8; LINE as usize],
}

/// What the block has stored to, and what was there.
#[repr(C)]
pub(super) struct Undo {
    count: Cell<usize>,
    stored: UnsafeCell<[Stored; MOST]>,
}

fn undo() -> &'static Undo {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().undo.get() }
}

/// Is the running thread in a block?
#[inline(always)]
pub(super) fn is_inside() -> bool {
    threads().block.get() != 0
}

crate::weak!(
    "__VERIFIER_atomic_begin" => atomic_begin, "__VERIFIER_atomic_end" => atomic_end,
);

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_atomic_begin() {
    begin(caller!());
}

#[unsafe(no_mangle)]
extern "C" fn __lf_weak_atomic_end() {
    end(caller!());
}

/// A function whose body is a block is entered.
#[unsafe(no_mangle)]
extern "C" fn __lf_block_begin() {
    begin(caller!());
}

#[unsafe(no_mangle)]
extern "C" fn __lf_block_end() {
    end(caller!());
}

fn begin(caller: usize) {
    if on() {
        begin_at(Origin::library(Builtin::atomic_block, caller));
    }
}

pub(super) fn begin_at(origin: Origin) {
    enter(origin, false);
}

/// Memory is about to be taken away, all of it at once.
pub(super) fn begin_remapping(origin: Origin) {
    enter(origin, true);
}

/// A store is about to go into the buffer, if its memory is not taken away before; or a thread has taken some away, and others may meet that.
pub(super) fn issues(origin: Origin) {
    let me = threads().current.get();
    signals::has_looked();
    point(Step {
        kind: step::ISSUE,
        object: BLOCKS as usize,
        origin,
    });
    looks(me, origin);
}

/// The memory of the access that the running thread announced is gone.
pub(super) fn found_nothing(origin: Origin) {
    looks(threads().current.get(), origin);
}

/// A thread looks whether its memory is there.
fn looks(me: usize, origin: Origin) {
    trace::access(me, BLOCKS, READ, origin, [0, 0, 0]);
    repeated::moved(me, origin);
    sleep_sets::executed(BLOCKS, 1, false);
}

fn enter(origin: Origin, remaps: bool) {
    let depth = threads().block.get();
    if depth == 0 {
        if threads().persistency.get() {
            outcome::fail(
                End::Forbidden,
                &[b"__VERIFIER_atomic_begin in a program that uses persistent memory"],
            );
        }
        point(Step {
            kind: step::BLOCK,
            object: BLOCKS as usize,
            origin,
        });
        let me = threads().current.get();
        undo().count.set(0);
        trace::access(
            me,
            BLOCKS,
            READ | WRITE | LOCKED,
            origin,
            [0, 1, remaps.into()],
        );
        repeated::moved(me, origin);
        sleep_sets::executed(BLOCKS, 1, true);
    }
    threads().block.set(depth + 1);
}

fn end(caller: usize) {
    if on() {
        end_at(Origin::library(Builtin::atomic_block, caller));
    }
}

pub(super) fn end_at(origin: Origin) {
    match threads().block.get() {
        0 => {}
        1 => leave(origin),
        depth => threads().block.set(depth - 1),
    }
}

/// The block is over.
fn leave(origin: Origin) {
    threads().block.set(0);
    let me = threads().current.get();
    trace::access(me, BLOCKS, NOTHING, origin, [0, 0, 0]);
    repeated::moved(me, origin);
}

/// A step is announced: not every one is possible inside of a block. Is there nothing to be done?
pub(super) fn passes_over(kind: u8) -> bool {
    if transactions::is_inside() {
        return transactions::passes_over(kind);
    }
    match kind {
        step::YIELD | step::SLEEP | step::FENCE => true,
        step::EXIT => {
            leave(Origin::library(Builtin::atomic_block, 0));
            false
        }
        _ => outcome::fail(
            End::Forbidden,
            &[b"a thread waits for others, or for a lock, inside of an atomic block (__VERIFIER_atomic_begin); \
                take the lock around the block"],
        ),
    }
}

/// The block is about to store to bytes of one line.
pub(super) fn stores(address: usize, length: usize) {
    let undo = undo();
    let count = undo.count.get();
    if count < MOST {
        // SAFETY: one of the entries, and nobody else is at it; the program may read what it stores to.
        unsafe {
            let entry = undo.stored.get().cast::<Stored>().add(count);
            (*entry).address = address;
            (*entry).length = length.min(LINE as usize);
            bytes::copy(
                (&raw mut (*entry).bytes).cast(),
                address as *const u8,
                length.min(LINE as usize),
            );
        }
    }
    undo.count.set(count + 1);
}

/// The running thread ends the process: if it is in a block, that did not happen.
pub(super) fn abandon() {
    if !is_inside() {
        return;
    }
    if transactions::is_inside() {
        return transactions::abandon();
    }
    let undo = undo();
    let count = undo.count.get();
    if count > MOST {
        threads().block.set(0);
        outcome::fail(
            End::Forbidden,
            &[b"an atomic block that does not end stores too much"],
        );
    }
    for at in (0..count).rev() {
        // SAFETY: it was read from there, and the program has stored there since.
        unsafe {
            let entry = undo.stored.get().cast::<Stored>().add(at);
            bytes::copy(
                (*entry).address as *mut u8,
                (&raw const (*entry).bytes).cast(),
                (*entry).length,
            );
        }
    }
    leave(Origin::library(Builtin::atomic_block, 0));
}
