//! What a rewritten place jumps to: its instructions, moved, with calls of the runtime around those that access memory or order
//! accesses, and a jump back.

use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, FlowControl, Instruction, InstructionInfoFactory,
    MemoryOperand, Mnemonic, OpAccess, OpKind, Register,
};
use landfall_vocab::rewrite::{Effect, LONGEST, NO_REGISTER, Order, entry};

const JUMP: usize = 5;
/// What functions keep below the stack without saying so.
const LOWER: [u8; 5] = [0x48, 0x8d, 0x64, 0x24, 0x80]; // lea rsp, [rsp - 128]
const HIGHER: [u8; 8] = [0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0]; // lea rsp, [rsp + 128]
/// What lay on the stack is not to be taken for anything.
const WIPE: [u8; 9] = [0x48, 0xc7, 0x44, 0x24, 0xf8, 0, 0, 0, 0]; // mov qword [rsp - 8], 0
const DROP_ONE: [u8; 5] = [0x48, 0x8d, 0x64, 0x24, 8]; // lea rsp, [rsp + 8]
const DROP_TWO: [u8; 5] = [0x48, 0x8d, 0x64, 0x24, 16];
const NO_ADDRESS: [u8; 2] = [0x6a, 0]; // push 0
const KEEP_FLAGS: u8 = 0x9c;
const TAKE_FLAGS: u8 = 0x9d;

/// Of an instruction that is only copied.
const NONE: Effect = Effect {
    code: [0; LONGEST],
    bytes: 0,
    reads: false,
    writes: false,
    register: NO_REGISTER,
};

/// Registers that may hold an address for a while. The first seven can be named beside `ah` and the like.
const BORROWED: [Register; 14] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSI,
    Register::RDI,
    Register::RBP,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R14,
    Register::R15,
];
const WITHOUT_PREFIX: usize = 7;

/// The instructions in the first `length` bytes at `place`; none if they cannot be moved, or the first is no business of ours.
pub(super) fn window(code: &[u8], place: u64, length: usize) -> Option<Vec<Instruction>> {
    let mut decoder = Decoder::with_ip(64, code, place, DecoderOptions::NONE);
    let mut window: Vec<Instruction> = Vec::new();
    while decoder.position() < length {
        let instruction = decoder.decode();
        let left = window.iter().any(leaves);
        // What lies behind the end of a function is filling, or not ours to touch.
        let filling = matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        if instruction.is_invalid() || left && !filling || !left && !movable(&instruction) {
            return None;
        }
        window.push(instruction);
    }
    let first = window.first()?;
    (is_fence(first) || is_locked(first) || access(first).is_some()).then_some(window)
}

/// Does nothing follow it?
fn leaves(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch
    )
}

/// Calls leave an address on the stack that others look for; loops and the like reach too little.
fn movable(instruction: &Instruction) -> bool {
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::Return | FlowControl::IndirectBranch => true,
        FlowControl::ConditionalBranch => instruction.is_jcc_short_or_near(),
        FlowControl::UnconditionalBranch => instruction.is_jmp_short_or_near(),
        _ => false,
    }
}

/// A fence that says nothing of memory.
pub(super) fn is_fence(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Sfence | Mnemonic::Mfence)
}

/// Does it order accesses by itself?
pub(super) fn is_locked(instruction: &Instruction) -> bool {
    let to_memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    to_memory && (instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg)
}

fn is_flush(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb
    )
}

