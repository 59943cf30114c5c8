//! Local variables of threads, while there are several: a function that returns takes away what others may still have the address of. That is
//! in conflict with whoever touches it, before or after, and who comes after is told so.
//!
//! A variable of a block goes where its block ends, an array of variable length (`arrays`) where the stack is as it was before it.
//!
//! Only variables that others can know are looked at: their address was stored somewhere, given to a thread, or taken for a number. One that is
//! only known by another variable is as well known as that one. What has ended is in a *grave* until another function, or its own thread, has
//! the place.

mod arrays;

use super::{MOST, forked, is_opaque, on, said, store_buffer, tables, threads, visible};
use crate::caller;
use crate::memory::heap_checks::{self, DEAD, Record};
use crate::run::call_stack;
use crate::run::trace::Origin;
use crate::state::run;
use core::cell::{Cell, UnsafeCell};
use landfall_vocab::builtin::Builtin;
use landfall_vocab::shared::heap_error;

/// Variables of a thread that are kept, addresses of them that are known, and graves of all threads. Where there are more, all are taken to be
/// known; the oldest graves are given up.
const LOCALS: usize = 128;
const ADDRESSES: usize = 64;
const GRAVES: usize = 1024;
/// Variables that know each other, one by the next.
const DEEP: usize = 4;

#[derive(Clone, Copy)]
#[repr(C)]
struct Local {
    start: usize,
    length: usize,
}

impl Local {
    fn has(self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.length
    }

    fn meets(self, start: usize, length: usize) -> bool {
        self.start < start + length && start < self.start + self.length
    }
}

/// An address of a variable, and where on the same stack it was stored; zero for elsewhere.
#[derive(Clone, Copy)]
#[repr(C)]
struct KnownAddress {
    address: usize,
    stored: usize,
}

/// Of one thread.
#[repr(C)]
struct ThreadFrames {
    /// Of the functions that it is in, outermost first.
    locals: [Cell<Local>; LOCALS],
    count: Cell<usize>,
    addresses: [Cell<KnownAddress>; ADDRESSES],
    address_count: Cell<usize>,
    /// There were more addresses than are kept: any variable may be known, for all that was seen.
    many: Cell<bool>,
}

#[repr(C)]
struct Grave {
    local: Local,
    /// Where its function returned, or its block ended. Instead of who allocated it: whose it was, plus one, and whether it was a block.
    record: Record,
}

#[repr(C)]
pub(crate) struct Frames {
    threads: [ThreadFrames; MOST],
    graves: UnsafeCell<[Grave; GRAVES]>,
    /// Where the next one goes when all are taken.
    oldest: Cell<usize>,
}

fn frames() -> &'static Frames {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().frames.get() }
}

fn own() -> &'static ThreadFrames {
    &frames().threads[threads().current.get()]
}

fn graves() -> &'static mut [Grave] {
    // SAFETY: as many as are counted were written; nobody else has them.
    unsafe {
        let first = frames().graves.get().cast::<Grave>();
        core::slice::from_raw_parts_mut(first, run().graves.get())
    }
}

fn stack_of(thread: usize) -> Local {
    let (low, high) = tables().contexts[thread].stack.get();
    Local {
        start: low,
        length: high - low,
    }
}

/// A thread begins.
pub(super) fn begin(thread: usize) {
    let frames = &frames().threads[thread];
    frames.count.set(0);
    frames.address_count.set(0);
    frames.many.set(false);
}

/// From now on there are several threads: who knows variables that the running one has now was not seen.
pub(super) fn begin_to_look() {
    own().count.set(0);
    // Nor where they began.
    if run().graves.get() != 0 {
        let stack = stack_of(threads().current.get());
        let here = run().entered.get();
        if stack.has(here) {
            take_place(here, stack.start + stack.length - here);
        }
    }
}

fn is_on() -> bool {
    on() && heap_checks::on() && !forked::several()
}

impl ThreadFrames {
    /// Functions whose variables are below this were left by a jump.
    fn left_up_to(&self, stack_pointer: usize) {
        let mut count = self.count.get();
        while count > 0 && self.locals[(count - 1).min(LOCALS - 1)].get().start < stack_pointer {
            count -= 1;
        }
        self.count.set(count);
    }

    fn locals(&self) -> &[Cell<Local>] {
        &self.locals[..self.count.get().min(LOCALS)]
    }

    fn addresses(&self) -> &[Cell<KnownAddress>] {
        &self.addresses[..self.address_count.get()]
    }

