//! Replacing an understood inline assembly by hook calls that do the same.

use super::constraints::Constraints;
use super::meaning::{Bit, Condition, Fence, Flush, Meaning, Place, Rmw, Source, condition};
use crate::accesses::{Flags, Shape};
use crate::ir::{Type, Value, split};
use crate::weaver::Weaver;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

/// The processor's flags after the last instruction that set them.
#[derive(Clone, Copy, Default)]
struct ProcessorFlags {
    zero: Option<Value>,
    sign: Option<Value>,
    carry: Option<Value>,
}

impl ProcessorFlags {
    fn get(&self, condition: Condition) -> Option<Value> {
        match condition {
            Condition::Zero => self.zero,
            Condition::Sign => self.sign,
            Condition::Carry => self.carry,
        }
    }
}

pub(super) struct Rewrite<'a, 'm> {
    call: Value,
    constraints: &'a Constraints,
    weaver: &'a mut Weaver<'m>,
    /// What each operand holds, by its canonical number.
    values: Vec<Option<Value>>,
    flags: ProcessorFlags,
}

impl<'a, 'm> Rewrite<'a, 'm> {
    pub(super) fn new(
        call: Value,
        constraints: &'a Constraints,
        weaver: &'a mut Weaver<'m>,
    ) -> Self {
        let mut values = vec![None; constraints.operands.len()];
        for (number, operand) in constraints.operands.iter().enumerate() {
            if let (false, false, Some(argument)) =
                (operand.is_output, operand.indirect, operand.argument)
            {
                values[constraints.canonical(number)] = Some(call.operand(argument));
            }
        }
        Self {
            call,
            constraints,
            weaver,
            values,
            flags: ProcessorFlags::default(),
        }
    }

    /// Whether every step has what it needs: checked first, because half a replacement would be worse than none.
    pub(super) fn is_possible(&self, meanings: &[Meaning]) -> bool {
        let mut known: Vec<bool> = self
            .values
            .iter()
            .map(|value| value.is_some_and(|value| is_word(value.ty())))
            .collect();
        let mut vectors: Vec<bool> = self.values.iter().map(Option::is_some).collect();
        let mut flags = [false; 3];
        let reads = |known: &[bool], source: &Source| match source {
            Source::Operand(number) => known[*number],
            Source::Immediate(_) => true,
        };
        let addressed = |known: &[bool], place: &Place| match place {
            Place::Operand { .. } => true,
            Place::Computed { base, index, .. } => {
                known[*base] && index.is_none_or(|(index, _)| known[index])
            }
            Place::Stack => false,
        };
        for meaning in meanings {
            let fits = match meaning {
                Meaning::Irrelevant => false,
                Meaning::Fence(_) => true,
                Meaning::Flush(_, place) => addressed(&known, place),
                Meaning::Rmw {
                    operation,
                    place,
                    value,
                    ..
                } => {
                    flags = match operation {
                        Rmw::Exchange => flags,
                        _ => [true; 3],
                    };
                    addressed(&known, place)
                        && reads(&known, value)
                        && self.width(meaning).is_some()
                }
                Meaning::Bit { place, number, .. } => {
                    flags = [false, false, true];
                    addressed(&known, place)
                        && reads(&known, number)
                        && self.width(meaning).is_some_and(|bytes| bytes > 1)
                }
                Meaning::CompareExchange {
                    place,
                    desired,
                    accumulator,
                    ..
                } => {
                    flags = [true, false, false];
                    addressed(&known, place)
                        && known[*desired]
                        && known[*accumulator]
                        && self.width(meaning).is_some()
                }
                Meaning::CompareExchangePair {
                    place,
                    expected,
                    desired,
                } => {
                    flags = [true, false, false];
                    addressed(&known, place)
                        && expected.iter().chain(desired).all(|number| known[*number])
                }
                Meaning::Store { place, value, .. } => {
                    let readable = match value {
                        Source::Operand(number) => vectors[*number],
                        Source::Immediate(_) => true,
                    };
                    addressed(&known, place) && readable && self.moved_type(meaning).is_some()
                }
                Meaning::Load { place, into, .. } => {
                    let fits = addressed(&known, place) && self.moved_type(meaning).is_some();
                    known[*into] = true;
                    vectors[*into] = true;
                    fits
                }
                Meaning::Flag {
                    condition, into, ..
                } => {
                    known[*into] = true;
                    flags[*condition as usize]
                }
                Meaning::StoredFlag {
                    condition, place, ..
                } => addressed(&known, place) && flags[*condition as usize],
            };
            if !fits {
                return false;
            }
        }
        self.flag_outputs()
            .all(|(_, flag)| flag.is_some_and(|(condition, _)| flags[condition as usize]))
            && self.constraints.operands.iter().all(|operand| {
                operand.result.is_none_or(|result| {
                    let ty = self.result_type(result);
                    is_word(ty)
                        || meanings
                            .iter()
                            .any(|meaning| matches!(meaning, Meaning::Load { .. }))
                })
            })
    }

