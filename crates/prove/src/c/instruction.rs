//! What single instructions do.

use super::access::Way;
use super::knowledge::Context;
use super::machine::{CODE, Go, Machine, State, Stop, Value};
use super::run::Frame;
use crate::program;
use crate::term::{Op, Term, Terms};
use landfall_ir::{
    AtomicOrder, BinaryOp, Callee, CastOp, Constant, Instruction, Kind, Operand, Predicate, RmwOp,
    Type, Typed,
};

impl<'m> Machine<'m> {
    /// One instruction that is not the last of its block; the value of its register.
    pub(super) fn step(
        &mut self,
        frame: &mut Frame,
        instruction: &'m Instruction,
        here: Context,
    ) -> Go<Option<Value>> {
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
                let at = self.knowledge.create(here, (size, *align), "local", false);
                self.allocas.push(at);
                Value::Int(self.program.terms.constant(64, at))
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
                let way = match non_temporal {
                    true => Way::NonTemporal,
                    false => Way::Cached,
                };
                match (atomic, &what) {
                    // As compilers do it on x86: an exchange.
                    (Some(AtomicOrder::Sequential), &Value::Int(new)) => {
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
                Value::Int(self.element(base, of, &values)?)
            }
            Kind::Binary { op, of, a, b } => {
                let width = self.width_of(of)?;
                let (a, b) = (
                    self.integer(frame, a, width)?,
                    self.integer(frame, b, width)?,
                );
                Value::Int(self.binary(&mut frame.state, *op, a, b)?)
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
                Value::Int(compare(&mut self.program.terms, *predicate, a, b))
            }
            Kind::Cast { op, value, to } => {
                let from = self.typed_integer(frame, value)?;
                let width = self.width_of(to)?;
                Value::Int(self.cast(*op, from, width)?)
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
                    if let (Some(of), &Value::Int(pointer)) = (&argument.by_value, &value) {
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
                        Value::Many(all) if (index as usize) < all.len() => {
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
                        Value::Many(all) if (index as usize) < all.len() => {
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
                Value::Int(self.rmw(&mut frame.state, pointer, size, &|terms, old| {
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
                Value::Many(vec![Value::Int(old), Value::Int(same)])
            }
            Kind::Fence { order } => {
                if *order == AtomicOrder::Sequential {
                    self.fence(&frame.state, program::Kind::Mfence)?;
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

    pub(super) fn typed(&mut self, frame: &Frame, typed: &Typed) -> Go<Value> {
        self.operand(frame, &typed.value, &typed.of)
    }

    pub(super) fn typed_integer(&mut self, frame: &Frame, typed: &Typed) -> Go<Term> {
        match self.operand(frame, &typed.value, &typed.of)? {
            Value::Int(term) => Ok(term),
            Value::Many(_) => self.refuse("a struct where a number is needed"),
        }
    }

    /// An operand whose width the instruction says.
    pub(super) fn integer(&mut self, frame: &Frame, operand: &Operand, width: u8) -> Go<Term> {
        let of = match width {
            64 => Type::Pointer,
            other => Type::Int(other.into()),
        };
        match self.operand(frame, operand, &of)? {
            Value::Int(term) if self.program.terms.width(term) == width => Ok(term),
            _ => self.refuse("a value of an unexpected shape"),
        }
    }

    pub(super) fn operand(&mut self, frame: &Frame, operand: &Operand, of: &Type) -> Go<Value> {
        match operand {
            Operand::Reg(register) => match frame.registers.get(register.0 as usize) {
                Some(Some(value)) => Ok(value.clone()),
                _ => self.zero(of), // never set on this way: undefined, and unused
            },
            Operand::Constant(constant) => self.constant(constant, of),
        }
    }

    fn zero(&mut self, of: &Type) -> Go<Value> {
        let layout = self.layout();
        Ok(match layout.resolve(of) {
            Type::Array(count, of) => Value::Many(vec![self.zero(of)?; *count as usize]),
            Type::Struct { fields, .. } => {
                let mut all = Vec::new();
                for field in fields {
                    all.push(self.zero(field)?);
                }
                Value::Many(all)
            }
            other => {
                let width = self.width_of(other)?;
                Value::Int(self.program.terms.constant(width, 0))
            }
        })
    }

    pub(super) fn constant(&mut self, constant: &Constant, of: &Type) -> Go<Value> {
        Ok(match constant {
            Constant::Int(value) => {
                let width = self.width_of(of)?;
                Value::Int(self.program.terms.constant(width, *value))
            }
            Constant::Null | Constant::Undef | Constant::Zero => self.zero(of)?,
            Constant::Global(name) => {
                let address = self.address(name)?;
                Value::Int(self.program.terms.constant(64, address))
            }
            Constant::Aggregate(parts) => {
                let mut all = Vec::new();
                for (of, part) in parts {
                    all.push(self.constant(part, of)?);
                }
                Value::Many(all)
            }
            Constant::Gep { of, base, indices } => {
                let Value::Int(base) = self.constant(base, &Type::Pointer)? else {
                    return self.refuse("a constant that is no address");
                };
                let mut values = Vec::new();
                for (of, index) in indices {
                    if let Value::Int(index) = self.constant(index, of)? {
                        values.push(index);
                    }
                }
                Value::Int(self.element(base, of, &values)?)
            }
            Constant::Cast { op, value, to } => {
                let Value::Int(from) = self.constant(&value.1, &value.0)? else {
                    return self.refuse("a constant that is no number");
                };
                let width = self.width_of(to)?;
                Value::Int(self.cast(*op, from, width)?)
            }
            Constant::Binary { op, operands } => {
                let a = self.constant(&operands[0].1, &operands[0].0)?;
                let b = self.constant(&operands[1].1, &operands[1].0)?;
                let (Value::Int(a), Value::Int(b)) = (a, b) else {
                    return self.refuse("a constant that is no number");
                };
                let truth = self.program.terms.truth(true);
                let mut nowhere = State {
                    condition: truth,
                    memory: Default::default(),
                };
                Value::Int(self.binary(&mut nowhere, *op, a, b)?)
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

    /// `base` and then the indices of `getelementptr`.
    fn element(&mut self, base: Term, of: &Type, indices: &[Term]) -> Go<Term> {
        let mut at = base;
        let mut of = of.clone();
        for (number, &index) in indices.iter().enumerate() {
            let layout = self.layout();
            let is_struct = number > 0 && matches!(layout.resolve(&of), Type::Struct { .. });
            if is_struct {
                let Some(field) = self.program.terms.constant_of(index) else {
                    return self.refuse("a field that is not a constant");
                };
                let Some((offset, inner)) = layout.offset(&of, field) else {
                    return self.refuse("a field that its struct does not have");
                };
                let offset = self.program.terms.constant(64, offset);
                at = self.program.terms.add(at, offset);
                of = inner;
                continue;
            }
            if number > 0 {
                let Some((_, inner)) = layout.offset(&of, 0) else {
                    return self.refuse("an element of what has no elements");
                };
                of = inner;
            }
            let size = self.size_of(&of)?;
            let terms = &mut self.program.terms;
            let index = match terms.width(index) {
                64 => index,
                _ => terms.sext(index, 64),
            };
            let size = terms.constant(64, size);
            let offset = terms.binary(Op::Mul, index, size);
            at = terms.add(at, offset);
        }
        Ok(at)
    }

    fn cast(&mut self, op: CastOp, from: Term, width: u8) -> Go<Term> {
        let terms = &mut self.program.terms;
        let old = terms.width(from);
        Ok(match op {
            CastOp::Trunc if width <= old => terms.extract(from, 0, width),
            CastOp::Zext if width >= old => terms.zext(from, width),
            CastOp::Sext if width >= old => terms.sext(from, width),
            // Pointers and integers of other sizes.
            CastOp::Same if width < old => terms.extract(from, 0, width),
            CastOp::Same => terms.zext(from, width),
            _ => return self.refuse("a conversion in the wrong direction"),
        })
    }

    fn binary(&mut self, state: &mut State, op: BinaryOp, a: Term, b: Term) -> Go<Term> {
        if self.program.terms.width(a) != self.program.terms.width(b) {
            return self.refuse("numbers of two widths");
        }
        if matches!(
            op,
            BinaryOp::Udiv | BinaryOp::Sdiv | BinaryOp::Urem | BinaryOp::Srem
        ) {
            let zero = self.program.terms.constant(self.program.terms.width(b), 0);
            let holds = self.program.terms.ne(b, zero);
            self.check(state, holds, "division by zero")?;
            self.assume(state, holds)?;
        }
        let terms = &mut self.program.terms;
        let op = match op {
            BinaryOp::Sdiv => return Ok(terms.signed_divide(a, b)),
            BinaryOp::Srem => return Ok(terms.signed_remainder(a, b)),
            BinaryOp::Add => Op::Add,
            BinaryOp::Sub => Op::Sub,
            BinaryOp::Mul => Op::Mul,
            BinaryOp::Udiv => Op::Udiv,
            BinaryOp::Urem => Op::Urem,
            BinaryOp::Shl => Op::Shl,
            BinaryOp::Lshr => Op::Lshr,
            BinaryOp::Ashr => Op::Ashr,
            BinaryOp::And => Op::And,
            BinaryOp::Or => Op::Or,
            BinaryOp::Xor => Op::Xor,
        };
        Ok(terms.binary(op, a, b))
    }

    /// Memory has whole bytes.
    pub(super) fn widened(&mut self, value: Term, size: u64) -> Term {
        self.program.terms.zext(value, (size * 8) as u8)
    }

    pub(super) fn load_of(&mut self, state: &mut State, pointer: Term, of: &Type) -> Go<Value> {
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
            return Ok(Value::Many(all));
        }
        let width = self.width_of(&resolved)?;
        let size = self.size_of(&resolved)?;
        let whole = self.load(state, pointer, size)?;
        Ok(Value::Int(self.program.terms.extract(whole, 0, width)))
    }

    pub(super) fn store_of(
        &mut self,
        state: &mut State,
        pointer: Term,
        of: &Type,
        value: &Value,
        way: Way,
    ) -> Go<()> {
        match value {
            Value::Int(term) => {
                let size = self.size_of(of)?;
                let whole = self.widened(*term, size);
                self.store(state, pointer, whole, way)
            }
            Value::Many(all) => {
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
    fn copied(&mut self, state: &mut State, pointer: Term, of: &Type, here: Context) -> Go<Value> {
        let size = self.size_of(of)?;
        let from = self.knowledge.context(here, (0, u32::MAX), &[]);
        let at = self.knowledge.create(from, (size, 16), "argument", false);
        let to = self.program.terms.constant(64, at);
        self.copy(state, to, pointer, size, Way::Cached)?;
        Ok(Value::Int(to))
    }

    /// A call through a pointer: one for each function it can be.
    fn call_pointer(
        &mut self,
        state: &mut State,
        pointer: Term,
        values: Vec<Value>,
        returns: &Type,
        here: Context,
    ) -> Go<Option<Value>> {
        let Some(addresses) = self.domain(pointer) else {
            return self.refuse("which function is called depends on a value that can be anything");
        };
        let mut after: Option<(State, Option<Value>)> = None;
        for &address in addresses.iter() {
            let this = self.program.terms.constant(64, address);
            let is = self.program.terms.eq(pointer, this);
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
        let (met, value) = after.ok_or(Stop::Ended)?;
        *state = met;
        Ok(value)
    }

    /// Gives every global a place and its first content.
    pub(super) fn make_globals(&mut self, context: Context) -> Go<()> {
        let module = self.module;
        let mut all = Vec::new();
        for (number, global) in module.globals.iter().enumerate() {
            if global.name.starts_with("llvm.") {
                continue;
            }
            let Some(size) = self.layout().size(&global.of) else {
                continue;
            };
            // The same object before and after a failure: only its content is new.
            let here = self
                .knowledge
                .context(Context(0), (u32::MAX, number as u32), &[]);
            let at = self
                .knowledge
                .create(here, (size, global.align), &global.name, false);
            self.globals.insert(global.name.clone(), at);
            all.push((global, at, size));
        }
        let _ = context;
        for (global, at, size) in all {
            if size > 1 << 24 {
                continue;
            }
            let mut bytes = vec![0; size as usize];
            if let Some(initial) = &global.initial {
                self.lay_out(&mut bytes, 0, initial, &global.of)?;
            }
            while bytes.last() == Some(&0) {
                bytes.pop();
            }
            if let Some(object) = self.knowledge.objects.get_mut(&at) {
                object.initial = bytes;
            }
        }
        Ok(())
    }

    fn lay_out(&mut self, bytes: &mut [u8], at: u64, constant: &Constant, of: &Type) -> Go<()> {
        match constant {
            Constant::Zero | Constant::Undef | Constant::Null => {}
            Constant::Other(_) => {} // a number nobody can read without being refused
            Constant::Bytes(text) => {
                for (number, byte) in text.iter().enumerate() {
                    if let Some(place) = bytes.get_mut(at as usize + number) {
                        *place = *byte;
                    }
                }
            }
            Constant::Aggregate(parts) => {
                for (index, (part_of, part)) in parts.iter().enumerate() {
                    if let Some((offset, _)) = self.layout().offset(of, index as u64) {
                        self.lay_out(bytes, at + offset, part, part_of)?;
                    }
                }
            }
            single => {
                let size = self.size_of(of)?;
                if let Value::Int(term) = self.constant(single, of)?
                    && let Some(value) = self.program.terms.constant_of(term)
                {
                    for number in 0..size.min(8) {
                        if let Some(place) = bytes.get_mut((at + number) as usize) {
                            *place = (value >> (8 * number)) as u8;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn compare(terms: &mut Terms, predicate: Predicate, a: Term, b: Term) -> Term {
    match predicate {
        Predicate::Eq => terms.eq(a, b),
        Predicate::Ne => terms.ne(a, b),
        Predicate::Ult => terms.binary(Op::Ult, a, b),
        Predicate::Ule => terms.binary(Op::Ule, a, b),
        Predicate::Ugt => terms.binary(Op::Ult, b, a),
        Predicate::Uge => terms.binary(Op::Ule, b, a),
        Predicate::Slt => terms.binary(Op::Slt, a, b),
        Predicate::Sle => terms.binary(Op::Sle, a, b),
        Predicate::Sgt => terms.binary(Op::Slt, b, a),
        Predicate::Sge => terms.binary(Op::Sle, b, a),
    }
}

fn modified(terms: &mut Terms, op: RmwOp, old: Term, operand: Term) -> Term {
    let smaller = |terms: &mut Terms, op| terms.binary(op, old, operand);
    match op {
        RmwOp::Xchg => operand,
        RmwOp::Add => terms.add(old, operand),
        RmwOp::Sub => terms.binary(Op::Sub, old, operand),
        RmwOp::And => terms.and(old, operand),
        RmwOp::Or => terms.or(old, operand),
        RmwOp::Xor => terms.binary(Op::Xor, old, operand),
        RmwOp::Nand => {
            let both = terms.and(old, operand);
            terms.not(both)
        }
        RmwOp::Max | RmwOp::Min | RmwOp::Umax | RmwOp::Umin => {
            let signed = matches!(op, RmwOp::Max | RmwOp::Min);
            let less = smaller(terms, if signed { Op::Slt } else { Op::Ult });
            match op {
                RmwOp::Min | RmwOp::Umin => terms.choose(less, old, operand),
                _ => terms.choose(less, operand, old),
            }
        }
    }
}
