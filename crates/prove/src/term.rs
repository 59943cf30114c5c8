//! Values as terms: what a program computes from what it reads, over bit-vectors of 1 to 64 bits.
//!
//! Terms are shared and simplified when they are made. A truth value is a term of width 1.

use crate::program::{GuardedEventId, LocId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A term, by its place in [`Terms`]. Operands come before what uses them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term(pub(crate) u32);

impl Term {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    /// Division by zero gives all ones, as in SMT-LIB; the remainder is then the dividend.
    Udiv,
    Urem,
    And,
    Or,
    Xor,
    /// Shifts by the width or more give zero, or copies of the sign.
    Shl,
    Lshr,
    Ashr,
    /// Comparisons have width 1.
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

impl Op {
    pub fn compares(self) -> bool {
        matches!(self, Op::Eq | Op::Ult | Op::Ule | Op::Slt | Op::Sle)
    }

    /// Do the low bits of the result depend on the low bits of the operands alone?
    pub(crate) fn works_upwards(self) -> bool {
        matches!(
            self,
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor
        )
    }

    fn commutes(self) -> bool {
        matches!(
            self,
            Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Eq
        )
    }

    /// On operands of this width, already within it.
    pub fn apply(self, width: u8, a: u64, b: u64) -> u64 {
        let (sa, sb) = (signed(width, a), signed(width, b));
        let out = match self {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            Op::Udiv => a.checked_div(b).unwrap_or(u64::MAX),
            Op::Urem => a.checked_rem(b).unwrap_or(a),
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Shl if b >= width.into() => 0,
            Op::Shl => a << b,
            Op::Lshr if b >= width.into() => 0,
            Op::Lshr => a >> b,
            Op::Ashr => (sa >> b.min(63)) as u64,
            Op::Eq => u64::from(a == b),
            Op::Ult => u64::from(a < b),
            Op::Ule => u64::from(a <= b),
            Op::Slt => u64::from(sa < sb),
            Op::Sle => u64::from(sa <= sb),
        };
        if self.compares() {
            out
        } else {
            out & mask(width)
        }
    }
}

pub fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width))
}

pub fn signed(width: u8, value: u64) -> i64 {
    let spare = 64 - u32::from(width);
    ((value << spare) as i64) >> spare
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Const(u64),
    /// Any value: a nondeterministic input.
    Input(u32),
    /// What an event read.
    Loaded(GuardedEventId),
    /// What a location holds when the power is back.
    Recovered(LocId),
    /// What a location holds when all threads have ended, with no failure.
    Final(LocId),
    Not(Term),
    Binary(Op, Term, Term),
    Choose(Term, Term, Term),
    Zext(Term),
    Sext(Term),
    /// From this bit upwards.
    Extract(Term, u8),
}

#[derive(Clone, Debug, Default)]
pub struct Terms {
    nodes: Vec<Node>,
    widths: Vec<u8>,
    index: FxHashMap<(Node, u8), Term>,
    /// Of conditions that are conjunctions: what they are made of, sorted. One conjunction is one term, however it was put together.
    parts: FxHashMap<Term, Arc<[Term]>>,
    wholes: FxHashMap<Arc<[Term]>, Term>,
    inputs: u32,
}

impl Terms {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn node(&self, term: Term) -> Node {
        self.nodes[term.index()]
    }

    pub fn width(&self, term: Term) -> u8 {
        self.widths[term.index()]
    }

    /// The term of a node, if anybody made it.
    pub fn find(&self, node: Node, width: u8) -> Option<Term> {
        self.index.get(&(node, width)).copied()
    }

