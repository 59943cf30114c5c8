//! Inline assembly: flushes, fences and locked instructions become hooks; what is not understood is named.

mod constraints;
mod feasibility;
mod kernel;
mod meaning;
mod operands;
mod rewrite;
mod steps;
mod text;

use crate::ir::Value;
use crate::weaver::Weaver;
use constraints::Constraints;
use llvm_sys::LLVMOpcode;
use meaning::{Meaning, meaning};
use rewrite::Rewrite;
use text::{AsmArgument, AsmInstruction, Dialect};

pub(crate) fn weave(weaver: &mut Weaver<'_>, call: Value) {
    let assembly = call.callee();
    let constraints = Constraints::parse(&assembly.asm_constraints());
    let dialect = if assembly.asm_is_intel() {
        Dialect::Intel
    } else {
        Dialect::Att
    };
    let instructions = text::instructions(&assembly.asm_text(), dialect);
    if is_client_request(&instructions) || kernel::ask(weaver, call, &constraints, &instructions) {
        return;
    }
    let meanings: Option<Vec<Meaning>> = instructions
        .iter()
        .map(|instruction| meaning(instruction, &constraints))
        .collect();
    let concerns_nobody = |meaning: &Meaning| {
        matches!(
            meaning,
            Meaning::Irrelevant | Meaning::Hint | Meaning::Copy { .. }
        )
    };
    // An empty text is a barrier for the compiler only.
    if meanings
        .as_ref()
        .is_some_and(|meanings| meanings.iter().all(concerns_nobody))
    {
        return;
    }
    if let Some(meanings) = meanings {
        let rewrite = Rewrite::new(call, &constraints, weaver);
        if meanings.contains(&Meaning::Irrelevant) {
            let only_orders = |meaning: &Meaning| {
                concerns_nobody(meaning)
                    || matches!(meaning, Meaning::Flush(..) | Meaning::Fence(_))
            };
            if meanings.iter().all(only_orders) && rewrite.is_announceable(&meanings) {
                // Flushes and fences may well happen twice; the rest must happen once.
                return rewrite.announce(&meanings);
            }
        } else if call.is_opcode(LLVMOpcode::LLVMCall) && rewrite.is_possible(&meanings) {
            return rewrite.replace(&meanings);
        }
    }
    if may_touch_memory(weaver, call, &constraints, &instructions) {
        weaver.warnings.at(
            call,
            "this inline assembly is not taken apart: its accesses of persistent memory are seen as they happen, its fences are not",
        );
        let site = weaver.sites.of(call);
        weaver.emit.before(call, call);
        let void = weaver.emit.void();
        weaver.emit.hook("__lf_asm", void, &[site]);
        // What the system is asked to do is seen there.
        if instructions.iter().any(|one| one.mnemonic != "syscall") {
            step(weaver, call);
        }
    } else if touches_shared(weaver, call, &constraints) {
        step(weaver, call);
    }
}

/// Has it go on instruction by instruction, while there are several threads; not if it may jump elsewhere.
fn step(weaver: &mut Weaver<'_>, call: Value) {
    if !call.is_opcode(LLVMOpcode::LLVMCall) {
        return opaque(weaver, call);
    }
    let site = weaver.sites.of(call);
    let void = weaver.emit.void();
    weaver.emit.before(call, call);
    weaver.emit.hook("__lf_step_begins", void, &[site]);
    weaver.emit.before(call.next(), call);
    weaver.emit.hook("__lf_step_ends", void, &[]);
}

/// Says that what comes next is not followed, to whoever looks for what threads do to each other.
pub(crate) fn opaque(weaver: &mut Weaver<'_>, call: Value) {
    let site = weaver.sites.of(call);
    weaver.emit.before(call, call);
    let void = weaver.emit.void();
    weaver.emit.hook("__lf_opaque", void, &[site]);
}

/// Whether assembly outside of functions defines this one.
pub(crate) fn defines(text: &str, function: &str) -> bool {
    text.lines().any(|line| {
        line.trim_start()
            .strip_prefix(function)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}

/// Whether assembly outside of functions holds code, and not only directives such as `.symver`.
pub(crate) fn has_instructions(text: &str) -> bool {
    // No operands are marked there, and a dollar sign is one.
    !text::instructions(&text.replace('$', "$$"), Dialect::Att).is_empty()
}

/// A request to Valgrind: `rdi` is rotated by 128 bits in all, and a register exchanged with itself. Where no Valgrind runs, it does
/// nothing, and its result is the default that was put into its register before.
fn is_client_request(instructions: &[AsmInstruction]) -> bool {
    let [rotations @ .., exchange] = instructions else {
        return false;
    };
    let rotated = rotations.iter().map(|one| match &one.arguments[..] {
        [AsmArgument::Register(register), AsmArgument::Immediate(by)]
            if one.mnemonic == "rolq" && register == "rdi" =>
        {
            Some(*by)
        }
        _ => None,
    });
    let rotated: Option<Vec<i64>> = rotated.collect();
    let changes_nothing = exchange.mnemonic == "xchgq"
        && matches!(&exchange.arguments[..],
            [AsmArgument::Register(one), AsmArgument::Register(other)]
                if one == other && ["rbx", "rcx", "rdi"].contains(&one.as_str()));
    rotated.is_some_and(|by| by == [3, 13, 61, 51]) && changes_nothing
}

/// Whether variables could be read or written that other threads see.
fn touches_shared(weaver: &mut Weaver<'_>, call: Value, constraints: &Constraints) -> bool {
    let operands = constraints.operands.iter();
    let pointers = operands.filter(|operand| operand.indirect);
    pointers
        .filter_map(|operand| operand.argument)
        .any(|argument| !weaver.escapes.is_private(call.operand(argument)))
}

/// Whether memory other than the program's own variables could be read or written.
fn may_touch_memory(
    weaver: &mut Weaver<'_>,
    call: Value,
    constraints: &Constraints,
    instructions: &[AsmInstruction],
) -> bool {
    let pointers = constraints
        .operands
        .iter()
        .filter(|operand| operand.indirect)
        .filter_map(|operand| operand.argument);
    constraints.clobbers_memory
        || pointers
            .into_iter()
            .any(|argument| !weaver.escapes.is_volatile_memory(call.operand(argument)))
        || instructions.iter().any(addresses_memory)
}

/// Whether the text itself forms an address, or is an instruction that does so silently.
fn addresses_memory(instruction: &AsmInstruction) -> bool {
    let forms_address = |argument: &AsmArgument| match argument {
        AsmArgument::Memory(_) => true,
        AsmArgument::Other(text) => {
            text.contains(['(', '[']) && !text.contains("%fs") && !text.contains("%gs")
        }
        _ => false,
    };
    let is_string_instruction = instruction.arguments.is_empty()
        && ["movs", "stos", "lods", "cmps", "scas"]
            .iter()
            .any(|name| instruction.mnemonic.starts_with(name));
    instruction.arguments.iter().any(forms_address) || is_string_instruction
}