/// What it does to memory, and through which register it can do it elsewhere; none if that cannot be said.
pub(super) fn access(instruction: &Instruction) -> Option<(Effect, usize)> {
    if instruction.flow_control() != FlowControl::Next
        || instruction.is_stack_instruction()
        || instruction.has_rep_prefix()
        || instruction.has_repne_prefix()
        || instruction.is_vsib()
        || instruction.segment_prefix() != Register::None
        || instruction.has_op_mask()
    {
        return None;
    }
    let operands =
        (0..instruction.op_count()).filter(|&i| instruction.op_kind(i) == OpKind::Memory);
    let wide = |register: Register| {
        register == Register::None || register.is_gpr64() && register != Register::RSP
    };
    if operands.count() != 1
        || !wide(instruction.memory_base())
        || !wide(instruction.memory_index())
    {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let [used] = info.used_memory() else {
        return None;
    };
    let (reads, writes) = match used.access() {
        _ if is_flush(instruction) => (false, false),
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        _ => return None,
    };
    let bytes = u8::try_from(instruction.memory_size().size()).ok()?;
    if (bytes == 0 || bytes > 64) && !is_flush(instruction) {
        return None;
    }
    let registers = info.used_registers();
    let high = |register: Register| {
        matches!(
            register,
            Register::AH | Register::BH | Register::CH | Register::DH
        )
    };
    let (mut free, mut limited) = ([true; BORROWED.len()], false);
    for used in registers {
        let whole = used.register().full_register();
        limited |= high(used.register());
        if whole == Register::RSP {
            return None;
        }
        if let Some(at) = BORROWED.iter().position(|&register| register == whole) {
            free[at] = false;
        }
    }
    limited |= (0..instruction.op_count()).any(|i| high(instruction.op_register(i)));
    let most = if limited {
        WITHOUT_PREFIX
    } else {
        BORROWED.len()
    };
    let borrowed = (0..most).find(|&at| free[at])?;
    let effect = Effect {
        code: [0; LONGEST],
        bytes: if is_flush(instruction) { 0 } else { bytes },
        reads,
        writes,
        register: BORROWED[borrowed].number() as u8,
    };
    Some((effect, borrowed))
}

/// Rewritten code.
pub(super) struct Body {
    pub(super) start: u64,
    pub(super) code: Vec<u8>,
    /// What the runtime has to know of it, in the order of its numbers.
    pub(super) moved: Vec<(u64, Order)>,
    /// Where each instruction was, and where it is now.
    places: Vec<(u64, u64)>,
    entries: u64,
    first: u64,
}

impl Body {
    /// Writes the body for these instructions at `start`; the first that is moved gets the number `first`.
    pub(super) fn write(
        window: &[Instruction],
        start: u64,
        entries: u64,
        first: u64,
    ) -> Option<Body> {
        let mut body = Body {
            start,
            code: Vec::new(),
            moved: Vec::new(),
            places: Vec::new(),
            entries,
            first,
        };
        for (at, instruction) in window.iter().enumerate() {
            if window[..at].iter().any(leaves) {
                return Some(body); // the rest is filling
            }
            body.places.push((instruction.ip(), body.here()));
            if is_fence(instruction) {
                body.fence(instruction, entry::FENCE)?;
            } else if let Some((effect, borrowed)) = access(instruction) {
                body.access(instruction, effect, BORROWED[borrowed])?;
            } else {
                if is_locked(instruction) {
                    body.fence(instruction, entry::BEFORE_LOCKED)?;
                }
                body.copy(instruction)?;
            }
        }
        let last = window.last()?;
        if !leaves(last) {
            let back = super::jump(body.here(), last.next_ip())?;
            body.code.extend(back);
        }
        Some(body)
    }

    fn here(&self) -> u64 {
        self.start + self.code.len() as u64
    }

    /// Where instructions lie now that somebody may jump to: all but the first.
    pub(super) fn landings(&self, place: u64) -> Vec<(u64, u64)> {
        let inside = |(at, _): &&(u64, u64)| *at > place && *at < place + JUMP as u64;
        self.places.iter().filter(inside).copied().collect()
    }

    fn encode(&mut self, instruction: &Instruction) -> Option<()> {
        let mut encoder = Encoder::new(64);
        encoder.encode(instruction, self.here()).ok()?;
        self.code.extend(encoder.take_buffer());
        Some(())
    }

    /// As it is, elsewhere.
    fn copy(&mut self, instruction: &Instruction) -> Option<()> {
        let mut moved = *instruction;
        moved.as_near_branch();
        let start = self.here();
        self.encode(&moved)?;
        self.tell(start, instruction, NONE)
    }

    /// What the runtime has to know of the code from `start` to here.
    fn tell(&mut self, start: u64, instruction: &Instruction, effect: Effect) -> Option<()> {
        let mut encoder = Encoder::new(64);
        encoder.encode(instruction, instruction.ip()).ok()?;
        let bytes = encoder.take_buffer();
        let mut code = [0; LONGEST];
        code.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        let order = Order::Moved {
            end: self.here(),
            place: instruction.ip(),
            effect: Effect { code, ..effect },
        };
        self.moved.push((start, order));
        Some(())
    }

    fn push(&mut self, register: Register) {
        self.stack_code(0x50, register);
    }

    fn pop(&mut self, register: Register) {
        self.stack_code(0x58, register);
    }

    fn stack_code(&mut self, opcode: u8, register: Register) {
        let number = register.number() as u8;
        if number >= 8 {
            self.code.push(0x41);
        }
        self.code.push(opcode | number & 7);
    }

    /// Calls the runtime about the instruction that is told next.
    fn call(&mut self, which: usize) -> Option<()> {
        let number = u32::try_from(self.first + self.moved.len() as u64).ok()?;
        self.code.push(0x68); // push
        self.code.extend(number.to_le_bytes());
        let target = self.entries + 8 * which as u64;
        let after = self.here() + 6;
        let distance = i32::try_from(target.wrapping_sub(after) as i64).ok()?;
        self.code.extend([0xff, 0x15]); // call [rip + distance]
        self.code.extend(distance.to_le_bytes());
        Some(())
    }

    fn access(
        &mut self,
        instruction: &Instruction,
        effect: Effect,
        borrowed: Register,
    ) -> Option<()> {
        let locked = is_locked(instruction);
        let address = MemoryOperand::new(
            instruction.memory_base(),
            instruction.memory_index(),
            instruction.memory_index_scale(),
            instruction.memory_displacement64() as i64,
            instruction.memory_displ_size().min(8),
            false,
            Register::None,
        );
        self.code.extend(LOWER);
        self.push(borrowed);
        self.encode(&Instruction::with2(Code::Lea_r64_m, borrowed, address).ok()?)?;
        self.code.push(KEEP_FLAGS);
        self.push(borrowed);
        self.call(if locked {
            entry::BEFORE_LOCKED
        } else {
            entry::BEFORE
        })?;
        self.code.extend(DROP_ONE);
        self.pop(borrowed);
        self.code.push(TAKE_FLAGS);
        let mut elsewhere = *instruction;
        elsewhere.set_memory_base(borrowed);
        elsewhere.set_memory_index(Register::None);
        elsewhere.set_memory_index_scale(1);
        elsewhere.set_memory_displacement64(0);
        elsewhere.set_memory_displ_size(0);
        let start = self.here();
        self.encode(&elsewhere)?;
        let end = self.here();
        if effect.writes {
            self.code.push(KEEP_FLAGS);
            self.push(borrowed);
            self.call(entry::AFTER)?;
            self.code.extend(DROP_TWO);
            self.code.push(TAKE_FLAGS);
        }
        self.pop(borrowed);
        self.code.extend(WIPE);
        self.code.extend(HIGHER);
        let rest = self.here() - end;
        self.tell(start, instruction, effect)?;
        // Only the access itself stands in for the instruction.
        if let Some((_, Order::Moved { end, .. })) = self.moved.last_mut() {
            *end -= rest;
        }
        Some(())
    }

    /// Tells the runtime of something that orders, wherever its memory is.
    fn fence(&mut self, instruction: &Instruction, which: usize) -> Option<()> {
        self.code.extend(LOWER);
        self.push(Register::RAX);
        self.code.push(KEEP_FLAGS);
        self.code.extend(NO_ADDRESS);
        self.call(which)?;
        self.code.extend(DROP_TWO);
        self.code.push(TAKE_FLAGS);
        self.pop(Register::RAX);
        self.code.extend(WIPE);
        self.code.extend(HIGHER);
        let here = self.here();
        self.tell(here, instruction, NONE)
    }
}
