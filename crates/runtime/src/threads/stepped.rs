//! Assembly inside of functions that the pass could not take apart, while several threads run: it goes on instruction by instruction, and what each
//! touches is announced before it, as of sources in assembly (`hooks/assembly`). The processor traps behind each; what others may see of it is
//! done on the stack of its thread, because they may go on meanwhile. A jump backwards is the head of a loop, which may wait.

use super::{is_opaque, on, tables, threads, turns, unseen};
use crate::hooks::assembly::{self, LOAD, LOCKED, STORE, UPDATE};
use crate::memory::bytes;
use crate::memory::operand::{Operands, Registers, operands};
use crate::memory::shadow::is_persistent;
use crate::run::outcome;
use crate::run::start::in_runtime;
use crate::run::trace::{Origin, Site};
use crate::state::{budget, run, watching};
use crate::syscalls::deferred::{self, TRAP};
use core::arch::global_asm;
use core::cell::Cell;
use core::mem::MaybeUninit;
use landfall_vocab::record::unseen as what;
use landfall_vocab::shared::End;
use libc::ucontext_t;

/// Of one thread.
#[repr(C)]
pub(crate) struct Stepped {
    active: Cell<bool>,
    origin: Cell<Origin>,
    /// Where the last instruction was, and whether it called.
    last: Cell<u64>,
    called: Cell<bool>,
    /// Which time it is, for loops.
    activation: Cell<u64>,
    /// Where it begins, if it has not yet.
    from: Cell<u64>,
    /// Which time the function of a source in assembly is called.
    source_activation: Cell<u64>,
}

impl Stepped {
    pub(super) fn begin(&self) {
        self.active.set(false);
        self.source_activation.set(0);
    }
}

fn own() -> &'static Stepped {
    &tables().contexts[threads().current.get()].stepped
}

global_asm!(
    ".globl __lf_step_begins",
    ".type __lf_step_begins,@function",
    "__lf_step_begins:",
    "push rbp",
    "mov rbp, rsp",
    "call {begins}",
    "pop rbp",
    "test eax, eax",
    "je 2f",
    "pushfq",
    "or qword ptr [rsp], 0x100",
    "popfq",
    "2:",
    "ret",
    ".globl __lf_step_ends",
    ".type __lf_step_ends,@function",
    "__lf_step_ends:",
    "ret",
    ".globl __lf_stepped",
    "__lf_stepped:",
    "mov rdi, rsp",
    "call {perform}",
    "jmp __lf_restorer",
    begins = sym begins,
    perform = sym perform,
);

unsafe extern "C" {
    fn __lf_step_ends();
    fn __lf_stepped();
}

/// Assembly comes next that is not taken apart (ABI): is it looked at, instruction by instruction?
unsafe extern "C" fn begins(site: *const Site) -> u32 {
    begins_at(Origin::source(site), 0)
}

/// The same, of a source in assembly, from there on.
pub(crate) fn begins_at(origin: Origin, from: usize) -> u32 {
    if !on() || !watching() {
        return 0;
    }
    is_opaque();
    let own = own();
    own.origin.set(origin);
    own.from.set(from as u64);
    own.last.set(0);
    own.called.set(false);
    own.activation.set(0);
    own.active.set(true);
    1
}

/// # Safety
/// `context` is one of the kernel's.
unsafe fn registers(context: *mut ucontext_t) -> Registers {
    const ORDER: [i32; 16] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    // SAFETY: what the caller promises.
    ORDER.map(|number| unsafe { (*context).uc_mcontext.gregs[number as usize] as u64 })
}

/// # Safety
/// `context` is one of the kernel's.
unsafe fn register(context: *mut ucontext_t, number: i32) -> *mut i64 {
    // SAFETY: what the caller promises.
    unsafe { (&raw mut (*context).uc_mcontext.gregs[number as usize]).cast() }
}

/// A trap: of assembly that is looked at?
///
/// # Safety
/// `context` is what the kernel gave to the handler that runs.
pub(crate) unsafe fn on_trap(context: *mut ucontext_t) -> bool {
    if !on() || !own().active.get() {
        return false;
    }
    // SAFETY: what the caller promises.
    unsafe {
        let pc = *register(context, libc::REG_RIP) as u64;
        budget().set(budget().get() - 1);
        if budget().get() < 0 {
            outcome::fail(End::Budget, &[b"the event budget is used up"]);
        }
        *register(context, libc::REG_EFL) |= TRAP;
        let from = own().from.get();
        if from != 0 && from != pc {
            return true;
        }
        own().from.set(0);
        let quiet = !assembly::is_waiting()
            && pc > own().last.get()
            && !own().called.get()
            && !is_end(pc)
            && operands(pc as *const u8, &registers(context)) == Operands::None;
        if quiet {
            own().last.set(pc);
            return true;
        }
        deferred::go_to(context, __lf_stepped as *const ());
        true
    }
}

/// It is over: the program calls us.
fn is_end(pc: u64) -> bool {
    pc as usize == __lf_step_ends as *const () as usize || in_runtime(pc as usize)
}

