//! What some execution shows, for proofs of robustness: states that a power failure may leave without being a violation.
//!
//! `shown.cnf` and `shown-ordering.txt` describe executions that are looked at in one instant; `states.txt` has such executions, `places.txt`
//! says which literal of one formula is which of the other.

use crate::{Edge, Formula, NoProof, Result, edges, groups, lines, refuse};
use std::path::Path;

/// A place that the recovery may read: the literal that says it does, and pairs of literals, of the formula and of `shown.cnf`: bits of
/// its value, and where it is from.
struct Place {
    read: i64,
    bits: Vec<(i64, i64)>,
    sources: Vec<(i64, i64)>,
}

pub(crate) struct Shown {
    formula: Formula,
    edges: Vec<Edge>,
    places: Vec<Place>,
    /// By variable of `shown.cnf`.
    states: Vec<Vec<bool>>,
}

fn pairs(numbers: &[i64]) -> Vec<(i64, i64)> {
    numbers.chunks_exact(2).map(|p| (p[0], p[1])).collect()
}

impl Shown {
    pub(crate) fn read(folder: &Path) -> Result<Shown> {
        let formula = Formula::read(&folder.join("shown.cnf"))?;
        let edges = edges(&folder.join("shown-ordering.txt"))?;
        let (mut places, mut states) = (Vec::new(), Vec::new());
        for line in lines(&folder.join("places.txt"))? {
            match <[Vec<i64>; 3]>::try_from(groups(&line?)?) {
                Ok([read, bits, sources]) if read.len() == 1 => places.push(Place {
                    read: read[0],
                    bits: pairs(&bits),
                    sources: pairs(&sources),
                }),
                _ => return refuse("a place without the literal that says it is read"),
            }
        }
        for line in lines(&folder.join("states.txt"))? {
            let mut state = vec![false; formula.variables + 1];
            for literal in groups(&line?)?.concat() {
                match state.get_mut(literal.unsigned_abs() as usize) {
                    Some(value) => *value = literal > 0,
                    None => return refuse("a state with an unknown variable"),
                }
            }
            states.push(state);
        }
        let all = places.iter().flat_map(|p| p.bits.iter().chain(&p.sources));
        if all
            .map(|(_, s)| s.unsigned_abs() as usize)
            .any(|v| v == 0 || v > formula.variables)
        {
            return refuse("a place with an unknown variable");
        }
        Ok(Shown {
            formula,
            edges,
            places,
            states,
        })
    }
}

/// Does the clause exclude nothing but what this state shows? For every place it asks that it be not read here, or has another value.
pub(crate) fn shows(shown: &mut Shown, clause: &[i64], state: &[i64]) -> Result<bool> {
    let number = state
        .first()
        .and_then(|&number| usize::try_from(number.checked_sub(1)?).ok());
    let Some(state) = number.and_then(|number| shown.states.get(number)) else {
        return Err(NoProof("a state that is not there".to_owned()));
    };
    let holds = |literal: i64| state[literal.unsigned_abs() as usize] == (literal > 0);
    // Literal 1 is true in every execution, so -1 need not be said.
    let said = |literal: i64| literal == -1 || clause.contains(&literal);
    let covered = shown.places.iter().all(|place| {
        let value = |&(here, there): &(i64, i64)| said(if holds(there) { -here } else { here });
        let source = |&(here, there): &(i64, i64)| !holds(there) || said(-here);
        let sources = &place.sources;
        let some = sources.is_empty() || sources.iter().any(|&(_, there)| holds(there));
        let shown = some && place.bits.iter().all(value) && sources.iter().all(source);
        shown || said(place.read)
    });
    let clauses = &mut shown.formula.clauses.iter();
    let satisfied = clauses.all(|clause| clause.iter().any(|&l| holds(l)));
    let there = |edge: &&Edge| edge.when.iter().all(|&l| holds(l));
    Ok(covered && satisfied && has_no_cycle(shown.edges.iter().filter(there)))
}

/// Takes away what nothing leads to, until nothing is left.
fn has_no_cycle<'e>(edges: impl Iterator<Item = &'e Edge>) -> bool {
    let mut into = std::collections::HashMap::<i64, usize>::new();
    let mut out = std::collections::HashMap::<i64, Vec<i64>>::new();
    for edge in edges {
        *into.entry(edge.to).or_default() += 1;
        into.entry(edge.from).or_default();
        out.entry(edge.from).or_default().push(edge.to);
    }
    let free = into.iter().filter(|(_, count)| **count == 0);
    let mut free: Vec<i64> = free.map(|(&node, _)| node).collect();
    let mut left = into.len();
    while let Some(node) = free.pop() {
        left -= 1;
        for next in out.remove(&node).unwrap_or_default() {
            let count = into.entry(next).or_default();
            *count -= 1;
            if *count == 0 {
                free.push(next);
            }
        }
    }
    left == 0
}
