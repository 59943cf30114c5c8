//! The runtime inside a checked program. Instrumented code calls its hooks (`hooks`, `atomics`, `flush`); it keeps a shadow of
//! persistent memory (`shadow`), writes the trace into shared memory (`log`) and runs the program again and again on given
//! images (`serve`). While a run is on, every system call comes here first (`dispatch`), which is how time, randomness, files,
//! signals and forbidden things are under control without replacing libc function by function (RUNTIME.md).
//!
//! Architecture invariants: no `std`, no allocation by the program's allocator, no locks, no libc call on the hot path; all
//! mutable state lives in `state::State` and in mappings of its own.
//!
//! Why so much `unsafe`: this code *is* the memory of another program seen from inside. Every function here runs on one kernel
//! thread and works on raw addresses that the program chose; the checks that make this sound are range checks against the
//! persistent window, made where an address enters.
#![cfg_attr(panic = "abort", no_std)]
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

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

mod about;
mod arguments;
mod atomics;
mod blocks;
mod bytes;
mod clock;
mod descriptors;
mod directory;
mod dispatch;
mod files;
mod flush;
mod forkserver;
mod guards;
mod heap;
mod hooks;
mod instruction;
mod io;
mod lend;
mod library;
mod limits;
mod locks;
mod log;
mod machine;
mod mappings;
mod meeting;
mod memory;
mod ordinary;
mod outcome;
mod outside;
mod overlay;
mod paths;
mod persistent_heap;
mod pmem;
mod pool_io;
mod pool_table;
mod random;
mod real;
mod region;
mod repeats;
mod restart;
mod scan;
mod serve;
mod shadow;
mod signals;
mod sites;
mod special;
mod squeeze;
mod stack;
mod start;
mod state;
mod stdio;
mod sys;
mod syscalls;
mod text;
mod threads;
mod timers;
mod tracked;
mod vdso;
mod waiting;
mod walk;
mod watch;
mod wide;

/// A panic here is a bug of ours: it ends the run as such instead of tearing the program down unexplained.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let line = info.location().map_or(0, |at| at.line());
    let file = info.location().map_or("", |at| at.file());
    unsafe { outcome::internal(file.as_bytes(), line as i32) }
}

// Compiled-in helpers of the Rust compiler mention the unwinder; nothing here unwinds. A Rust program brings the real one.
core::arch::global_asm!(".weak rust_eh_personality", "rust_eh_personality:", "ud2");
