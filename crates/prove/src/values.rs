//! Which values a term can have, where they are few: most locations hold small counters, flags or addresses.
//!
//! A value that is read was written, by an event whose value may depend on values read before. Executions have no cycle of
//! that kind (reads stay before later writes of their thread), so a value passes through each event at most once. Locations
//! that feed each other are looked at together, and as many rounds as they have events that compute from them find all values,
//! even where rounds would go on for ever (a counter that is added to).

use crate::program::Program;
use crate::term::{Node, Term, mask};
use std::collections::BTreeSet;

/// Larger sets are not followed.
const MOST: usize = 48;

/// The values of a term, sorted; `None` for "any".
pub(crate) type ValueDomain = Option<Vec<u64>>;

pub(crate) fn domains(program: &Program) -> Vec<ValueDomain> {
    let terms = &program.terms;
    let uses = uses(program);
    let mut domains: Vec<ValueDomain> = vec![Some(Vec::new()); terms.len()];
    let mut held: Vec<ValueDomain> = vec![Some(Vec::new()); program.locations.len()];
    let inits = program.locations.iter().enumerate();
    let mut written: Vec<(usize, Term)> = inits.map(|(loc, l)| (loc, l.init)).collect();
    for event in &program.events {
        if let (Some(loc), Some(value)) = (event.loc(), event.written()) {
            written.push((loc.index(), value));
        }
    }
    for index in (0..terms.len()).filter(|&index| uses[index].is_empty()) {
        domains[index] = domain(program, Term(index as u32), &domains, &held);
    }
    for group in groups(program.locations.len(), &written, &uses) {
        let to_group: Vec<(usize, Term)> = written
            .iter()
            .copied()
            .filter(|(loc, _)| group.contains(loc))
            .collect();
        let computing = to_group
            .iter()
            .filter(|(_, value)| !uses[value.index()].is_disjoint(&group))
            .count();
        let using: Vec<usize> = (0..terms.len())
            .filter(|&index| !uses[index].is_disjoint(&group))
            .collect();
        for _ in 0..=computing {
            let mut changed = false;
            for &(loc, value) in &to_group {
                changed |= join(&mut held[loc], &domains[value.index()]);
            }
            for &index in &using {
                domains[index] = domain(program, Term(index as u32), &domains, &held);
            }
            if !changed {
                break;
            }
        }
    }
    domains
}

/// By term: the locations whose contents it depends on.
fn uses(program: &Program) -> Vec<BTreeSet<usize>> {
    let terms = &program.terms;
    let mut uses: Vec<BTreeSet<usize>> = Vec::with_capacity(terms.len());
    for index in 0..terms.len() {
        let of: BTreeSet<usize> = match terms.node(Term(index as u32)) {
            Node::Const(_) | Node::Input(_) => BTreeSet::new(),
            Node::Loaded(event) => {
                let loc = program.event(event).loc();
                loc.into_iter().map(|loc| loc.index()).collect()
            }
            Node::Recovered(loc) | Node::Final(loc) => [loc.index()].into(),
            Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => {
                uses[a.index()].clone()
            }
            Node::Binary(_, a, b) => &uses[a.index()] | &uses[b.index()],
            Node::Choose(c, a, b) => &(&uses[c.index()] | &uses[a.index()]) | &uses[b.index()],
        };
        uses.push(of);
    }
    uses
}

