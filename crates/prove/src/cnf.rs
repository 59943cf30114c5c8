//! Propositional formulas in clauses, and the gates they are built from.

use rustc_hash::FxHashMap;
use std::ops::Not;

/// A variable or its negation, numbered as in DIMACS.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(i32);

impl Lit {
    /// Variable 1 is true in every formula.
    pub const TRUE: Lit = Lit(1);
    pub const FALSE: Lit = Lit(-1);

    pub fn from_dimacs(number: i32) -> Lit {
        debug_assert_ne!(number, 0);
        Lit(number)
    }

    pub fn dimacs(self) -> i32 {
        self.0
    }

    pub fn var(self) -> usize {
        self.0.unsigned_abs() as usize
    }

    pub fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// An index for tables with an entry per literal.
    pub fn code(self) -> usize {
        self.var() * 2 + usize::from(self.0 < 0)
    }

    pub fn constant(value: bool) -> Lit {
        if value { Lit::TRUE } else { Lit::FALSE }
    }

    pub fn is_constant(self) -> bool {
        self.var() == 1
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(-self.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Gate {
    And(Lit, Lit),
    Xor(Lit, Lit),
    Choose(Lit, Lit, Lit),
}

/// Clauses over numbered variables. Gates are shared: the same gate of the same inputs is one variable.
#[derive(Clone, Debug)]
pub struct Formula {
    vars: usize,
    clauses: usize,
    /// Clause after clause, each closed by a zero.
    literals: Vec<i32>,
    gates: FxHashMap<Gate, Lit>,
}

impl Default for Formula {
    fn default() -> Formula {
        Formula {
            vars: 1,
            clauses: 1,
            literals: vec![1, 0],
            gates: FxHashMap::default(),
        }
    }
}

impl Formula {
    pub fn variables(&self) -> usize {
        self.vars
    }

    pub fn clause_count(&self) -> usize {
        self.clauses
    }

    pub fn clauses(&self) -> impl Iterator<Item = impl Iterator<Item = Lit> + '_> + '_ {
        self.literals
            .split(|&l| l == 0)
            .take(self.clauses)
            .map(|clause| clause.iter().map(|&l| Lit(l)))
    }

    pub fn fresh(&mut self) -> Lit {
        self.vars += 1;
        Lit(self.vars as i32)
    }

    pub fn clause(&mut self, literals: &[Lit]) {
        let start = self.literals.len();
        for &literal in literals {
            if literal == Lit::TRUE || self.literals[start..].contains(&-literal.0) {
                self.literals.truncate(start);
                return;
            }
            if literal != Lit::FALSE && !self.literals[start..].contains(&literal.0) {
                self.literals.push(literal.0);
            }
        }
        self.literals.push(0);
        self.clauses += 1;
    }

    pub fn implies(&mut self, premise: Lit, conclusion: Lit) {
        self.clause(&[!premise, conclusion]);
    }

    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        if a == Lit::FALSE || b == Lit::FALSE || a == !b {
            return Lit::FALSE;
        }
        if a == Lit::TRUE || a == b {
            return b;
        }
        if b == Lit::TRUE {
            return a;
        }
        let gate = Gate::And(a.min(b), a.max(b));
        if let Some(&known) = self.gates.get(&gate) {
            return known;
        }
        let out = self.fresh();
        self.clause(&[!out, a]);
        self.clause(&[!out, b]);
        self.clause(&[out, !a, !b]);
        self.gates.insert(gate, out);
        out
    }

    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    pub fn all(&mut self, literals: &[Lit]) -> Lit {
        literals
            .iter()
            .fold(Lit::TRUE, |all, &literal| self.and(all, literal))
    }

    pub fn any(&mut self, literals: &[Lit]) -> Lit {
        literals
            .iter()
            .fold(Lit::FALSE, |any, &literal| self.or(any, literal))
    }

    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        if a.is_constant() {
            return if a == Lit::TRUE { !b } else { b };
        }
        if b.is_constant() {
            return if b == Lit::TRUE { !a } else { a };
        }
        if a.var() == b.var() {
            return Lit::constant(a != b);
        }
        // Negations move out of the gate.
        let flip = a.is_positive() != b.is_positive();
        let (x, y) = (Lit(a.0.abs()), Lit(b.0.abs()));
        let gate = Gate::Xor(x.min(y), x.max(y));
        let out = match self.gates.get(&gate) {
            Some(&known) => known,
            None => {
                let out = self.fresh();
                self.clause(&[!out, x, y]);
                self.clause(&[!out, !x, !y]);
                self.clause(&[out, !x, y]);
                self.clause(&[out, x, !y]);
                self.gates.insert(gate, out);
                out
            }
        };
        if flip { !out } else { out }
    }

    /// `if condition then a else b`
    pub fn choose(&mut self, condition: Lit, a: Lit, b: Lit) -> Lit {
        if condition.is_constant() {
            return if condition == Lit::TRUE { a } else { b };
        }
        if a == b {
            return a;
        }
        if a.is_constant() || a.var() == condition.var() {
            let on = a == Lit::TRUE || a == condition;
            return if on {
                self.or(condition, b)
            } else {
                self.and(!condition, b)
            };
        }
        if b.is_constant() || b.var() == condition.var() {
            let on = b == Lit::TRUE || b == !condition;
            return if on {
                self.or(!condition, a)
            } else {
                self.and(condition, a)
            };
        }
        if a == !b {
            return !self.xor(condition, a);
        }
        let gate = Gate::Choose(condition, a, b);
        if let Some(&known) = self.gates.get(&gate) {
            return known;
        }
        let out = self.fresh();
        self.clause(&[!condition, !a, out]);
        self.clause(&[!condition, a, !out]);
        self.clause(&[condition, !b, out]);
        self.clause(&[condition, b, !out]);
        self.gates.insert(gate, out);
        out
    }
}
