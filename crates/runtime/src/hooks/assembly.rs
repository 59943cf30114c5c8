//! Sources in assembly: each instruction that touches memory is announced before, and behind if it stores (`native/compiler/assembly`). A load is one
//! when it is announced. A store is made by the instruction, taken back, and made again as any other store is: it may wait in the buffer, and others may
//! come between the load and the store of one instruction, unless that is locked.

use crate::memory::bytes;
use crate::memory::shadow::is_persistent;
use crate::run::call_stack;
use crate::run::trace::Origin;
use crate::state::{run, watching};
use crate::threads::visible::{self, Access};
use crate::threads::{fence, leftovers, stepped};
use core::arch::global_asm;
use core::cell::Cell;
use core::mem::MaybeUninit;
use landfall_vocab::builtin::Builtin;

/// What an instruction does to its operand. The compiler has the same numbers.
pub(crate) const LOAD: usize = 0;
pub(crate) const STORE: usize = 1;
pub(crate) const UPDATE: usize = 2;
pub(crate) const LOCKED: usize = 3;

/// The longest operand that is announced.
pub(crate) const MOST: usize = 32;
/// As the pass says it of assembly inside of functions.
const VOLATILE: u32 = 1 << 3;

/// Between the two announcements of one instruction; nobody else runs meanwhile.
#[repr(C)]
pub(crate) struct AnnouncedInstruction {
    stores: Cell<bool>,
    locked: Cell<bool>,
    address: Cell<usize>,
    length: Cell<usize>,
    /// The store of an instruction that has loaded.
    second: Cell<bool>,
    found: [Cell<u8>; MOST],
    access: Cell<Option<Access>>,
    origin: Cell<Origin>,
}

impl AnnouncedInstruction {
    fn found(&self) -> *mut u8 {
        self.found.as_ptr().cast_mut().cast()
    }
}

macro_rules! outer {
    ($name:literal) => {
        concat!(
            ".globl ", $name, "\n", $name, ":\n",
            "push rbp\nmov rbp, rsp\npushfq\npush rax\npush rcx\npush rdx\npush rsi\npush rdi\npush r8\npush r9\npush r10\npush r11\npush rbx\n",
            "mov rbx, rsp\nsub rsp, 512\nand rsp, -16\nfxsave64 [rsp]\ncld"
        )
    };
}

macro_rules! back {
    () => {
        "fxrstor64 [rsp]\nmov rsp, rbx\npop rbx\npop r11\npop r10\npop r9\npop r8\npop rdi\npop rsi\npop rdx\npop rcx\npop rax\npopfq\npop rbp\nret"
    };
}

// All registers and flags are the program's, and stay as they are.
global_asm!(
    outer!("__lf_assembly_before"),
    "mov rsi, [rbp+16]",
    "mov rdx, [rbp+8]",
    "call {before}",
    back!(),
    outer!("__lf_assembly_after"),
    "call {after}",
    back!(),
    outer!("__lf_assembly_fence"),
    "mov rdi, [rbp+8]",
    "call {fence}",
    back!(),
    // The processor traps behind each instruction from then on.
    outer!("__lf_assembly_unknown"),
    "mov rdi, [rbp+8]",
    "call {unknown}",
    "test eax, eax",
    "je 2f",
    "or qword ptr [rbp-8], 0x100",
    "2:",
    back!(),
    outer!("__lf_assembly_entered"),
    "call {entered}",
    back!(),
    outer!("__lf_assembly_head"),
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov rdi, rbp",
    "mov rsi, rsp",
    "call {head}",
    "add rsp, 32",
    back!(),
    before = sym before,
    after = sym after,
    fence = sym orders,
    unknown = sym unknown,
    entered = sym stepped::source_entered,
    head = sym head,
);

fn here(caller: usize) -> Origin {
    Origin::library(Builtin::assembly, caller)
}

unsafe extern "C" fn before(address: usize, what: usize, caller: usize) {
    call_stack::enter();
    run().instruction.stores.set(false);
    let (touch, length) = (what & 0xff, what >> 8);
    // Persistent memory is seen as it is touched.
    if watching() && !is_persistent(address) && length <= MOST {
        // SAFETY: the program is about to touch so many bytes there.
        unsafe { announce(address, length, touch, here(caller)) };
    }
}

