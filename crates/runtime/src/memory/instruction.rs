//! What one instruction does to memory, as far as its opcode says: enough for what compilers and libc emit. Whatever is not in
//! these tables reads up to a line, which is more than it may really read: sound, if not exact.

use landfall_vocab::record::RecordKind;

/// The memory operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Width in bytes, where the opcode tells.
    pub(crate) bytes: Option<usize>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) non_temporal: bool,
    pub(crate) locked: bool,
    pub(crate) flush: Option<RecordKind>,
    pub(crate) string: Option<Text>,
}

/// `movs` or `stos`: what it moves at once, whether it repeats, and how long the instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) each: usize,
    pub(crate) copies: bool,
    pub(crate) repeats: bool,
    pub(crate) length: usize,
}

/// Nothing known: it may read and write anything.
const UNKNOWN: Access = Access {
    bytes: None,
    reads: true,
    writes: true,
    non_temporal: false,
    locked: false,
    flush: None,
    string: None,
};

fn read(bytes: usize) -> Access {
    Access {
        bytes: Some(bytes),
        writes: false,
        ..UNKNOWN
    }
}

fn write(bytes: usize) -> Access {
    Access {
        bytes: Some(bytes),
        reads: false,
        ..UNKNOWN
    }
}

fn past_cache(bytes: usize) -> Access {
    Access {
        non_temporal: true,
        ..write(bytes)
    }
}

fn modify(bytes: usize) -> Access {
    Access {
        bytes: Some(bytes),
        ..UNKNOWN
    }
}

/// Prefixes before an opcode.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    short: bool,
    /// F2 or F3.
    repeat: u8,
    locked: bool,
    wide: bool,
}

impl Prefixes {
    /// Width of a general operand.
    fn general(self) -> usize {
        match (self.wide, self.short) {
            (true, _) => 8,
            (false, true) => 2,
            (false, false) => 4,
        }
    }

    fn four_or_eight(self) -> usize {
        if self.wide { 8 } else { 4 }
    }
}

/// The instruction at `code`, which is readable as far as it is one.
///
/// # Safety
/// `code` is where an instruction begins.
pub(crate) unsafe fn decode(code: *const u8) -> Access {
    // SAFETY: what the caller promises.
    unsafe {
        let mut prefixes = Prefixes::default();
        let mut at = 0;
        loop {
            match *code.add(at) {
                0x66 => prefixes.short = true,
                repeat @ (0xf2 | 0xf3) => prefixes.repeat = repeat,
                0xf0 => prefixes.locked = true,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67 => {}
                _ => break,
            }
            at += 1;
        }
        if *code.add(at) & 0xf0 == 0x40 {
            prefixes.wide = *code.add(at) & 8 != 0;
            at += 1;
        }
        let mut access = match *code.add(at) {
            0x0f => two_bytes(*code.add(at + 1), *code.add(at + 2), prefixes),
            0xc5 => vector(*code.add(at + 1), 1, *code.add(at + 2)),
            0xc4 => vector(*code.add(at + 2), *code.add(at + 1) & 31, *code.add(at + 3)),
            0x62 => extended(code.add(at)),
            opcode => one_byte(opcode, *code.add(at + 1), prefixes, at + 1),
        };
        access.locked |= prefixes.locked;
        access
    }
}

fn one_byte(opcode: u8, operand: u8, prefixes: Prefixes, length: usize) -> Access {
    let general = prefixes.general();
    let number = operand >> 3 & 7;
    match opcode {
        0x00..=0x3f if opcode & 7 < 4 => {
            let bytes = if opcode & 1 == 0 { 1 } else { general };
            let compares = opcode & 0x38 == 0x38;
            if opcode & 2 != 0 || compares {
                read(bytes)
            } else {
                modify(bytes)
            }
        }
        0x63 => read(4),
        0x69 | 0x6b | 0x85 | 0x8b => read(general),
        0x84 | 0x8a => read(1),
        0x80 | 0x82 if number == 7 => read(1),
        0x80 | 0x82 | 0xfe | 0xc0 | 0xd0 | 0xd2 => modify(1),
        0x81 | 0x83 if number == 7 => read(general),
        0x81 | 0x83 | 0xc1 | 0xd1 | 0xd3 => modify(general),
        0x86 | 0x87 => Access {
            locked: true,
            ..modify(if opcode == 0x86 { 1 } else { general })
        },
        0x88 | 0xc6 => write(1),
        0x89 | 0xc7 => write(general),
        0x8f => write(8),
        0xa4 | 0xa5 | 0xaa | 0xab => Access {
            string: Some(Text {
                each: if opcode & 1 == 0 { 1 } else { general },
                copies: opcode < 0xa8,
                repeats: prefixes.repeat != 0,
                length,
            }),
            ..UNKNOWN
        },
        0xf6 | 0xf7 => {
            let bytes = if opcode == 0xf6 { 1 } else { general };
            if matches!(number, 2 | 3) {
                modify(bytes)
            } else {
                read(bytes)
            }
        }
        0xff => match number {
            0 | 1 => modify(general),
            _ => read(8),
        },
        _ => UNKNOWN,
    }
}

