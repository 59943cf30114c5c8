//! Terms as circuits: one literal per bit, the lowest first.

use crate::cnf::{Formula, Lit};
use crate::term::{Node, Op, Term, Terms};
use crate::values::ValueDomain;

/// The bits of every term that was asked for.
#[derive(Debug)]
pub(crate) struct Bits {
    known: Vec<Option<Vec<Lit>>>,
}

impl Bits {
    pub(crate) fn new(terms: &Terms) -> Bits {
        Bits {
            known: vec![None; terms.len()],
        }
    }

    pub(crate) fn get(&self, term: Term) -> Option<&[Lit]> {
        self.known.get(term.index())?.as_deref()
    }

    /// The bits of a term, made on first use. Where the possible values are known, bits that are constant or always like another
    /// one cost nothing. (An event that does not happen may then have a value that none of its sources gives; nobody looks.)
    pub(crate) fn of(
        &mut self,
        term: Term,
        terms: &Terms,
        domains: &[ValueDomain],
        formula: &mut Formula,
    ) -> Vec<Lit> {
        // Terms are deep after unrolling: no recursion.
        let mut todo = vec![term];
        while let Some(&next) = todo.last() {
            if self.known[next.index()].is_some() {
                todo.pop();
                continue;
            }
            let waiting = operands(terms.node(next))
                .into_iter()
                .flatten()
                .filter(|t| self.known[t.index()].is_none());
            let before = todo.len();
            todo.extend(waiting);
            if todo.len() == before {
                todo.pop();
                self.known[next.index()] = Some(self.make(next, terms, domains, formula));
            }
        }
        self.known[term.index()].clone().unwrap_or_default()
    }

    fn make(
        &self,
        term: Term,
        terms: &Terms,
        domains: &[ValueDomain],
        formula: &mut Formula,
    ) -> Vec<Lit> {
        let bits = |t: Term| self.known[t.index()].as_deref().unwrap_or_default();
        let width = usize::from(terms.width(term));
        let columns = domains[term.index()]
            .as_deref()
            .map_or_else(|| vec![Column::Own; width], |v| columns(v, width));
        // Only these bits need a circuit.
        let own = |at: &usize| columns[*at] == Column::Own;
        let top = (0..width).rev().find(own).map_or(0, |last| last + 1);
        let computed = match terms.node(term) {
            Node::Const(value) => return constant(value, width),
            Node::Input(_) | Node::Loaded(_) | Node::Recovered(_) | Node::Final(_) => (0..top)
                .map(|at| match own(&at) {
                    true => formula.fresh(),
                    false => Lit::FALSE,
                })
                .collect(),
            Node::Not(a) => bits(a)[..top].iter().map(|&bit| !bit).collect(),
            Node::Binary(op, a, b) if op.works_upwards() => {
                binary(formula, op, &bits(a)[..top], &bits(b)[..top])
            }
            Node::Binary(op, a, b) => binary(formula, op, bits(a), bits(b)),
            Node::Choose(c, a, b) => {
                let condition = bits(c)[0];
                let pairs = bits(a)[..top].iter().zip(&bits(b)[..top]);
                pairs
                    .map(|(&a, &b)| formula.choose(condition, a, b))
                    .collect()
            }
            Node::Zext(a) => extend(bits(a), Lit::FALSE, width),
            Node::Sext(a) => extend(bits(a), bits(a)[bits(a).len() - 1], width),
            Node::Extract(a, low) => bits(a)[usize::from(low)..][..width].to_vec(),
        };
        let bit = |(at, column)| match column {
            Column::Own => computed[at],
            Column::Constant(value) => Lit::constant(value),
            Column::As(other) => computed[other],
            Column::Against(other) => !computed[other],
        };
        columns.iter().copied().enumerate().map(bit).collect()
    }
}

/// What the possible values of a term say about one of its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Own,
    Constant(bool),
    /// Always as a lower bit: the sign of small numbers, say.
    As(usize),
    Against(usize),
}

