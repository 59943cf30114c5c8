//! Does a run that used up its steps go on for ever? A loop that computes for long cannot be told from one that never ends by
//! counting. But if the program comes back to the very state it was in before (registers, stack, all its memory, the clock), with
//! no system call (they cost steps, and there are none left) and no step of a thread in between, it will do so again and again: that is a hang, and anything else is a limit.
//!
//! Once the steps are used up, back edges and function entries come here for a while, and the state is compared with what it was
//! some of them ago (Brent's way of finding a cycle).

use crate::memory::shadow;
use crate::run::shared::trace_len;
use crate::run::tracked;
use crate::state::{Mode, budget, run, server};
use crate::syscalls::timers;
use core::arch::global_asm;
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;

/// Back edges and function entries that are looked at.
const MOST_EDGES: u64 = 1 << 16;
/// Times that memory is looked through; and bytes of it: a larger program is not looked at.
const MOST_LOOKS: u32 = 64;
pub(crate) const MOST_BYTES: usize = 256 << 20;
/// Bytes of stack.
const MOST_STACK: usize = 64 << 10;

/// Of one run; all zero before the first look.
#[repr(C)]
pub(crate) struct Look {
    begun: Cell<bool>,
    /// Where instrumented code takes no steps.
    by_ticks: Cell<bool>,
    /// The state came back.
    proven: Cell<bool>,
    /// Registers and stack, then all else, at some edge.
    near: Cell<Digest>,
    far: Cell<Digest>,
    edges: Cell<u64>,
    power: Cell<u64>,
    all: Cell<u64>,
    looks: Cell<u32>,
}

/// Two numbers that differ if a word differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(u64, u64);

impl Digest {
    pub(crate) const NEW: Digest = Digest(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

    pub(crate) fn first(self) -> u64 {
        self.0
    }

    /// For another word, or another state before it, always something else: each step can be undone.
    #[inline(always)]
    pub(crate) fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31);
        self.1 = (self.1.rotate_left(23) ^ word).wrapping_mul(0xd1b5_4a32_d192_ed03);
    }

    /// Memory that can be read, from a multiple of eight on.
    ///
    /// # Safety
    /// All of it can be read.
    pub(crate) unsafe fn memory(&mut self, start: usize, end: usize) {
        // SAFETY: what the caller promises.
        unsafe {
            self.word(start as u64);
            self.word(end as u64);
            let mut at = start & !7;
            while at + 8 <= end {
                self.word((at as *const u64).read_volatile());
                at += 8;
            }
            while at < end {
                self.word(u64::from((at as *const u8).read_volatile()));
                at += 1;
            }
        }
    }
}

impl Look {
    /// Nothing was looked at yet. A field that is added does not compile before it is named here.
    pub(crate) fn begin(&self) {
        let Look {
            begun,
            by_ticks,
            proven,
            near,
            far,
            edges,
            power,
            all,
            looks,
        } = self;
        begun.set(false);
        by_ticks.set(false);
        proven.set(false);
        near.set(Digest(0, 0));
        far.set(Digest(0, 0));
        edges.set(0);
        power.set(1);
        all.set(0);
        looks.set(0);
    }
}

/// Instrumented code took a step since the last tick.
pub(crate) fn stepped() {
    if run().endless.by_ticks.get() {
        run().endless.begin();
    }
}

