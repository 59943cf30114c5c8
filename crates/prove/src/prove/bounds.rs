//! How far the program was looked at: which of the places where its loops were cut does some execution reach?

use super::{ProofOptions, Sizes};
use crate::certificate::{Certificates, NoCertificates, ProofLog};
use crate::cnf::Lit;
use crate::encode::{Encoding, View};
use crate::program::{Check, ProofEventKind, ProofProgram};
use crate::solver::{Answer, open_logged};

/// A proof holds for what lies within the bounds; these are the ones that some execution exceeds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    pub exceeded: Vec<String>,
    /// Bounds that could not be decided within the limits of the search.
    pub undecided: Vec<String>,
    pub sizes: Sizes,
}

pub fn bounds(program: &ProofProgram, options: &ProofOptions) -> Bounds {
    certified_bounds(program, options, &mut NoCertificates)
}

/// The same, with what proves that none is exceeded.
pub fn certified_bounds(
    program: &ProofProgram,
    options: &ProofOptions,
    certificates: &mut dyn Certificates,
) -> Bounds {
    let mut bounds = Bounds::default();
    let in_threads: Vec<Check> = program
        .events
        .iter()
        .filter_map(|event| match event.kind {
            ProofEventKind::Bound { within } => Some(Check {
                guard: event.guard,
                holds: within,
                label: event.label.clone(),
            }),
            _ => None,
        })
        .collect();
    // In threads without a failure: what a crash cuts off is cut off by it, not by the bound.
    let crash = View::AfterFailure(options.crash);
    let questions = [
        ("before-the-failure", View::AtTheEnd, &in_threads),
        ("after-the-failure", crash, &program.recovery.bounds),
    ];
    for (name, view, places) in questions {
        if places.is_empty() {
            continue;
        }
        let mut encoding = Encoding::new(program, view);
        let further = places.iter().map(|place| {
            let (guard, holds) = (encoding.truth(place.guard), encoding.truth(place.holds));
            (encoding.formula.and(guard, !holds), place.label.clone())
        });
        let further: Vec<(Lit, String)> = further.collect();
        let asked = ask(&mut encoding, further, options, (name, certificates));
        for (all, new) in [
            (&mut bounds.exceeded, asked.exceeded),
            (&mut bounds.undecided, asked.undecided),
        ] {
            // The same loop may go on before a failure and after it.
            for label in new {
                if !all.contains(&label) {
                    all.push(label);
                }
            }
        }
        bounds.sizes.add(&asked.sizes);
        if options.one_bound && !bounds.exceeded.is_empty() {
            break;
        }
    }
    bounds
}

/// Asks for an execution that goes on somewhere, then for one that goes on somewhere else, until there is none. That there is none at
/// all, which is what a proof needs, is one question; and so is that there is one.
fn ask(
    encoding: &mut Encoding,
    mut further: Vec<(Lit, String)>,
    options: &ProofOptions,
    (name, certificates): (&str, &mut dyn Certificates),
) -> Bounds {
    let mut bounds = Bounds::default();
    let some = |further: &[(Lit, String)]| further.iter().map(|(l, _)| *l).collect::<Vec<_>>();
    encoding.formula.clause(&some(&further));
    let asks = "Is there an execution that goes on where a loop was cut? That one does is part of formula.cnf.\n";
    let log = ProofLog::begin(certificates, name, asks, encoding);
    let (formula, ordering) = (&encoding.formula, &encoding.ordering);
    let mut solver = open_logged(formula, ordering, &options.search, log.as_ref());
    let mut questions = 0;
    while !further.is_empty() {
        questions += 1;
        match solver.solve(&[]) {
            Answer::Unsatisfiable => break,
            Answer::Unknown => {
                let mut labels: Vec<String> = further.drain(..).map(|(_, label)| label).collect();
                labels.dedup();
                bounds.undecided = labels;
            }
            Answer::Satisfiable => {
                for (literal, label) in &further {
                    if solver.holds(*literal) && !bounds.exceeded.contains(label) {
                        bounds.exceeded.push(label.clone());
                    }
                }
                if options.one_bound {
                    break;
                }
                // Unrolled bodies have the label of their loop.
                further.retain(|(_, label)| !bounds.exceeded.contains(label));
                solver.add_clause(&some(&further));
            }
        }
    }
    bounds.sizes.include(encoding, solver.as_ref(), questions);
    drop(solver);
    if let Some(log) = log {
        log.end(certificates);
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Home;

    /// A thread waits for a flag, looking twice.
    fn waiting(set: bool) -> ProofProgram {
        let mut program = ProofProgram::default();
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
        let options = ProofOptions::default();
        let late = bounds(&waiting(true), &options);
        assert_eq!(late.exceeded, ["waiting for the flag"]);
        let never = bounds(&waiting(false), &options);
        assert!(never.exceeded.is_empty() && never.undecided.is_empty());
    }
}
