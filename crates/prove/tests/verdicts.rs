//! Verdicts: invariants against the outcomes that the litmus definitions give, robustness against strict persistency.

use landfall_litmus::Model;
use landfall_litmus::expect::{Expectation, Prop, Quantifier};
use landfall_litmus::operational::{self, ExploreOptions as Limits};
use landfall_litmus::print::to_lit;
use landfall_litmus::program::{LitmusOutcome, Observe, Test};
use landfall_model::order::Platform;
use landfall_prove::encode::CrashEncoding;
use landfall_prove::litmus::translate;
use landfall_prove::prove::{ProofOptions, ProofVerdict, invariant, robust};
use landfall_prove::solver::{SearchOptions, Solver};
use landfall_testkit::litmus::random::Draft;
use landfall_testkit::litmus::{corpus, random};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn defined(test: &Test, platform: Platform) -> BTreeSet<LitmusOutcome> {
    let limits = Limits::default();
    let model = Model::px86(platform);
    let explored = operational::explore(&test.program, &test.observe, &model, &limits);
    explored.expect("small").outcomes
}

fn never(outcome: &[i64]) -> Expectation {
    let places = outcome.iter().enumerate();
    Expectation {
        quantifier: Quantifier::Never,
        prop: Prop::And(places.map(|(at, &value)| Prop::Eq(at, value)).collect()),
        text: format!("{outcome:?}"),
    }
}

fn all_options() -> Vec<ProofOptions> {
    let mut all = Vec::new();
    for crash in CrashEncoding::ALL {
        for solver in [Solver::Cadical, Solver::Batsat] {
            let search = SearchOptions {
                solver,
                ..SearchOptions::default()
            };
            all.push(ProofOptions {
                crash,
                search,
                ..ProofOptions::default()
            });
        }
    }
    all
}

/// A possible outcome is refuted, with a witness that ends in it; an impossible one is proved.
#[test]
fn what_can_happen_is_refuted_and_what_cannot_is_proved() {
    for (path, mut test) in corpus::read_corpus_without_transactions() {
        let outcomes = defined(&test, test.platform);
        let possible = outcomes.iter().next().expect("some outcome").clone();
        let mut impossible = possible.clone();
        impossible[0] = 77;
        for options in all_options() {
            test.expect = vec![never(&impossible)];
            let answered = invariant(
                &translate(&test).expect("no transactions").program,
                &options,
            );
            assert_eq!(answered.verdict, ProofVerdict::Proved, "{}", path.display());
            test.expect.push(never(&possible));
            let answered = invariant(
                &translate(&test).expect("no transactions").program,
                &options,
            );
            let ProofVerdict::Refuted(witness) = answered.verdict else {
                panic!("{}: {possible:?} is possible", path.display());
            };
            assert_eq!(witness.broken, [format!("{possible:?}")]);
            if let Observe::Recover(vars) = &test.observe {
                for (var, value) in vars.iter().zip(&possible) {
                    let name = test.program.var_name(*var);
                    let found = witness.found.iter().find(|f| f.name == name);
                    assert_eq!(found.map(|f| f.value as i64), Some(*value), "{witness}");
                }
            }
            assert!(!witness.to_dot().is_empty());
        }
    }
}

/// Every bundled file's own expectations hold, so nothing it forbids is refuted.
#[test]
fn bundled_tests_are_proved() {
    let mut proved = 0;
    for (path, test) in corpus::read_corpus_without_transactions() {
        match invariant(
            &translate(&test).expect("no transactions").program,
            &ProofOptions::default(),
        )
        .verdict
        {
            ProofVerdict::Proved => proved += 1,
            ProofVerdict::Nothing => {
                let forbids = |e: &Expectation| e.quantifier != Quantifier::Exists;
                assert!(!test.expect.iter().any(forbids), "{}", path.display());
            }
            other => panic!("{}: {other:?}", path.display()),
        }
    }
    assert!(proved > 80, "only {proved} files forbid something");
}

/// The instructions whose stores are told apart by their values, and persist as others do.
fn distinct(draft: &Draft) -> bool {
    !matches!(
        draft,
        Draft::Nt(_) | Draft::StoreRead(_) | Draft::XchgRead(_) | Draft::Faa(_)
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|c| c.parse().ok()).unwrap_or(300),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// With eADR a crash leaves one instant. Where values tell stores apart, a program is robust if its flushes leave
    /// nothing else.
    #[test]
    fn robust_is_what_strict_persistency_shows(mut shape in random::shape(3, 5)) {
        shape.recover = true;
        shape.init.iter_mut().for_each(|init| *init = 0);
        for thread in &mut shape.threads {
            thread.retain(distinct);
        }
        let test = random::build(&shape);
        let instants = defined(&test, Platform::Eadr);
        let expected = defined(&test, Platform::Adr).is_subset(&instants);
        let program = translate(&test).expect("no transactions").program;
        for options in all_options() {
            match robust(&program, &options).verdict {
                ProofVerdict::Proved => prop_assert!(expected, "{:?}\n{}", options, to_lit(&test)),
                ProofVerdict::Refuted(witness) => {
                    prop_assert!(!expected, "{:?}\n{}{}", options, to_lit(&test), witness);
                    prop_assert!(!witness.broken.is_empty());
                    let state: LitmusOutcome = match &test.observe {
                        Observe::Recover(vars) => vars.iter().map(|v| {
                            let name = test.program.var_name(*v);
                            witness.found.iter().find(|f| f.name == name).map_or(0, |f| f.value as i64)
                        }).collect(),
                        Observe::Final(_) => Vec::new(),
                    };
                    prop_assert!(!instants.contains(&state));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