    /// Addresses of a variable that is gone are those of others from now on, and so is what was stored in it.
    fn forget(&self, local: Local) {
        let mut kept = 0;
        for at in 0..self.address_count.get() {
            let known = self.addresses[at].get();
            if !local.has(known.address) && !local.has(known.stored) {
                self.addresses[kept].set(known);
                kept += 1;
            }
        }
        self.address_count.set(kept);
    }

    fn learn(&self, known: KnownAddress) {
        let alike = |other: &Cell<KnownAddress>| {
            let other = other.get();
            other.address == known.address && other.stored == known.stored
        };
        if self.addresses().iter().any(alike) {
            return;
        }
        let count = self.address_count.get();
        if count == ADDRESSES {
            return self.many.set(true);
        }
        self.addresses[count].set(known);
        self.address_count.set(count + 1);
    }

    /// Can others know it?
    fn is_known(&self, local: Local, deep: usize) -> bool {
        if self.many.get() || deep == 0 {
            return true;
        }
        self.addresses().iter().map(Cell::get).any(|known| {
            local.has(known.address)
                && (known.stored == 0 || {
                    let holder = self.locals().iter().map(Cell::get);
                    let holder = holder.rev().find(|other| other.has(known.stored));
                    // A variable that knows itself is not known for that.
                    holder.is_none_or(|holder| {
                        holder.start != local.start && self.is_known(holder, deep - 1)
                    })
                })
        })
    }
}

/// The running thread stores a word there, or hands it to somebody (`to` is zero).
#[inline(always)]
pub(super) fn stores(to: usize, value: u64) {
    let stack = stack_of(threads().current.get());
    if stack.has(value as usize) && heap_checks::on() {
        own().learn(KnownAddress {
            address: value as usize,
            stored: if stack.has(to) { to } else { 0 },
        });
    }
}

/// A variable begins (ABI).
#[unsafe(no_mangle)]
extern "C" fn __lf_frame_begins(start: usize, length: usize) {
    let caller = caller!();
    variable_begins(Local { start, length }, caller);
}

fn variable_begins(local: Local, caller: usize) {
    let Local { start, length } = local;
    if !is_on() || !stack_of(threads().current.get()).has(start) {
        return;
    }
    let origin = Origin::library(Builtin::function_entry, caller);
    let own = own();
    own.left_up_to(run().entered.get());
    own.forget(local);
    let count = own.count.get();
    if count < LOCALS {
        own.locals[count].set(local);
    }
    own.count.set(count + 1);
    if run().graves.get() != 0
        && graves()
            .iter()
            .any(|grave| grave.local.meets(start, length))
    {
        pass(local, origin, || take_place(start, length));
    }
}

/// A variable ends with its function (ABI).
#[unsafe(no_mangle)]
extern "C" fn __lf_frame_ends(start: usize, length: usize) {
    let caller = caller!();
    variable_ends(Local { start, length }, Builtin::function_return, caller);
}

/// A variable ends with its block (ABI).
#[unsafe(no_mangle)]
extern "C" fn __lf_block_variable_ends(start: usize, length: usize) {
    let caller = caller!();
    variable_ends(Local { start, length }, Builtin::block_end, caller);
}

fn variable_ends(local: Local, how: Builtin, caller: usize) {
    if !is_on() || !stack_of(threads().current.get()).has(local.start) {
        return;
    }
    let own = own();
    own.left_up_to(run().entered.get());
    let count = own.count.get();
    let place = own
        .locals()
        .iter()
        .rposition(|other| other.get().start == local.start);
    // Who knows it was not seen, if where it began was not.
    let known = place.is_none() || own.is_known(local, DEEP);
    if let Some(place) = place
        && count <= LOCALS
    {
        own.locals[place].set(own.locals[count - 1].get());
        own.count.set(count - 1);
    } else if count > LOCALS {
        own.count.set(count - 1);
    }
    if known {
        ends(local, how, caller);
    }
}

/// Somebody has jumped to where the thread is, or may have: functions that it had called from there are left (ABI).
#[unsafe(no_mangle)]
extern "C" fn __lf_frames_left() {
    let caller = caller!();
    if !is_on() || !stack_of(threads().current.get()).has(run().entered.get()) {
        return;
    }
    let (own, here) = (own(), run().entered.get());
    while let Some(last) = own.locals().last().map(Cell::get)
        && last.start < here
    {
        let known = own.is_known(last, DEEP);
        own.count.set(own.locals().len() - 1);
        if known {
            ends(last, Builtin::function_return, caller);
        }
    }
    own.left_up_to(here);
}

