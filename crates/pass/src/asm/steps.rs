//! The single steps of a replacement: addresses, operations, moves.

use super::meaning::{AsmPlace, AsmSource, Bit, Rmw};
use super::rewrite::{ProcessorFlags, Rewrite};
use crate::accesses::{Flags, Shape};
use crate::ir::{Type, Value, split};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

impl Rewrite<'_, '_> {
    pub(super) fn address(&self, place: &AsmPlace) -> Option<Value> {
        let emit = &self.weaver.emit;
        let byte = emit.int(8);
        let (base, index, offset) = match place {
            AsmPlace::Operand { operand, offset } => (
                self.call
                    .operand(self.constraints.operands[*operand].argument?),
                None,
                *offset,
            ),
            AsmPlace::Computed {
                base,
                index,
                offset,
            } => (
                emit.typed(emit.word(self.values[*base]?, 8), emit.pointer()),
                *index,
                *offset,
            ),
            AsmPlace::Stack => return None,
        };
        let mut address = base;
        if let Some((index, scale)) = index {
            let distance = emit.word(self.values[index]?, 8);
            let distance = emit.binary(
                LLVMOpcode::LLVMMul,
                distance,
                emit.constant_signed(emit.int(64), scale),
            );
            address = emit.offset(byte, address, distance);
        }
        if offset != 0 {
            address = emit.offset(byte, address, emit.constant_signed(emit.int(64), offset));
        }
        Some(address)
    }

    pub(super) fn word(&self, source: &AsmSource, bytes: u32) -> Option<Value> {
        let emit = &self.weaver.emit;
        match source {
            AsmSource::Operand(number) => Some(emit.word(self.values[*number]?, bytes)),
            AsmSource::Immediate(value) => Some(emit.constant_signed(emit.bytes(bytes), *value)),
        }
    }

    pub(super) fn rmw(
        &mut self,
        locked: bool,
        operation: Rmw,
        bytes: u32,
        address: Value,
        value: Value,
        site: Value,
    ) -> Option<Value> {
        if !locked {
            let old = self.load(address, value.ty(), site)?;
            let new = self.new_value(operation, old, value).unwrap_or(value);
            self.store(address, new, Flags::SECOND_HALF, site)?;
            self.start();
            return Some(old);
        }
        // LLVM's numbering, which the hooks use.
        let number = match operation {
            Rmw::Exchange => 0,
            Rmw::Add => 1,
            Rmw::Subtract => 2,
            Rmw::And => 3,
            Rmw::Or => 5,
            Rmw::Xor => 6,
            Rmw::Negate
            | Rmw::ShiftLeft
            | Rmw::ShiftRight
            | Rmw::ShiftRightSigned
            | Rmw::RotateLeft
            | Rmw::RotateRight => return None,
        };
        let emit = &mut self.weaver.emit;
        let (number, flags, word) = (
            emit.u32(number),
            Flags::SEQUENTIAL.word(emit),
            emit.bytes(bytes),
        );
        Some(emit.hook(
            &format!("__lf_rmw{bytes}"),
            word,
            &[address, value, number, flags, site],
        ))
    }

    pub(super) fn flags_after(&self, operation: Rmw, old: Value, value: Value) -> ProcessorFlags {
        let emit = &self.weaver.emit;
        let Some(new) = self.new_value(operation, old, value) else {
            return self.flags;
        };
        if matches!(operation, Rmw::RotateLeft | Rmw::RotateRight) {
            return ProcessorFlags {
                carry: None,
                ..self.flags
            };
        }
        let zero = old.ty().zero();
        let carry = match operation {
            Rmw::Add => Some(emit.compare(LLVMIntPredicate::LLVMIntULT, new, old)),
            Rmw::Subtract => Some(emit.compare(LLVMIntPredicate::LLVMIntULT, old, value)),
            Rmw::Negate => Some(emit.compare(LLVMIntPredicate::LLVMIntNE, old, zero)),
            // The last bit that was shifted out, which nobody keeps.
            Rmw::ShiftLeft | Rmw::ShiftRight | Rmw::ShiftRightSigned => None,
            _ => Some(emit.int(1).zero()),
        };
        ProcessorFlags {
            zero: Some(emit.compare(LLVMIntPredicate::LLVMIntEQ, new, zero)),
            sign: Some(emit.compare(LLVMIntPredicate::LLVMIntSLT, new, zero)),
            carry,
        }
    }