/// The next instruction touches these bytes, no more than [`MOST`].
///
/// # Safety
/// The program is about to touch so many bytes there.
pub(crate) unsafe fn announce(address: usize, length: usize, touch: usize, origin: Origin) {
    let mut loaded = [0u8; MOST];
    // SAFETY: the program is about to touch so many bytes there.
    let access = unsafe {
        match touch {
            LOAD | UPDATE => {
                visible::load(address, loaded.as_mut_ptr(), length, VOLATILE, origin);
                None
            }
            LOCKED => Some(visible::update(address, length, 0, super::SEQ_CST, origin)),
            _ => None,
        }
    };
    // Others may have run until here.
    let now = &run().instruction;
    now.stores.set(touch != LOAD);
    now.locked.set(touch == LOCKED);
    now.second.set(touch == UPDATE);
    now.address.set(address);
    now.length.set(length);
    now.access.set(access);
    now.origin.set(origin);
    if touch != LOAD {
        // SAFETY: as above; there is room for as many.
        unsafe { bytes::copy(now.found(), address as *const u8, length) };
    }
}

unsafe extern "C" fn after() {
    call_stack::enter();
    // SAFETY: the instruction that was announced has happened.
    unsafe { settle() };
}

/// Has an instruction stored, and nobody knows of it?
pub(crate) fn is_waiting() -> bool {
    run().instruction.stores.get()
}

/// What the last instruction stored is a store like any other.
///
/// # Safety
/// The instruction that was announced has happened, and nobody else has run since.
pub(crate) unsafe fn settle() {
    let now = &run().instruction;
    if !now.stores.replace(false) {
        return;
    }
    let (address, length) = (now.address.get(), now.length.get());
    let mut stored = [0u8; MOST];
    // SAFETY: the instruction has just stored so many bytes there.
    unsafe {
        bytes::copy(stored.as_mut_ptr(), address as *const u8, length);
        if let Some(access) = now.access.take() {
            let found = visible::digest(now.found(), length);
            return access.done(found, visible::digest(stored.as_ptr(), length), 0);
        }
        bytes::copy(address as *mut u8, now.found(), length);
        let half = if now.second.get() {
            super::SAME_INSTRUCTION
        } else {
            0
        };
        visible::store(
            address,
            stored.as_ptr(),
            length,
            VOLATILE | half,
            now.origin.get(),
        );
    }
}

unsafe extern "C" fn orders(caller: usize) {
    call_stack::enter();
    fence(here(caller));
}

/// An instruction comes that nobody knows: is it looked at as it happens?
unsafe extern "C" fn unknown(caller: usize) -> u32 {
    call_stack::enter();
    leftovers::anything_is_read();
    stepped::begins_at(here(caller), caller)
}

/// Registers as they were put on the stack: above `frame` who called, below it the others, and from `others` on four more and vectors.
unsafe extern "C" fn head(frame: *const u64, others: *const u64) {
    const ON_STACK: usize = 11;
    const OTHERS: usize = 4;
    const VECTORS_AT: usize = 160 / 8;
    const VECTORS: usize = 32;
    call_stack::enter();
    const KEPT: usize = 2 + ON_STACK + OTHERS + VECTORS;
    // Zeros would be put there by `memset`, which may be the program's.
    let mut kept = MaybeUninit::<[u64; KEPT]>::uninit();
    let room = kept.as_mut_ptr().cast::<u64>();
    // SAFETY: where the code above has put them.
    unsafe {
        let to = |at: usize| room.add(at).cast::<u8>();
        bytes::copy(to(1), frame.sub(ON_STACK).cast(), 8 * (1 + ON_STACK));
        bytes::copy(to(2 + ON_STACK), others.cast(), 8 * OTHERS);
        let vectors = others.add(OTHERS + VECTORS_AT);
        bytes::copy(to(2 + ON_STACK + OTHERS), vectors.cast(), 8 * VECTORS);
        let caller = *frame.add(1) as usize;
        stepped::source_comes_round(here(caller), caller as u64, room, 8 * (KEPT - 1));
    }
}
