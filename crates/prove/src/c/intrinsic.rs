//! LLVM's own functions.

use super::library::LibraryAnswer;
use super::machine::{CMachine, CValue, Go};
use crate::term::Op;

impl CMachine<'_> {
    pub(super) fn intrinsic(&mut self, name: &str, values: &[CValue]) -> Go<LibraryAnswer> {
        let rest = &name["llvm.".len()..];
        let word = rest.split('.').next().unwrap_or_default();
        let terms = |m: &mut Self, op, a, b| m.program.terms.binary(op, a, b);
        match word {
            "expect" => {
                let value = self.number(values, 0)?;
                return self.answers(value);
            }
            "umax" | "umin" | "smax" | "smin" => {
                let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
                let op = if word.starts_with('u') {
                    Op::Ult
                } else {
                    Op::Slt
                };
                let less = terms(self, op, a, b);
                let chosen = match word.ends_with("max") {
                    true => self.program.terms.choose(less, b, a),
                    false => self.program.terms.choose(less, a, b),
                };
                return self.answers(chosen);
            }
            "abs" => {
                let a = self.number(values, 0)?;
                let zero = self.program.terms.constant(self.program.terms.width(a), 0);
                let below = terms(self, Op::Slt, a, zero);
                let opposite = self.program.terms.negate(a);
                let size = self.program.terms.choose(below, opposite, a);
                return self.answers(size);
            }
            "uadd" | "usub" | "umul" | "sadd" | "ssub" | "smul"
                if rest.contains("with.overflow") =>
            {
                return self.with_overflow(word, values);
            }
            "objectsize" => return self.gives(64, u64::MAX),
            _ => {}
        }
        Ok(LibraryAnswer::Unknown)
    }

    /// In twice the width, where it fits.
    pub(super) fn with_overflow(&mut self, word: &str, values: &[CValue]) -> Go<LibraryAnswer> {
        let (a, b) = (self.number(values, 0)?, self.number(values, 1)?);
        let width = self.program.terms.width(a);
        if width > 32 {
            let unsigned = word.starts_with('u');
            let terms = &mut self.program.terms;
            let (result, over) = match (word, unsigned) {
                ("uadd", _) => {
                    let sum = terms.add(a, b);
                    (sum, terms.binary(Op::Ult, sum, a))
                }
                ("usub", _) => {
                    let rest = terms.binary(Op::Sub, a, b);
                    (rest, terms.binary(Op::Ult, a, b))
                }
                _ => return self.refuse("an overflow check of 64 bits is not modelled"),
            };
            self.answer = Some(CValue::Many(vec![CValue::Int(result), CValue::Int(over)]));
            return Ok(LibraryAnswer::Done);
        }
        let terms = &mut self.program.terms;
        let wide = |terms: &mut crate::term::Terms, t| match word.starts_with('u') {
            true => terms.zext(t, 2 * width),
            false => terms.sext(t, 2 * width),
        };
        let (wa, wb) = (wide(terms, a), wide(terms, b));
        let op = match &word[1..] {
            "add" => Op::Add,
            "sub" => Op::Sub,
            _ => Op::Mul,
        };
        let whole = terms.binary(op, wa, wb);
        let result = terms.extract(whole, 0, width);
        let back = wide(terms, result);
        let over = terms.ne(back, whole);
        self.answer = Some(CValue::Many(vec![CValue::Int(result), CValue::Int(over)]));
        Ok(LibraryAnswer::Done)
    }
}
