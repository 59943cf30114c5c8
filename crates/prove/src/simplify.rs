//! Rules that make terms smaller than they were written: what front ends produce (values kept in memory, conditions stored as
//! integers, addresses with offsets) mostly falls apart into constants and plain conditions.

use crate::term::{Node, Op, Term, Terms, mask, signed};

/// How far a choice between constants is followed.
const DEEPEST: u32 = 12;

impl Terms {
    /// A simpler term for the same value; neither operand is a constant, or only one.
    pub(crate) fn simpler_binary(&mut self, op: Op, a: Term, b: Term) -> Option<Term> {
        match (self.constant_of(a), self.constant_of(b)) {
            (_, Some(k)) => self.with_constant(op, a, k),
            (Some(_), None) if matches!(op, Op::Add | Op::Mul | Op::Eq) => {
                self.simpler_binary(op, b, a)
            }
            (Some(k), None) => self.leaves(b, 0).then(|| {
                self.map_leaves(b, &|terms, leaf| {
                    let (width, out) = (terms.width(b), terms.result(op, b));
                    terms.constant(out, op.apply(width, k, leaf))
                })
            }),
            (None, None) => self.of_two(op, a, b),
        }
    }

    fn result(&self, op: Op, a: Term) -> u8 {
        if op.compares() { 1 } else { self.width(a) }
    }

    fn with_constant(&mut self, op: Op, a: Term, k: u64) -> Option<Term> {
        let width = self.width(a);
        if self.leaves(a, 0) {
            let out = self.result(op, a);
            return Some(self.map_leaves(a, &|terms, leaf| {
                terms.constant(out, op.apply(width, leaf, k))
            }));
        }
        match (op, self.node(a)) {
            (Op::Sub, _) => {
                let less = self.constant(width, k.wrapping_neg());
                Some(self.add(a, less))
            }
            (Op::Add, Node::Binary(Op::Add, x, y)) => {
                let (x, inner) = self.constant_part(x, y)?;
                let sum = self.constant(width, inner.wrapping_add(k));
                Some(self.add(x, sum))
            }
            (Op::Eq, Node::Binary(Op::Add, x, y)) => {
                let (x, inner) = self.constant_part(x, y)?;
                let rest = self.constant(width, k.wrapping_sub(inner));
                Some(self.eq(x, rest))
            }
            (Op::Eq, Node::Zext(x)) => {
                let narrow = self.width(x);
                if k > mask(narrow) {
                    return Some(self.truth(false));
                }
                let k = self.constant(narrow, k);
                Some(self.eq(x, k))
            }
            (Op::Eq, Node::Sext(x)) => {
                let narrow = self.width(x);
                if signed(narrow, k & mask(narrow)) as u64 & mask(width) != k {
                    return Some(self.truth(false));
                }
                let k = self.constant(narrow, k);
                Some(self.eq(x, k))
            }
            (Op::Eq, Node::Choose(c, x, y))
                if self.constant_of(x).is_some() || self.constant_of(y).is_some() =>
            {
                let k = self.constant(width, k);
                let (x, y) = (self.eq(x, k), self.eq(y, k));
                Some(self.choose(c, x, y))
            }
            (Op::Eq, Node::Not(x)) => {
                let k = self.constant(width, !k);
                Some(self.eq(x, k))
            }
            // Comparisons of what was widened.
            (Op::Ult | Op::Ule, Node::Zext(x)) if k <= mask(self.width(x)) => {
                let k = self.constant(self.width(x), k);
                Some(self.binary(op, x, k))
            }
            _ => None,
        }
    }

    fn of_two(&mut self, op: Op, a: Term, b: Term) -> Option<Term> {
        match (op, self.node(a), self.node(b)) {
            (Op::Eq, Node::Zext(x), Node::Zext(y)) | (Op::Eq, Node::Sext(x), Node::Sext(y))
                if self.width(x) == self.width(y) =>
            {
                Some(self.eq(x, y))
            }
            (Op::Or, _, _) if self.width(a) == 1 => {
                let not = self.not(b);
                (a == not).then(|| self.truth(true))
            }
            _ => None,
        }
    }

    /// Of `x + k` or `k + x`: the two.
    fn constant_part(&self, x: Term, y: Term) -> Option<(Term, u64)> {
        match (self.constant_of(x), self.constant_of(y)) {
            (_, Some(k)) => Some((x, k)),
            (Some(k), _) => Some((y, k)),
            _ => None,
        }
    }

    /// Is it a choice between constants?
    fn leaves(&self, term: Term, depth: u32) -> bool {
        match self.node(term) {
            Node::Const(_) => depth > 0,
            Node::Choose(_, x, y) if depth < DEEPEST => {
                self.leaves(x, depth + 1) && self.leaves(y, depth + 1)
            }
            _ => false,
        }
    }

    fn map_leaves(&mut self, term: Term, to: &dyn Fn(&mut Terms, u64) -> Term) -> Term {
        match self.node(term) {
            Node::Choose(c, x, y) => {
                let (x, y) = (self.map_leaves(x, to), self.map_leaves(y, to));
                self.choose(c, x, y)
            }
            Node::Const(k) => to(self, k),
            _ => term,
        }
    }

    pub(crate) fn simpler_choice(&mut self, c: Term, a: Term, b: Term) -> Option<Term> {
        if let Node::Not(inner) = self.node(c) {
            return Some(self.choose(inner, b, a));
        }
        match (self.node(a), self.node(b)) {
            (Node::Choose(d, x, _), _) if d == c => Some(self.choose(c, x, b)),
            (_, Node::Choose(d, _, y)) if d == c => Some(self.choose(c, a, y)),
            _ => None,
        }
    }

