//! Each cell of the ordering table is held by a test: change it, and some expectation of the corpus fails, under both
//! definitions. The changes no test can see are listed in `litmus/table/implied.txt`, with the reason; that list is
//! checked from both sides.

use landfall_litmus::operational::{Options, explore};
use landfall_litmus::print::to_lit;
use landfall_litmus::program::Test;
use landfall_litmus::{Model, axiomatic};
use landfall_model::order::{Keep, OpKind, OrderTable, Platform};
use landfall_testkit::litmus::corpus::{litmus_dir, read_corpus};
use landfall_testkit::litmus::random;
use proptest::prelude::*;
use std::collections::BTreeSet;

type Change = (OpKind, OpKind, Keep);

fn changes() -> Vec<Change> {
    let mut all = Vec::new();
    for earlier in OpKind::ALL {
        for later in OpKind::ALL {
            let real = OrderTable::PX86.keep(earlier, later);
            all.extend(
                Keep::ALL
                    .into_iter()
                    .filter(|&keep| keep != real)
                    .map(|keep| (earlier, later, keep)),
            );
        }
    }
    all
}

fn show((earlier, later, keep): Change) -> String {
    format!("{earlier} {later} {}", keep.symbol())
}

fn implied() -> Vec<Change> {
    let text = std::fs::read_to_string(litmus_dir().join("table/implied.txt")).expect("list");
    let listed: BTreeSet<String> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let (change, why) = line.split_once(" : ").expect("CHANGE : why");
            assert!(!why.trim().is_empty(), "{line}: no reason given");
            change.trim().to_owned()
        })
        .collect();
    let known: Vec<Change> = changes()
        .into_iter()
        .filter(|&change| listed.contains(&show(change)))
        .collect();
    assert_eq!(
        known.len(),
        listed.len(),
        "implied.txt lists an unknown change"
    );
    known
}

/// Does a test fail under the changed table?
fn caught(
    corpus: &[Test],
    change: Change,
    outcomes: impl Fn(&Test, &Model) -> BTreeSet<Vec<i64>>,
) -> bool {
    let (earlier, later, keep) = change;
    let table = OrderTable::PX86.with(earlier, later, keep);
    corpus.iter().any(|test| {
        let model = Model {
            table: table.clone(),
            platform: test.platform,
        };
        let found = outcomes(test, &model);
        !test
            .expect
            .iter()
            .all(|expectation| expectation.holds(&found))
    })
}

#[test]
fn each_cell_is_held_by_a_test_or_implied() {
    let corpus: Vec<Test> = read_corpus("table")
        .into_iter()
        .map(|(_, test)| test)
        .collect();
    let implied = implied();
    let machine = |test: &Test, model: &Model| {
        explore(&test.program, &test.observe, model, &Options::default())
            .expect("small")
            .outcomes
    };
    let graphs = |test: &Test, model: &Model| {
        axiomatic::outcomes(&test.program, &test.observe, model, 10_000_000).expect("small")
    };
    for change in changes() {
        let expected = !implied.contains(&change);
        let name = show(change);
        assert_eq!(
            caught(&corpus, change, machine),
            expected,
            "operational: {name}"
        );
        assert_eq!(
            caught(&corpus, change, graphs),
            expected,
            "axiomatic: {name}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The other side of the list: an implied cell really makes no difference.
    #[test]
    fn implied_cells_make_no_difference(shape in random::shape(3, 4)) {
        let test = random::build(&shape);
        let outcomes = |table: OrderTable| {
            let model = Model { table, platform: Platform::Adr };
            explore(&test.program, &test.observe, &model, &Options::default())
                .expect("small")
                .outcomes
        };
        let real = outcomes(OrderTable::PX86);
        for change in implied() {
            let (earlier, later, keep) = change;
            prop_assert_eq!(
                &outcomes(OrderTable::PX86.with(earlier, later, keep)),
                &real,
                "{} can be seen by\n{}", show(change), to_lit(&test)
            );
        }
    }
}