    /// What an operation leaves; `None`: its operand.
    fn new_value(&self, operation: Rmw, old: Value, value: Value) -> Option<Value> {
        let emit = &self.weaver.emit;
        Some(match operation {
            Rmw::Negate => emit.binary(LLVMOpcode::LLVMSub, old.ty().zero(), old),
            Rmw::RotateLeft | Rmw::RotateRight => {
                let bits = u64::from(old.ty().int_width()?);
                let rest = emit.binary(LLVMOpcode::LLVMSub, emit.constant(old.ty(), bits), value);
                let (left, right) = match operation {
                    Rmw::RotateLeft => (value, rest),
                    _ => (rest, value),
                };
                let high = emit.binary(LLVMOpcode::LLVMShl, old, left);
                let low = emit.binary(LLVMOpcode::LLVMLShr, old, right);
                emit.binary(LLVMOpcode::LLVMOr, high, low)
            }
            operation => emit.binary(opcode(operation)?, old, value),
        })
    }

    /// The bit number reaches beyond the word the operand names: memory is one long string of bits here.
    pub(super) fn bit(
        &mut self,
        locked: bool,
        operation: Bit,
        place: &AsmPlace,
        number: &AsmSource,
        bytes: u32,
        site: Value,
    ) -> Option<()> {
        let start = self.address(place)?;
        let emit = &self.weaver.emit;
        let (word, wide) = (emit.bytes(bytes), emit.int(64));
        let bits = u64::from(bytes) * 8;
        let (address, position) = match number {
            AsmSource::Immediate(number) => {
                (start, emit.constant(word, *number as u64 & (bits - 1)))
            }
            AsmSource::Operand(operand) => {
                let number = self.values[*operand]?;
                let narrow = number.ty().int_width().is_some_and(|width| width < 64);
                let number = if narrow {
                    emit.cast(LLVMOpcode::LLVMSExt, number, wide)
                } else {
                    emit.word(number, 8)
                };
                let words = emit.binary(
                    LLVMOpcode::LLVMAShr,
                    number,
                    emit.constant(wide, bits.trailing_zeros().into()),
                );
                let position =
                    emit.binary(LLVMOpcode::LLVMAnd, number, emit.constant(wide, bits - 1));
                (emit.offset(word, start, words), emit.resize(position, word))
            }
        };
        let mask = emit.binary(LLVMOpcode::LLVMShl, emit.constant(word, 1), position);
        let (operation, value) = match operation {
            Bit::Set => (Rmw::Or, mask),
            Bit::Reset => (Rmw::And, emit.not(mask)),
            Bit::Complement => (Rmw::Xor, mask),
        };
        let old = self.rmw(locked, operation, bytes, address, value, site)?;
        let emit = &self.weaver.emit;
        let before = emit.binary(LLVMOpcode::LLVMAnd, old, mask);
        let carry = emit.compare(LLVMIntPredicate::LLVMIntNE, before, word.zero());
        self.flags = ProcessorFlags {
            carry: Some(carry),
            ..ProcessorFlags::default()
        };
        Some(())
    }

    pub(super) fn compare_exchange(
        &mut self,
        bytes: u32,
        address: Value,
        expected: Value,
        desired: Value,
        site: Value,
    ) -> Value {
        let emit = &mut self.weaver.emit;
        let flags = Flags::SEQUENTIAL.word(emit);
        let old = emit.hook(
            &format!("__lf_cas{bytes}"),
            expected.ty(),
            &[address, expected, desired, flags, site],
        );
        let equal = emit.compare(LLVMIntPredicate::LLVMIntEQ, old, expected);
        self.flags = ProcessorFlags {
            zero: Some(equal),
            ..ProcessorFlags::default()
        };
        old
    }

