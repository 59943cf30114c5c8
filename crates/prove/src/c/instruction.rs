//! What single instructions do.

use super::access::AccessWay;
use super::arithmetic::{compare, modified};
use super::knowledge::{CallContext, ObjectKind};
use super::machine::{CMachine, CODE, CState, CValue, Go, Stop};
use super::run::Frame;
use crate::program;
use crate::term::Term;
use landfall_ir::{AtomicOrder, Callee, Instruction, Kind, Type};

impl<'m> CMachine<'m> {
    /// One instruction that is not the last of its block; the value of its register.
    pub(super) fn step(
        &mut self,
        frame: &mut Frame,
        instruction: &'m Instruction,
        here: CallContext,
    ) -> Go<Option<CValue>> {
        Ok(Some(match &instruction.kind {
            Kind::Phi { .. } => return Ok(None), // chosen on arrival
            Kind::Alloca { of, count, align } => {
                let each = self.size_of(of)?;
                let count = match count {
                    None => 1,
                    Some(count) => {
                        let count = self.typed_integer(frame, count)?;
                        match self.program.terms.constant_of(count) {
                            Some(count) => count,
                            None => return self.refuse("an array whose length is not a constant"),
                        }
                    }
                };
                let Some(size) = each.checked_mul(count).filter(|&s| s < 1 << 30) else {
                    return self.refuse("a local variable that is too large");
                };
                let at = self.knowledge.create(
                    here,
                    (size, *align),
                    "local",
                    ObjectKind::Local {
                        thread: self.thread,
                    },
                );
                self.allocas.push(at);
                CValue::Int(self.program.terms.constant(64, at))
            }
            Kind::Load { of, from, .. } => {
                let pointer = self.integer(frame, from, 64)?;
                self.load_of(&mut frame.state, pointer, of)?
            }
            Kind::Store {
                value,
                to,
                atomic,
                non_temporal,
            } => {
                let what = self.typed(frame, value)?;
                let pointer = self.integer(frame, to, 64)?;
                // x86 has no such store of a byte, a short or a floating-point number: there the compiler makes an ordinary one.
                let way = match (non_temporal, &value.of) {
                    (true, Type::Int(32 | 64 | 128) | Type::Pointer | Type::Vector(..)) => {
                        AccessWay::NonTemporal
                    }
                    _ => AccessWay::Cached,
                };
                match (atomic, &what) {
                    // As compilers do it on x86: an exchange.
                    (Some(AtomicOrder::Sequential), &CValue::Int(new)) => {
                        let size = self.size_of(&value.of)?;
                        let new = self.widened(new, size);
                        self.rmw(&mut frame.state, pointer, size, &|terms, _| {
                            (terms.truth(true), new)
                        })?;
                    }
                    _ => self.store_of(&mut frame.state, pointer, &value.of, &what, way)?,
                }
                return Ok(None);
            }
            Kind::Gep { of, base, indices } => {
                let base = self.integer(frame, base, 64)?;
                let mut values = Vec::new();
                for index in indices {
                    values.push(self.typed_integer(frame, index)?);
                }
                CValue::Int(self.element(base, of, &values)?)
            }
            Kind::Binary { op, of, a, b } if self.wide_bits(of).is_some() => {
                let bits = self.wide_bits(of).unwrap_or(128);
                let (a, b) = (self.operand(frame, a, of)?, self.operand(frame, b, of)?);
                let (a, b) = (self.as_wide(&a, bits)?, self.as_wide(&b, bits)?);
                self.wide_binary(*op, a, b)?
            }
            Kind::Binary { op, of, a, b } => {
                let width = self.width_of(of)?;
                let (a, b) = (
                    self.integer(frame, a, width)?,
                    self.integer(frame, b, width)?,
                );
                CValue::Int(self.binary(&mut frame.state, *op, a, b)?)
            }
            Kind::Compare {
                predicate,
                of,
                a,
                b,
            } if self.wide_bits(of).is_some() => {
                let bits = self.wide_bits(of).unwrap_or(128);
                let (a, b) = (self.operand(frame, a, of)?, self.operand(frame, b, of)?);
                let (a, b) = (self.as_wide(&a, bits)?, self.as_wide(&b, bits)?);
                CValue::Int(self.wide_compare(*predicate, a, b))
            }
            Kind::Compare {
                predicate,
                of,
                a,
                b,
            } => {
                let width = self.width_of(of)?;
                let (a, b) = (
                    self.integer(frame, a, width)?,
                    self.integer(frame, b, width)?,
                );
                CValue::Int(compare(&mut self.program.terms, *predicate, a, b))
            }
            Kind::Cast { op, value, to }
                if self.wide_bits(to).or(self.wide_bits(&value.of)).is_some() =>
            {
                let bits = |of: &Type| match self.wide_bits(of) {
                    Some(bits) => Ok(bits),
                    None => self.width_of(of).map(u32::from),
                };
                let (from, to) = (bits(&value.of)?, bits(to)?);
                let value = self.typed(frame, value)?;
                self.wide_cast(*op, &value, from, to)?
            }
            Kind::Cast { op, value, to } => {
                let from = self.typed_integer(frame, value)?;
                let width = self.width_of(to)?;
                CValue::Int(self.cast(*op, from, width)?)
            }
            Kind::Select {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.typed_integer(frame, condition)?;
                let (a, b) = (self.typed(frame, then)?, self.typed(frame, otherwise)?);
                match self.choose(condition, &a, &b) {
                    Some(value) => value,
                    None => return self.refuse("a choice between values of two shapes"),
                }
            }
            Kind::Call {
                callee,
                returns,
                arguments,
                ..
            } => {
                let mut values = Vec::new();
                for argument in arguments {
                    let mut value = self.typed(frame, &argument.value)?;
                    if let (Some(of), &CValue::Int(pointer)) = (&argument.by_value, &value) {
                        value = self.copied(&mut frame.state, pointer, of, here)?;
                    }
                    values.push(value);
                }
                let value = match callee {
                    Callee::Function(name) => {
                        self.call(&mut frame.state, name, values, returns, here)?
                    }
                    Callee::Assembly(text, constraints) => {
                        self.assembly(&mut frame.state, text, constraints, &values)?;
                        None
                    }
                    Callee::Pointer(pointer) => {
                        let pointer = self.integer(frame, pointer, 64)?;
                        self.call_pointer(&mut frame.state, pointer, values, returns, here)?
                    }
                };
                return Ok(value);
            }
            Kind::Extract { from, path } => {
                let mut value = self.typed(frame, from)?;
                for &index in path {
                    value = match value {
                        CValue::Many(all) if (index as usize) < all.len() => {
                            all[index as usize].clone()
                        }
                        _ => return self.refuse("a part of a value that has no such part"),
                    };
                }
                value
            }
            Kind::Insert { into, value, path } => {
                let mut whole = self.typed(frame, into)?;
                let part = self.typed(frame, value)?;
                let mut place = &mut whole;
                for &index in path {
                    place = match place {
                        CValue::Many(all) if (index as usize) < all.len() => {
                            &mut all[index as usize]
                        }
                        _ => return self.refuse("a part of a value that has no such part"),
                    };
                }
                *place = part;
                whole
            }
            Kind::Rmw { op, to, value } => {
                let operand = self.typed_integer(frame, value)?;
                let pointer = self.integer(frame, to, 64)?;
                let size = self.size_of(&value.of)?;
                let op = *op;
                CValue::Int(self.rmw(&mut frame.state, pointer, size, &|terms, old| {
                    (terms.truth(true), modified(terms, op, old, operand))
                })?)
            }
            Kind::CompareExchange {
                to,
                expected,
                desired,
            } => {
                let size = self.size_of(&expected.of)?;
                let expected = self.typed_integer(frame, expected)?;
                let desired = self.typed_integer(frame, desired)?;
                let pointer = self.integer(frame, to, 64)?;
                let old = self.rmw(&mut frame.state, pointer, size, &|terms, old| {
                    (terms.eq(old, expected), desired)
                })?;
                let same = self.program.terms.eq(old, expected);
                CValue::Many(vec![CValue::Int(old), CValue::Int(same)])
            }
            Kind::Fence { order } => {
                if *order == AtomicOrder::Sequential {
                    self.fence(&frame.state, program::ProofEventKind::Mfence)?;
                }
                return Ok(None);
            }
            Kind::Freeze { value } => self.typed(frame, value)?,
            Kind::Other(text) => {
                let word = text
                    .split([' ', '('])
                    .skip_while(|word| word.starts_with('%') || *word == "=" || word.is_empty())
                    .find(|word| !matches!(*word, "call" | "tail"))
                    .unwrap_or("?");
                let float = [
                    "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "sitofp", "uitofp",
                    "fptosi", "fptoui", "fpext", "fptrunc",
                ];
                return self.refuse(match float.contains(&word) {
                    true => "floating point is not modelled".to_owned(),
                    false => format!("the compiler's instruction `{word}` is not modelled"),
                });
            }
            Kind::Jump { .. }
            | Kind::Branch { .. }
            | Kind::Switch { .. }
            | Kind::Return { .. }
            | Kind::Unreachable => return Ok(None),
        }))
    }