/// A jump to where the linker has put the address of a function.
///
/// # Safety
/// `pc` is where an instruction begins.
unsafe fn is_linkage(pc: u64) -> bool {
    // SAFETY: what the caller promises.
    let bytes = unsafe { *(pc as *const [u8; 6]) };
    matches!(bytes, [0xff, 0x25, ..] | [0xf3, 0x0f, 0x1e, 0xfa, ..])
}

/// Between two instructions, on the stack of their thread.
unsafe extern "C" fn perform(context: *mut ucontext_t) {
    // SAFETY: the context is the kernel's record of the program between the two.
    unsafe {
        run()
            .entered
            .set(*register(context, libc::REG_RSP) as usize);
        assembly::settle();
        let (own, origin) = (own(), own().origin.get());
        let pc = *register(context, libc::REG_RIP) as u64;
        let astray = own.called.get() && !is_end(pc) && !is_linkage(pc);
        if is_end(pc) || astray {
            own.active.set(false);
            *register(context, libc::REG_EFL) &= !TRAP;
            if astray {
                unseen::note(what::ASSEMBLY, origin);
            }
            return;
        }
        if pc < own.last.get() && !own.called.get() {
            comes_back(context, pc);
        }
        own.last.set(pc);
        let next = operands(pc as *const u8, &registers(context));
        own.called.set(next == Operands::Call);
        announce(next, origin);
        // Where it went on in between is another thread's business.
        run()
            .entered
            .set(*register(context, libc::REG_RSP) as usize);
    }
}

/// # Safety
/// The program is about to touch these.
unsafe fn announce(next: Operands, origin: Origin) {
    // SAFETY: what the caller promises.
    unsafe {
        match next {
            Operands::None | Operands::Call => {}
            Operands::Fence { full: true } => super::fence(origin),
            Operands::Fence { full: false } => _ = super::store_fence(origin),
            Operands::Unknown => unseen::note(what::ASSEMBLY, origin),
            Operands::One {
                at,
                reads,
                writes,
                locked,
            } => {
                let touch = match (reads, writes) {
                    (_, false) => LOAD,
                    (true, true) if locked => LOCKED,
                    (true, true) => UPDATE,
                    (false, true) => STORE,
                };
                touches(at.address as usize, at.bytes, touch, origin);
            }
            Operands::Two {
                read,
                other,
                writes,
            } => {
                touches(read.address as usize, read.bytes, LOAD, origin);
                let touch = if writes { STORE } else { LOAD };
                touches(other.address as usize, other.bytes, touch, origin);
            }
        }
    }
}

/// # Safety
/// The program is about to touch these bytes.
unsafe fn touches(address: usize, bytes: usize, touch: usize, origin: Origin) {
    // Persistent memory is seen as it is touched.
    if is_persistent(address) {
        return;
    }
    match bytes > assembly::MOST {
        true => unseen::note(what::ASSEMBLY, origin),
        // SAFETY: what the caller promises.
        false => unsafe { assembly::announce(address, bytes, touch, origin) },
    }
}

/// A loop is at its head again, with these registers.
///
/// # Safety
/// `context` is one of the kernel's.
unsafe fn comes_back(context: *mut ucontext_t, head: u64) {
    const VECTORS: usize = 32;
    const VECTORS_AT: usize = 160;
    const GENERAL: usize = 16;
    const KEPT: usize = 1 + GENERAL + 1 + VECTORS;
    // Zeros would be put there by `memset`, which may be the program's.
    let mut kept = MaybeUninit::<[u64; KEPT]>::uninit();
    let room = kept.as_mut_ptr().cast::<u64>();
    // SAFETY: what the caller promises: sixteen vector registers lie where the processor puts them.
    unsafe {
        let own = own();
        *room = own.activation.get();
        let named = registers(context);
        let to = |at: usize| room.add(at).cast::<u8>();
        bytes::copy(to(1), named.as_ptr().cast(), 8 * GENERAL);
        bytes::copy(to(1 + GENERAL), register(context, libc::REG_EFL).cast(), 8);
        let vectors = ((*context).uc_mcontext.fpregs as *const u8).add(VECTORS_AT);
        bytes::copy(to(2 + GENERAL), vectors, 8 * VECTORS);
        turns::arrive(own.origin.get(), head, room, (8 * (KEPT - 1), 0));
        own.activation.set(*room);
    }
}

/// A function of a source in assembly is called.
pub(crate) extern "C" fn source_entered() {
    if on() {
        own().source_activation.set(0);
    }
}

/// A loop of a source in assembly is at its head, with so many bytes of registers behind the first word of `room`.
///
/// # Safety
/// They are there.
pub(crate) unsafe fn source_comes_round(origin: Origin, head: u64, room: *mut u64, length: usize) {
    if on() && watching() {
        let own = own();
        // SAFETY: what the caller promises.
        unsafe {
            *room = own.source_activation.get();
            turns::arrive(origin, head, room, (length, 0));
            own.source_activation.set(*room);
        }
    }
}
