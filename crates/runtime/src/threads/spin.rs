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
use core::cell::Cell;

/// Reads of one turn; a loop with more is not looked at.
const READS: usize = 32;
/// Bytes of stack that are compared; a deeper one is not.
const STACK: usize = 64 << 10;
/// A read that comes again so often makes a thread suspect.
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
    recent: [Cell<(u64, u64, u64)>; 4],
    next: Cell<usize>,
    again: Cell<u32>,
    /// Back edges come here.
    suspected: Cell<bool>,
    /// What follows is a snapshot, and `reads` is what was read since.
    taken: Cell<bool>,
    registers: Cell<[usize; 6]>,
    stack_pointer: Cell<usize>,
    reads: [Cell<Read>; READS],
    count: Cell<usize>,
    edges: Cell<u64>,
    power: Cell<u64>,
    /// The state came back: its next read waits for a change.
    spins: Cell<bool>,
    stack: [Cell<u8>; STACK],
}

#[repr(C)]
pub(super) struct Turns {
    /// The real budget, while it is made to look used up.
    budget: Cell<i64>,
    /// Any thread that is suspected.
    any: Cell<bool>,
    all: [Turn; MOST],
}

impl Turn {
    fn forget(&self) {
        self.again.set(0);
        self.next.set(0);
        self.count.set(0);
        for recent in &self.recent {
            recent.set((0, 0, 0));
        }
        self.suspected.set(false);
        self.taken.set(false);
        self.spins.set(false);
    }

    /// What was read since the snapshot.
    fn reads(&self) -> &[Cell<Read>] {
        &self.reads[..self.count.get()]
    }
}

fn turns() -> &'static Turns {
    // SAFETY: allocated by `threads::prepare`, before any run, all zero; never freed.
    unsafe { &*tables().turns.get() }
}

fn of(thread: usize) -> &'static Turn {
    &turns().all[thread]
}

/// At the start of a run; the last one had `before` threads.
pub(super) fn begin(before: usize) {
    turns().any.set(false);
    for turn in &turns().all[..before] {
        turn.forget();
    }
}

/// Does this thread's next read wait for a change?
pub(super) fn spins(thread: usize) -> bool {
    turns().any.get() && of(thread).spins.get()
}

/// Has something changed that it waits for?
pub(super) fn may_go_on(thread: usize) -> bool {
    let turn = of(thread);
    !turn.spins.get() || turn.reads().iter().any(|read| read.get().changed)
}

/// It goes on, and is above suspicion.
pub(super) fn acted(thread: usize) {
    let turn = of(thread);
    if turn.suspected.get() {
        trust(thread);
    } else if turn.again.get() != 0 || turn.recent[0].get().0 != 0 {
        turn.forget();
    }
}

fn trust(thread: usize) {
    if thread == threads().current.get() {
        budget().set(turns().budget.get());
    }
    of(thread).forget();
}

/// Before another thread goes on: the budget is everybody's, suspicion is not.
pub(super) fn switch(from: usize, to: usize) {
    let turns = turns();
    if !turns.any.get() {
        return;
    }
    if !of(from).suspected.get() {
        turns.budget.set(budget().get());
    }
    budget().set(if of(to).suspected.get() {
        0
    } else {
        turns.budget.get()
    });
}

/// What is left of the budget in truth.
pub(crate) fn budget_left() -> i64 {
    if super::on() && turns().any.get() && of(threads().current.get()).suspected.get() {
        return turns().budget.get();
    }
    budget().get()
}

