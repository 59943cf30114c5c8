//! Instructions that compute: nothing of memory is touched.

use super::machine::{CMachine, CState, Go};
use crate::term::{Op, Term, Terms};
use landfall_ir::{BinaryOp, CastOp, IrRmwOp, Predicate, Type};

impl CMachine<'_> {
    /// `base` and then the indices of `getelementptr`.
    pub(super) fn element(&mut self, base: Term, of: &Type, indices: &[Term]) -> Go<Term> {
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

    pub(super) fn cast(&mut self, op: CastOp, from: Term, width: u8) -> Go<Term> {
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

    pub(super) fn binary(
        &mut self,
        state: &mut CState,
        op: BinaryOp,
        a: Term,
        b: Term,
    ) -> Go<Term> {
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
}

pub(super) fn compare(terms: &mut Terms, predicate: Predicate, a: Term, b: Term) -> Term {
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

pub(super) fn modified(terms: &mut Terms, op: IrRmwOp, old: Term, operand: Term) -> Term {
    let smaller = |terms: &mut Terms, op| terms.binary(op, old, operand);
    match op {
        IrRmwOp::Xchg => operand,
        IrRmwOp::Add => terms.add(old, operand),
        IrRmwOp::Sub => terms.binary(Op::Sub, old, operand),
        IrRmwOp::And => terms.and(old, operand),
        IrRmwOp::Or => terms.or(old, operand),
        IrRmwOp::Xor => terms.binary(Op::Xor, old, operand),
        IrRmwOp::Nand => {
            let both = terms.and(old, operand);
            terms.not(both)
        }
        IrRmwOp::Max | IrRmwOp::Min | IrRmwOp::Umax | IrRmwOp::Umin => {
            let signed = matches!(op, IrRmwOp::Max | IrRmwOp::Min);
            let less = smaller(terms, if signed { Op::Slt } else { Op::Ult });
            match op {
                IrRmwOp::Min | IrRmwOp::Umin => terms.choose(less, old, operand),
                _ => terms.choose(less, operand, old),
            }
        }
    }
}