    /// Calls the hooks of flushes and fences, and leaves the assembly where it is.
    pub(super) fn announce(mut self, meanings: &[Meaning]) {
        for meaning in meanings {
            self.step(meaning);
        }
    }

    pub(super) fn replace(mut self, meanings: &[Meaning]) {
        for meaning in meanings {
            self.step(meaning);
        }
        self.start();
        let outputs: Vec<(usize, Option<(Condition, bool)>)> = self.flag_outputs().collect();
        for (number, flag) in outputs {
            if let Some((condition, negated)) = flag {
                self.values[number] = self.flag(condition, negated);
            }
        }
        if self.constraints.results > 0 {
            let result = self.result();
            self.call.replace_uses_with(result);
        }
        self.call.erase();
    }

    fn start(&self) {
        self.weaver.emit.before(self.call, self.call);
    }

    /// Outputs that are flags of the processor, such as `{@cce}`.
    fn flag_outputs(&self) -> impl Iterator<Item = (usize, Option<(Condition, bool)>)> {
        self.constraints
            .operands
            .iter()
            .enumerate()
            .filter_map(|(number, operand)| {
                let letters = operand.code.strip_prefix("{@cc")?.strip_suffix('}')?;
                Some((number, condition(letters)))
            })
    }

    fn flag(&self, condition: Condition, negated: bool) -> Option<Value> {
        let flag = self.flags.get(condition)?;
        Some(if negated {
            self.weaver.emit.not(flag)
        } else {
            flag
        })
    }

    fn result_type(&self, result: u32) -> Type {
        let ty = self.call.ty();
        if self.constraints.results > 1 {
            ty.field(result)
        } else {
            ty
        }
    }

    fn result(&self) -> Value {
        let emit = &self.weaver.emit;
        let one = |number: usize, result: u32| {
            let ty = self.result_type(result);
            match self.values[number] {
                Some(value) if value.ty() == ty => value,
                Some(value) if is_word(value.ty()) && is_word(ty) => {
                    emit.from_word(emit.to_word(value, 8), ty)
                }
                // A scratch register nobody wrote to.
                _ => ty.zero(),
            }
        };
        let results = self
            .constraints
            .operands
            .iter()
            .enumerate()
            .filter_map(|(number, operand)| Some((number, operand.result?)));
        if self.constraints.results == 1 {
            return results
                .map(|(number, result)| one(number, result))
                .next()
                .unwrap_or_else(|| self.call.ty().zero());
        }
        results.fold(self.call.ty().poison(), |whole, (number, result)| {
            emit.insert(whole, one(number, result), result)
        })
    }