    /// Without a lock. It stores in any case: what it found, if that is not what it expected.
    pub(super) fn compare_and_store(
        &mut self,
        address: Value,
        expected: Value,
        desired: Value,
        site: Value,
    ) -> Option<Value> {
        let old = self.load(address, expected.ty(), site)?;
        let emit = &self.weaver.emit;
        let equal = emit.compare(LLVMIntPredicate::LLVMIntEQ, old, expected);
        let all = emit.cast(LLVMOpcode::LLVMSExt, equal, old.ty());
        let difference = emit.binary(LLVMOpcode::LLVMXor, old, desired);
        let change = emit.binary(LLVMOpcode::LLVMAnd, difference, all);
        let new = emit.binary(LLVMOpcode::LLVMXor, old, change);
        self.store(address, new, Flags::SECOND_HALF, site)?;
        self.start();
        self.flags = ProcessorFlags {
            zero: Some(equal),
            ..ProcessorFlags::default()
        };
        Some(old)
    }

    /// Two 64-bit registers, high half first, as one value.
    pub(super) fn pair(&self, [high, low]: [usize; 2]) -> Option<Value> {
        let emit = &self.weaver.emit;
        let wide =
            |number: usize| Some(emit.resize(emit.word(self.values[number]?, 8), emit.int(128)));
        let high = emit.binary(
            LLVMOpcode::LLVMShl,
            wide(high)?,
            emit.constant(emit.int(128), 64),
        );
        Some(emit.binary(LLVMOpcode::LLVMOr, high, wide(low)?))
    }

    pub(super) fn store(
        &mut self,
        address: Value,
        value: Value,
        flags: Flags,
        site: Value,
    ) -> Option<()> {
        let shape = Shape::of(self.weaver.emit, value.ty())?;
        let bytes = self.weaver.emit.stored_bytes(value.ty());
        let flags = flags.of_a_word(bytes, Some(LLVMOpcode::LLVMStore));
        let persistent = self.weaver.emit.in_window(address);
        let (then, otherwise) = split(self.call, persistent);
        self.weaver
            .hooked_store(then, self.call, address, value, shape, flags, site);
        self.weaver.emit.before(otherwise, self.call);
        let native = self.weaver.emit.store(value, address);
        self.weaver.emit.as_unaligned(native, true);
        Some(())
    }

    pub(super) fn load(&mut self, address: Value, ty: Type, site: Value) -> Option<Value> {
        let shape = Shape::of(self.weaver.emit, ty)?;
        let bytes = self.weaver.emit.stored_bytes(ty);
        let flags = Flags::VOLATILE.of_a_word(bytes, Some(LLVMOpcode::LLVMLoad));
        let persistent = self.weaver.emit.in_window(address);
        let (then, otherwise) = split(self.call, persistent);
        let hooked = self
            .weaver
            .hooked_load(then, self.call, address, ty, shape, flags, site);
        self.weaver.emit.before(otherwise, self.call);
        let native = self.weaver.emit.load(ty, address);
        self.weaver.emit.as_unaligned(native, true);
        self.start();
        let phi = self.weaver.emit.phi(ty);
        self.weaver
            .emit
            .incoming(phi, &[(hooked, then.block()), (native, otherwise.block())]);
        Some(phi)
    }
}

/// What computes the new value; `None`: it is the operand.
fn opcode(operation: Rmw) -> Option<LLVMOpcode> {
    Some(match operation {
        Rmw::Add => LLVMOpcode::LLVMAdd,
        Rmw::Subtract => LLVMOpcode::LLVMSub,
        Rmw::And => LLVMOpcode::LLVMAnd,
        Rmw::Or => LLVMOpcode::LLVMOr,
        Rmw::Xor => LLVMOpcode::LLVMXor,
        Rmw::ShiftLeft => LLVMOpcode::LLVMShl,
        Rmw::ShiftRight => LLVMOpcode::LLVMLShr,
        Rmw::ShiftRightSigned => LLVMOpcode::LLVMAShr,
        Rmw::Exchange | Rmw::Negate | Rmw::RotateLeft | Rmw::RotateRight => return None,
    })
}
