//! Every litmus file in the repository: expected verdict, and the same outcomes from all three definitions.

use landfall_litmus::operational::{ExploreOptions, explore, witness};
use landfall_litmus::{Model, axiomatic, buffers, subject};
use landfall_testkit::litmus::corpus::read_corpus;

#[test]
fn every_file_has_its_verdict_under_every_definition() {
    let corpus = read_corpus("");
    let own = corpus
        .iter()
        .filter(|(path, _)| path.to_string_lossy().contains("/table/"))
        .count();
    assert!(corpus.len() >= 52 + 30 && own >= 30, "the corpus shrank");
    for (path, test) in &corpus {
        let name = path.display();
        let model = Model::px86(test.platform);
        let (program, observe) = (&test.program, &test.observe);
        let machine = explore(program, observe, &model, &ExploreOptions::default()).expect("small");
        for expectation in &test.expect {
            assert!(
                expectation.holds(&machine.outcomes),
                "{name}: expected {:?} {}, found {:?}",
                expectation.quantifier,
                expectation.text,
                machine.outcomes
            );
        }
        let graphs = axiomatic::outcomes(program, observe, &model, 10_000_000).expect("small");
        assert_eq!(machine.outcomes, graphs, "{name}: graphs");
        let literal = buffers::outcomes(program, observe, &model, 5_000_000).expect("small");
        assert_eq!(machine.outcomes, literal, "{name}: buffers");
    }
}

/// A witness is a real execution: each outcome has one, and nothing else has.
#[test]
fn outcomes_and_only_outcomes_have_witnesses() {
    let options = ExploreOptions::default();
    for (path, test) in [read_corpus("px86"), read_corpus("transactions")].concat() {
        let model = Model::px86(test.platform);
        let (program, observe) = (&test.program, &test.observe);
        let explored = explore(program, observe, &model, &options).expect("small");
        for outcome in &explored.outcomes {
            let found = witness(program, observe, &model, outcome, &options).expect("small");
            let found = found.unwrap_or_else(|| panic!("{}: {outcome:?}", path.display()));
            let recovered: Vec<i64> = found.crash.iter().map(|c| c.recovered).collect();
            assert!(!observe.is_recovery() || recovered == *outcome);
            let mut impossible = outcome.clone();
            impossible[0] = 77;
            let none = witness(program, observe, &model, &impossible, &options).expect("small");
            assert_eq!(none, None);
        }
    }
}

/// The crash search finds the same outcomes as the definitions, where it applies.
#[test]
fn the_crash_search_agrees_on_tests_of_one_thread() {
    let mut compared = 0;
    for (path, test) in read_corpus("") {
        let (program, observe) = (&test.program, &test.observe);
        let Some(found) = subject::outcomes(program, observe, test.platform) else {
            continue;
        };
        let model = Model::px86(test.platform);
        let machine = explore(program, observe, &model, &ExploreOptions::default()).expect("small");
        assert_eq!(found.expect("runs"), machine.outcomes, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} tests of one thread");
}
