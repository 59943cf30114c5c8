//! How far the program was looked at: which of the places where its loops were cut does some execution reach?

use super::{Options, Sizes};
use crate::cnf::Lit;
use crate::encode::{Encoding, View};
use crate::program::{Kind, Program, ProofCheck};
use crate::solver::{Answer, open};

/// A proof holds for what lies within the bounds; these are the ones that some execution exceeds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    pub exceeded: Vec<String>,
    /// Bounds that could not be decided within the limits of the search.
    pub undecided: Vec<String>,
    pub sizes: Sizes,
}

pub fn bounds(program: &Program, options: &Options) -> Bounds {
    let mut bounds = Bounds::default();
    let in_threads: Vec<ProofCheck> = program
        .events
        .iter()
        .filter_map(|event| match event.kind {
            Kind::Bound { within } => Some(ProofCheck {
                guard: event.guard,
                holds: within,
                label: event.label.clone(),
            }),
            _ => None,
        })
        .collect();
    // In threads without a failure: what a crash cuts off is cut off by it, not by the bound.
    ask(program, View::AtTheEnd, &in_threads, options, &mut bounds);
    let crash = View::AfterFailure(options.crash);
    ask(
        program,
        crash,
        &program.recovery.bounds,
        options,
        &mut bounds,
    );
    bounds
}

fn ask(
    program: &Program,
    view: View,
    places: &[ProofCheck],
    options: &Options,
    bounds: &mut Bounds,
) {
    if places.is_empty() {
        return;
    }
    let mut encoding = Encoding::new(program, view);
    let exceeded: Vec<Lit> = places
        .iter()
        .map(|place| {
            let (guard, holds) = (encoding.truth(place.guard), encoding.truth(place.holds));
            encoding.formula.and(guard, !holds)
        })
        .collect();
    let mut solver = open(&encoding.formula, &encoding.ordering, &options.search);
    for (place, &literal) in places.iter().zip(&exceeded) {
        // Unrolled bodies have the label of their loop.
        if bounds.exceeded.contains(&place.label) {
            continue;
        }
        match solver.solve(&[literal]) {
            Answer::Satisfiable => bounds.exceeded.push(place.label.clone()),
            Answer::Unknown => bounds.undecided.push(place.label.clone()),
            Answer::Unsatisfiable => {}
        }
    }
    bounds
        .sizes
        .include(&encoding, solver.as_ref(), places.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Home;

    /// A thread waits for a flag, looking twice.
    fn waiting(set: bool) -> Program {
        let mut program = Program::default();
        let flag = program.add_location("flag", 8, Home::Volatile, u64::from(!set));
        let one = program.terms.constant(8, 1);
        let mut path = program.add_thread("waits");
        let first = path.load(&mut program, flag, "flag?");
        let seen = program.terms.eq(first, one);
        let not_seen = program.terms.not(seen);
        let again = path.when(&mut program, not_seen);
        let second = again.load(&mut program, flag, "flag?");
        let seen_then = program.terms.eq(second, one);
        let within = program.terms.or(seen, seen_then);
        path.bound(&mut program, within, "waiting for the flag");
        if set {
            let other = program.add_thread("sets");
            other.store(&mut program, flag, one, "flag = 1");
        }
        program
    }

    #[test]
    fn a_bound_is_reported_if_some_execution_exceeds_it() {
        let options = Options::default();
        let late = bounds(&waiting(true), &options);
        assert_eq!(late.exceeded, ["waiting for the flag"]);
        let never = bounds(&waiting(false), &options);
        assert!(never.exceeded.is_empty() && never.undecided.is_empty());
    }
}