    /// Bytes an instruction accesses: from its own letter, from its register, from its memory operand.
    fn width(&self, meaning: &Meaning) -> Option<u32> {
        let (bytes, value, place) = match meaning {
            Meaning::Rmw {
                bytes,
                value,
                place,
                ..
            } => (bytes, Some(value.clone()), place),
            Meaning::Bit {
                bytes,
                number,
                place,
                ..
            } => (bytes, Some(number.clone()), place),
            Meaning::CompareExchange {
                bytes,
                desired,
                place,
                ..
            } => (bytes, Some(Source::Operand(*desired)), place),
            _ => return None,
        };
        // A constant may have become an immediate, whose C type says nothing about the width.
        let in_register = match value {
            Some(Source::Operand(number)) => {
                self.values[number].filter(|value| value.constant_int().is_none())
            }
            _ => None,
        };
        let found = match (bytes, in_register) {
            (Some(bytes), _) => u64::from(*bytes),
            (None, Some(value)) => self.weaver.emit.stored_bytes(value.ty()),
            (None, None) => self.weaver.emit.stored_bytes(self.place_type(place)?),
        };
        matches!(found, 1 | 2 | 4 | 8).then_some(found as u32)
    }

    fn place_type(&self, place: &Place) -> Option<Type> {
        let Place::Operand { operand, .. } = place else {
            return None;
        };
        let argument = self.constraints.operands[*operand].argument?;
        self.call
            .argument_attribute_type(argument, self.weaver.vocabulary.element_type)
    }

    /// The type a move stores or loads.
    fn moved_type(&self, meaning: &Meaning) -> Option<Type> {
        let word = |bytes: &Option<u32>| bytes.map(|bytes| self.weaver.emit.bytes(bytes));
        let register = match meaning {
            Meaning::Store {
                value: Source::Operand(number),
                ..
            } => self.values[*number]?.ty(),
            Meaning::Store { bytes, place, .. } => {
                return word(bytes)
                    .or_else(|| self.place_type(place).filter(|ty| ty.int_width().is_some()));
            }
            Meaning::Load { into, .. } => match self.constraints.operands[*into].result {
                Some(result) => self.result_type(result),
                None => self.values[*into]?.ty(),
            },
            _ => return None,
        };
        let (Meaning::Store { bytes, .. } | Meaning::Load { bytes, .. }) = meaning else {
            return None;
        };
        let ty = if is_word(register) {
            word(bytes).unwrap_or(register)
        } else {
            register
        };
        Shape::of(self.weaver.emit, ty).map(|_| ty)
    }

