//! Functions that are defined elsewhere, and which of their arguments are pointers: a table for the runtime, which sees calls leave the
//! executable and cannot tell an argument from what a register happens to hold.
//!
//! Section `lf_calls`, entries one after the other: a byte with a bit for each register that holds a pointer (`rdi`, `rsi`, `rdx`, `rcx`,
//! `r8`, `r9`), then the name and a zero. It is assembly of the module, so that no pass drops it.

use crate::ir::{Value, llvm};
use crate::vocabulary::Vocabulary;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Registers that hold arguments other than floating-point numbers.
const REGISTERS: u32 = 6;

/// Appends the table of a module.
pub(crate) fn describe(module: LLVMModuleRef, functions: &[Value], vocabulary: &Vocabulary) {
    let mut table = String::new();
    for function in functions {
        let name = function.name();
        let foreign = function.is_defined_elsewhere()
            && !function.is_intrinsic()
            && !function.is_unused()
            && !name.starts_with("__lf_")
            && name.bytes().all(is_plain);
        let mask = match foreign {
            true => pointers(*function, vocabulary),
            false => 0,
        };
        if mask != 0 {
            table.push_str(&format!(".byte {mask}\n.asciz \"{name}\"\n"));
        }
    }
    if !table.is_empty() {
        let text = format!(".pushsection lf_calls,\"a\",@progbits\n{table}.popsection\n");
        llvm!(LLVMAppendModuleInlineAsm(
            module,
            text.as_ptr().cast(),
            text.len()
        ));
    }
}

/// What an assembler takes between quotes as it is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@')
}

/// Registers that hold pointers where it is called in this module.
fn pointers(function: Value, vocabulary: &Vocabulary) -> u32 {
    let calls = function.users().into_iter().filter(|user| {
        let is_call = user.opcode().is_some_and(|opcode| {
            matches!(
                opcode,
                llvm_sys::LLVMOpcode::LLVMCall | llvm_sys::LLVMOpcode::LLVMInvoke
            )
        });
        is_call && user.callee() == function
    });
    calls.fold(0, |mask, call| mask | of_call(call, vocabulary))
}

fn of_call(call: Value, vocabulary: &Vocabulary) -> u32 {
    let (mut mask, mut register) = (0, 0);
    for (index, argument) in call.arguments().into_iter().enumerate() {
        // Passed on the stack.
        if call
            .argument_attribute_type(index as u32, vocabulary.byval)
            .is_some()
        {
            continue;
        }
        let kind = llvm!(LLVMGetTypeKind(LLVMTypeOf(argument.0)));
        match kind {
            LLVMTypeKind::LLVMPointerTypeKind => {
                mask |= 1 << register;
                register += 1;
            }
            LLVMTypeKind::LLVMIntegerTypeKind => {
                let width = llvm!(LLVMGetIntTypeWidth(LLVMTypeOf(argument.0)));
                register += width.div_ceil(64);
            }
            _ => {}
        }
        if register >= REGISTERS {
            break;
        }
    }
    mask & ((1 << REGISTERS) - 1)
}
