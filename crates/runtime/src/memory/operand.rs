//! Where the operands in memory of one instruction lie, by its bytes and the registers before it: enough to announce what assembly does.

use super::instruction::{Access, decode};

/// Registers as the processor numbers them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …
pub(crate) type Registers = [u64; 16];

const RAX_COUNT: usize = 1;
const RSI: usize = 6;
const RDI: usize = 7;

/// Bytes that are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Nothing in memory, but for its own stack.
    None,
    /// One place: read, written, or both, at once if it is locked.
    One {
        at: Touched,
        reads: bool,
        writes: bool,
        locked: bool,
    },
    /// `cmps`: two are read. `movs`: one is read, and the other one written.
    Two {
        read: Touched,
        other: Touched,
        writes: bool,
    },
    /// It orders memory, all of it or only stores.
    Fence {
        full: bool,
    },
    Call,
    Unknown,
}

/// An instruction that is read byte by byte.
struct Reading {
    code: *const u8,
    at: usize,
}

impl Reading {
    /// # Safety
    /// The instruction is that long.
    unsafe fn peek(&self) -> u8 {
        // SAFETY: what the caller promises.
        unsafe { *self.code.add(self.at) }
    }

    /// # Safety
    /// The instruction is that long.
    unsafe fn next(&mut self) -> u8 {
        // SAFETY: what the caller promises.
        let byte = unsafe { self.peek() };
        self.at += 1;
        byte
    }
}

#[derive(Clone, Copy, Default)]
struct Extension {
    reg: u8,
    index: u8,
    base: u8,
}

/// The operands of the instruction at `code`.
///
/// # Safety
/// `code` is where an instruction begins.
pub(crate) unsafe fn operands(code: *const u8, registers: &Registers) -> Operands {
    // SAFETY: what the caller promises.
    unsafe {
        let mut reading = Reading { code, at: 0 };
        let (mut short, mut repeats, mut own_segment, mut narrow) = (false, false, false, false);
        let mut extension = Extension::default();
        loop {
            match reading.peek() {
                0x66 => short = true,
                0xf2 | 0xf3 => repeats = true,
                0x64 | 0x65 => own_segment = true,
                0x67 => narrow = true,
                0xf0 | 0x26 | 0x2e | 0x36 | 0x3e => {}
                _ => break,
            }
            reading.at += 1;
        }
        let mut wide = false;
        if reading.peek() & 0xf0 == 0x40 {
            let rex = reading.next();
            wide = rex & 8 != 0;
            extension = Extension {
                reg: (rex & 4) << 1,
                index: (rex & 2) << 2,
                base: (rex & 1) << 3,
            };
        }
        let general = match (wide, short) {
            (true, _) => 8,
            (_, true) => 2,
            _ => 4,
        };
        let access = decode(code);
        let opcode = reading.next();
        let (map, opcode) = match opcode {
            0x0f => match reading.next() {
                0x38 => (2, reading.next()),
                0x3a => (3, reading.next()),
                opcode => (1, opcode),
            },
            0xc5 => {
                extension.reg = (!reading.next() & 0x80) >> 4;
                (1, reading.next())
            }
            0xc4 => {
                let first = reading.next();
                extension = Extension {
                    reg: (!first & 0x80) >> 4,
                    index: (!first & 0x40) >> 3,
                    base: (!first & 0x20) >> 2,
                };
                reading.next();
                (first & 31, reading.next())
            }
            0x62 => return Operands::Unknown,
            opcode => (0, opcode),
        };
        if map == 0
            && let Some(operands) = text(opcode, general, repeats, registers)
        {
            return operands;
        }
        match (map, opcode) {
            (0, 0xe8 | 0x9a) => return Operands::Call,
            (0, 0xa0..=0xa3) | (0, 0x6c..=0x6f) | (0, 0xc8) => return Operands::Unknown,
            _ if !has_operand(map, opcode) => return Operands::None,
            _ => {}
        }
        let mode = reading.next();
        let number = mode >> 3 & 7;
        if mode >> 6 == 3 {
            return match (map, opcode, number) {
                (1, 0xae, 6) => Operands::Fence { full: true },
                (1, 0xae, 7) => Operands::Fence { full: false },
                (0, 0xff, 2 | 3) => Operands::Call,
                _ => Operands::None,
            };
        }
        let is_call = (map, opcode) == (0, 0xff) && matches!(number, 2 | 3);
        // Addresses, hints, write-backs.
        let touches_nothing = (map, opcode) == (0, 0x8d)
            || map == 1 && matches!(opcode, 0x0d | 0x18..=0x1f)
            || access.flush.is_some();
        if is_call || touches_nothing || own_segment {
            return match is_call {
                true => Operands::Call,
                false => Operands::None,
            };
        }
        let mut address = address(&mut reading, mode, extension, registers);
        let rest = immediate(map, opcode, number, general);
        if mode & 0xc7 == 5 {
            address = address.wrapping_add(code as u64 + (reading.at + rest) as u64);
        }
        if narrow {
            address &= u64::from(u32::MAX);
        }
        let register = registers[usize::from(number | extension.reg)];
        one(map, opcode, number, general, access, address, register)
    }
}