fn two_bytes(opcode: u8, operand: u8, prefixes: Prefixes) -> Access {
    let general = prefixes.general();
    let scalar = match prefixes.repeat {
        0xf3 => 4,
        0xf2 => 8,
        _ => 16,
    };
    // MMX registers without a prefix, SSE ones with it.
    let packed = if prefixes.short || prefixes.repeat != 0 {
        16
    } else {
        8
    };
    match opcode {
        0x10 => read(scalar),
        0x11 => write(scalar),
        0x12 | 0x16 => read(8),
        0x13 | 0x17 => write(8),
        0x28 => read(16),
        0x29 => write(16),
        0x2b => past_cache(16),
        0x40..=0x4f | 0xaf => read(general),
        0x6e => read(prefixes.four_or_eight()),
        0x7e if prefixes.repeat == 0xf3 => read(8),
        0x7e => write(prefixes.four_or_eight()),
        0x60..=0x6d | 0x6f | 0x74..=0x76 | 0xd8..=0xdf | 0xe8..=0xef | 0xf0 | 0xf8..=0xfe => {
            read(packed)
        }
        0x7f => write(packed),
        0x90..=0x9f => write(1),
        0xae => flush(operand >> 3 & 7, prefixes.short),
        0xb0 | 0xc0 => modify(1),
        0xb1 | 0xc1 => modify(general),
        0xb6 | 0xbe => read(1),
        0xb7 | 0xbf => read(2),
        0xc3 => past_cache(prefixes.four_or_eight()),
        0xc7 if operand >> 3 & 7 == 1 => modify(if prefixes.wide { 16 } else { 8 }),
        0xd6 => write(8),
        0xe7 => past_cache(packed),
        _ => UNKNOWN,
    }
}

fn flush(number: u8, short: bool) -> Access {
    let kind = match (number, short) {
        (7, false) => RecordKind::Clflush,
        (7, true) => RecordKind::Clflushopt,
        (6, true) => RecordKind::Clwb,
        _ => return UNKNOWN,
    };
    Access {
        reads: false,
        writes: false,
        flush: Some(kind),
        ..UNKNOWN
    }
}

/// AVX: `last` is the last byte of the prefix.
fn vector(last: u8, map: u8, opcode: u8) -> Access {
    let whole = if last & 4 == 0 { 16 } else { 32 };
    let scalar = match last & 3 {
        2 => 4,
        3 => 8,
        _ => whole,
    };
    match (map, opcode) {
        (1, 0x10) => read(scalar),
        (1, 0x11) => write(scalar),
        (1, 0x28 | 0x6f | 0xf0) => read(whole),
        (1, 0x60..=0x6d | 0x74..=0x76 | 0xd8..=0xdf | 0xe8..=0xef | 0xf8..=0xfe) => read(whole),
        (1, 0x29 | 0x7f) => write(whole),
        (1, 0x2b | 0xe7) => past_cache(whole),
        (2, 0x78) => read(1),
        (2, 0x79) => read(2),
        (2, 0x58) => read(4),
        (2, 0x59) => read(8),
        _ => UNKNOWN,
    }
}

/// AVX-512, without masks: a masked store leaves bytes alone, which only the memory shows.
///
/// # Safety
/// `code` is behind the first byte of an instruction that has two.
unsafe fn extended(code: *const u8) -> Access {
    // SAFETY: what the caller promises.
    let (map, last, opcode) = unsafe { (*code.add(1) & 7, *code.add(3), *code.add(4)) };
    let whole = 16usize << (last >> 5 & 3).min(2);
    let masked = last & 7 != 0;
    match (map, opcode) {
        (1, 0x28 | 0x6f) if !masked => read(whole),
        (1, 0x29 | 0x7f) if !masked => write(whole),
        (1, 0x2b | 0xe7) => past_cache(whole),
        _ => UNKNOWN,
    }
}