/// Locations that feed each other, together; groups that feed others come first.
fn groups(
    locations: usize,
    written: &[(usize, Term)],
    uses: &[BTreeSet<usize>],
) -> Vec<BTreeSet<usize>> {
    let mut feeding: Vec<BTreeSet<usize>> = (0..locations).map(|loc| [loc].into()).collect();
    for &(loc, value) in written {
        feeding[loc].extend(&uses[value.index()]);
    }
    loop {
        let mut changed = false;
        for loc in 0..locations {
            let more: BTreeSet<usize> = feeding[loc]
                .iter()
                .flat_map(|&from| feeding[from].iter().copied())
                .collect();
            changed |= more.len() > feeding[loc].len();
            feeding[loc].extend(more);
        }
        if !changed {
            break;
        }
    }
    let mut order: Vec<usize> = (0..locations).collect();
    // What feeds a location is fed by no more than it is.
    order.sort_by_key(|&loc| (feeding[loc].len(), loc));
    let mut groups: Vec<BTreeSet<usize>> = Vec::new();
    for loc in order {
        if !groups.iter().any(|group| group.contains(&loc)) {
            let mutual = feeding[loc]
                .iter()
                .copied()
                .filter(|&other| feeding[other].contains(&loc));
            groups.push(mutual.collect());
        }
    }
    groups
}

fn join(into: &mut ValueDomain, from: &ValueDomain) -> bool {
    let (Some(all), Some(more)) = (into.as_mut(), from) else {
        return into.take().is_some();
    };
    let before = all.len();
    all.extend(more);
    all.sort_unstable();
    all.dedup();
    let changed = all.len() != before;
    if all.len() > MOST {
        *into = None;
    }
    changed
}

fn domain(
    program: &Program,
    term: Term,
    domains: &[ValueDomain],
    held: &[ValueDomain],
) -> ValueDomain {
    let terms = &program.terms;
    let of = |t: Term| domains[t.index()].as_deref();
    let map = |values: &[u64], apply: &dyn Fn(u64) -> Option<u64>| {
        values.iter().map(|&v| apply(v)).collect::<Option<Vec<_>>>()
    };
    let found = match terms.node(term) {
        Node::Const(value) => Some(vec![value]),
        Node::Input(_) => match terms.width(term) {
            width @ 1..=3 => Some((0..=mask(width)).collect()),
            _ => None,
        },
        Node::Loaded(event) => {
            let loc = program.event(event).loc()?;
            held[loc.index()].clone()
        }
        Node::Recovered(loc) | Node::Final(loc) => held[loc.index()].clone(),
        Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract(a, _) => {
            map(of(a)?, &|v| terms.apply(term, |_| v))
        }
        Node::Binary(op, a, b) => {
            let width = terms.width(a);
            match (of(a), of(b)) {
                (Some(x), Some(y)) if x.len() * y.len() <= MOST * MOST => Some(
                    x.iter()
                        .flat_map(|&x| y.iter().map(move |&y| op.apply(width, x, y)))
                        .collect(),
                ),
                _ if terms.width(term) == 1 => Some(vec![0, 1]),
                _ => None,
            }
        }
        Node::Choose(c, a, b) => {
            let mut all = Vec::new();
            let conditions = of(c).unwrap_or(&[0, 1]);
            if conditions.contains(&1) {
                all.extend(of(a)?);
            }
            if conditions.contains(&0) {
                all.extend(of(b)?);
            }
            Some(all)
        }
    };
    let mut values = found?;
    values.sort_unstable();
    values.dedup();
    (values.len() <= MOST).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Home;

    /// Two threads add 1 to a counter and copy it: the counter reaches 2, not more, and so does the copy.
    #[test]
    fn a_counter_goes_as_far_as_there_are_additions() {
        let mut program = Program::default();
        let counter = program.add_location("counter", 32, Home::Volatile, 0);
        let copy = program.add_location("copy", 32, Home::Volatile, 7);
        for _ in 0..2 {
            let path = program.add_thread("T");
            let one = program.terms.constant(32, 1);
            let old = path.rmw(&mut program, counter, "counter += 1", |terms, old| {
                (terms.truth(true), terms.add(old, one))
            });
            path.store(&mut program, copy, old, "copy = old");
        }
        let ends = [program.at_the_end(counter), program.at_the_end(copy)];
        let domains = domains(&program);
        assert_eq!(domains[ends[0].index()], Some(vec![0, 1, 2]));
        assert_eq!(domains[ends[1].index()], Some(vec![0, 1, 2, 7]));
    }
}
