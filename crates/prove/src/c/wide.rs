//! Integers of 65 to 128 bits: two words, the lower one first.

use super::access::AccessWay;
use super::machine::{CMachine, CState, CValue, Go};
use crate::term::{Op, Term, Terms, mask};
use landfall_ir::{BinaryOp, CastOp, Predicate, Type};

/// Its lower and its upper word; what lies above its width is 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    low: Term,
    high: Term,
    bits: u32,
}

impl Wide {
    pub(super) fn value(self) -> CValue {
        CValue::Many(vec![CValue::Int(self.low), CValue::Int(self.high)])
    }
}

fn word(terms: &mut Terms, value: u64) -> Term {
    terms.constant(64, value)
}

/// The upper word of a product of two words.
fn upper_product(terms: &mut Terms, a: Term, b: Term) -> Term {
    let half = |terms: &mut Terms, of, upper: bool| {
        let half = terms.extract(of, if upper { 32 } else { 0 }, 32);
        terms.zext(half, 64)
    };
    let [al, ah] = [half(terms, a, false), half(terms, a, true)];
    let [bl, bh] = [half(terms, b, false), half(terms, b, true)];
    let mul = |terms: &mut Terms, x, y| terms.binary(Op::Mul, x, y);
    let (ll, lh) = (mul(terms, al, bl), mul(terms, al, bh));
    let (hl, hh) = (mul(terms, ah, bl), mul(terms, ah, bh));
    let (carried, low) = (half(terms, ll, true), half(terms, lh, false));
    let middle = terms.add(carried, low);
    let low = half(terms, hl, false);
    let middle = terms.add(middle, low);
    let parts = [
        half(terms, middle, true),
        half(terms, lh, true),
        half(terms, hl, true),
    ];
    parts.into_iter().fold(hh, |sum, part| terms.add(sum, part))
}

