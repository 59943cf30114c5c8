//! On random programs the search shows every outcome, in exactly one execution per graph of reads-from and coherence,
//! and no execution is cut short by a sleep set.

use landfall_testkit::program::{Model, Order, Program};
use landfall_testkit::schedules::agree::{agree, explore_most};
use landfall_testkit::schedules::{
    Draft, Keep, Outcome, brute_force, build, create_and_join, shape,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// States of a program that is tried.
const MOST: usize = 60_000;

/// Executions of a program that spins: it may have millions.
const MOST_SPINNING: u64 = 20_000;

/// Spinning threads: what complete executions show, and whether everybody may wait for ever.
fn agree_spinning(program: &Program, model: Model) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, _)) = brute_force(program, model, Keep::States, 10_000) else {
        return Ok(());
    };
    let (found, counts) = explore_most(program, model, MOST_SPINNING);
    let complete = |outcomes: &BTreeSet<Outcome>| -> BTreeSet<Outcome> {
        outcomes
            .iter()
            .filter(|outcome| !outcome.stuck)
            .cloned()
            .collect()
    };
    // Too many: then only that nothing is found that cannot be.
    if counts.executions == MOST_SPINNING {
        prop_assert!(complete(&found).is_subset(&outcomes), "{:?}", model);
        return Ok(());
    }
    prop_assert_eq!(complete(&found), complete(&outcomes), "{:?}", model);
    let stuck = |outcomes: &BTreeSet<Outcome>| outcomes.iter().any(|outcome| outcome.stuck);
    prop_assert_eq!(stuck(&found), stuck(&outcomes), "{:?}", model);
    prop_assert!(counts.complete, "{:?}", counts);
    Ok(())
}

/// A program in which some instructions spin.
fn spinning() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    let spins = prop::collection::vec(
        (0usize..3, 0usize..4, 0u8..2, 0u64..4, any::<bool>()),
        1..=3,
    );
    (shape(3, 3), spins).prop_map(|(mut shape, spins)| {
        for (thread, at, var, value, lock) in spins {
            let thread = thread % shape.len();
            let at = at.min(shape[thread].len());
            let draft = if lock {
                Draft::SpinLock(var)
            } else {
                Draft::Await(var, value)
            };
            shape[thread].insert(at, draft);
        }
        shape
    })
}

/// Cases that went wrong once.
#[test]
fn remembered() {
    use landfall_testkit::schedules::Draft::*;
    // A sleeper that was beside the reversal of a race in one execution was not beside it in the next.
    let shape = [
        vec![Store(1), Load(0)],
        vec![Store(1), StoreRead(0), Load(1)],
        vec![Cas(1, 0), Cas(1, 0), Store(0)],
    ];
    agree(&build(&shape, Order::Atomic), Model::Tso, MOST).expect("agrees");
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_execution_per_graph_sc(shape in shape(3, 4)) {
        agree(&build(&shape, Order::Atomic), Model::Sc, MOST)?;
    }

    #[test]
    fn one_execution_per_graph_tso(shape in shape(3, 4)) {
        agree(&build(&shape, Order::Atomic), Model::Tso, MOST)?;
    }

    #[test]
    fn created_and_joined_threads(shape in shape(3, 3), places in prop::collection::vec(any::<u8>(), 4)) {
        let mut program = build(&shape, Order::Atomic);
        create_and_join(&mut program, &places);
        agree(&program, Model::Sc, MOST)?;
        agree(&program, Model::Tso, MOST)?;
    }

    #[test]
    fn spinning_threads(shape in spinning()) {
        agree_spinning(&build(&shape, Order::Atomic), Model::Sc)?;
        agree_spinning(&build(&shape, Order::Atomic), Model::Tso)?;
    }

    #[test]
    fn two_longer_threads(shape in shape(2, 6)) {
        agree(&build(&shape, Order::Atomic), Model::Sc, MOST)?;
        agree(&build(&shape, Order::Atomic), Model::Tso, MOST)?;
    }
}
