//! Which accesses cannot reach persistent memory, or no other code at all.
//!
//! Two questions, kept apart because a later mode (every access of a multi-threaded program calls the runtime) needs only
//! the first: is this memory private to the function? And: is it certainly outside the persistent window?

use crate::ir::Value;
use llvm_sys::LLVMOpcode;
use std::collections::{HashMap, HashSet};

#[derive(Default, Debug)]
pub(crate) struct Escapes {
    captured: HashMap<Value, bool>,
}

/// The object an address is computed from.
struct EscapeOrigin {
    object: Value,
    /// Every step from the object to the address is a constant.
    fixed: bool,
}

fn origin(pointer: Value) -> EscapeOrigin {
    let mut object = pointer;
    let mut fixed = true;
    loop {
        match object.opcode().or_else(|| object.constant_opcode()) {
            Some(LLVMOpcode::LLVMGetElementPtr) => {
                fixed &= (1..object.operand_count())
                    .all(|index| object.operand(index).constant_int().is_some());
                object = object.operand(0);
            }
            Some(LLVMOpcode::LLVMBitCast) => object = object.operand(0),
            _ => return EscapeOrigin { object, fixed },
        }
    }
}

fn is_alloca(value: Value) -> bool {
    value.is_opcode(LLVMOpcode::LLVMAlloca)
}

/// Clang wraps every use of a thread-local variable in this call.
fn is_thread_local_address(value: Value) -> bool {
    value.is_opcode(LLVMOpcode::LLVMCall)
        && value
            .callee()
            .name()
            .starts_with("llvm.threadlocal.address")
}

impl Escapes {
    /// A local variable whose address nobody else can know.
    pub(crate) fn is_private(&mut self, pointer: Value) -> bool {
        let object = origin(pointer).object;
        is_alloca(object)
            && !*self
                .captured
                .entry(object)
                .or_insert_with(|| is_captured(object))
    }

    /// A private variable that is loaded and stored and nothing else: an optimiser keeps it in registers.
    pub(crate) fn fits_register(&self, pointer: Value) -> bool {
        let mut pending = vec![origin(pointer).object];
        while let Some(pointer) = pending.pop() {
            for user in pointer.users() {
                match user.opcode() {
                    Some(LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore) => {
                        if user.is_volatile() {
                            return false;
                        }
                    }
                    Some(LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMBitCast) => {
                        pending.push(user);
                    }
                    Some(LLVMOpcode::LLVMCall) if is_harmless_intrinsic(user) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    /// Certainly no persistent memory: private, or a fixed place in a variable. A computed place is not certain:
    /// self-relative pointers kept in a local variable reach anything by adding a distance to their own address.
    pub(crate) fn is_volatile_memory(&mut self, pointer: Value) -> bool {
        if self.is_private(pointer) {
            return true;
        }
        let EscapeOrigin { object, fixed } = origin(pointer);
        fixed
            && (is_alloca(object) || object.is_global_variable() || is_thread_local_address(object))
    }

    /// Like `is_private`, or a constant: reading it concerns nobody.
    pub(crate) fn is_private_or_constant(&mut self, pointer: Value) -> bool {
        self.is_private(pointer) || origin(pointer).object.is_constant_global()
    }
}

/// Whether the address of a local variable leaves the instructions that read and write it.
fn is_captured(alloca: Value) -> bool {
    let mut pending = vec![alloca];
    let mut seen: HashSet<Value> = HashSet::from([alloca]);
    while let Some(pointer) = pending.pop() {
        for user in pointer.users() {
            match user.opcode() {
                Some(LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMICmp) => {}
                Some(LLVMOpcode::LLVMStore) if user.operand(0) != pointer => {}
                Some(LLVMOpcode::LLVMAtomicRMW) if user.operand(1) != pointer => {}
                Some(LLVMOpcode::LLVMAtomicCmpXchg)
                    if user.operand(1) != pointer && user.operand(2) != pointer => {}
                Some(
                    LLVMOpcode::LLVMGetElementPtr
                    | LLVMOpcode::LLVMBitCast
                    | LLVMOpcode::LLVMPHI
                    | LLVMOpcode::LLVMSelect,
                ) => {
                    if seen.insert(user) {
                        pending.push(user);
                    }
                }
                Some(LLVMOpcode::LLVMCall) if is_harmless_intrinsic(user) => {}
                _ => return true,
            }
        }
    }
    false
}

pub(crate) fn is_harmless_intrinsic(call: Value) -> bool {
    let callee = call.callee();
    let prefixes = [
        "llvm.memcpy",
        "llvm.memmove",
        "llvm.memset",
        "llvm.lifetime.",
        "llvm.dbg.",
    ];
    callee.is_intrinsic()
        && prefixes
            .iter()
            .any(|prefix| callee.name().starts_with(prefix))
}