    pub fn constant_of(&self, term: Term) -> Option<u64> {
        match self.node(term) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    fn make(&mut self, node: Node, width: u8) -> Term {
        assert!((1..=64).contains(&width), "a term has 1 to 64 bits");
        if let Some(&known) = self.index.get(&(node, width)) {
            return known;
        }
        let term = Term(self.nodes.len() as u32);
        self.nodes.push(node);
        self.widths.push(width);
        self.index.insert((node, width), term);
        term
    }

    pub fn constant(&mut self, width: u8, value: u64) -> Term {
        self.make(Node::Const(value & mask(width)), width)
    }

    pub fn truth(&mut self, value: bool) -> Term {
        self.constant(1, u64::from(value))
    }

    /// A value of its own that nothing decides.
    pub fn input(&mut self, width: u8) -> Term {
        self.inputs += 1;
        self.make(Node::Input(self.inputs), width)
    }

    pub(crate) fn loaded(&mut self, event: GuardedEventId, width: u8) -> Term {
        self.make(Node::Loaded(event), width)
    }

    pub(crate) fn recovered(&mut self, loc: LocId, width: u8) -> Term {
        self.make(Node::Recovered(loc), width)
    }

    pub(crate) fn at_the_end(&mut self, loc: LocId, width: u8) -> Term {
        self.make(Node::Final(loc), width)
    }

    pub fn not(&mut self, a: Term) -> Term {
        match self.node(a) {
            Node::Const(value) => self.constant(self.width(a), !value),
            Node::Not(inner) => inner,
            _ => self.make(Node::Not(a), self.width(a)),
        }
    }

    pub fn binary(&mut self, op: Op, a: Term, b: Term) -> Term {
        let width = self.width(a);
        assert_eq!(width, self.width(b), "operands of one width");
        let out = if op.compares() { 1 } else { width };
        let (ca, cb) = (self.constant_of(a), self.constant_of(b));
        if let (Some(x), Some(y)) = (ca, cb) {
            return self.constant(out, op.apply(width, x, y));
        }
        let ones = mask(width);
        match (op, ca, cb) {
            (Op::Add | Op::Or | Op::Xor, Some(0), _) => return b,
            (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::Lshr | Op::Ashr, _, Some(0)) => {
                return a;
            }
            (Op::And | Op::Mul, Some(0), _) | (Op::And | Op::Mul, _, Some(0)) => {
                return self.constant(width, 0);
            }
            (Op::And, Some(x), _) if x == ones => return b,
            (Op::And, _, Some(y)) if y == ones => return a,
            (Op::Or, Some(x), _) | (Op::Or, _, Some(x)) if x == ones => {
                return self.constant(width, ones);
            }
            (Op::Mul, Some(1), _) => return b,
            (Op::Mul | Op::Udiv, _, Some(1)) => return a,
            (Op::Eq, Some(1), _) if width == 1 => return b,
            (Op::Eq, _, Some(1)) if width == 1 => return a,
            (Op::Eq, Some(0), _) if width == 1 => return self.not(b),
            (Op::Eq, _, Some(0)) if width == 1 => return self.not(a),
            _ => {}
        }
        if a == b {
            match op {
                Op::And | Op::Or => return a,
                Op::Xor | Op::Sub | Op::Ult | Op::Slt => return self.constant(out, 0),
                Op::Eq | Op::Ule | Op::Sle => return self.truth(true),
                _ => {}
            }
        }
        if width == 1 && (self.node(a) == Node::Not(b) || self.node(b) == Node::Not(a)) {
            match op {
                Op::And | Op::Eq => return self.truth(false),
                Op::Or | Op::Xor => return self.truth(true),
                _ => {}
            }
        }
        if let Some(simpler) = self.simpler_binary(op, a, b) {
            return simpler;
        }
        if op == Op::And && width == 1 {
            return self.both(a, b);
        }
        let (a, b) = if op.commutes() {
            (a.min(b), a.max(b))
        } else {
            (a, b)
        };
        self.make(Node::Binary(op, a, b), out)
    }

    pub fn add(&mut self, a: Term, b: Term) -> Term {
        self.binary(Op::Add, a, b)
    }

    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.binary(Op::And, a, b)
    }