impl CMachine<'_> {
    /// The bits of a type that needs two words.
    pub(super) fn wide_bits(&self, of: &Type) -> Option<u32> {
        match self.layout().resolve(of) {
            Type::Int(bits @ 65..=128) => Some(*bits),
            _ => None,
        }
    }

    pub(super) fn wide_constant(&mut self, value: i128, bits: u32) -> CValue {
        let terms = &mut self.program.terms;
        let (low, high) = (
            word(terms, value as u64),
            word(terms, (value >> 64) as u64 & mask(bits as u8 - 64)),
        );
        Wide { low, high, bits }.value()
    }

    pub(super) fn as_wide(&self, value: &CValue, bits: u32) -> Go<Wide> {
        match value {
            CValue::Many(words) => match words.as_slice() {
                &[CValue::Int(low), CValue::Int(high)] => Ok(Wide { low, high, bits }),
                _ => self.refuse("a value of an unexpected shape"),
            },
            CValue::Int(_) => self.refuse("a value of an unexpected shape"),
        }
    }

    /// Without what lies above its width.
    fn fitted(&mut self, low: Term, high: Term, bits: u32) -> CValue {
        let rest = word(&mut self.program.terms, mask(bits as u8 - 64));
        let high = self.program.terms.and(high, rest);
        Wide { low, high, bits }.value()
    }

    pub(super) fn wide_load(&mut self, state: &mut CState, at: Term, bits: u32) -> Go<CValue> {
        let low = self.load(state, at, 8)?;
        let next = word(&mut self.program.terms, 8);
        let next = self.program.terms.add(at, next);
        let high = self.load(state, next, 8)?;
        Ok(self.fitted(low, high, bits))
    }

    pub(super) fn wide_store(
        &mut self,
        state: &mut CState,
        at: Term,
        value: Wide,
        way: AccessWay,
    ) -> Go<()> {
        self.store(state, at, value.low, way)?;
        let next = word(&mut self.program.terms, 8);
        let next = self.program.terms.add(at, next);
        self.store(state, next, value.high, way)
    }

    pub(super) fn wide_binary(&mut self, op: BinaryOp, a: Wide, b: Wide) -> Go<CValue> {
        let terms = &mut self.program.terms;
        let (low, high) = match op {
            BinaryOp::Add => {
                let low = terms.add(a.low, b.low);
                let carry = terms.binary(Op::Ult, low, a.low);
                let (carry, high) = (terms.zext(carry, 64), terms.add(a.high, b.high));
                (low, terms.add(high, carry))
            }
            BinaryOp::Sub => {
                let low = terms.binary(Op::Sub, a.low, b.low);
                let borrow = terms.binary(Op::Ult, a.low, b.low);
                let borrow = terms.zext(borrow, 64);
                let high = terms.binary(Op::Sub, a.high, b.high);
                (low, terms.binary(Op::Sub, high, borrow))
            }
            BinaryOp::Mul => {
                let low = terms.binary(Op::Mul, a.low, b.low);
                let high = upper_product(terms, a.low, b.low);
                let (x, y) = (
                    terms.binary(Op::Mul, a.low, b.high),
                    terms.binary(Op::Mul, a.high, b.low),
                );
                let cross = terms.add(x, y);
                (low, terms.add(high, cross))
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let op = match op {
                    BinaryOp::And => Op::And,
                    BinaryOp::Or => Op::Or,
                    _ => Op::Xor,
                };
                (
                    terms.binary(op, a.low, b.low),
                    terms.binary(op, a.high, b.high),
                )
            }
            BinaryOp::Shl | BinaryOp::Lshr | BinaryOp::Ashr => {
                let (by, above) = (terms.constant_of(b.low), terms.constant_of(b.high));
                let (Some(by @ 0..=127), Some(0)) = (by, above) else {
                    return self.refuse(
                        "a shift of more than 64 bits by what is not a constant is not modelled",
                    );
                };
                return Ok(self.shifted(op, a, by as u32));
            }
            BinaryOp::Udiv | BinaryOp::Sdiv | BinaryOp::Urem | BinaryOp::Srem => {
                return self.refuse("a division of more than 64 bits is not modelled");
            }
        };
        Ok(self.fitted(low, high, a.bits))
    }

    fn shifted(&mut self, op: BinaryOp, a: Wide, by: u32) -> CValue {
        let bits = a.bits;
        if op == BinaryOp::Shl {
            let terms = &mut self.program.terms;
            let part = |terms: &mut Terms, of, op, by: u32| match by {
                64.. => word(terms, 0),
                by => {
                    let by = word(terms, by.into());
                    terms.binary(op, of, by)
                }
            };
            let low = part(terms, a.low, Op::Shl, by);
            let own = part(terms, a.high, Op::Shl, by);
            let from_below = match by {
                0..64 => part(terms, a.low, Op::Lshr, 64 - by),
                by => part(terms, a.low, Op::Shl, by - 64),
            };
            let high = terms.or(own, from_below);
            return self.fitted(low, high, bits);
        }
        // With the sign, or zeros, above its width.
        let high = match op {
            BinaryOp::Ashr => self.extended(a.high, bits),
            _ => a.high,
        };
        let terms = &mut self.program.terms;
        let kind = if op == BinaryOp::Ashr {
            Op::Ashr
        } else {
            Op::Lshr
        };
        let down = |terms: &mut Terms, of, op, by: u32| {
            let by = word(terms, by.into());
            terms.binary(op, of, by)
        };
        let above = match kind {
            Op::Ashr => down(terms, high, Op::Ashr, 63),
            _ => word(terms, 0),
        };
        let (low, high) = match by {
            0 => (a.low, high),
            by @ 1..64 => {
                let low = down(terms, a.low, Op::Lshr, by);
                let from_above = down(terms, high, Op::Shl, 64 - by);
                (terms.or(low, from_above), down(terms, high, kind, by))
            }
            by => (down(terms, high, kind, by - 64), above),
        };
        self.fitted(low, high, bits)
    }

    /// The upper word with its sign in all bits above.
    fn extended(&mut self, high: Term, bits: u32) -> Term {
        let terms = &mut self.program.terms;
        let own = terms.extract(high, 0, (bits - 64) as u8);
        terms.sext(own, 64)
    }

    pub(super) fn wide_compare(&mut self, predicate: Predicate, a: Wide, b: Wide) -> Term {
        use Predicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let (x, y, op, strict) = match predicate {
            Eq | Ne => {
                let terms = &mut self.program.terms;
                let (low, high) = (terms.eq(a.low, b.low), terms.eq(a.high, b.high));
                let same = terms.and(low, high);
                return if predicate == Eq {
                    same
                } else {
                    terms.not(same)
                };
            }
            Ult => (a, b, Op::Ult, true),
            Ule => (a, b, Op::Ult, false),
            Ugt => (b, a, Op::Ult, true),
            Uge => (b, a, Op::Ult, false),
            Slt => (a, b, Op::Slt, true),
            Sle => (a, b, Op::Slt, false),
            Sgt => (b, a, Op::Slt, true),
            Sge => (b, a, Op::Slt, false),
        };
        let (xh, yh) = match op {
            Op::Slt => (self.extended(x.high, x.bits), self.extended(y.high, y.bits)),
            _ => (x.high, y.high),
        };
        let terms = &mut self.program.terms;
        let low = terms.binary(if strict { Op::Ult } else { Op::Ule }, x.low, y.low);
        let (same, less) = (terms.eq(xh, yh), terms.binary(op, xh, yh));
        let by_low = terms.and(same, low);
        terms.or(less, by_low)
    }

    /// Conversions that begin or end with more than 64 bits; `from` and `to` are the widths.
    pub(super) fn wide_cast(
        &mut self,
        op: CastOp,
        value: &CValue,
        from: u32,
        to: u32,
    ) -> Go<CValue> {
        let (low, high) = match (value, from) {
            (CValue::Int(narrow), 1..=64) => {
                let terms = &mut self.program.terms;
                match op {
                    CastOp::Sext => {
                        let low = terms.sext(*narrow, 64);
                        let by = word(terms, 63);
                        (low, terms.binary(Op::Ashr, low, by))
                    }
                    _ => (terms.zext(*narrow, 64), word(terms, 0)),
                }
            }
            _ => {
                let wide = self.as_wide(value, from)?;
                match op {
                    CastOp::Sext => (wide.low, self.extended(wide.high, from)),
                    _ => (wide.low, wide.high),
                }
            }
        };
        Ok(match to {
            0..=64 => CValue::Int(self.program.terms.extract(low, 0, to as u8)),
            to => self.fitted(low, high, to),
        })
    }
}
