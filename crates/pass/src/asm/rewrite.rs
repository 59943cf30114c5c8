//! Replacing an understood inline assembly by hook calls that do the same.

use super::constraints::Constraints;
use super::meaning::{AsmFence, AsmSource, Condition, Flush, Meaning, Rmw};
use super::operands::condition;
use crate::accesses::Flags;
use crate::ir::{Type, Value};
use crate::weaver::Weaver;
use llvm_sys::LLVMOpcode;

/// The processor's flags after the last instruction that set them.
#[derive(Clone, Copy, Default)]
pub(super) struct ProcessorFlags {
    pub(super) zero: Option<Value>,
    pub(super) sign: Option<Value>,
    pub(super) carry: Option<Value>,
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
    pub(super) call: Value,
    pub(super) constraints: &'a Constraints,
    pub(super) weaver: &'a mut Weaver<'m>,
    /// What each operand holds, by its canonical number.
    pub(super) values: Vec<Option<Value>>,
    pub(super) flags: ProcessorFlags,
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

    pub(super) fn start(&self) {
        self.weaver.emit.before(self.call, self.call);
    }

    /// Outputs that are flags of the processor, such as `{@cce}`.
    pub(super) fn flag_outputs(&self) -> impl Iterator<Item = (usize, Option<(Condition, bool)>)> {
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

    pub(super) fn result_type(&self, result: u32) -> Type {
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
                    emit.typed(emit.word(value, 8), ty)
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

    /// One instruction. `is_possible` has seen to it that nothing is missing.
    fn step(&mut self, meaning: &Meaning) -> Option<()> {
        self.start();
        let site = self.weaver.sites.of(self.call);
        let void = self.weaver.emit.void();
        match meaning {
            Meaning::Irrelevant | Meaning::Hint => {}
            Meaning::Copy { value, into, .. } => {
                let bytes = self
                    .weaver
                    .emit
                    .stored_bytes(self.moved_type(meaning, &self.types())?)
                    as u32;
                self.values[*into] = Some(self.word(value, bytes)?);
            }
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
                    AsmFence::Store => "__lf_sfence",
                    AsmFence::Load => "__lf_lfence",
                    AsmFence::Full => "__lf_mfence",
                };
                self.weaver.emit.hook(hook, void, &[site]);
            }
            Meaning::Rmw {
                locked,
                operation,
                place,
                value,
                keeps_old,
                ..
            } => {
                let bytes = self.width(meaning, &self.types())?;
                let (address, value) = (self.address(place)?, self.word(value, bytes)?);
                let old = self.rmw(*locked, *operation, bytes, address, value, site)?;
                if *operation != Rmw::Exchange {
                    self.flags = self.flags_after(*operation, old, value);
                }
                if let Some(into) = keeps_old {
                    self.values[*into] = Some(old);
                }
            }
            Meaning::Bit {
                locked,
                operation,
                place,
                number,
                ..
            } => self.bit(
                *locked,
                *operation,
                place,
                number,
                self.width(meaning, &self.types())?,
                site,
            )?,
            Meaning::CompareExchange {
                locked,
                place,
                desired,
                accumulator,
                ..
            } => {
                let bytes = self.width(meaning, &self.types())?;
                let address = self.address(place)?;
                let expected = self.word(&AsmSource::Operand(*accumulator), bytes)?;
                let desired = self.word(&AsmSource::Operand(*desired), bytes)?;
                let old = match locked {
                    true => self.compare_exchange(bytes, address, expected, desired, site),
                    false => self.compare_and_store(address, expected, desired, site)?,
                };
                self.values[*accumulator] = Some(old);
            }
            Meaning::CompareExchangePair {
                locked,
                place,
                expected,
                desired,
            } => {
                let address = self.address(place)?;
                let (expected_word, desired_word) = (self.pair(*expected)?, self.pair(*desired)?);
                let old = match locked {
                    true => self.compare_exchange(16, address, expected_word, desired_word, site),
                    false => self.compare_and_store(address, expected_word, desired_word, site)?,
                };
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
                let ty = self.moved_type(meaning, &self.types())?;
                let value = match value {
                    AsmSource::Operand(number) if !is_word(ty) => self.values[*number]?,
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
                let ty = self.moved_type(meaning, &self.types())?;
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
}

/// Values that fit a general register and convert to and from integers.
pub(super) fn is_word(ty: Type) -> bool {
    ty.is_pointer() || ty.int_width().is_some_and(|width| width <= 64)
}
