//! What instrumented code calls, and what `landfall.h` offers: the ABI between the pass and the runtime. Every function in here
//! is `extern "C"`, is called on the program's stack at any place of the program, and must leave no trace of itself there.
//!
//! Invariants: a hook allocates nothing, takes no lock, calls nothing of libc; its fast path is a range check and a look at the
//! shadow. Its name and its arguments are a promise to `crates/pass`. What an access does to memory and trace is not written
//! here but in `memory::accesses`, and in `threads::visible` where others could see it.

pub(crate) mod any_value;
pub(crate) mod assembly;
mod atomics;
pub(crate) mod flushes;
mod landfall_h;
mod loads_stores;

/// Ordering of a sequentially consistent access, in LLVM's numbering.
pub(crate) const SEQ_CST: u32 = 7;

/// A store of the instruction whose load came before it.
pub(crate) const SAME_INSTRUCTION: u32 = 1 << 5;

/// Flags of the ABI are the low five flags of a record.
#[inline(always)]
pub(crate) fn flags(abi: u32) -> u8 {
    (abi & 0x1f) as u8
}
