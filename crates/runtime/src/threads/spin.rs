//! Threads that spin. A thread that comes back to the same place with the same registers and the same stack, having changed
//! nothing and read only what it read before, will do so for ever, unless somebody changes what it reads: it waits for that.
//!
//! A thread that reads the same bytes again is suspected. From then on the back edges of its loops come here (the budget is
//! made to look used up), where its state is compared with what it was some turns ago (Brent's way of finding a cycle).

use super::{MOST, tables, threads};
use crate::memory::bytes;
use crate::run::trace::{self, Origin};
use crate::state::budget;
use core::arch::global_asm;

/// Reads of one turn; a loop with more is not looked at.
const READS: usize = 32;
/// Bytes of stack that are compared; a deeper one is not.
const STACK: usize = 64 << 10;
/// The same read so often makes a thread suspect.
const AGAIN: u32 = 1;

#[derive(Clone, Copy)]
#[repr(C)]
struct Read {
    place: u64,
    length: usize,
    /// Somebody else changed it after it was read.
    changed: bool,
}

/// Where a thread is in a loop, and what it did since it was there before.
#[repr(C)]
struct Turn {
    /// The last reads, to become suspicious.
    recent: [(u64, u64, u64); 4],
    next: usize,
    again: u32,
    /// Back edges come here.
    suspected: bool,
    /// What follows is a snapshot, and `reads` is what was read since.
    taken: bool,
    registers: [usize; 6],
    stack_pointer: usize,
    reads: [Read; READS],
    count: usize,
    edges: u64,
    power: u64,
    /// The state came back: its next read waits for a change.
    spins: bool,
    stack: [u8; STACK],
}

#[repr(C)]
pub(super) struct Turns {
    /// The real budget, while it is made to look used up.
    budget: i64,
    /// Any thread that is suspected.
    any: bool,
    all: [Turn; MOST],
}

unsafe fn of(thread: usize) -> *mut Turn {
    &raw mut (*tables().turns.get()).all[thread]
}

/// At the start of a run; the last one had `before` threads.
pub(super) unsafe fn begin(before: usize) {
    let turns = tables().turns.get();
    (*turns).any = false;
    for thread in 0..before {
        forget(of(thread));
    }
}

unsafe fn forget(turn: *mut Turn) {
    ((*turn).again, (*turn).next, (*turn).count) = (0, 0, 0);
    (*turn).recent = [(0, 0, 0); 4];
    ((*turn).suspected, (*turn).taken, (*turn).spins) = (false, false, false);
}

/// Does this thread's next read wait for a change?
pub(super) unsafe fn spins(thread: usize) -> bool {
    (*tables().turns.get()).any && (*of(thread)).spins
}

/// Has something changed that it waits for?
pub(super) unsafe fn may_go_on(thread: usize) -> bool {
    let turn = of(thread);
    !(*turn).spins
        || (&(*turn).reads)[..(*turn).count]
            .iter()
            .any(|read| read.changed)
}

/// It goes on, and is above suspicion.
pub(super) unsafe fn acted(thread: usize) {
    let turn = of(thread);
    if (*turn).suspected {
        trust(thread);
    } else if (*turn).again != 0 || (*turn).recent[0].0 != 0 {
        forget(turn);
    }
}

unsafe fn trust(thread: usize) {
    if thread == threads().current.get() {
        budget().set((*tables().turns.get()).budget);
    }
    forget(of(thread));
}

/// Before another thread goes on: the budget is everybody's, suspicion is not.
pub(super) unsafe fn switch(from: usize, to: usize) {
    let turns = tables().turns.get();
    if !(*turns).any {
        return;
    }
    if !(*of(from)).suspected {
        (*turns).budget = budget().get();
    }
    budget().set(if (*of(to)).suspected {
        0
    } else {
        (*turns).budget
    });
}

/// What is left of the budget in truth.
pub(crate) unsafe fn budget_left() -> i64 {
    if super::on() && (*tables().turns.get()).any && (*of(threads().current.get())).suspected {
        return (*tables().turns.get()).budget;
    }
    budget().get()
}

