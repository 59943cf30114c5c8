//! The operands of an instruction: registers, immediates, places in memory, widths.

use super::constraints::{Constraints, is_stack_pointer, register_bytes};
use super::meaning::{Condition, Place, Source};
use super::text::{Argument, MemoryArgument};

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
    const KNOWN: [&str; 16] = [
        "mov", "movnti", "xchg", "xadd", "cmpxchg", "add", "sub", "and", "or", "xor", "inc", "dec",
        "not", "bts", "btr", "btc",
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
pub(super) fn written_bytes(argument: &Argument) -> Option<u32> {
    match argument {
        Argument::Register(name) => register_bytes(name),
        Argument::Operand(_, Some('b' | 'h')) => Some(1),
        Argument::Operand(_, Some('w')) => Some(2),
        Argument::Operand(_, Some('k')) => Some(4),
        Argument::Operand(_, Some('q')) => Some(8),
        Argument::Memory(memory) => memory.bytes,
        _ => None,
    }
}

/// An operand in a register.
pub(super) fn register(argument: &Argument, constraints: &Constraints) -> Option<usize> {
    match argument {
        Argument::Operand(number, modifier) if *modifier != Some('a') => {
            let operand = constraints.operands.get(*number)?;
            (!operand.indirect).then(|| constraints.canonical(*number))
        }
        Argument::Register(name) => constraints.in_register(name),
        _ => None,
    }
}

pub(super) fn source(argument: &Argument, constraints: &Constraints) -> Option<Source> {
    match argument {
        Argument::Immediate(value) => Some(Source::Immediate(*value)),
        other => register(other, constraints).map(Source::Operand),
    }
}

pub(super) fn place(argument: &Argument, constraints: &Constraints) -> Option<Place> {
    match argument {
        Argument::Operand(number, modifier) => {
            let operand = constraints.operands.get(*number)?;
            if operand.indirect {
                return Some(Place::Operand {
                    operand: *number,
                    offset: 0,
                });
            }
            // `%a0` prints a register as an address.
            let computed = Place::Computed {
                base: constraints.canonical(*number),
                index: None,
                offset: 0,
            };
            (*modifier == Some('a')).then_some(computed)
        }
        Argument::Memory(MemoryArgument {
            base,
            index,
            offset,
            ..
        }) => match &**base {
            Argument::Register(name) if is_stack_pointer(name) => Some(Place::Stack),
            Argument::Operand(number, _) if constraints.operands.get(*number)?.indirect => {
                index.is_none().then_some(Place::Operand {
                    operand: *number,
                    offset: *offset,
                })
            }
            base => {
                let index = match index {
                    Some((index, scale)) => Some((register(index, constraints)?, *scale)),
                    None => None,
                };
                Some(Place::Computed {
                    base: register(base, constraints)?,
                    index,
                    offset: *offset,
                })
            }
        },
        _ => None,
    }
}
