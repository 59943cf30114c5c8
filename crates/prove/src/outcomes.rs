//! Every outcome, one question after another: find one, forbid it, ask again.

use crate::cnf::Lit;
use crate::encode::{Encoding, View};
use crate::program::ProofProgram;
use crate::solver::{Answer, SearchOptions, open};
use crate::term::{Term, signed};
use std::collections::BTreeSet;

/// The values that terms can have together, sign-extended. `None` if a limit was reached.
pub fn outcomes(
    program: &ProofProgram,
    observed: &[Term],
    view: View,
    options: &SearchOptions,
) -> Option<BTreeSet<Vec<i64>>> {
    let mut encoding = Encoding::new(program, view);
    let bits: Vec<Lit> = observed.iter().flat_map(|&t| encoding.bits(t)).collect();
    let mut solver = open(&encoding.formula, &encoding.ordering, options);
    let mut found = BTreeSet::new();
    loop {
        match solver.solve(&[]) {
            Answer::Unknown => return None,
            Answer::Unsatisfiable => return Some(found),
            Answer::Satisfiable => {
                let outcome = observed
                    .iter()
                    .map(|&term| {
                        let value = encoding.value(term, |l| solver.holds(l)).unwrap_or(0);
                        signed(program.terms.width(term), value)
                    })
                    .collect();
                found.insert(outcome);
                let other: Vec<Lit> = bits
                    .iter()
                    .filter(|bit| !bit.is_constant())
                    .map(|&bit| if solver.holds(bit) { !bit } else { bit })
                    .collect();
                solver.add_clause(&other);
            }
        }
    }
}