/// A thread read something, or wrote what was there already.
pub(super) fn read(thread: usize, place: u64, length: usize, found: u64, origin: Origin) {
    let turn = of(thread);
    if turn.spins.get() {
        // It has gone on.
        return trust(thread);
    }
    if turn.taken.get() {
        let this = Read {
            place,
            length,
            changed: false,
        };
        let known = |read: &&Cell<Read>| {
            let read = read.get();
            read.place == place && read.length == length
        };
        let count = turn.count.get();
        if let Some(read) = turn.reads().iter().find(known) {
            read.set(this);
        } else if count == READS {
            trust(thread);
        } else {
            turn.reads[count].set(this);
            turn.count.set(count + 1);
        }
        return;
    }
    if turn.suspected.get() {
        return;
    }
    let this = (place, origin.number() | 1 << 63, found);
    if turn.recent.iter().any(|recent| recent.get() == this) {
        turn.again.set(turn.again.get() + 1);
        if turn.again.get() >= AGAIN {
            suspect(thread);
        }
    } else {
        turn.recent[turn.next.get() % 4].set(this);
        turn.next.set(turn.next.get() + 1);
    }
}

fn suspect(thread: usize) {
    turns().any.set(true);
    let turn = of(thread);
    turn.suspected.set(true);
    turn.taken.set(false);
    turn.edges.set(0);
    turn.power.set(1);
    turns().budget.set(budget().get());
    budget().set(0);
}

/// Bytes changed.
pub(super) fn changed(by: usize, place: u64, length: usize) {
    if !turns().any.get() {
        return;
    }
    for thread in 0..threads().count.get() {
        let turn = of(thread);
        if thread == by || !turn.taken.get() {
            continue;
        }
        for read in turn.reads() {
            let was = read.get();
            let touched =
                was.place < place + length as u64 && place < was.place + was.length as u64;
            read.set(Read {
                changed: was.changed | touched,
                ..was
            });
        }
    }
}

/// Before a thread that spins waits: what for.
pub(super) fn log_reads(thread: usize) {
    for read in of(thread).reads() {
        let Read { place, length, .. } = read.get();
        trace::watched(thread, place | (length as u64) << 56);
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
extern "C" fn out(site: u64) {
    crate::run::outcome::budget_out(site);
}

/// A back edge, or a function's entry, with the budget used up or made to look so. True if that is the end of the run.
unsafe extern "C" fn edge(_site: u64, registers: *const [usize; 6], frame: usize) -> bool {
    // SAFETY: `__lf_budget_out` has put them on the stack.
    let registers = unsafe { &*registers };
    let me = threads().current.get();
    if !super::on() || !of(me).suspected.get() {
        return crate::run::endless::enough(registers, frame);
    }
    let (turns, turn) = (turns(), of(me));
    turns.budget.set(turns.budget.get() - 1);
    budget().set(0);
    if turns.budget.get() < 0 {
        turn.forget();
        return crate::run::endless::enough(registers, frame);
    }
    if turn.spins.get() {
        return false;
    }
    // The return address of the call and all frames above it.
    let stack = tables().contexts[me].stack.get();
    if frame < stack.0 || frame >= stack.1 || stack.1 - frame > STACK {
        trust(me);
        return false;
    }
    let length = stack.1 - frame;
    let kept = turn.stack.as_ptr() as *mut u8;
    let kept_registers = turn.registers.as_ptr() as *const u8;
    let now = &raw const *registers as *const u8;
    // By hand, as the compiler would call `memcmp`. SAFETY: so much of the stack is in use, and there is room for it.
    let same = turn.taken.get()
        && turn.stack_pointer.get() == frame
        && unsafe {
            bytes::equal(kept_registers, now, size_of_val(registers))
                && bytes::equal(kept, frame as *const u8, length)
        };
    if same && turn.count.get() > 0 {
        turn.spins.set(true);
        return false;
    }
    turn.edges.set(turn.edges.get() + 1);
    if !turn.taken.get() || turn.edges.get() == turn.power.get() {
        turn.power.set(turn.power.get() * 2);
        turn.edges.set(0);
        turn.taken.set(true);
        turn.count.set(0);
        turn.registers.set(*registers);
        turn.stack_pointer.set(frame);
        // SAFETY: so much of the stack is in use, and there is room for it.
        unsafe { bytes::copy(kept, frame as *const u8, length) };
    }
    false
}
