//! Where the operands of single instructions lie: `operands.table` says it, for registers that hold 0x1000, 0x2000, … in the order of their
//! numbers (rcx 0x2000, rsi 0x7000), and code at an address that is told apart.

#[allow(unsafe_op_in_unsafe_fn, unreachable_pub, dead_code)]
#[path = "../src/memory/instruction.rs"]
mod instruction;
#[allow(unsafe_op_in_unsafe_fn, unreachable_pub)]
#[path = "../src/memory/operand.rs"]
mod operand;

use operand::{Operands, Touched, operands};

fn place(Touched { address, bytes }: Touched, code: u64) -> String {
    match address.wrapping_sub(code) {
        behind @ 0..0x1000 => format!("{bytes} at code+{behind:#x}"),
        _ => format!("{bytes} at {address:#x}"),
    }
}

fn describe(operands: Operands, code: u64) -> String {
    match operands {
        Operands::None => "none".to_owned(),
        Operands::Call => "call".to_owned(),
        Operands::Unknown => "unknown".to_owned(),
        Operands::Fence { full: true } => "fence".to_owned(),
        Operands::Fence { full: false } => "store fence".to_owned(),
        Operands::One {
            at,
            reads,
            writes,
            locked,
        } => {
            let what = match (reads, writes) {
                (true, true) => "updates",
                (false, true) => "writes",
                _ => "reads",
            };
            let locked = if locked { " locked" } else { "" };
            format!("{what} {}{locked}", place(at, code))
        }
        Operands::Two {
            read,
            other,
            writes,
        } => format!(
            "reads {} and {} {}",
            place(read, code),
            if writes { "writes" } else { "reads" },
            place(other, code)
        ),
    }
}

#[test]
fn instructions_say_where_their_operands_are() {
    let registers = std::array::from_fn(|number| (number as u64 + 1) << 12);
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in include_str!("operands.table").lines() {
        let mut parts = line.split('|').map(str::trim);
        let (Some(code), Some(expected), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            assert!(line.starts_with('#') || line.is_empty(), "{line}");
            continue;
        };
        let code: Vec<u8> = code
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).expect("a byte"))
            .collect();
        let mut padded = [0x90; 16];
        padded[..code.len()].copy_from_slice(&code);
        // SAFETY: the bytes of one instruction, and more behind it.
        let found = unsafe { operands(padded.as_ptr(), &registers) };
        let found = describe(found, padded.as_ptr() as u64);
        seen += 1;
        if found != expected {
            wrong.push(format!("{name}: {found}, not {expected}"));
        }
    }
    assert!(seen > 30 && wrong.is_empty(), "{}", wrong.join("\n"));
}
