//! Intrinsics of the processor: flushes, fences, direct stores.

use crate::accesses::{Flags, Shape, is_ordinary};
use crate::ir::{Value, split};
use crate::masked;
use crate::weaver::{SlotUse, Weaver};
use llvm_sys::LLVMOpcode;

pub(crate) fn weave(weaver: &mut Weaver<'_>, call: Value, name: &str) {
    match name {
        "llvm.x86.sse2.clflush" => flush(weaver, call, "__lf_clflush"),
        "llvm.x86.clflushopt" => flush(weaver, call, "__lf_clflushopt"),
        "llvm.x86.clwb" => flush(weaver, call, "__lf_clwb"),
        "llvm.x86.sse.sfence" => fence(weaver, call, "__lf_sfence"),
        "llvm.x86.sse2.mfence" => fence(weaver, call, "__lf_mfence"),
        "llvm.x86.sse2.lfence" => fence(weaver, call, "__lf_lfence"),
        "llvm.x86.xbegin" => transaction(weaver, call, "__lf_xbegin"),
        "llvm.x86.xend" => transaction(weaver, call, "__lf_xend"),
        "llvm.x86.xabort" => transaction(weaver, call, "__lf_xabort"),
        "llvm.x86.xtest" => transaction(weaver, call, "__lf_xtest"),
        "llvm.x86.sse2.pause" if weaver.transacts => aborts(weaver, call),
        "llvm.x86.directstore32" | "llvm.x86.directstore64" | "llvm.x86.mmx.movnt.dq" => {
            direct_store(weaver, call)
        }
        "llvm.x86.movdir64b" => direct_store_line(weaver, call),
        "llvm.x86.clzero" => clear_line(weaver, call),
        _ if name.starts_with("llvm.x86.rdrand.") || name.starts_with("llvm.x86.rdseed.") => {
            random(weaver, call)
        }
        _ if masked::weave(weaver, call, name) => {}
        _ => unknown(weaver, call, name),
    }
}

fn flush(weaver: &mut Weaver<'_>, call: Value, hook: &str) {
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let void = weaver.emit.void();
    weaver.emit.hook(hook, void, &[call.operand(0), site]);
    call.erase();
}

fn fence(weaver: &mut Weaver<'_>, call: Value, hook: &str) {
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let void = weaver.emit.void();
    weaver.emit.hook(hook, void, &[site]);
    call.erase();
}

/// RTM's instructions: the runtime does what they do, on any processor.
fn transaction(weaver: &mut Weaver<'_>, call: Value, hook: &str) {
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let result = call.ty();
    let done = match hook {
        "__lf_xabort" => {
            let number = weaver.emit.int(32);
            let code = weaver.emit.resize(call.operand(0), number);
            weaver.emit.hook(hook, result, &[code, site])
        }
        "__lf_xtest" => weaver.emit.hook(hook, result, &[]),
        _ => weaver.emit.hook(hook, result, &[site]),
    };
    if ["__lf_xbegin", "__lf_xtest"].contains(&hook) {
        call.replace_uses_with(done);
    }
    call.erase();
}

/// Does it compute with numbers of the x87?
pub(crate) fn is_x87(instruction: Value) -> bool {
    instruction.ty().is_x87()
        || matches!(
            instruction.opcode(),
            Some(
                LLVMOpcode::LLVMStore
                    | LLVMOpcode::LLVMFPTrunc
                    | LLVMOpcode::LLVMFPToSI
                    | LLVMOpcode::LLVMFPToUI
                    | LLVMOpcode::LLVMFCmp
            )
        ) && instruction.operand(0).ty().is_x87()
}

/// No processor executes it in a transaction.
pub(crate) fn aborts(weaver: &mut Weaver<'_>, call: Value) {
    weaver.emit.before(call, call);
    let void = weaver.emit.void();
    weaver.emit.hook("__lf_aborts", void, &[]);
}

/// rdrand and rdseed: the number comes from the runtime, which gives the same one in every run, and is always there.
fn random(weaver: &mut Weaver<'_>, call: Value) {
    weaver.emit.before(call, call);
    let number = weaver.emit.int(64);
    let random = weaver.emit.hook("__lf_random", number, &[]);
    let empty = call.ty().zero();
    let wanted = weaver.emit.extract(empty, 0).ty();
    let random = weaver.emit.resize(random, wanted);
    let result = weaver.emit.insert(empty, random, 0);
    let result = weaver.emit.insert(result, weaver.emit.u32(1), 1);
    call.replace_uses_with(result);
    call.erase();
}