    fn address(&self, place: &Place) -> Option<Value> {
        let emit = &self.weaver.emit;
        let byte = emit.int(8);
        let (base, index, offset) = match place {
            Place::Operand { operand, offset } => (
                self.call
                    .operand(self.constraints.operands[*operand].argument?),
                None,
                *offset,
            ),
            Place::Computed {
                base,
                index,
                offset,
            } => (
                emit.from_word(emit.to_word(self.values[*base]?, 8), emit.pointer()),
                *index,
                *offset,
            ),
            Place::Stack => return None,
        };
        let mut address = base;
        if let Some((index, scale)) = index {
            let distance = emit.to_word(self.values[index]?, 8);
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

    fn word(&self, source: &Source, bytes: u32) -> Option<Value> {
        let emit = &self.weaver.emit;
        match source {
            Source::Operand(number) => Some(emit.to_word(self.values[*number]?, bytes)),
            Source::Immediate(value) => Some(emit.constant_signed(emit.bytes(bytes), *value)),
        }
    }

    /// One instruction. `is_possible` has seen to it that nothing is missing.
    fn step(&mut self, meaning: &Meaning) -> Option<()> {
        self.start();
        let site = self.weaver.sites.of(self.call);
        let void = self.weaver.emit.void();
        match meaning {
            Meaning::Irrelevant => {}
            Meaning::Flush(flush, place) => {
                let hook = match flush {
                    Flush::Clflush => "__lf_clflush",
                    Flush::Clflushopt => "__lf_clflushopt",
                    Flush::Clwb => "__lf_clwb",
                };
                let address = self.address(place)?;
                self.weaver.emit.hook(hook, void, &[address, site]);
            }
            Meaning::Fence(fence) => {
                let hook = match fence {
                    Fence::Store => "__lf_sfence",
                    Fence::Load => "__lf_lfence",
                    Fence::Full => "__lf_mfence",
                };
                self.weaver.emit.hook(hook, void, &[site]);
            }
            Meaning::Rmw {
                operation,
                place,
                value,
                keeps_old,
                ..
            } => {
                let bytes = self.width(meaning)?;
                let (address, value) = (self.address(place)?, self.word(value, bytes)?);
                let old = self.rmw(*operation, bytes, address, value, site);
                if *operation != Rmw::Exchange {
                    self.flags = self.flags_after(*operation, old, value);
                }
                if let Some(into) = keeps_old {
                    self.values[*into] = Some(old);
                }
            }
            Meaning::Bit {
                operation,
                place,
                number,
                ..
            } => self.bit(*operation, place, number, self.width(meaning)?, site)?,
            Meaning::CompareExchange {
                place,
                desired,
                accumulator,
                ..
            } => {
                let bytes = self.width(meaning)?;
                let address = self.address(place)?;
                let expected = self.word(&Source::Operand(*accumulator), bytes)?;
                let desired = self.word(&Source::Operand(*desired), bytes)?;
                let old = self.compare_exchange(bytes, address, expected, desired, site);
                self.values[*accumulator] = Some(old);
            }
            Meaning::CompareExchangePair {
                place,
                expected,
                desired,
            } => {
                let address = self.address(place)?;
                let (expected_word, desired_word) = (self.pair(*expected)?, self.pair(*desired)?);
                let old = self.compare_exchange(16, address, expected_word, desired_word, site);
                let emit = &self.weaver.emit;
                let (wide, half) = (emit.int(128), emit.int(64));
                let high = emit.binary(LLVMOpcode::LLVMLShr, old, emit.constant(wide, 64));
                self.values[expected[0]] = Some(emit.resize(high, half));
                self.values[expected[1]] = Some(emit.resize(old, half));
            }
            Meaning::Store {
                place,
                value,
                nontemporal,
                ..
            } => {
                let ty = self.moved_type(meaning)?;
                let value = match value {
                    Source::Operand(number) if !is_word(ty) => self.values[*number]?,
                    source => {
                        let bytes = self.weaver.emit.stored_bytes(ty) as u32;
                        self.word(source, bytes)?
                    }
                };
                let flags = if *nontemporal {
                    Flags::NONTEMPORAL
                } else {
                    Flags::VOLATILE
                };
                self.store(self.address(place)?, value, flags, site)?;
            }
            Meaning::Load { place, into, .. } => {
                let ty = self.moved_type(meaning)?;
                let value = self.load(self.address(place)?, ty, site)?;
                self.values[*into] = Some(value);
            }
            Meaning::StoredFlag {
                condition,
                negated,
                place,
            } => {
                let flag = self.flag(*condition, *negated)?;
                let byte = self.weaver.emit.resize(flag, self.weaver.emit.int(8));
                self.store(self.address(place)?, byte, Flags::VOLATILE, site)?;
            }
            Meaning::Flag {
                condition,
                negated,
                into,
            } => self.values[*into] = self.flag(*condition, *negated),
        }
        Some(())
    }

    fn rmw(
        &mut self,
        operation: Rmw,
        bytes: u32,
        address: Value,
        value: Value,
        site: Value,
    ) -> Value {
        // LLVM's numbering, which the hooks use.
        let number = match operation {
            Rmw::Exchange => 0,
            Rmw::Add => 1,
            Rmw::Subtract => 2,
            Rmw::And => 3,
            Rmw::Or => 5,
            Rmw::Xor => 6,
        };
        let emit = &mut self.weaver.emit;
        let (number, flags, word) = (
            emit.u32(number),
            Flags::SEQUENTIAL.word(emit),
            emit.bytes(bytes),
        );
        emit.hook(
            &format!("__lf_rmw{bytes}"),
            word,
            &[address, value, number, flags, site],
        )
    }

    fn flags_after(&self, operation: Rmw, old: Value, value: Value) -> ProcessorFlags {
        let emit = &self.weaver.emit;
        let opcode = match operation {
            Rmw::Add => LLVMOpcode::LLVMAdd,
            Rmw::Subtract => LLVMOpcode::LLVMSub,
            Rmw::And => LLVMOpcode::LLVMAnd,
            Rmw::Or => LLVMOpcode::LLVMOr,
            Rmw::Xor => LLVMOpcode::LLVMXor,
            Rmw::Exchange => return self.flags,
        };
        let new = emit.binary(opcode, old, value);
        let zero = old.ty().zero();
        let carry = match operation {
            Rmw::Add => emit.compare(LLVMIntPredicate::LLVMIntULT, new, old),
            Rmw::Subtract => emit.compare(LLVMIntPredicate::LLVMIntULT, old, value),
            _ => emit.int(1).zero(),
        };
        ProcessorFlags {
            zero: Some(emit.compare(LLVMIntPredicate::LLVMIntEQ, new, zero)),
            sign: Some(emit.compare(LLVMIntPredicate::LLVMIntSLT, new, zero)),
            carry: Some(carry),
        }
    }

    /// The bit number reaches beyond the word the operand names: memory is one long string of bits here.
    fn bit(
        &mut self,
        operation: Bit,
        place: &Place,
        number: &Source,
        bytes: u32,
        site: Value,
    ) -> Option<()> {
        let start = self.address(place)?;
        let emit = &self.weaver.emit;
        let (word, wide) = (emit.bytes(bytes), emit.int(64));
        let bits = u64::from(bytes) * 8;
        let (address, position) = match number {
            Source::Immediate(number) => (start, emit.constant(word, *number as u64 & (bits - 1))),
            Source::Operand(operand) => {
                let number = self.values[*operand]?;
                let narrow = number.ty().int_width().is_some_and(|width| width < 64);
                let number = if narrow {
                    emit.cast(LLVMOpcode::LLVMSExt, number, wide)
                } else {
                    emit.to_word(number, 8)
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
        let old = self.rmw(operation, bytes, address, value, site);
        let emit = &self.weaver.emit;
        let before = emit.binary(LLVMOpcode::LLVMAnd, old, mask);
        let carry = emit.compare(LLVMIntPredicate::LLVMIntNE, before, word.zero());
        self.flags = ProcessorFlags {
            carry: Some(carry),
            ..ProcessorFlags::default()
        };
        Some(())
    }

    fn compare_exchange(
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

    /// Two 64-bit registers, high half first, as one value.
    fn pair(&self, [high, low]: [usize; 2]) -> Option<Value> {
        let emit = &self.weaver.emit;
        let wide =
            |number: usize| Some(emit.resize(emit.to_word(self.values[number]?, 8), emit.int(128)));
        let high = emit.binary(
            LLVMOpcode::LLVMShl,
            wide(high)?,
            emit.constant(emit.int(128), 64),
        );
        Some(emit.binary(LLVMOpcode::LLVMOr, high, wide(low)?))
    }

    fn store(&mut self, address: Value, value: Value, flags: Flags, site: Value) -> Option<()> {
        let shape = Shape::of(self.weaver.emit, value.ty())?;
        let persistent = self.weaver.emit.in_window(address);
        let (then, otherwise) = split(self.call, persistent);
        self.weaver
            .hooked_store(then, self.call, address, value, shape, flags, site);
        self.weaver.emit.before(otherwise, self.call);
        let native = self.weaver.emit.store(value, address);
        self.weaver.emit.as_unaligned(native, true);
        Some(())
    }

    fn load(&mut self, address: Value, ty: Type, site: Value) -> Option<Value> {
        let shape = Shape::of(self.weaver.emit, ty)?;
        let persistent = self.weaver.emit.in_window(address);
        let (then, otherwise) = split(self.call, persistent);
        let hooked =
            self.weaver
                .hooked_load(then, self.call, address, ty, shape, Flags::VOLATILE, site);
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

/// Values that fit a general register and convert to and from integers.
fn is_word(ty: Type) -> bool {
    ty.is_pointer() || ty.int_width().is_some_and(|width| width <= 64)
}
