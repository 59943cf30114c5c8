//! The operands of an instruction: registers, immediates, places in memory, widths.

use super::constraints::{Constraints, is_stack_pointer, register_bytes};
use super::meaning::{AsmPlace, AsmSource, Condition};
use super::text::{AsmArgument, MemoryArgument};

/// The letters of `sete` or of a flag output such as `{@cce}`.
pub(super) fn condition(letters: &str) -> Option<(Condition, bool)> {
    Some(match letters {
        "e" | "z" => (Condition::Zero, false),
        "ne" | "nz" => (Condition::Zero, true),
        "s" => (Condition::Sign, false),
        "ns" => (Condition::Sign, true),
        "c" | "b" => (Condition::Carry, false),
        "nc" | "ae" => (Condition::Carry, true),
        _ => return None,
    })
}

/// The instruction and the width its last letter gives.
pub(super) fn sized(mnemonic: &str) -> Option<(&str, Option<u32>)> {
    const KNOWN: [&str; 23] = [
        "mov", "movnti", "xchg", "xadd", "cmpxchg", "add", "sub", "and", "or", "xor", "inc", "dec",
        "not", "neg", "shl", "sal", "shr", "sar", "rol", "ror", "bts", "btr", "btc",
    ];
    if KNOWN.contains(&mnemonic) {
        return Some((mnemonic, None));
    }
    let bytes = match mnemonic.chars().next_back()? {
        'b' => 1,
        'w' => 2,
        'l' => 4,
        'q' => 8,
        _ => return None,
    };
    let base = &mnemonic[..mnemonic.len() - 1];
    KNOWN.contains(&base).then_some((base, Some(bytes)))
}

/// The width an argument is written with: `%eax`, `%k0`, `dword ptr`.
pub(super) fn written_bytes(argument: &AsmArgument) -> Option<u32> {
    match argument {
        AsmArgument::Register(name) => register_bytes(name),
        AsmArgument::Operand(_, Some('b' | 'h')) => Some(1),
        AsmArgument::Operand(_, Some('w')) => Some(2),
        AsmArgument::Operand(_, Some('k')) => Some(4),
        AsmArgument::Operand(_, Some('q')) => Some(8),
        AsmArgument::Memory(memory) => memory.bytes,
        _ => None,
    }
}

/// An operand in a register.
pub(super) fn register(argument: &AsmArgument, constraints: &Constraints) -> Option<usize> {
    match argument {
        AsmArgument::Operand(number, modifier) if *modifier != Some('a') => {
            let operand = constraints.operands.get(*number)?;
            (!operand.indirect).then(|| constraints.canonical(*number))
        }
        AsmArgument::Register(name) => constraints.in_register(name),
        _ => None,
    }
}

pub(super) fn source(argument: &AsmArgument, constraints: &Constraints) -> Option<AsmSource> {
    match argument {
        AsmArgument::Immediate(value) => Some(AsmSource::Immediate(*value)),
        other => register(other, constraints).map(AsmSource::Operand),
    }
}

pub(super) fn place(argument: &AsmArgument, constraints: &Constraints) -> Option<AsmPlace> {
    match argument {
        AsmArgument::Operand(number, modifier) => {
            let operand = constraints.operands.get(*number)?;
            if operand.indirect {
                return Some(AsmPlace::Operand {
                    operand: *number,
                    offset: 0,
                });
            }
            // `%a0` prints a register as an address.
            let computed = AsmPlace::Computed {
                base: constraints.canonical(*number),
                index: None,
                offset: 0,
            };
            (*modifier == Some('a')).then_some(computed)
        }
        AsmArgument::Memory(MemoryArgument {
            base,
            index,
            offset,
            ..
        }) => match &**base {
            AsmArgument::Register(name) if is_stack_pointer(name) => Some(AsmPlace::Stack),
            AsmArgument::Operand(number, _) if constraints.operands.get(*number)?.indirect => {
                index.is_none().then_some(AsmPlace::Operand {
                    operand: *number,
                    offset: *offset,
                })
            }
            base => {
                let index = match index {
                    Some((index, scale)) => Some((register(index, constraints)?, *scale)),
                    None => None,
                };
                Some(AsmPlace::Computed {
                    base: register(base, constraints)?,
                    index,
                    offset: *offset,
                })
            }
        },
        _ => None,
    }
}
