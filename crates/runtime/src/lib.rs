//! The runtime inside a checked program: what instrumented code calls, and what runs the program again and again on given images.
//!
//! - `hooks`: what instrumented code and users of `landfall.h` call
//! - `memory`: persistent memory with its shadow, accesses of it, the heaps
//! - `channels`: pipes, sockets, events, sets of what is waited for; the client of a server
//! - `files`: pool files, ordinary files, descriptors, paths
//! - `syscalls`: every system call of the program, signals, time, randomness
//! - `libc`: functions of libc and libpmem that the runtime provides itself
//! - `outside`: functions of shared libraries as the program calls them, while several threads are alive
//! - `threads`: threads as contexts on one kernel thread, every schedule under control
//! - `run`: a run from its start to its end; the server, the trace, the outcome
//! - `state`: all mutable state
//!
//! `README.md` beside this crate's manifest says how a run goes, where things go and what may not be done in here.
//!
//! Architecture invariants: no `std`, no allocation by the program's allocator, no locks, no libc call on the hot path; all
//! mutable state lives in `state` and in mappings of its own.
//!
//! Why there is `unsafe`: this code *is* the memory of another program seen from inside. State, tables, shared memory and the
//! window have modules that own them and are safe to use. Who follows an address that the program chose is `unsafe`, and says
//! what the address must be.
#![cfg_attr(panic = "abort", no_std)]
#![deny(
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc
)]

/// Defines weak symbols that jump to functions of ours: the program's own definition of one wins without a clash, and libc's
/// is shadowed otherwise.
macro_rules! weak {
    ($($symbol:literal => $target:ident),* $(,)?) => {
        core::arch::global_asm!($(
            concat!(".weak ", $symbol),
            concat!(".type ", $symbol, ",@function"),
            concat!($symbol, ":"),
            concat!("jmp __lf_weak_", stringify!($target)),
        )*);
    };
}
pub(crate) use weak;

/// Assembly that puts what a call preserves on the stack: six registers, and how floating-point numbers are computed.
macro_rules! keep_registers {
    () => {
        "push rbp; push rbx; push r12; push r13; push r14; push r15; sub rsp, 8; stmxcsr [rsp]; fnstcw [rsp+4]"
    };
}
pub(crate) use keep_registers;

/// Assembly that takes the registers back from there; the control words were loaded already.
macro_rules! take_registers {
    () => {
        "add rsp, 8; pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp"
    };
}
pub(crate) use take_registers;

mod channels;
mod files;
mod hooks;
mod libc;
mod memory;
mod outside;
mod run;
mod state;
mod syscalls;
mod threads;

/// A panic here is a bug of ours: it ends the run as such instead of tearing the program down unexplained.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let line = info.location().map_or(0, |at| at.line());
    let file = info.location().map_or("", |at| at.file());
    unsafe { run::outcome::internal(file.as_bytes(), line as i32) }
}

// Compiled-in helpers of the Rust compiler mention the unwinder; nothing here unwinds. A Rust program brings the real one.
core::arch::global_asm!(".weak rust_eh_personality", "rust_eh_personality:", "ud2");
