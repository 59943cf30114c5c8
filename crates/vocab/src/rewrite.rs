//! Places in code that no compiler of ours has seen, rewritten to call the runtime: what the checker, which takes instructions apart
//! and writes the new code, tells the runtime, which puts it in place between two runs.
//!
//! Orders travel as lines of an image: an address, and [`ORDER`] bytes.

use core::sync::atomic::AtomicU64;

/// Bytes of one order.
pub const ORDER: usize = 64;
/// Bytes of code that one order can carry.
pub const CODE: usize = ORDER - 8;
/// Bytes of the longest instruction.
pub const LONGEST: usize = 15;

/// What is wanted at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Memory for code, so many bytes: comes before what lies in it.
    Room { length: u64 },
    /// These bytes of code, instead of what is there.
    Code { bytes: [u8; CODE], length: u8 },
    /// Code from here to `end` does what the instruction at `place` did.
    Moved {
        end: u64,
        place: u64,
        effect: Effect,
    },
    /// Whoever jumps here means `to`: a trap lies between two instructions that were.
    Landing { to: u64 },
}

/// What an instruction does that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The instruction, as it was.
    pub code: [u8; LONGEST],
    /// Bytes of memory it accesses; zero where it is only copied.
    pub bytes: u8,
    pub reads: bool,
    pub writes: bool,
    /// The register whose content lies on the stack meanwhile, which is [`MOVED_STACK`] bytes lower; 255 for none.
    pub register: u8,
}

/// No register is in use.
pub const NO_REGISTER: u8 = 255;
/// By how much the stack is lower where a moved instruction accesses memory: what functions keep below it, and the register.
pub const MOVED_STACK: u64 = 136;

/// Where rewritten code calls the runtime: addresses it publishes.
pub mod entry {
    /// Before an access.
    pub const BEFORE: usize = 0;
    /// Before an access that orders, wherever it goes.
    pub const BEFORE_LOCKED: usize = 1;
    /// After one that wrote.
    pub const AFTER: usize = 2;
    /// Instead of a fence.
    pub const FENCE: usize = 3;
    pub const COUNT: usize = 4;
}

/// Traps of one run before it pays to rewrite what was trapped, and to begin again.
pub const MOST_TRAPS: u32 = 512;

/// Instructions of other compilers that accessed persistent memory, over all runs: as many as are kept.
pub const MOST_PLACES: usize = 1024;

/// One of them.
#[repr(C)]
#[derive(Debug)]
pub struct TrappedPlace {
    /// Zero: not in use.
    pub pc: AtomicU64,
    pub count: AtomicU64,
}

impl Order {
    pub fn to_bytes(self) -> [u8; ORDER] {
        let mut line = [0; ORDER];
        let mut put = |at: usize, bytes: &[u8]| line[at..at + bytes.len()].copy_from_slice(bytes);
        match self {
            Order::Room { length } => {
                put(0, &[1]);
                put(8, &length.to_le_bytes());
            }
            Order::Code { bytes, length } => {
                put(0, &[2, length]);
                put(8, &bytes);
            }
            Order::Moved { end, place, effect } => {
                put(0, &[3]);
                put(8, &end.to_le_bytes());
                put(16, &place.to_le_bytes());
                let bits = [u8::from(effect.reads), u8::from(effect.writes)];
                put(24, &[effect.bytes, bits[0], bits[1], effect.register]);
                put(32, &effect.code);
            }
            Order::Landing { to } => {
                put(0, &[4]);
                put(8, &to.to_le_bytes());
            }
        }
        line
    }

    pub fn from_bytes(line: &[u8; ORDER]) -> Option<Order> {
        let word = |at: usize| {
            let mut word = 0;
            for i in 0..8 {
                word |= u64::from(line[at + i]) << (8 * i);
            }
            word
        };
        Some(match line[0] {
            1 => Order::Room { length: word(8) },
            2 => {
                let mut bytes = [0; CODE];
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = line[8 + i];
                }
                let length = line[1].min(CODE as u8);
                Order::Code { bytes, length }
            }
            3 => {
                let mut code = [0; LONGEST];
                for (i, byte) in code.iter_mut().enumerate() {
                    *byte = line[32 + i];
                }
                Order::Moved {
                    end: word(8),
                    place: word(16),
                    effect: Effect {
                        code,
                        bytes: line[24],
                        reads: line[25] != 0,
                        writes: line[26] != 0,
                        register: line[27],
                    },
                }
            }
            4 => Order::Landing { to: word(8) },
            _ => return None,
        })
    }
}
