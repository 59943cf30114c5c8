//! The formula has the outcomes that both definitions of `landfall-litmus` have: on every bundled test and on random
//! programs, for every crash encoding and both solvers.

use landfall_litmus::operational::{self, ExploreOptions};
use landfall_litmus::print::to_lit;
use landfall_litmus::program::{LitmusOutcome, Test};
use landfall_litmus::{Model, axiomatic};
use landfall_model::order::Platform;
use landfall_prove::encode::{CrashEncoding, View};
use landfall_prove::litmus::translate;
use landfall_prove::outcomes::outcomes;
use landfall_prove::solver::{SearchOptions, Solver};
use landfall_prove::theory::Propagation;
use landfall_testkit::litmus::{corpus, random};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn defined(test: &Test) -> BTreeSet<LitmusOutcome> {
    let model = Model::px86(test.platform);
    operational::explore(
        &test.program,
        &test.observe,
        &model,
        &ExploreOptions::default(),
    )
    .expect("small enough")
    .outcomes
}

fn views(test: &Test) -> Vec<View> {
    match test.observe.is_recovery() {
        true => CrashEncoding::ALL.map(View::AfterFailure).to_vec(),
        false => vec![View::AtTheEnd],
    }
}

/// How the formula's outcomes differ, in words.
fn difference(test: &Test, defined: &BTreeSet<LitmusOutcome>) -> Option<String> {
    let litmus = translate(test).expect("no transactions");
    for view in views(test) {
        for (solver, propagation) in [
            (Solver::Cadical, Propagation::Visited),
            (Solver::Cadical, Propagation::Eager),
            (Solver::Batsat, Propagation::Visited),
            (Solver::Batsat, Propagation::Off),
        ] {
            let options = SearchOptions {
                solver,
                propagation,
                ..SearchOptions::default()
            };
            let found = outcomes(&litmus.program, &litmus.observed, view, &options)
                .expect("no limit was set");
            if found != *defined {
                let missing: Vec<_> = defined.difference(&found).collect();
                let invented: Vec<_> = found.difference(defined).collect();
                return Some(format!(
                    "{view:?} {options:?}\nmissing {missing:?}\ninvented {invented:?}\n{}",
                    to_lit(test)
                ));
            }
        }
    }
    None
}

#[test]
fn every_bundled_test_has_its_outcomes() {
    let corpus = corpus::read_corpus_without_transactions();
    assert!(corpus.len() > 100, "the corpus shrank");
    for (path, test) in corpus {
        let machine = defined(&test);
        let model = Model::px86(test.platform);
        let graphs = axiomatic::outcomes(&test.program, &test.observe, &model, 10_000_000);
        assert_eq!(graphs.as_ref(), Ok(&machine), "{}", path.display());
        if let Some(why) = difference(&test, &machine) {
            panic!("{}: {why}", path.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|c| c.parse().ok()).unwrap_or(400),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_programs_have_their_outcomes(
        shape in random::shape(3, 5),
        platform in prop_oneof![3 => Just(Platform::Adr), 1 => Just(Platform::Eadr)],
    ) {
        let mut test = random::build(&shape);
        test.platform = platform;
        if let Some(why) = difference(&test, &defined(&test)) {
            return Err(TestCaseError::fail(why));
        }
    }
}
