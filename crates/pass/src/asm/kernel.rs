//! What a kernel's assembly asks of its processor (`--kernel`): interrupts, flags, where the stack is. The machine of
//! `<landfall/kernel.h>` answers instead.

use super::constraints::Constraints;
use super::text::{AsmArgument, AsmInstruction};
use crate::ir::Value;
use crate::weaver::Weaver;
use llvm_sys::LLVMOpcode;
use std::sync::OnceLock;

/// Is `--kernel` asked for?
fn is_asked_for() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("LANDFALL_KERNEL").is_some())
}

/// The function of the machine that does the same, and whether it returns what the assembly puts into its operand.
fn answer(instructions: &[AsmInstruction]) -> Option<(&'static str, bool)> {
    let is = |one: &AsmInstruction, names: &[&str]| {
        names.contains(&one.mnemonic.as_str()) && one.arguments.is_empty()
    };
    let into_operand =
        |one: &AsmInstruction| matches!(one.arguments[..], [AsmArgument::Operand(0, _)]);
    match instructions {
        [one] if is(one, &["cli"]) => Some(("lfk_cli", false)),
        [one] if is(one, &["sti"]) => Some(("lfk_sti", false)),
        [one] if is(one, &["hlt"]) => Some(("lfk_hlt", false)),
        [one, next] if is(one, &["sti"]) && is(next, &["hlt"]) => Some(("lfk_hlt", false)),
        [push, pop]
            if is(push, &["pushf", "pushfl", "pushfq"])
                && ["pop", "popl", "popq"].contains(&pop.mnemonic.as_str())
                && into_operand(pop) =>
        {
            Some(("lfk_flags", true))
        }
        [one] if ["mov", "movl", "movq"].contains(&one.mnemonic.as_str()) => {
            match &one.arguments[..] {
                [AsmArgument::Operand(0, _), AsmArgument::Register(from)]
                    if ["esp", "rsp"].contains(&from.as_str()) =>
                {
                    Some(("lfk_stack", true))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Calls the machine instead, if this is something for it.
pub(super) fn ask(
    weaver: &mut Weaver<'_>,
    call: Value,
    constraints: &Constraints,
    instructions: &[AsmInstruction],
) -> bool {
    if !is_asked_for() || !call.is_opcode(LLVMOpcode::LLVMCall) {
        return false;
    }
    let Some((function, has_result)) = answer(instructions) else {
        return false;
    };
    let word = weaver.emit.int(64);
    let void = weaver.emit.void();
    let output = constraints.operands.first().filter(|one| one.is_output);
    let into = match (has_result, output) {
        (false, None) => None,
        (true, Some(output)) => match output.argument {
            None => Some(None),
            // Into a variable of the function: nobody else sees that.
            Some(argument) => {
                let variable = call.operand(argument);
                let kind = weaver.vocabulary.element_type;
                let held = call.argument_attribute_type(argument, kind);
                let is_local = variable.is_opcode(LLVMOpcode::LLVMAlloca);
                let Some(held) = held.filter(|_| is_local) else {
                    return false;
                };
                Some(Some((variable, held)))
            }
        },
        _ => return false,
    };
    weaver.emit.before(call, call);
    let emit = &mut weaver.emit;
    match into {
        None => _ = emit.hook(function, void, &[]),
        Some(None) => {
            let answer = emit.hook(function, word, &[]);
            call.replace_uses_with(emit.typed(answer, call.ty()));
        }
        Some(Some((variable, held))) => {
            let answer = emit.hook(function, word, &[]);
            emit.store(emit.typed(answer, held), variable);
        }
    }
    call.erase();
    true
}