/// Has the state come back?
pub(crate) fn proven() -> bool {
    run().endless.proven.get()
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

extern "C" fn out(site: u64) {
    crate::run::outcome::budget_out(site);
}

/// A back edge, or a function's entry, with the budget used up. True if that is the end of the run.
unsafe extern "C" fn edge(_site: u64, registers: *const [usize; 6], frame: usize) -> bool {
    // SAFETY: `__lf_budget_out` has put them on the stack.
    enough(unsafe { &*registers }, frame)
}

/// The steps are used up, at a back edge or a function's entry: registers that a call preserves, and the stack from `frame` on. Ends
/// the run if that is all there is to learn.
pub(crate) fn enough(registers: &[usize; 6], frame: usize) -> bool {
    let look = &run().endless;
    if server().mode.get() != Mode::Running || else_may_happen() {
        return true;
    }
    // The next edge comes here as well.
    budget().set(0);
    if look.by_ticks.get() {
        look.begin();
    }
    let mut near = Digest::NEW;
    for &register in registers {
        near.word(register as u64);
    }
    !stack(&mut near, frame) || compare(near) || look.proven.get() || look.all.get() == MOST_EDGES
}

/// Could something else than the running thread change what it sees? Another thread; or a timer, which goes off in its time.
fn else_may_happen() -> bool {
    crate::threads::others_may_go_on() || timers::any()
}

/// Processor time passes without a step of instrumented code: every now and then, all registers and the stack.
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn ticked(context: *const libc::ucontext_t) {
    // SAFETY: what the caller promises.
    unsafe {
        const FLAGS: usize = libc::REG_EFL as usize;
        /// Set by the processor when it goes on after a fault.
        const RESUME: i64 = 1 << 16;
        /// Below the stack pointer; functions that call nobody use it.
        const RED_ZONE: usize = 128;
        let look = &run().endless;
        if look.proven.get() || look.begun.get() && !look.by_ticks.get() || else_may_happen() {
            return;
        }
        look.by_ticks.set(true);
        let machine = &raw const (*context).uc_mcontext;
        let mut near = Digest::NEW;
        for (number, &register) in (&(*machine).gregs)[..=FLAGS].iter().enumerate() {
            near.word((register & !(RESUME * i64::from(number == FLAGS))) as u64);
        }
        let vectors = (*machine).fpregs as usize;
        if vectors != 0 {
            // How much the kernel has saved is said in there, behind a magic number.
            let said = (vectors + 464) as *const u32;
            let length = match *said == 0x4650_5853 {
                true => (*said.add(1) as usize).min(16 << 10),
                false => 512,
            };
            near.memory(vectors, vectors + 464);
            near.memory(vectors + 512, vectors + length.max(512));
        }
        let top = (*machine).gregs[libc::REG_RSP as usize] as usize;
        if stack(&mut near, top.wrapping_sub(RED_ZONE)) {
            compare(near);
        }
    }
}

/// Takes the stack in, from `frame` on; false if that cannot be done.
fn stack(near: &mut Digest, frame: usize) -> bool {
    // SAFETY: up to its end the stack is mapped.
    unsafe {
        match stack_end(frame) {
            Some(end) if end - frame <= MOST_STACK => {
                near.memory(frame, end);
                true
            }
            _ => false,
        }
    }
}

/// Is this the state that was remembered? Remembers it every now and then. True if no more can be learnt.
fn compare(near: Digest) -> bool {
    let look = &run().endless;
    let taken = look.begun.get();
    look.begun.set(true);
    look.all.set(look.all.get() + 1);
    if taken && near == look.near.get() {
        look.proven.set(far(look) == Some(look.far.get()));
    }
    look.edges.set(look.edges.get() + 1);
    if !taken || look.edges.get() == look.power.get() {
        look.power.set(look.power.get() * (1 + u64::from(taken)));
        look.edges.set(0);
        match far(look) {
            Some(far) => {
                look.near.set(near);
                look.far.set(far);
            }
            None => return true,
        }
    }
    false
}

/// Where the stack that this address is on ends.
fn stack_end(frame: usize) -> Option<usize> {
    let (low, high) = match crate::threads::on() {
        true => crate::threads::stack(),
        false => run().stack.get(),
    };
    (low..high).contains(&frame).then_some(high)
}

/// Everything but registers and the stack that is in use; none if there is too much of it.
fn far(look: &Look) -> Option<Digest> {
    look.looks.set(look.looks.get() + 1);
    if look.looks.get() > MOST_LOOKS {
        return None;
    }
    state_of_memory()
}

/// Memory, clock and dice, and how far threads and system calls have come.
pub(crate) fn state_of_memory() -> Option<Digest> {
    // SAFETY: what the program has changed is mapped, and so are its heap and touched pages.
    unsafe {
        if crate::memory::protections::any() {
            return None;
        }
        let mut digest = Digest::NEW;
        for word in [
            run().clock.get(),
            run().random.get(),
            run().mask.get(),
            crate::threads::steps_taken(),
        ] {
            digest.word(word);
        }
        timers::each(|word| digest.word(word));
        if crate::threads::on() {
            // What threads do is told, all of it.
            digest.word(trace_len().load(Relaxed));
        }
        let heap = server().heap.pointer() as usize;
        digest.memory(heap, heap + size_of::<crate::memory::heap::Heap>());
        shadow::each_touched(|page| digest.memory(page, page + shadow::PAGE));
        tracked::each_changed(|start, end| digest.memory(start, end)).then_some(digest)
    }
}