/// A thread read something, or wrote what was there already.
pub(super) unsafe fn read(thread: usize, place: u64, length: usize, found: u64, origin: Origin) {
    let turn = of(thread);
    if (*turn).spins {
        // It has gone on.
        return trust(thread);
    }
    if (*turn).taken {
        let reads = &mut (&mut (*turn).reads)[..(*turn).count];
        if let Some(read) = reads
            .iter_mut()
            .find(|read| read.place == place && read.length == length)
        {
            read.changed = false;
        } else if (*turn).count == READS {
            trust(thread);
        } else {
            (*turn).reads[(*turn).count] = Read {
                place,
                length,
                changed: false,
            };
            (*turn).count += 1;
        }
        return;
    }
    if (*turn).suspected {
        return;
    }
    let this = (place, origin.number() | 1 << 63, found);
    if (*turn).recent.contains(&this) {
        (*turn).again += 1;
        if (*turn).again >= AGAIN {
            suspect(thread);
        }
    } else {
        (*turn).recent[(*turn).next % 4] = this;
        (*turn).next += 1;
    }
}

unsafe fn suspect(thread: usize) {
    let turns = tables().turns.get();
    (*turns).any = true;
    let turn = of(thread);
    ((*turn).suspected, (*turn).taken) = (true, false);
    ((*turn).edges, (*turn).power) = (0, 1);
    (*turns).budget = budget().get();
    budget().set(0);
}

/// Bytes changed.
pub(super) unsafe fn changed(by: usize, place: u64, length: usize) {
    if !(*tables().turns.get()).any {
        return;
    }
    for thread in 0..threads().count.get() {
        let turn = of(thread);
        if thread == by || !(*turn).taken {
            continue;
        }
        for read in &mut (&mut (*turn).reads)[..(*turn).count] {
            read.changed |=
                read.place < place + length as u64 && place < read.place + read.length as u64;
        }
    }
}

/// Before a thread that spins waits: what for.
pub(super) unsafe fn log_reads(thread: usize) {
    let turn = of(thread);
    for read in &(&(*turn).reads)[..(*turn).count] {
        trace::watched(thread, read.place | (read.length as u64) << 56);
    }
}

// `__lf_budget_out(site)`: with the registers a loop may keep its state in.
global_asm!(
    ".globl __lf_budget_out",
    "__lf_budget_out:",
    "push rbp",
    "mov rbp, rsp",
    "push r15",
    "push r14",
    "push r13",
    "push r12",
    "push rbx",
    "push qword ptr [rbp]",
    "mov rsi, rsp",
    "lea rdx, [rbp + 8]",
    "push rdi",
    "push rdi",
    "call {edge}",
    "pop rdi",
    "pop rdi",
    "add rsp, 8",
    "pop rbx",
    "pop r12",
    "pop r13",
    "pop r14",
    "pop r15",
    "pop rbp",
    "test al, al",
    "jne {out}", // as if it had been called
    "ret",
    edge = sym edge,
    out = sym out,
);

/// The budget is used up in truth.
unsafe extern "C" fn out(site: u64) {
    crate::run::outcome::budget_out(site);
}

unsafe fn same_registers(a: *const u8, b: *const u8) -> bool {
    bytes::equal(a, b, size_of::<[usize; 6]>())
}

/// A back edge, or a function's entry, with the budget used up or made to look so. True if that is the end of the run.
unsafe extern "C" fn edge(_site: u64, registers: *const [usize; 6], frame: usize) -> bool {
    if !super::on() || !(*of(threads().current.get())).suspected {
        return crate::run::endless::enough(&*registers, frame);
    }
    let turns = tables().turns.get();
    let me = threads().current.get();
    (*turns).budget -= 1;
    budget().set(0);
    if (*turns).budget < 0 {
        forget(of(me));
        return crate::run::endless::enough(&*registers, frame);
    }
    let turn = of(me);
    if (*turn).spins {
        return false;
    }
    // The return address of the call and all frames above it.
    let stack = tables().contexts[me].stack.get();
    if frame < stack.0 || frame >= stack.1 || stack.1 - frame > STACK {
        trust(me);
        return false;
    }
    let length = stack.1 - frame;
    let same = (*turn).taken
        && (*turn).stack_pointer == frame
        && same_registers((&raw const (*turn).registers).cast(), registers.cast())
        && bytes::equal(
            (&raw const (*turn).stack) as *const u8,
            frame as *const u8,
            length,
        );
    if same && (*turn).count > 0 {
        (*turn).spins = true;
        return false;
    }
    (*turn).edges += 1;
    if !(*turn).taken || (*turn).edges == (*turn).power {
        (*turn).power *= 2;
        (*turn).edges = 0;
        ((*turn).taken, (*turn).count) = (true, 0);
        (*turn).registers = *registers;
        (*turn).stack_pointer = frame;
        bytes::copy(
            (&raw mut (*turn).stack) as *mut u8,
            frame as *const u8,
            length,
        );
    }
    false
}
