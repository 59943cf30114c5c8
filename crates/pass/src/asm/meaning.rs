//! What an instruction of an inline assembly does to memory, as far as Landfall follows it.

use super::constraints::Constraints;
use super::operands::{condition, place, register, sized, source, written_bytes};
use super::text::{AsmArgument, AsmInstruction};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flush {
    Clflush,
    Clflushopt,
    Clwb,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AsmFence {
    Store,
    Load,
    Full,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rmw {
    Exchange,
    Add,
    Subtract,
    And,
    Or,
    Xor,
    /// Those of one operand, or of a number of places: none of them can be locked, or has a hook.
    Negate,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    RotateLeft,
    RotateRight,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bit {
    Set,
    Reset,
    Complement,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Zero,
    Sign,
    Carry,
}

/// Operands are numbered as in the assembly, inputs tied to an output by the output's number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AsmSource {
    Operand(usize),
    Immediate(i64),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AsmPlace {
    /// `offset` bytes behind an operand in memory.
    Operand { operand: usize, offset: i64 },
    /// The address is computed from operands in registers.
    Computed {
        base: usize,
        index: Option<(usize, i64)>,
        offset: i64,
    },
    /// Somewhere on the program's stack.
    Stack,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// Nothing that concerns memory; the instruction may still compute something.
    Irrelevant,
    /// Nothing at all, as far as anyone can tell from the outside.
    Hint,
    /// From one register to another.
    Copy {
        value: AsmSource,
        into: usize,
        bytes: Option<u32>,
    },
    Flush(Flush, AsmPlace),
    Fence(AsmFence),
    /// `keeps_old`: the operand that receives the old value. Without the lock it is a load and a store, and others may come between.
    Rmw {
        locked: bool,
        operation: Rmw,
        place: AsmPlace,
        value: AsmSource,
        keeps_old: Option<usize>,
        bytes: Option<u32>,
    },
    Bit {
        locked: bool,
        operation: Bit,
        place: AsmPlace,
        number: AsmSource,
        bytes: Option<u32>,
    },
    CompareExchange {
        locked: bool,
        place: AsmPlace,
        desired: usize,
        accumulator: usize,
        bytes: Option<u32>,
    },
    /// cmpxchg16b: high and low halves of what is expected and of what is desired.
    CompareExchangePair {
        locked: bool,
        place: AsmPlace,
        expected: [usize; 2],
        desired: [usize; 2],
    },
    Store {
        place: AsmPlace,
        value: AsmSource,
        nontemporal: bool,
        bytes: Option<u32>,
    },
    Load {
        place: AsmPlace,
        into: usize,
        bytes: Option<u32>,
    },
    /// `sete %0`: a flag of an earlier instruction into an operand.
    Flag {
        condition: Condition,
        negated: bool,
        into: usize,
    },
    /// `sete (%rax)`: a flag of an earlier instruction into a byte of memory.
    StoredFlag {
        condition: Condition,
        negated: bool,
        place: AsmPlace,
    },
}

/// Instructions that neither read nor write memory whatever their operands look like.
#[rustfmt::skip]
const IRRELEVANT: [&str; 21] = [
    "rdtsc", "rdtscp", "rdpmc", "cpuid", "xgetbv", "rdrand", "rdseed", "lea", "leaq", "leal", "hlt", "ud2", "int3",
    "cld", "std", "emms", "vzeroall", "rdfsbase", "rdgsbase", "serialize", "bswap",
];

/// Instructions that may be left out.
#[rustfmt::skip]
const HINTS: [&str; 11] = [
    "nop", "pause", "prefetcht0", "prefetcht1", "prefetcht2", "prefetchnta", "prefetchw", "prefetch", "cldemote", "endbr64",
    "vzeroupper",
];

/// Vector moves: the type of the register operand says how wide they are.
#[rustfmt::skip]
const VECTOR_MOVES: [&str; 14] = [
    "movdqa", "movdqu", "movaps", "movups", "movapd", "movupd", "lddqu", "movntdqa", "movdqu8", "movdqu16", "movdqu32",
    "movdqu64", "movdqa32", "movdqa64",
];
const VECTOR_STREAMS: [&str; 3] = ["movntdq", "movntps", "movntpd"];

/// None: not understood.
pub(crate) fn meaning(instruction: &AsmInstruction, constraints: &Constraints) -> Option<Meaning> {
    if !instruction.bytes.is_empty() {
        return encoded(instruction, constraints);
    }
    let place = |argument: &AsmArgument| place(argument, constraints);
    let arguments = &instruction.arguments[..];
    let mnemonic = instruction.mnemonic.as_str();
    let flush = match (mnemonic, instruction.operand_size) {
        ("clflush", false) => Some(Flush::Clflush),
        ("clflushopt", _) | ("clflush", true) => Some(Flush::Clflushopt),
        ("clwb", _) | ("xsaveopt", true) => Some(Flush::Clwb),
        _ => None,
    };
    if let (Some(flush), [argument]) = (flush, arguments) {
        return Some(Meaning::Flush(flush, place(argument)?));
    }
    match (mnemonic, arguments) {
        ("sfence", []) => return Some(Meaning::Fence(AsmFence::Store)),
        ("mfence", []) => return Some(Meaning::Fence(AsmFence::Full)),
        ("lfence", []) => return Some(Meaning::Fence(AsmFence::Load)),
        ("cmpxchg16b", [target]) => {
            let register = |name| constraints.in_register(name);
            return Some(Meaning::CompareExchangePair {
                locked: instruction.lock,
                place: place(target)?,
                expected: [register("rdx")?, register("rax")?],
                desired: [register("rcx")?, register("rbx")?],
            });
        }
        _ if IRRELEVANT.contains(&mnemonic) => return Some(Meaning::Irrelevant),
        _ if HINTS.contains(&mnemonic) => return Some(Meaning::Hint),
        _ => {}
    }
    if let Some(flag) = flag(mnemonic, arguments, constraints) {
        return Some(flag);
    }
    let vector = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    if VECTOR_MOVES.contains(&vector) || VECTOR_STREAMS.contains(&vector) {
        let bytes = arguments.iter().find_map(written_bytes);
        return moved(
            arguments,
            constraints,
            VECTOR_STREAMS.contains(&vector),
            bytes,
        );
    }
    let (base, suffix) = sized(mnemonic)?;
    let bytes = suffix.or_else(|| arguments.iter().find_map(written_bytes));
    match base {
        "mov" => return moved(arguments, constraints, false, bytes),
        "movnti" => return moved(arguments, constraints, true, bytes),
        _ => {}
    }
    // Exchanging with memory locks without being asked to.
    let locked = instruction.lock || base == "xchg";
    updated(locked, base, arguments, constraints, bytes)
}

fn updated(
    locked: bool,
    base: &str,
    arguments: &[AsmArgument],
    constraints: &Constraints,
    bytes: Option<u32>,
) -> Option<Meaning> {
    let rmw = |operation, target: &AsmArgument, value, keeps_old: Option<usize>| {
        let place = place(target, constraints)?;
        if place == AsmPlace::Stack {
            return (locked && keeps_old.is_none()).then_some(Meaning::Fence(AsmFence::Full));
        }
        Some(Meaning::Rmw {
            locked,
            operation,
            place,
            value,
            keeps_old,
            bytes,
        })
    };
    let simple = match base {
        "add" => Some(Rmw::Add),
        "sub" => Some(Rmw::Subtract),
        "and" => Some(Rmw::And),
        "or" => Some(Rmw::Or),
        "xor" => Some(Rmw::Xor),
        _ => None,
    };
    let bit = match base {
        "bts" => Some(Bit::Set),
        "btr" => Some(Bit::Reset),
        "btc" => Some(Bit::Complement),
        _ => None,
    };
    match (base, arguments) {
        (_, [target, value]) if simple.is_some() => {
            rmw(simple?, target, source(value, constraints)?, None)
        }
        (_, [target, number]) if bit.is_some() => Some(Meaning::Bit {
            locked,
            operation: bit?,
            place: place(target, constraints)?,
            number: source(number, constraints)?,
            bytes,
        }),
        ("neg", [target]) if !locked => rmw(Rmw::Negate, target, AsmSource::Immediate(0), None),
        ("shl" | "sal" | "shr" | "sar" | "rol" | "ror", [target, count]) if !locked => {
            let operation = match base {
                "shr" => Rmw::ShiftRight,
                "sar" => Rmw::ShiftRightSigned,
                "rol" => Rmw::RotateLeft,
                "ror" => Rmw::RotateRight,
                _ => Rmw::ShiftLeft,
            };
            let value = source(count, constraints)?;
            // By less than the word has, and at least one: what else it does is another matter.
            let bits = 8 * i64::from(bytes.unwrap_or(1));
            matches!(value, AsmSource::Immediate(by) if (1..bits).contains(&by)).then_some(())?;
            rmw(operation, target, value, None)
        }
        ("inc", [target]) => rmw(Rmw::Add, target, AsmSource::Immediate(1), None),
        ("dec", [target]) => rmw(Rmw::Subtract, target, AsmSource::Immediate(1), None),
        ("not", [target]) => rmw(Rmw::Xor, target, AsmSource::Immediate(-1), None),
        ("xadd", [target, value]) => {
            let register = register(value, constraints)?;
            rmw(
                Rmw::Add,
                target,
                AsmSource::Operand(register),
                Some(register),
            )
        }
        ("xchg", [left, right]) => {
            let (target, value) = if place(left, constraints).is_some() {
                (left, right)
            } else {
                (right, left)
            };
            let register = register(value, constraints)?;
            rmw(
                Rmw::Exchange,
                target,
                AsmSource::Operand(register),
                Some(register),
            )
        }
        ("cmpxchg", [target, desired]) => Some(Meaning::CompareExchange {
            locked,
            place: place(target, constraints)?,
            desired: register(desired, constraints)?,
            accumulator: constraints.in_register("rax")?,
            bytes,
        }),
        _ => None,
    }
}

fn moved(
    arguments: &[AsmArgument],
    constraints: &Constraints,
    nontemporal: bool,
    bytes: Option<u32>,
) -> Option<Meaning> {
    let [to, from] = arguments else { return None };
    match (place(to, constraints), place(from, constraints)) {
        (Some(AsmPlace::Stack), _) | (_, Some(AsmPlace::Stack)) => None,
        (Some(place), None) => Some(Meaning::Store {
            place,
            value: source(from, constraints)?,
            nontemporal,
            bytes,
        }),
        (None, Some(place)) => Some(Meaning::Load {
            place,
            into: register(to, constraints)?,
            bytes,
        }),
        (None, None) if nontemporal => None,
        (None, None) => Some(Meaning::Copy {
            value: source(from, constraints)?,
            into: register(to, constraints)?,
            bytes,
        }),
        (Some(_), Some(_)) => None,
    }
}

fn flag(mnemonic: &str, arguments: &[AsmArgument], constraints: &Constraints) -> Option<Meaning> {
    let (condition, negated) = condition(mnemonic.strip_prefix("set")?)?;
    let [into] = arguments else { return None };
    match place(into, constraints) {
        Some(place) => Some(Meaning::StoredFlag {
            condition,
            negated,
            place,
        }),
        None => Some(Meaning::Flag {
            condition,
            negated,
            into: register(into, constraints)?,
        }),
    }
}

/// Instructions written as their encoding, for assemblers that do not know them.
fn encoded(instruction: &AsmInstruction, constraints: &Constraints) -> Option<Meaning> {
    let mut bytes = &instruction.bytes[..];
    let mut operand_size = instruction.operand_size;
    while let [prefix @ (0x66 | 0x3e), rest @ ..] = bytes {
        operand_size |= *prefix == 0x66;
        bytes = rest;
    }
    let [0x0f, 0xae, mode] = bytes else {
        let nop = matches!(bytes, [0x90] | [0x0f, 0x1f, ..]);
        return nop.then_some(Meaning::Hint);
    };
    match (mode, operand_size) {
        (0xf8, false) => return Some(Meaning::Fence(AsmFence::Store)),
        (0xf0, false) => return Some(Meaning::Fence(AsmFence::Full)),
        (0xe8, false) => return Some(Meaning::Fence(AsmFence::Load)),
        // pcommit: withdrawn by Intel before any processor had it.
        (0xf8, true) => return Some(Meaning::Hint),
        _ => {}
    }
    // Addressed by one register without displacement; 4 and 5 mean something else there.
    let names = ["rax", "rcx", "rdx", "rbx", "", "", "rsi", "rdi"];
    let base = constraints.in_register(names[usize::from(mode & 7)])?;
    let flush = match (mode >> 3, operand_size) {
        (7, false) => Flush::Clflush,
        (7, true) => Flush::Clflushopt,
        (6, true) => Flush::Clwb,
        _ => return None,
    };
    Some(Meaning::Flush(
        flush,
        AsmPlace::Computed {
            base,
            index: None,
            offset: 0,
        },
    ))
}
