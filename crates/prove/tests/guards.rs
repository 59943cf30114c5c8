//! Branches. Events are guarded by inputs; a program with inputs has the outcomes of all the programs that their values make.

use landfall_litmus::Model;
use landfall_litmus::operational::{self, ExploreOptions};
use landfall_litmus::print::to_lit;
use landfall_litmus::program::{Instr, LitmusOutcome, Test};
use landfall_model::order::Platform;
use landfall_prove::encode::{CrashEncoding, View};
use landfall_prove::litmus::translate;
use landfall_prove::outcomes::outcomes;
use landfall_prove::program::ProofEventId;
use landfall_prove::solver::{SearchOptions, Solver};
use landfall_prove::term::{Term, Terms};
use landfall_testkit::litmus::random;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// When an instruction is there.
#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    /// Input number, and the value it must have.
    If(usize, bool),
    Both(bool, bool),
}

impl When {
    fn holds(self, inputs: [bool; 2]) -> bool {
        match self {
            When::Always => true,
            When::If(input, value) => inputs[input] == value,
            When::Both(a, b) => inputs == [a, b],
        }
    }

    fn term(self, terms: &mut Terms, inputs: [Term; 2]) -> Term {
        let mut literal = |input: usize, value| match value {
            true => inputs[input],
            false => terms.not(inputs[input]),
        };
        match self {
            When::Always => terms.truth(true),
            When::If(input, value) => literal(input, value),
            When::Both(a, b) => {
                let (a, b) = (literal(0, a), literal(1, b));
                terms.and(a, b)
            }
        }
    }
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        3 => Just(When::Always),
        3 => (0..2usize, any::<bool>()).prop_map(|(input, value)| When::If(input, value)),
        1 => any::<(bool, bool)>().prop_map(|(a, b)| When::Both(a, b)),
    ]
}

/// Its register is used by nothing, so that it can be left out.
fn can_be_missing(test: &Test, thread: usize, at: usize) -> bool {
    let body = &test.program.threads[thread].body;
    let instr = &body[at];
    let arithmetic = matches!(
        instr,
        Instr::Arith { .. } | Instr::If { .. } | Instr::Move { .. }
    );
    let used = |reg| {
        body[at + 1..]
            .iter()
            .any(|later| later.uses().any(|r| r == reg))
    };
    !arithmetic && instr.sets().is_none_or(|reg| !used(reg))
}

fn whens(test: &Test, drawn: &[When]) -> Vec<Vec<When>> {
    let mut drawn = drawn.iter().copied().cycle();
    let threads = test.program.threads.iter().enumerate();
    threads
        .map(|(t, thread)| {
            let places = 0..thread.body.len();
            places
                .map(|at| match can_be_missing(test, t, at) {
                    true => drawn.next().unwrap_or(When::Always),
                    false => When::Always,
                })
                .collect()
        })
        .collect()
}

fn union(test: &Test, whens: &[Vec<When>]) -> BTreeSet<LitmusOutcome> {
    let mut all = BTreeSet::new();
    for inputs in [[false, false], [false, true], [true, false], [true, true]] {
        let mut program = test.program.clone();
        for (thread, whens) in program.threads.iter_mut().zip(whens) {
            let mut there = whens.iter().map(|when| when.holds(inputs));
            thread.body.retain(|_| there.next().unwrap_or(true));
        }
        let model = Model::px86(test.platform);
        let explored =
            operational::explore(&program, &test.observe, &model, &ExploreOptions::default());
        all.extend(explored.expect("small").outcomes);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|c| c.parse().ok()).unwrap_or(400),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn guarded_events_are_there_or_not(
        mut shape in random::shape(3, 5),
        platform in prop_oneof![4 => Just(Platform::Adr), 1 => Just(Platform::Eadr)],
        drawn in prop::collection::vec(when(), 15),
    ) {
        shape.recover = true;
        let mut test = random::build(&shape);
        test.platform = platform;
        let whens = whens(&test, &drawn);
        let expected = union(&test, &whens);
        let mut litmus = translate(&test).expect("no transactions");
        let program = &mut litmus.program;
        let inputs = [program.terms.input(1), program.terms.input(1)];
        // Events are the instructions that touch memory or order, thread after thread.
        let kinds = test.program.threads.iter().zip(&whens);
        let conditions: Vec<When> = kinds
            .flat_map(|(thread, whens)| thread.body.iter().zip(whens))
            .filter(|(instr, _)| instr.op_kind().is_some())
            .map(|(_, &when)| when)
            .collect();
        prop_assert_eq!(conditions.len(), program.events.len());
        for (id, when) in conditions.into_iter().enumerate() {
            let condition = when.term(&mut program.terms, inputs);
            let guard = program.event(ProofEventId(id as u32)).guard;
            program.events[id].guard = program.terms.and(guard, condition);
        }
        for encoding in CrashEncoding::ALL {
            for solver in [Solver::Cadical, Solver::Batsat] {
                let options = SearchOptions { solver, ..SearchOptions::default() };
                let view = View::AfterFailure(encoding);
                let found = outcomes(&litmus.program, &litmus.observed, view, &options).expect("no limit");
                prop_assert_eq!(&found, &expected, "{:?} {:?} {:?}\n{}", encoding, solver, whens, to_lit(&test));
            }
        }
    }
}
