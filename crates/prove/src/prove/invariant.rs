//! Do assertions hold, before a power failure and after it?

use super::{Answered, ProofOptions, ProofVerdict, Sizes, gave_up};
use crate::certificate::{Certificates, NoCertificates, ProofLog};
use crate::cnf::Lit;
use crate::encode::{Encoding, View};
use crate::program::{Check, ProofEventKind, ProofProgram};
use crate::solver::{Answer, open_logged};
use crate::witness::Refutation;

/// Asks for an execution in which some assertion fails: in a thread, in the recovery, or about the end.
pub fn invariant(program: &ProofProgram, options: &ProofOptions) -> Answered {
    certified_invariant(program, options, &mut NoCertificates)
}

/// The same, with what proves it.
pub fn certified_invariant(
    program: &ProofProgram,
    options: &ProofOptions,
    certificates: &mut dyn Certificates,
) -> Answered {
    let asserts = program
        .events
        .iter()
        .any(|event| matches!(event.kind, ProofEventKind::Assert { .. }));
    let mut questions: Vec<(&str, View, &[Check])> = Vec::new();
    if asserts || !program.recovery.checks.is_empty() {
        let view = View::AfterFailure(options.crash);
        questions.push(("assertions", view, &program.recovery.checks));
    }
    if !program.at_the_end.is_empty() {
        questions.push(("at-the-end", View::AtTheEnd, &program.at_the_end));
    }
    let mut sizes = Sizes::default();
    if questions.is_empty() {
        let verdict = match program.asserts {
            true => ProofVerdict::Proved,
            false => ProofVerdict::Nothing,
        };
        return Answered { verdict, sizes };
    }
    for (name, view, checks) in questions {
        let mut encoding = Encoding::new(program, view);
        let failures = Failures::demanded(&mut encoding, checks);
        let log = ProofLog::begin(certificates, name, &failures.text(), &encoding);
        let verdict = ask(&encoding, failures, options, (&mut sizes, log.as_ref()));
        if let Some(log) = log {
            log.end(certificates);
        }
        if verdict != ProofVerdict::Proved {
            return Answered { verdict, sizes };
        }
    }
    Answered {
        verdict: ProofVerdict::Proved,
        sizes,
    }
}

/// What can fail: in threads, then what is asked of the end or of the recovery.
struct Failures {
    all: Vec<(Lit, String)>,
    in_threads: usize,
    /// Every input is as it is in native runs.
    plain: Vec<Lit>,
}

impl Failures {
    /// Demands that something fails.
    fn demanded(encoding: &mut Encoding, checks: &[Check]) -> Failures {
        let program = encoding.program;
        let mut all: Vec<(Lit, String)> = Vec::new();
        for event in program.event_ids() {
            if let ProofEventKind::Assert { holds } = program.event(event).kind {
                let (executed, holds) = (encoding.executed(event), encoding.truth(holds));
                let fails = encoding.formula.and(executed, !holds);
                all.push((fails, program.event(event).label.clone()));
            }
        }
        let in_threads = all.len();
        for check in checks {
            let (guard, holds) = (encoding.truth(check.guard), encoding.truth(check.holds));
            let fails = encoding.formula.and(guard, !holds);
            all.push((fails, check.label.clone()));
        }
        let some: Vec<Lit> = all.iter().map(|(fails, _)| *fails).collect();
        encoding.formula.clause(&some);
        Failures {
            plain: encoding.without_inputs(),
            all,
            in_threads,
        }
    }

    /// The question, for people.
    fn text(&self) -> String {
        let mut text =
            "Is there an execution in which one of these fails? That one does is part of formula.cnf.\n"
                .to_owned();
        for (literal, label) in &self.all {
            text += &format!("  literal {}: {label}\n", literal.dimacs());
        }
        text
    }
}

fn ask(
    encoding: &Encoding,
    failures: Failures,
    options: &ProofOptions,
    (sizes, log): (&mut Sizes, Option<&ProofLog>),
) -> ProofVerdict {
    let mut solver = open_logged(&encoding.formula, &encoding.ordering, &options.search, log);
    let answer = solver.solve(&[]);
    sizes.include(encoding, solver.as_ref(), 1);
    match answer {
        Answer::Unsatisfiable => ProofVerdict::Proved,
        Answer::Unknown => gave_up(options),
        Answer::Satisfiable => {
            // Native runs have no inputs: a refutation without them can be seen there.
            if !failures.plain.is_empty() && solver.solve(&failures.plain) != Answer::Satisfiable {
                solver.solve(&[]);
            }
            let alone = failures.all[..failures.in_threads]
                .iter()
                .any(|(fails, _)| solver.holds(*fails));
            let broken = failures
                .all
                .into_iter()
                .filter(|(fails, _)| solver.holds(*fails))
                .map(|(_, label)| label)
                .collect();
            let mut witness = Refutation::new(encoding, solver.as_ref(), broken);
            witness.alone = alone;
            ProofVerdict::Refuted(Box::new(witness))
        }
    }
}
