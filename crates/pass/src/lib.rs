//! The LLVM pass behind `landfall cc`.
//!
//! Loaded into clang 19, it makes every access that may concern persistent memory call a hook of the runtime, with the
//! source position. Plain accesses test the address first and stay native outside persistent memory. The contract with the
//! runtime (names, arguments, address window) is in `emit`, `accesses`, `sites` and `budget`, and nowhere else.
//!
//! Whatever the pass does not understand stays as it is, with a warning: it never makes a compilation fail.

mod accesses;
mod addresses;
mod arrays;
mod asm;
mod atomics;
mod budget;
mod calls;
mod checksums;
mod counts;
mod emit;
mod escape;
mod frames;
mod imported;
mod ir;
mod libcalls;
mod masked;
mod memory;
mod module;
mod replace;
mod said;
mod serial;
mod sites;
mod turns;
mod types;
mod verifier;
mod vocabulary;
mod waits;
mod warnings;
mod weaver;
mod x86;

use llvm_sys::prelude::LLVMModuleRef;
use std::ffi::c_char;
use std::panic::catch_unwind;

/// LLVM's `PassPluginLibraryInfo`, which the C++ side fills in.
#[repr(C)]
#[derive(Debug)]
pub struct PluginInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: *const u8,
}

unsafe extern "C" {
    fn landfall_plugin_info() -> PluginInfo;
}

/// The symbol clang looks up in a plugin. Defined here because a symbol of the C++ archive would not be exported.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    // SAFETY: returns a constant structure.
    unsafe { landfall_plugin_info() }
}

/// Called by the C++ side for each module clang compiles; true if the module was changed. Where the optimiser comes later, it may
/// drop what nobody can tell from nothing.
#[unsafe(no_mangle)]
pub extern "C" fn landfall_instrument_module(module: LLVMModuleRef, optimised_later: bool) -> bool {
    // A defect of ours must not look like a crash of the compiler. What was done so far is kept: each step leaves valid
    // code behind.
    let changed =
        catch_unwind(|| module::instrument(module, optimised_later)).unwrap_or_else(|_| {
            ir::say(
                "landfall: warning: internal error, so parts of this file are not seen by Landfall",
            );
            true
        });
    // For our own tests: broken IR would otherwise show up as strange code much later.
    if std::env::var_os("LANDFALL_VERIFY").is_some() && !ir::is_valid(module) {
        panic!("the instrumented module is not valid");
    }
    changed
}

/// Called by the C++ side before anything else; true if the module was changed.
#[unsafe(no_mangle)]
pub extern "C" fn landfall_replace_functions(module: LLVMModuleRef) -> bool {
    catch_unwind(|| module::replace_functions(module)).unwrap_or_else(|_| {
        ir::say("landfall: warning: internal error, so --replace did not replace everything");
        true
    })
}