    pub(super) fn load_of(&mut self, state: &mut CState, pointer: Term, of: &Type) -> Go<CValue> {
        let layout = self.layout();
        let resolved = layout.resolve(of).clone();
        if let Type::Struct { .. } | Type::Array(..) = resolved {
            let count = match &resolved {
                Type::Struct { fields, .. } => fields.len() as u64,
                Type::Array(count, _) => *count,
                _ => 0,
            };
            let mut all = Vec::new();
            for index in 0..count {
                let Some((offset, inner)) = layout.offset(&resolved, index) else {
                    return self.refuse("a field that its struct does not have");
                };
                let offset = self.program.terms.constant(64, offset);
                let at = self.program.terms.add(pointer, offset);
                all.push(self.load_of(state, at, &inner)?);
            }
            return Ok(CValue::Many(all));
        }
        if let Some(bits) = self.wide_bits(&resolved) {
            return self.wide_load(state, pointer, bits);
        }
        let width = self.width_of(&resolved)?;
        let size = self.size_of(&resolved)?;
        let whole = self.load(state, pointer, size)?;
        Ok(CValue::Int(self.program.terms.extract(whole, 0, width)))
    }

    pub(super) fn store_of(
        &mut self,
        state: &mut CState,
        pointer: Term,
        of: &Type,
        value: &CValue,
        way: AccessWay,
    ) -> Go<()> {
        match value {
            CValue::Int(term) => {
                let size = self.size_of(of)?;
                let whole = self.widened(*term, size);
                self.store(state, pointer, whole, way)
            }
            CValue::Many(_) if self.wide_bits(of).is_some() => {
                let bits = self.wide_bits(of).unwrap_or(128);
                let wide = self.as_wide(value, bits)?;
                self.wide_store(state, pointer, wide, way)
            }
            CValue::Many(all) => {
                let layout = self.layout();
                for (index, part) in all.iter().enumerate() {
                    let Some((offset, inner)) = layout.offset(of, index as u64) else {
                        return self.refuse("a field that its struct does not have");
                    };
                    let offset = self.program.terms.constant(64, offset);
                    let at = self.program.terms.add(pointer, offset);
                    self.store_of(state, at, &inner, part, way)?;
                }
                Ok(())
            }
        }
    }