/// movdiri, and MMX's movntq: a store past the caches.
fn direct_store(weaver: &mut Weaver<'_>, call: Value) {
    let (pointer, value) = (call.operand(0), call.operand(1));
    let Some(shape) = Shape::of(weaver.emit, value.ty()) else {
        return;
    };
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let persistent = weaver.emit.in_window(pointer);
    let (then, otherwise) = split(call, persistent);
    weaver.hooked_store(then, call, pointer, value, shape, Flags::NONTEMPORAL, site);
    call.move_before(otherwise);
}

/// movdir64b reads one line and writes another past the caches; either may be persistent.
fn direct_store_line(weaver: &mut Weaver<'_>, call: Value) {
    let (to, from) = (call.operand(0), call.operand(1));
    let site = weaver.sites.of(call);
    let line = weaver.emit.array(weaver.emit.int(64), 8);
    let slot = weaver.slot(line, SlotUse::Data, call);
    weaver.emit.before(call, call);
    let void = weaver.emit.void();
    let bytes = weaver.emit.u64(64);
    let either = weaver.emit.binary(
        LLVMOpcode::LLVMOr,
        weaver.emit.in_window(to),
        weaver.emit.in_window(from),
    );
    let (then, otherwise) = split(call, either);
    call.move_before(otherwise);
    weaver.emit.before(then, call);
    weaver
        .emit
        .hook("__lf_memcpy", void, &[slot, from, bytes, site]);
    let persistent = weaver.emit.in_window(to);
    let (store, outside) = split(then, persistent);
    weaver.emit.before(store, call);
    let flags = Flags::NONTEMPORAL.word(weaver.emit);
    weaver
        .emit
        .hook("__lf_store_n", void, &[to, slot, bytes, flags, site]);
    weaver.emit.before(outside, call);
    weaver.emit.memcpy(to, slot, bytes);
}

/// AMD's clzero writes zeros to the whole line that contains the address.
fn clear_line(weaver: &mut Weaver<'_>, call: Value) {
    let site = weaver.sites.of(call);
    let line = weaver.emit.array(weaver.emit.int(64), 8);
    let slot = weaver.slot(line, SlotUse::Data, call);
    weaver.emit.before(call, call);
    let persistent = weaver.emit.in_window(call.operand(0));
    let (then, otherwise) = split(call, persistent);
    call.move_before(otherwise);
    weaver.emit.before(then, call);
    weaver.emit.store(line.zero(), slot);
    let number = weaver.emit.int(64);
    let address = weaver
        .emit
        .cast(LLVMOpcode::LLVMPtrToInt, call.operand(0), number);
    let start = weaver.emit.binary(
        LLVMOpcode::LLVMAnd,
        address,
        weaver.emit.constant_signed(number, -64),
    );
    let start = weaver
        .emit
        .cast(LLVMOpcode::LLVMIntToPtr, start, weaver.emit.pointer());
    let (void, flags, bytes) = (
        weaver.emit.void(),
        Flags::NONTEMPORAL.word(weaver.emit),
        weaver.emit.u64(64),
    );
    weaver
        .emit
        .hook("__lf_store_n", void, &[start, slot, bytes, flags, site]);
}

/// An instruction of the processor that reads or writes through a pointer and is none of the above.
fn unknown(weaver: &mut Weaver<'_>, call: Value, name: &str) {
    let of_processor =
        name.starts_with("llvm.x86.") || name.starts_with("llvm.matrix.column.major.");
    if !of_processor || !call.may_access_memory() {
        return;
    }
    // Hints: they change nothing the model knows about.
    if ["llvm.x86.cldemote", "llvm.x86.sse3.monitor"].contains(&name) {
        return;
    }
    let reaches = |weaver: &mut Weaver<'_>, pointer: Value| {
        is_ordinary(pointer) && !weaver.escapes.is_volatile_memory(pointer)
    };
    if call
        .arguments()
        .into_iter()
        .any(|argument| argument.ty().is_pointer() && reaches(weaver, argument))
    {
        let message = format!("the accesses of {name} are not seen by Landfall");
        weaver.warnings.at(call, &message);
    }
}