    pub fn or(&mut self, a: Term, b: Term) -> Term {
        self.binary(Op::Or, a, b)
    }

    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        self.binary(Op::Eq, a, b)
    }

    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let not = self.not(a);
        self.or(not, b)
    }

    pub fn negate(&mut self, a: Term) -> Term {
        let zero = self.constant(self.width(a), 0);
        self.binary(Op::Sub, zero, a)
    }

    /// Signed division, rounding towards zero, as C has it.
    pub fn signed_divide(&mut self, a: Term, b: Term) -> Term {
        let (size_a, below_a) = self.magnitude(a);
        let (size_b, below_b) = self.magnitude(b);
        let quotient = self.binary(Op::Udiv, size_a, size_b);
        let opposite = self.negate(quotient);
        let differ = self.binary(Op::Xor, below_a, below_b);
        self.choose(differ, opposite, quotient)
    }

    /// The remainder has the sign of the dividend, as C has it.
    pub fn signed_remainder(&mut self, a: Term, b: Term) -> Term {
        let (size_a, below_a) = self.magnitude(a);
        let (size_b, _) = self.magnitude(b);
        let remainder = self.binary(Op::Urem, size_a, size_b);
        let opposite = self.negate(remainder);
        self.choose(below_a, opposite, remainder)
    }

    fn magnitude(&mut self, a: Term) -> (Term, Term) {
        let zero = self.constant(self.width(a), 0);
        let below = self.binary(Op::Slt, a, zero);
        let opposite = self.negate(a);
        (self.choose(below, opposite, a), below)
    }

    pub fn choose(&mut self, condition: Term, a: Term, b: Term) -> Term {
        assert_eq!(self.width(condition), 1, "a condition has one bit");
        assert_eq!(self.width(a), self.width(b), "branches of one width");
        if let Some(value) = self.constant_of(condition) {
            return if value == 1 { a } else { b };
        }
        if a == b {
            return a;
        }
        if self.width(a) == 1 {
            match (self.constant_of(a), self.constant_of(b)) {
                (Some(1), _) => return self.or(condition, b),
                (_, Some(0)) => return self.and(condition, a),
                (Some(0), _) => {
                    let not = self.not(condition);
                    return self.and(not, b);
                }
                (_, Some(1)) => return self.implies(condition, a),
                _ => {}
            }
        }
        if let Some(simpler) = self.simpler_choice(condition, a, b) {
            return simpler;
        }
        self.make(Node::Choose(condition, a, b), self.width(a))
    }

    pub fn zext(&mut self, a: Term, width: u8) -> Term {
        match (self.width(a), self.constant_of(a)) {
            (old, _) if old == width => a,
            (_, Some(value)) => self.constant(width, value),
            (old, _) => {
                assert!(old < width, "an extension does not narrow");
                match self.simpler_zext(a, width) {
                    Some(simpler) => simpler,
                    None => self.make(Node::Zext(a), width),
                }
            }
        }
    }

    pub fn sext(&mut self, a: Term, width: u8) -> Term {
        match (self.width(a), self.constant_of(a)) {
            (old, _) if old == width => a,
            (old, Some(value)) => self.constant(width, signed(old, value) as u64),
            (old, _) => {
                assert!(old < width, "an extension does not narrow");
                match self.simpler_sext(a, width) {
                    Some(simpler) => simpler,
                    None => self.make(Node::Sext(a), width),
                }
            }
        }
    }

    /// `width` bits from bit `low` upwards.
    pub fn extract(&mut self, a: Term, low: u8, width: u8) -> Term {
        let old = self.width(a);
        assert!(low + width <= old, "bits that are there");
        match self.constant_of(a) {
            _ if width == old => a,
            Some(value) => self.constant(width, value >> low),
            None => match self.simpler_extract(a, low, width) {
                Some(simpler) => simpler,
                None => self.make(Node::Extract(a, low), width),
            },
        }
    }

    /// The conditions that a condition is the conjunction of, sorted.
    pub fn conjuncts(&self, condition: Term) -> Vec<Term> {
        match (self.parts.get(&condition), self.node(condition)) {
            (Some(parts), _) => parts.to_vec(),
            (None, Node::Const(1)) => Vec::new(),
            (None, _) => vec![condition],
        }
    }

    /// The conjunction of two conditions, neither a constant.
    pub(crate) fn both(&mut self, a: Term, b: Term) -> Term {
        let mut all = self.conjuncts(a);
        let more = self.conjuncts(b);
        for &part in &more {
            let against = match self.node(part) {
                Node::Not(inner) => Some(inner),
                _ => self.find(Node::Not(part), 1),
            };
            if against.is_some_and(|not| all.binary_search(&not).is_ok()) {
                return self.truth(false);
            }
        }
        all.extend(more);
        all.sort_unstable();
        all.dedup();
        if let [single] = all.as_slice() {
            return *single;
        }
        if let Some(&known) = self.wholes.get(all.as_slice()) {
            return known;
        }
        let whole = self.make(Node::Binary(Op::And, a.min(b), a.max(b)), 1);
        let parts: Arc<[Term]> = all.into();
        self.parts.insert(whole, parts.clone());
        self.wholes.insert(parts, whole);
        whole
    }

    /// Where two ways meet: the disjunction of two path conditions, with what they share taken out. After an `if` and its
    /// `else` this is the condition before them, so that what follows is known to be reached whenever they are.
    pub fn either_path(&mut self, a: Term, b: Term) -> Term {
        let (of_a, of_b) = (self.conjuncts(a), self.conjuncts(b));
        let shared: Vec<Term> = of_a.iter().copied().filter(|t| of_b.contains(t)).collect();
        let rest = |terms: &mut Terms, all: &[Term]| {
            let left: Vec<Term> = all
                .iter()
                .copied()
                .filter(|t| !shared.contains(t))
                .collect();
            terms.conjunction(&left)
        };
        let (rest_a, rest_b) = (rest(self, &of_a), rest(self, &of_b));
        let either = self.or(rest_a, rest_b);
        let all = self.conjunction(&shared);
        self.and(all, either)
    }

    pub fn conjunction(&mut self, conditions: &[Term]) -> Term {
        // Halves, so that long lists are put together in few steps.
        match conditions {
            [] => self.truth(true),
            [single] => *single,
            many => {
                let (a, b) = many.split_at(many.len() / 2);
                let (a, b) = (self.conjunction(a), self.conjunction(b));
                self.and(a, b)
            }
        }
    }

    /// The value of an operator's node, given its operands'.
    pub(crate) fn apply(&self, term: Term, mut operand: impl FnMut(Term) -> u64) -> Option<u64> {
        let width = self.width(term);
        Some(match self.node(term) {
            Node::Const(value) => value,
            Node::Not(a) => !operand(a) & mask(width),
            Node::Binary(op, a, b) => op.apply(self.width(a), operand(a), operand(b)),
            Node::Choose(c, a, b) => {
                let branch = if operand(c) == 1 { a } else { b };
                operand(branch)
            }
            Node::Zext(a) => operand(a),
            Node::Sext(a) => signed(self.width(a), operand(a)) as u64 & mask(width),
            Node::Extract(a, low) => (operand(a) >> low) & mask(width),
            Node::Input(_) | Node::Loaded(_) | Node::Recovered(_) | Node::Final(_) => return None,
        })
    }
}