fn columns(values: &[u64], width: usize) -> Vec<Column> {
    // Each bit as the values have it, first value in bit 0. Domains have at most 64 values.
    let all = u64::MAX.checked_shr(64 - values.len() as u32).unwrap_or(0);
    let seen = |at: usize| {
        let bits = values.iter().enumerate();
        bits.fold(0u64, |column, (n, value)| column | (value >> at & 1) << n)
    };
    (0..width)
        .map(|at| {
            let column = seen(at);
            if column == 0 || column == all {
                return Column::Constant(column != 0);
            }
            let lower = (0..at).find_map(|lower| match seen(lower) {
                same if same == column => Some(Column::As(lower)),
                other if other == !column & all => Some(Column::Against(lower)),
                _ => None,
            });
            lower.unwrap_or(Column::Own)
        })
        .collect()
}

fn operands(node: Node) -> [Option<Term>; 3] {
    match node {
        Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => [Some(a), None, None],
        Node::Binary(_, a, b) => [Some(a), Some(b), None],
        Node::Choose(c, a, b) => [Some(c), Some(a), Some(b)],
        _ => [None; 3],
    }
}

fn constant(value: u64, width: usize) -> Vec<Lit> {
    (0..width)
        .map(|bit| Lit::constant(value >> bit & 1 == 1))
        .collect()
}

fn extend(bits: &[Lit], with: Lit, width: usize) -> Vec<Lit> {
    let mut out = bits.to_vec();
    out.resize(width, with);
    out
}

fn binary(f: &mut Formula, op: Op, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
    let pairs = || a.iter().copied().zip(b.iter().copied());
    match op {
        Op::Add => add(f, a, b, Lit::FALSE),
        Op::Sub => add(f, a, &negated(b), Lit::TRUE),
        Op::Mul => multiply(f, a, b),
        Op::Udiv => divide(f, a, b).0,
        Op::Urem => divide(f, a, b).1,
        Op::And => pairs().map(|(x, y)| f.and(x, y)).collect(),
        Op::Or => pairs().map(|(x, y)| f.or(x, y)).collect(),
        Op::Xor => pairs().map(|(x, y)| f.xor(x, y)).collect(),
        Op::Shl => {
            let reversed: Vec<Lit> = a.iter().rev().copied().collect();
            let mut out = shift_down(f, &reversed, b, Lit::FALSE);
            out.reverse();
            out
        }
        Op::Lshr => shift_down(f, a, b, Lit::FALSE),
        Op::Ashr => shift_down(f, a, b, a[a.len() - 1]),
        Op::Eq => vec![equal(f, a, b)],
        Op::Ult => vec![below(f, a, b)],
        Op::Ule => vec![!below(f, b, a)],
        Op::Slt => {
            let (a, b) = (sign_flipped(a), sign_flipped(b));
            vec![below(f, &a, &b)]
        }
        Op::Sle => {
            let (a, b) = (sign_flipped(a), sign_flipped(b));
            vec![!below(f, &b, &a)]
        }
    }
}

fn negated(bits: &[Lit]) -> Vec<Lit> {
    bits.iter().map(|&bit| !bit).collect()
}

fn sign_flipped(bits: &[Lit]) -> Vec<Lit> {
    let mut out = bits.to_vec();
    if let Some(sign) = out.last_mut() {
        *sign = !*sign;
    }
    out
}

fn add(f: &mut Formula, a: &[Lit], b: &[Lit], mut carry: Lit) -> Vec<Lit> {
    let mut out = Vec::with_capacity(a.len());
    for (&x, &y) in a.iter().zip(b) {
        let half = f.xor(x, y);
        out.push(f.xor(half, carry));
        let (both, through) = (f.and(x, y), f.and(half, carry));
        carry = f.or(both, through);
    }
    out
}

fn multiply(f: &mut Formula, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
    let mut sum = vec![Lit::FALSE; a.len()];
    for (at, &bit) in b.iter().enumerate() {
        if bit == Lit::FALSE {
            continue;
        }
        let mut row = vec![Lit::FALSE; at];
        row.extend(a[..a.len() - at].iter().map(|&x| f.and(x, bit)));
        sum = add(f, &sum, &row, Lit::FALSE);
    }
    sum
}

