//! Whether an inline assembly can be replaced, and how wide its accesses are.

use super::meaning::{AsmPlace, AsmSource, Condition, Meaning, Rmw};
use super::rewrite::{Rewrite, is_word};
use crate::accesses::Shape;
use crate::ir::Type;

/// What each operand holds, step by step, before anything is built.
struct Rehearsal<'r, 'a, 'm> {
    rewrite: &'r Rewrite<'a, 'm>,
    types: Vec<Option<Type>>,
    /// Which flags of the processor are known: zero, sign, carry.
    flags: [bool; 3],
}

impl Rehearsal<'_, '_, '_> {
    fn holds_word(&self, operand: usize) -> bool {
        self.types[operand].is_some_and(is_word)
    }

    fn holds_words(&self, operands: &[usize]) -> bool {
        operands.iter().all(|operand| self.holds_word(*operand))
    }

    fn reads(&self, source: &AsmSource) -> bool {
        match source {
            AsmSource::Operand(operand) => self.holds_word(*operand),
            AsmSource::Immediate(_) => true,
        }
    }

    fn reaches(&self, place: &AsmPlace) -> bool {
        match place {
            AsmPlace::Operand { .. } => true,
            AsmPlace::Computed { base, index, .. } => {
                self.holds_word(*base) && index.is_none_or(|(index, _)| self.holds_word(index))
            }
            AsmPlace::Stack => false,
        }
    }

    fn knows(&self, condition: Condition) -> bool {
        self.flags[condition as usize]
    }

    /// Whether this step has what it needs; if so, what it leaves behind is noted.
    fn step(&mut self, meaning: &Meaning) -> Option<()> {
        let needs = |met: bool| met.then_some(());
        let word = |bytes| self.rewrite.weaver.emit.bytes(bytes);
        match meaning {
            Meaning::Irrelevant => None,
            Meaning::Hint | Meaning::Fence(_) => Some(()),
            Meaning::Flush(_, place) => needs(self.reaches(place)),
            Meaning::Copy { value, into, .. } => {
                needs(self.reads(value))?;
                self.types[*into] = Some(self.rewrite.moved_type(meaning, &self.types)?);
                Some(())
            }
            Meaning::Rmw {
                operation,
                place,
                value,
                keeps_old,
                ..
            } => {
                needs(self.reaches(place) && self.reads(value))?;
                let ty = word(self.rewrite.width(meaning, &self.types)?);
                match operation {
                    Rmw::Exchange => {}
                    Rmw::ShiftLeft | Rmw::ShiftRight | Rmw::ShiftRightSigned => {
                        self.flags = [true, true, false];
                    }
                    // Which leave the others as they are.
                    Rmw::RotateLeft | Rmw::RotateRight => self.flags[2] = false,
                    _ => self.flags = [true; 3],
                }
                if let Some(into) = keeps_old {
                    self.types[*into] = Some(ty);
                }
                Some(())
            }
            Meaning::Bit { place, number, .. } => {
                needs(self.reaches(place) && self.reads(number))?;
                needs(self.rewrite.width(meaning, &self.types)? > 1)?;
                self.flags = [false, false, true];
                Some(())
            }
            Meaning::CompareExchange {
                place,
                desired,
                accumulator,
                ..
            } => {
                needs(self.reaches(place) && self.holds_words(&[*desired, *accumulator]))?;
                self.types[*accumulator] = Some(word(self.rewrite.width(meaning, &self.types)?));
                self.flags = [true, false, false];
                Some(())
            }
            Meaning::CompareExchangePair {
                place,
                expected,
                desired,
                ..
            } => {
                needs(
                    self.reaches(place) && self.holds_words(expected) && self.holds_words(desired),
                )?;
                for half in expected {
                    self.types[*half] = Some(word(8));
                }
                self.flags = [true, false, false];
                Some(())
            }
            Meaning::Store { place, .. } => {
                needs(self.reaches(place))?;
                self.rewrite.moved_type(meaning, &self.types).map(|_| ())
            }
            Meaning::Load { place, into, .. } => {
                needs(self.reaches(place))?;
                self.types[*into] = Some(self.rewrite.moved_type(meaning, &self.types)?);
                Some(())
            }
            Meaning::Flag {
                condition, into, ..
            } => {
                self.types[*into] = Some(self.rewrite.weaver.emit.int(1));
                needs(self.knows(*condition))
            }
            Meaning::StoredFlag {
                condition, place, ..
            } => needs(self.reaches(place) && self.knows(*condition)),
        }
    }
}