    pub(crate) fn simpler_zext(&mut self, a: Term, width: u8) -> Option<Term> {
        if let Node::Zext(inner) = self.node(a) {
            return Some(self.zext(inner, width));
        }
        self.leaves(a, 0)
            .then(|| self.map_leaves(a, &|terms, k| terms.constant(width, k)))
    }

    pub(crate) fn simpler_sext(&mut self, a: Term, width: u8) -> Option<Term> {
        let old = self.width(a);
        self.leaves(a, 0)
            .then(|| self.map_leaves(a, &|terms, k| terms.constant(width, signed(old, k) as u64)))
    }

    pub(crate) fn simpler_extract(&mut self, a: Term, low: u8, width: u8) -> Option<Term> {
        if self.leaves(a, 0) {
            return Some(self.map_leaves(a, &|terms, k| terms.constant(width, k >> low)));
        }
        match self.node(a) {
            Node::Extract(inner, from) => Some(self.extract(inner, from + low, width)),
            Node::Zext(inner) => {
                let old = self.width(inner);
                if low >= old {
                    Some(self.constant(width, 0))
                } else if low + width <= old {
                    Some(self.extract(inner, low, width))
                } else {
                    let rest = self.extract(inner, low, old - low);
                    Some(self.zext(rest, width))
                }
            }
            Node::Sext(inner) if low + width <= self.width(inner) => {
                Some(self.extract(inner, low, width))
            }
            Node::Binary(Op::Shl, inner, by) => {
                let by = self.constant_of(by)?;
                if u64::from(low) >= by {
                    Some(self.extract(inner, low - by as u8, width))
                } else {
                    (u64::from(low + width) <= by).then(|| self.constant(width, 0))
                }
            }
            Node::Choose(c, x, y) => {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                Some(self.choose(c, x, y))
            }
            Node::Binary(op @ (Op::Or | Op::And | Op::Xor), x, y) => {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                Some(self.binary(op, x, y))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of a term under an assignment to its inputs, without simplification on the way.
    fn value(terms: &Terms, term: Term, inputs: &[(Term, u64)]) -> u64 {
        if let Some((_, v)) = inputs.iter().find(|(t, _)| *t == term) {
            return *v;
        }
        terms
            .apply(term, |t| value(terms, t, inputs))
            .expect("inputs are given")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        /// A random term, built with simplification, has the value that its construction says.
        #[test]
        fn simplified_terms_have_the_same_value(steps in prop::collection::vec((0u8..12, any::<u8>(), any::<u8>(), any::<u8>()), 1..25), x in any::<u8>(), y in any::<u8>(), c in any::<bool>()) {
            let mut terms = Terms::default();
            let (tx, ty, tc) = (terms.input(8), terms.input(8), terms.input(1));
            let inputs = [(tx, u64::from(x)), (ty, u64::from(y)), (tc, u64::from(c))];
            let (mut bytes, mut bits) = (vec![(tx, u64::from(x)), (ty, u64::from(y))], vec![(tc, u64::from(c))]);
            for (kind, p, q, r) in steps {
                let a = bytes[usize::from(p) % bytes.len()];
                let b = bytes[usize::from(q) % bytes.len()];
                let d = bits[usize::from(r) % bits.len()];
                let e = bits[usize::from(p) % bits.len()];
                let k = (terms.constant(8, q.into()), u64::from(q));
                let ops = [Op::Add, Op::Sub, Op::And, Op::Or, Op::Xor, Op::Mul, Op::Shl, Op::Lshr];
                let tests = [Op::Eq, Op::Ult, Op::Ule, Op::Slt, Op::Sle];
                let op = ops[usize::from(r) % ops.len()];
                let test = tests[usize::from(r) % tests.len()];
                match kind {
                    0 => bytes.push((terms.binary(op, a.0, b.0), op.apply(8, a.1, b.1))),
                    1 => bytes.push((terms.binary(op, a.0, k.0), op.apply(8, a.1, k.1))),
                    2 => bytes.push((terms.choose(d.0, a.0, b.0), if d.1 == 1 { a.1 } else { b.1 })),
                    3 => bytes.push((terms.choose(d.0, a.0, k.0), if d.1 == 1 { a.1 } else { k.1 })),
                    4 => bytes.push((terms.zext(d.0, 8), d.1)),
                    5 => {
                        let wide = terms.zext(a.0, 24);
                        let by = terms.constant(24, u64::from(q % 20));
                        let up = terms.binary(Op::Shl, wide, by);
                        let low = r % 16;
                        bytes.push((terms.extract(up, low, 8), (a.1 << (q % 20) & 0xff_ffff) >> low & 0xff));
                    }
                    6 => {
                        let wide = terms.sext(a.0, 16);
                        bytes.push((terms.extract(wide, r % 9, 8), (signed(8, a.1) as u64 & 0xffff) >> (r % 9) & 0xff));
                    }
                    7 => bits.push((terms.binary(test, a.0, b.0), test.apply(8, a.1, b.1))),
                    8 => bits.push((terms.binary(test, a.0, k.0), test.apply(8, a.1, k.1))),
                    9 => bits.push((terms.not(d.0), 1 - d.1)),
                    10 => bits.push((terms.and(d.0, e.0), d.1 & e.1)),
                    _ => bits.push((terms.or(d.0, e.0), d.1 | e.1)),
                }
            }
            for (term, expected) in bytes.into_iter().chain(bits) {
                prop_assert_eq!(value(&terms, term, &inputs), expected);
            }
        }
    }
}