/// Long division: quotient and remainder. By zero it gives all ones and the dividend.
fn divide(f: &mut Formula, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
    let width = a.len();
    // One bit more, for the remainder before it is reduced.
    let divisor = extend(b, Lit::FALSE, width + 1);
    let mut rest = vec![Lit::FALSE; width + 1];
    let mut quotient = vec![Lit::FALSE; width];
    for at in (0..width).rev() {
        rest.pop();
        rest.insert(0, a[at]);
        let fits = !below(f, &rest, &divisor);
        let less = add(f, &rest, &negated(&divisor), Lit::TRUE);
        rest = less
            .iter()
            .zip(&rest)
            .map(|(&x, &y)| f.choose(fits, x, y))
            .collect();
        quotient[at] = fits;
    }
    rest.truncate(width);
    (quotient, rest)
}

fn equal(f: &mut Formula, a: &[Lit], b: &[Lit]) -> Lit {
    a.iter().zip(b).fold(Lit::TRUE, |all, (&x, &y)| {
        let differ = f.xor(x, y);
        f.and(all, !differ)
    })
}

fn below(f: &mut Formula, a: &[Lit], b: &[Lit]) -> Lit {
    a.iter().zip(b).fold(Lit::FALSE, |less, (&x, &y)| {
        let differ = f.xor(x, y);
        f.choose(differ, y, less)
    })
}

/// Shifts towards bit 0 by a variable amount, filling from above.
fn shift_down(f: &mut Formula, a: &[Lit], by: &[Lit], fill: Lit) -> Vec<Lit> {
    let mut out = a.to_vec();
    for (stage, &bit) in by.iter().enumerate() {
        let step = 1usize.checked_shl(stage as u32).unwrap_or(usize::MAX);
        out = (0..out.len())
            .map(|at| {
                let from = at.checked_add(step).and_then(|i| out.get(i)).copied();
                f.choose(bit, from.unwrap_or(fill), out[at])
            })
            .collect();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::{Answer, SearchOptions, Solver, open as open_solver};
    use crate::term::mask;
    use crate::theory::Ordering;
    use proptest::prelude::*;

    const OPS: [Op; 16] = [
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Udiv,
        Op::Urem,
        Op::And,
        Op::Or,
        Op::Xor,
        Op::Shl,
        Op::Lshr,
        Op::Ashr,
        Op::Eq,
        Op::Ult,
        Op::Ule,
        Op::Slt,
        Op::Sle,
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Inputs forced to values make the circuit compute what the operator does.
        #[test]
        fn circuits_compute(op in prop::sample::select(&OPS[..]), width in 1u8..=9, a: u64, b in prop_oneof![0u64..10, any::<u64>()]) {
            let (a, b) = (a & mask(width), b & mask(width));
            let mut terms = Terms::default();
            let (x, y) = (terms.input(width), terms.input(width));
            let result = terms.binary(op, x, y);
            let domains = vec![None; terms.len()];
            let (mut formula, mut bits) = (Formula::default(), Bits::new(&terms));
            let out = bits.of(result, &terms, &domains, &mut formula);
            for (term, value) in [(x, a), (y, b)] {
                for (at, bit) in bits.of(term, &terms, &domains, &mut formula).into_iter().enumerate() {
                    formula.clause(&[if value >> at & 1 == 1 { bit } else { !bit }]);
                }
            }
            let options = SearchOptions { solver: Solver::Batsat, ..SearchOptions::default() };
            let mut solver = open_solver(&formula, &Ordering::default(), &options);
            prop_assert_eq!(solver.solve(&[]), Answer::Satisfiable);
            let found = out.iter().rev().fold(0u64, |value, &bit| value << 1 | u64::from(solver.holds(bit)));
            prop_assert_eq!(found, op.apply(width, a, b), "{:?} {} {}", op, a, b);
        }
    }
}
