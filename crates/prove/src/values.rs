//! Which values a term can have, where they are few: most locations hold small counters, flags or addresses.
//!
//! A value that is read was written, by an event whose value may depend on values read before. Executions have no cycle of
//! that kind (reads stay before later writes of their thread), so a value passes through each event at most once, and as
//! many rounds as there are events find them all, even where rounds would go on for ever (a counter that is added to).

use crate::program::Program;
use crate::term::{Node, Term, mask};

/// Larger sets are not followed.
const MOST: usize = 48;

/// The values of a term, sorted; `None` for "any".
pub(crate) type Domain = Option<Vec<u64>>;

pub(crate) fn domains(program: &Program) -> Vec<Domain> {
    let terms = &program.terms;
    let mut domains: Vec<Domain> = vec![Some(Vec::new()); terms.len()];
    let mut held: Vec<Domain> = vec![Some(Vec::new()); program.locations.len()];
    for _ in 0..=program.events.len() + 1 {
        for index in 0..terms.len() {
            let term = Term(index as u32);
            domains[index] = domain(program, term, &domains, &held);
        }
        let mut changed = false;
        let inits = program.locations.iter().enumerate();
        let mut written: Vec<(usize, Term)> = inits.map(|(loc, l)| (loc, l.init)).collect();
        for event in &program.events {
            if let (Some(loc), Some(value)) = (event.loc(), event.written()) {
                written.push((loc.index(), value));
            }
        }
        for (loc, value) in written {
            changed |= join(&mut held[loc], &domains[value.index()]);
        }
        if !changed {
            break;
        }
    }
    domains
}

fn join(into: &mut Domain, from: &Domain) -> bool {
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

fn domain(program: &Program, term: Term, domains: &[Domain], held: &[Domain]) -> Domain {
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