    /// A copy for a function that gets a struct by value.
    fn copied(
        &mut self,
        state: &mut CState,
        pointer: Term,
        of: &Type,
        here: CallContext,
    ) -> Go<CValue> {
        let size = self.size_of(of)?;
        let from = self.knowledge.context(here, (0, u32::MAX), &[]);
        let kind = ObjectKind::Local {
            thread: self.thread,
        };
        let at = self.knowledge.create(from, (size, 16), "argument", kind);
        self.allocas.push(at);
        let to = self.program.terms.constant(64, at);
        self.copy(state, to, pointer, size, AccessWay::Cached)?;
        Ok(CValue::Int(to))
    }

    /// A call through a pointer: one for each function it can be.
    pub(super) fn call_pointer(
        &mut self,
        state: &mut CState,
        pointer: Term,
        values: Vec<CValue>,
        returns: &Type,
        here: CallContext,
    ) -> Go<Option<CValue>> {
        let Some(addresses) = self.domain(pointer) else {
            return self.refuse("which function is called depends on a value that can be anything");
        };
        let mut after: Option<(CState, Option<CValue>)> = None;
        let mut known = self.program.terms.truth(false);
        for &address in &addresses.values {
            let this = self.program.terms.constant(64, address);
            let is = self.program.terms.eq(pointer, this);
            known = self.program.terms.or(known, is);
            let mut way = state.clone();
            if self.assume(&mut way, is).is_err() {
                continue;
            }
            let number = address.checked_sub(CODE).map(|a| (a / 16) as usize);
            let Some(name) = number.and_then(|n| self.functions.get(n)).cloned() else {
                let never = self.program.terms.truth(false);
                self.check(&way, never, "a call of what is no function")?;
                continue;
            };
            let value = match self.call(&mut way, &name, values.clone(), returns, here) {
                Err(Stop::Ended) => continue,
                other => other?,
            };
            after = Some(match after {
                None => (way, value),
                Some(before) => self.meet_returns(before, (way, value)),
            });
        }
        if addresses.open {
            self.check(state, known, "a call of what is no function")?;
        }
        let (met, value) = after.ok_or(Stop::Ended)?;
        *state = met;
        Ok(value)
    }
}
