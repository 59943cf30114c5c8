//! Operands and constants: what an instruction names, as terms.

use super::machine::{CMachine, CODE, CState, CValue, Go};
use super::run::Frame;
use crate::term::Term;
use landfall_ir::{Constant, IrOperand, Type, Typed};

impl CMachine<'_> {
    pub(super) fn size_of(&self, of: &Type) -> Go<u64> {
        match self.layout().size(of) {
            Some(size) => Ok(size),
            None => self.refuse("a type whose size is not known"),
        }
    }

    /// Bits of a value that fits a register.
    pub(super) fn width_of(&self, of: &Type) -> Go<u8> {
        match self.layout().resolve(of) {
            Type::Pointer => Ok(64),
            Type::Int(bits @ 1..=64) => Ok(*bits as u8),
            Type::Int(bits) => self.refuse(format!("integers of {bits} bits are not modelled")),
            Type::Float(_) => self.refuse("floating point is not modelled"),
            Type::Vector(..) => self.refuse("vector instructions are not modelled"),
            _ => self.refuse("a value that is no integer and no pointer"),
        }
    }

    pub(super) fn typed(&mut self, frame: &Frame, typed: &Typed) -> Go<CValue> {
        self.operand(frame, &typed.value, &typed.of)
    }

    pub(super) fn typed_integer(&mut self, frame: &Frame, typed: &Typed) -> Go<Term> {
        match self.operand(frame, &typed.value, &typed.of)? {
            CValue::Int(term) => Ok(term),
            CValue::Many(_) if self.wide_bits(&typed.of).is_some() => {
                self.refuse("a number of more than 64 bits is not modelled here")
            }
            CValue::Many(_) => self.refuse("a struct where a number is needed"),
        }
    }

    /// An operand whose width the instruction says.
    pub(super) fn integer(&mut self, frame: &Frame, operand: &IrOperand, width: u8) -> Go<Term> {
        let of = match width {
            64 => Type::Pointer,
            other => Type::Int(other.into()),
        };
        match self.operand(frame, operand, &of)? {
            CValue::Int(term) if self.program.terms.width(term) == width => Ok(term),
            _ => self.refuse("a value of an unexpected shape"),
        }
    }

    pub(super) fn operand(&mut self, frame: &Frame, operand: &IrOperand, of: &Type) -> Go<CValue> {
        match operand {
            IrOperand::Reg(register) => match frame.registers.get(register.0 as usize) {
                Some(Some(value)) => Ok(value.clone()),
                _ => self.zero(of), // never set on this way: undefined, and unused
            },
            IrOperand::Constant(constant) => self.constant(constant, of),
        }
    }

    pub(super) fn zero(&mut self, of: &Type) -> Go<CValue> {
        let layout = self.layout();
        Ok(match layout.resolve(of) {
            Type::Array(count, of) => CValue::Many(vec![self.zero(of)?; *count as usize]),
            Type::Struct { fields, .. } => {
                let mut all = Vec::new();
                for field in fields {
                    all.push(self.zero(field)?);
                }
                CValue::Many(all)
            }
            &Type::Int(bits @ 65..=128) => self.wide_constant(0, bits),
            other => {
                let width = self.width_of(other)?;
                CValue::Int(self.program.terms.constant(width, 0))
            }
        })
    }

    pub(super) fn constant(&mut self, constant: &Constant, of: &Type) -> Go<CValue> {
        Ok(match constant {
            Constant::Int(value) if self.wide_bits(of).is_some() => {
                let bits = self.wide_bits(of).unwrap_or(128);
                self.wide_constant(*value, bits)
            }
            Constant::Int(value) => {
                let width = self.width_of(of)?;
                CValue::Int(self.program.terms.constant(width, *value as u64))
            }
            Constant::Null | Constant::Undef | Constant::Zero => self.zero(of)?,
            Constant::Global(name) => {
                let address = self.address(name)?;
                CValue::Int(self.program.terms.constant(64, address))
            }
            Constant::Aggregate(parts) => {
                let mut all = Vec::new();
                for (of, part) in parts {
                    all.push(self.constant(part, of)?);
                }
                CValue::Many(all)
            }
            Constant::Gep { of, base, indices } => {
                let CValue::Int(base) = self.constant(base, &Type::Pointer)? else {
                    return self.refuse("a constant that is no address");
                };
                let mut values = Vec::new();
                for (of, index) in indices {
                    if let CValue::Int(index) = self.constant(index, of)? {
                        values.push(index);
                    }
                }
                CValue::Int(self.element(base, of, &values)?)
            }
            Constant::Cast { op, value, to } => {
                let CValue::Int(from) = self.constant(&value.1, &value.0)? else {
                    return self.refuse("a constant that is no number");
                };
                let width = self.width_of(to)?;
                CValue::Int(self.cast(*op, from, width)?)
            }
            Constant::Binary { op, operands } => {
                let a = self.constant(&operands[0].1, &operands[0].0)?;
                let b = self.constant(&operands[1].1, &operands[1].0)?;
                let (CValue::Int(a), CValue::Int(b)) = (a, b) else {
                    return self.refuse("a constant that is no number");
                };
                let truth = self.program.terms.truth(true);
                let mut nowhere = CState {
                    condition: truth,
                    memory: Default::default(),
                };
                CValue::Int(self.binary(&mut nowhere, *op, a, b)?)
            }
            Constant::Bytes(_) => return self.refuse("a string where a number is needed"),
            Constant::Other(_) => return self.refuse("floating point is not modelled"),
        })
    }

    /// The address of a global or a function.
    pub(super) fn address(&mut self, name: &str) -> Go<u64> {
        let name = self.module.aliases.get(name).map_or(name, String::as_str);
        if let Some(&at) = self.globals.get(name) {
            return Ok(at);
        }
        let number = match self.functions.iter().position(|f| f == name) {
            Some(known) => known,
            None => {
                self.functions.push(name.to_owned());
                self.functions.len() - 1
            }
        };
        Ok(CODE + 16 * number as u64)
    }
}