/// The running thread ends, wherever it is.
pub(super) fn leaves(caller: usize) {
    if is_on() {
        let own = own();
        for at in 0..own.locals().len() {
            let local = own.locals[at].get();
            if own.is_known(local, DEEP) {
                ends(local, Builtin::function_return, caller);
            }
        }
        own.count.set(0);
    }
}

/// What others may know is gone.
fn ends(local: Local, how: Builtin, caller: usize) {
    let origin = Origin::library(how, caller);
    let bury = || {
        own().forget(local);
        bury(local, matches!(how, Builtin::block_end));
    };
    match crate::state::watching() {
        true => pass(local, origin, bury),
        false => bury(),
    }
}

/// Something becomes of these bytes, in conflict with whoever touches them: no data race, but what it is.
fn pass(local: Local, origin: Origin, gone: impl FnMut()) {
    said::ignore_begins(0);
    visible::changes_hands(local.start, local.length, origin, gone);
    said::ignore_ends(0);
}

fn bury(local: Local, with_block: bool) {
    take_place(local.start, local.length);
    let count = run().graves.get();
    let place = match count < GRAVES {
        true => {
            run().graves.set(count + 1);
            count
        }
        false => {
            // Which one is given up depends on others.
            is_opaque();
            let oldest = frames().oldest.get() % GRAVES;
            frames().oldest.set(oldest + 1);
            oldest
        }
    };
    let grave = &mut graves()[place];
    grave.local = local;
    grave.record.begin(local.length, DEAD);
    grave.record.allocated[0] = threads().current.get() as u64 + 1;
    grave.record.allocated[1] = with_block.into();
    call_stack::walk(call_stack::frame_pointer(), &mut grave.record.freed);
}

/// Somebody has the place of what was buried there.
fn take_place(start: usize, length: usize) {
    let mut at = 0;
    while at < graves().len() {
        let last = graves().len() - 1;
        if graves()[at].local.meets(start, length) {
            let (first, rest) = graves().split_at_mut(last);
            if let (Some(gone), Some(moved)) = (first.get_mut(at), rest.first()) {
                gone.local = moved.local;
                gone.record.begin(moved.record.length, DEAD);
                copy(&moved.record.allocated, &mut gone.record.allocated);
                copy(&moved.record.freed, &mut gone.record.freed);
            }
            run().graves.set(last);
        } else {
            at += 1;
        }
    }
}

fn copy(from: &[u64], to: &mut [u64]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
    }
}

/// Are these bytes, for that thread, a variable that is gone?
#[inline(always)]
pub(crate) fn refuses(thread: usize, address: usize, length: usize) -> bool {
    run().graves.get() != 0 && grave(thread, address, length).is_some()
}

#[inline(never)]
fn grave(thread: usize, address: usize, length: usize) -> Option<&'static mut Grave> {
    // Of what waits in its own buffer a thread reads that, and nothing else.
    if stack_of(thread).has(address) || store_buffer::covers(thread, address, length) {
        return None;
    }
    let mut graves = graves().iter_mut();
    graves.find(|grave| grave.local.meets(address, length))
}

/// The running thread touches these bytes: ends the run if they are gone. What is on its own stack is its own again.
#[inline(always)]
pub(crate) fn look(address: usize, length: usize, writes: bool) {
    if run().graves.get() != 0 {
        look_closely(address, length, writes);
    }
}

/// The same, of what is its own.
#[inline(always)]
pub(crate) fn touches_own(address: usize, length: usize) {
    if run().graves.get() != 0 && stack_of(threads().current.get()).has(address) {
        take_place(address, length);
    }
}

#[inline(never)]
fn look_closely(address: usize, length: usize, writes: bool) {
    let me = threads().current.get();
    if stack_of(me).has(address) {
        take_place(address, length);
    } else if said::is_judged()
        && let Some(grave) = grave(me, address, length)
    {
        let near = Some((grave.local.start, &raw mut grave.record));
        heap_checks::error(kind(writes), address, length, near);
    }
}

/// A store of that thread's has reached what is gone.
pub(super) fn committed(thread: usize, address: usize, length: usize, origin: Origin) {
    if let Some(grave) = grave(thread, address, length) {
        let near = (grave.local.start, &raw mut grave.record);
        heap_checks::committed_to(kind(true), address, length, near, origin);
    }
}

fn kind(writes: bool) -> i32 {
    match writes {
        true => heap_error::WRITES_DEAD_FRAME,
        false => heap_error::READS_DEAD_FRAME,
    }
}
