//! Whether an inline assembly can be replaced, and how wide its accesses are.

use super::meaning::{Meaning, Place, Rmw, Source};
use super::rewrite::{Rewrite, is_word};
use crate::accesses::Shape;
use crate::ir::Type;

impl Rewrite<'_, '_> {
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

    /// Bytes an instruction accesses: from its own letter, from its register, from its memory operand.
    pub(super) fn width(&self, meaning: &Meaning) -> Option<u32> {
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

    pub(super) fn place_type(&self, place: &Place) -> Option<Type> {
        let Place::Operand { operand, .. } = place else {
            return None;
        };
        let argument = self.constraints.operands[*operand].argument?;
        self.call
            .argument_attribute_type(argument, self.weaver.vocabulary.element_type)
    }

    /// The type a move stores or loads.
    pub(super) fn moved_type(&self, meaning: &Meaning) -> Option<Type> {
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
}
