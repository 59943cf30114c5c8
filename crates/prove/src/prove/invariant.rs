//! Do assertions hold, before a power failure and after it?

use super::{Answered, ProofOptions, ProofVerdict, Sizes, gave_up};
use crate::cnf::Lit;
use crate::encode::{Encoding, View};
use crate::program::{Check, ProofEventKind, ProofProgram};
use crate::solver::{Answer, open};
use crate::witness::Refutation;

/// Asks for an execution in which some assertion fails: in a thread, in the recovery, or about the end.
pub fn invariant(program: &ProofProgram, options: &ProofOptions) -> Answered {
    let asserts = program
        .events
        .iter()
        .any(|event| matches!(event.kind, ProofEventKind::Assert { .. }));
    let mut questions: Vec<(View, &[Check])> = Vec::new();
    if asserts || !program.recovery.checks.is_empty() {
        let view = View::AfterFailure(options.crash);
        questions.push((view, &program.recovery.checks));
    }
    if !program.at_the_end.is_empty() {
        questions.push((View::AtTheEnd, &program.at_the_end));
    }
    let mut sizes = Sizes::default();
    if questions.is_empty() {
        let verdict = match program.asserts {
            true => ProofVerdict::Proved,
            false => ProofVerdict::Nothing,
        };
        return Answered { verdict, sizes };
    }
    for (view, checks) in questions {
        let verdict = ask(program, view, checks, options, &mut sizes);
        if verdict != ProofVerdict::Proved {
            return Answered { verdict, sizes };
        }
    }
    Answered {
        verdict: ProofVerdict::Proved,
        sizes,
    }
}

fn ask(
    program: &ProofProgram,
    view: View,
    checks: &[Check],
    options: &ProofOptions,
    sizes: &mut Sizes,
) -> ProofVerdict {
    let mut encoding = Encoding::new(program, view);
    let mut failures: Vec<(Lit, String)> = Vec::new();
    for event in program.event_ids() {
        if let ProofEventKind::Assert { holds } = program.event(event).kind {
            let (executed, holds) = (encoding.executed(event), encoding.truth(holds));
            let fails = encoding.formula.and(executed, !holds);
            failures.push((fails, program.event(event).label.clone()));
        }
    }
    let in_threads = failures.len();
    for check in checks {
        let (guard, holds) = (encoding.truth(check.guard), encoding.truth(check.holds));
        let fails = encoding.formula.and(guard, !holds);
        failures.push((fails, check.label.clone()));
    }
    let some: Vec<Lit> = failures.iter().map(|(fails, _)| *fails).collect();
    encoding.formula.clause(&some);
    let plain = encoding.without_inputs();
    let mut solver = open(&encoding.formula, &encoding.ordering, &options.search);
    let answer = solver.solve(&[]);
    sizes.include(&encoding, solver.as_ref(), 1);
    match answer {
        Answer::Unsatisfiable => ProofVerdict::Proved,
        Answer::Unknown => gave_up(options),
        Answer::Satisfiable => {
            // Native runs have no inputs: a refutation without them can be seen there.
            if !plain.is_empty() && solver.solve(&plain) != Answer::Satisfiable {
                solver.solve(&[]);
            }
            let alone = failures[..in_threads]
                .iter()
                .any(|(fails, _)| solver.holds(*fails));
            let broken = failures
                .into_iter()
                .filter(|(fails, _)| solver.holds(*fails))
                .map(|(_, label)| label)
                .collect();
            let mut witness = Refutation::new(&encoding, solver.as_ref(), broken);
            witness.alone = alone;
            ProofVerdict::Refuted(Box::new(witness))
        }
    }
}