impl Rewrite<'_, '_> {
    /// Whether every step has what it needs: checked first, because half a replacement would be worse than none.
    pub(super) fn is_possible(&self, meanings: &[Meaning]) -> bool {
        let mut rehearsal = Rehearsal {
            rewrite: self,
            types: self.types(),
            flags: [false; 3],
        };
        if !meanings
            .iter()
            .all(|meaning| rehearsal.step(meaning).is_some())
        {
            return false;
        }
        let flags_known = |flag: Option<(Condition, bool)>| {
            flag.is_some_and(|(condition, _)| rehearsal.knows(condition))
        };
        if !self.flag_outputs().all(|(_, flag)| flags_known(flag)) {
            return false;
        }
        // What comes out must be what went in or was computed: a register nobody wrote to is zero, which is as good as
        // anything for a number, but not for other types.
        self.constraints
            .operands
            .iter()
            .enumerate()
            .all(|(number, operand)| {
                operand.result.is_none_or(|result| {
                    let ty = self.result_type(result);
                    rehearsal.types[number] == Some(ty)
                        || (is_word(ty) && rehearsal.types[number].is_none_or(is_word))
                })
            })
    }

    /// Whether all its flushes have an address that is known before the assembly runs: an output may be written to by the
    /// instructions that are not followed.
    pub(super) fn is_announceable(&self, meanings: &[Meaning]) -> bool {
        let is_input = |number: usize| {
            let operand = &self.constraints.operands[number];
            !operand.is_output && self.values[number].is_some_and(|value| is_word(value.ty()))
        };
        meanings.iter().all(|meaning| match meaning {
            Meaning::Flush(_, AsmPlace::Computed { base, index, .. }) => {
                is_input(*base) && index.is_none_or(|(index, _)| is_input(index))
            }
            Meaning::Flush(_, place) => *place != AsmPlace::Stack,
            _ => true,
        })
    }

    pub(super) fn types(&self) -> Vec<Option<Type>> {
        self.values
            .iter()
            .map(|value| value.map(|value| value.ty()))
            .collect()
    }

    /// Bytes an instruction accesses: from its own letter, from its register, from its memory operand.
    pub(super) fn width(&self, meaning: &Meaning, types: &[Option<Type>]) -> Option<u32> {
        let (bytes, value, place) = match meaning {
            Meaning::Rmw {
                bytes,
                value,
                place,
                ..
            } => (bytes, value.clone(), place),
            Meaning::Bit {
                bytes,
                number,
                place,
                ..
            } => (bytes, number.clone(), place),
            Meaning::CompareExchange {
                bytes,
                desired,
                place,
                ..
            } => (bytes, AsmSource::Operand(*desired), place),
            _ => return None,
        };
        // A constant may have become an immediate, whose C type says nothing about the width.
        let is_constant = |operand: usize| {
            self.values[operand].is_some_and(|value| value.constant_int().is_some())
        };
        let in_register = match value {
            AsmSource::Operand(operand) if !is_constant(operand) => types[operand],
            _ => None,
        };
        let found = match bytes {
            Some(bytes) => u64::from(*bytes),
            None => self
                .weaver
                .emit
                .stored_bytes(in_register.or_else(|| self.place_type(place))?),
        };
        matches!(found, 1 | 2 | 4 | 8).then_some(found as u32)
    }

    fn place_type(&self, place: &AsmPlace) -> Option<Type> {
        let AsmPlace::Operand { operand, .. } = place else {
            return None;
        };
        let argument = self.constraints.operands[*operand].argument?;
        self.call
            .argument_attribute_type(argument, self.weaver.vocabulary.element_type)
    }

    /// The type a move stores, loads or copies.
    pub(super) fn moved_type(&self, meaning: &Meaning, types: &[Option<Type>]) -> Option<Type> {
        let (bytes, register) = match meaning {
            Meaning::Store {
                bytes,
                value: AsmSource::Operand(operand),
                ..
            } => (bytes, Some(types[*operand]?)),
            Meaning::Store { bytes, place, .. } => (
                bytes,
                self.place_type(place).filter(|ty| ty.int_width().is_some()),
            ),
            Meaning::Copy {
                bytes,
                value: AsmSource::Operand(operand),
                ..
            } => (bytes, types[*operand]),
            Meaning::Load { bytes, into, .. } | Meaning::Copy { bytes, into, .. } => {
                let result = self.constraints.operands[*into]
                    .result
                    .map(|result| self.result_type(result));
                (bytes, result.or(types[*into]))
            }
            _ => return None,
        };
        let emit = &self.weaver.emit;
        let written = bytes.map(|bytes| match bytes {
            1..=8 => emit.bytes(bytes),
            _ => emit.vector(emit.int(8), bytes),
        });
        let ty = match register {
            // A vector has the type of its register; the name of the instruction says nothing about it.
            Some(register) if !is_word(register) => register,
            _ => written.or(register)?,
        };
        Shape::of(emit, ty).map(|_| ty)
    }
}