/// `movs` and its like.
fn text(opcode: u8, general: usize, repeats: bool, registers: &Registers) -> Option<Operands> {
    let bytes = if opcode & 1 == 0 { 1 } else { general };
    let [from, to] = [RSI, RDI].map(|register| Touched {
        address: registers[register],
        bytes,
    });
    let one = |at, writes: bool| Operands::One {
        at,
        reads: !writes,
        writes,
        locked: false,
    };
    let operands = match opcode {
        0xa4 | 0xa5 => Operands::Two {
            read: from,
            other: to,
            writes: true,
        },
        0xa6 | 0xa7 => Operands::Two {
            read: from,
            other: to,
            writes: false,
        },
        0xaa | 0xab => one(to, true),
        0xac | 0xad => one(from, false),
        0xae | 0xaf => one(to, false),
        _ => return None,
    };
    Some(match repeats && registers[RAX_COUNT] == 0 {
        true => Operands::None,
        false => operands,
    })
}

/// Does a byte follow that says where its operand is?
fn has_operand(map: u8, opcode: u8) -> bool {
    match map {
        0 => {
            matches!(opcode, 0x00..=0x3f if opcode & 7 < 4)
                || matches!(
                    opcode,
                    0x63 | 0x69 | 0x6b | 0x80..=0x8f | 0xc0 | 0xc1 | 0xc6 | 0xc7
                )
                || matches!(opcode, 0xd0..=0xd3 | 0xd8..=0xdf | 0xf6 | 0xf7 | 0xfe | 0xff)
        }
        1 => !matches!(
            opcode,
            0x05..=0x0b | 0x30..=0x37 | 0x77 | 0x80..=0x8f | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf
        ),
        _ => true,
    }
}

/// # Safety
/// The instruction is as long as its mode says.
unsafe fn address(
    reading: &mut Reading,
    mode: u8,
    extension: Extension,
    registers: &Registers,
) -> u64 {
    let register = |number: u8| registers[usize::from(number)];
    // SAFETY: what the caller promises.
    unsafe {
        let mut address = 0u64;
        let (kind, mut base) = (mode >> 6, mode & 7);
        let mut absolute = kind == 0 && base == 5;
        if base == 4 {
            let scaled = reading.next();
            let index = scaled >> 3 & 7 | extension.index;
            if index != 4 {
                address = register(index) << (scaled >> 6);
            }
            base = scaled & 7;
            absolute = kind == 0 && base == 5;
        }
        if !absolute {
            address = address.wrapping_add(register(base | extension.base));
        }
        let bytes = match kind {
            1 => 1,
            2 => 4,
            _ if absolute => 4,
            _ => 0,
        };
        let mut distance = 0i64;
        for at in 0..bytes {
            distance |= i64::from(reading.next()) << (8 * at);
        }
        let unused = 64 - 8 * bytes.max(1);
        address.wrapping_add((distance << unused >> unused) as u64)
    }
}

/// Bytes behind the operand.
fn immediate(map: u8, opcode: u8, number: u8, general: usize) -> usize {
    match (map, opcode) {
        (0, 0x6b | 0x80 | 0x82 | 0x83 | 0xc0 | 0xc1 | 0xc6) => 1,
        (0, 0x69 | 0x81 | 0xc7) => general.min(4),
        (0, 0xf6) if number < 2 => 1,
        (0, 0xf7) if number < 2 => general.min(4),
        (1, 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6) | (3, _) => 1,
        _ => 0,
    }
}

/// What becomes of the operand at an address; `register` is the other one.
fn one(
    map: u8,
    opcode: u8,
    number: u8,
    general: usize,
    access: Access,
    address: u64,
    register: u64,
) -> Operands {
    let touched = |address, bytes, reads, writes| Operands::One {
        at: Touched { address, bytes },
        reads,
        writes,
        locked: access.locked,
    };
    match (map, opcode) {
        // Bits: of the word, or as far behind it as the register says.
        (1, 0xba) if number >= 4 => touched(address, general, true, number != 4),
        (1, 0xa3 | 0xab | 0xb3 | 0xbb) => {
            let bits = 8 * general as u64;
            let signed = match general {
                2 => register as i16 as i64,
                4 => register as i32 as i64,
                _ => register as i64,
            };
            let words = signed.div_euclid(bits as i64);
            let word = address.wrapping_add((words * general as i64) as u64);
            touched(word, general, true, opcode != 0xa3)
        }
        (1, 0xa4 | 0xa5 | 0xac | 0xad) => touched(address, general, true, true),
        (1, 0xb8 | 0xbc | 0xbd) => touched(address, general, true, false),
        _ => match access.bytes {
            Some(bytes) if access.reads || access.writes => {
                touched(address, bytes, access.reads, access.writes)
            }
            _ => Operands::Unknown,
        },
    }
}
