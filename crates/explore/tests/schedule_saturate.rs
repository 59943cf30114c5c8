//! Preempting where data races finds what preempting everywhere finds.

mod schedule_support;

use landfall_explore::schedule::interpret::Interpreter;
use landfall_explore::schedule::program::{Model, Order, Program};
use landfall_explore::schedule::saturate::{Preempt, Saturated, saturate};
use landfall_explore::schedule::{End, Options, catalogue};
use proptest::prelude::*;
use schedule_support::{Outcome, build, create_and_join, shape};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

fn explore(program: &Program, model: Model, preempt: Preempt) -> (BTreeSet<Outcome>, Saturated) {
    let mut outcomes = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    let saturated = saturate(
        &mut threads,
        preempt,
        Options::default(),
        |threads, search| {
            outcomes.insert(Outcome {
                memory: threads.memory().to_vec(),
                regs: (0..program.threads.len())
                    .map(|t| threads.registers(t).to_vec())
                    .collect(),
                stuck: search.trace().end == End::Deadlock,
            });
            ControlFlow::Continue(())
        },
    )
    .expect("runs");
    assert_eq!(saturated.counts.blocked, 0);
    (outcomes, saturated)
}

fn agree(program: &Program, model: Model) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let (everywhere, all) = explore(program, model, Preempt::Everywhere);
    let (auto, some) = explore(program, model, Preempt::Auto);
    prop_assert_eq!(&auto, &everywhere, "{:?}", model);
    prop_assert!(some.counts.complete && all.counts.complete);
    prop_assert!(
        some.counts.executions <= all.counts.executions,
        "{:?} {:?}",
        some,
        all
    );
    let (sync, without) = explore(program, model, Preempt::Sync);
    prop_assert!(sync.is_subset(&everywhere));
    // It is complete, or says why not.
    prop_assert_eq!(without.counts.complete, without.sites.is_empty());
    prop_assert!(!without.counts.complete || sync == everywhere);
    Ok(())
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn auto_finds_what_everywhere_finds_sc(shape in shape(3, 4)) {
        agree(&build(&shape, Order::Plain), Model::Sc)?;
    }

    #[test]
    fn also_with_created_threads(shape in shape(3, 3), places in prop::collection::vec(any::<u8>(), 4)) {
        let mut program = build(&shape, Order::Plain);
        create_and_join(&mut program, &places);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn auto_finds_what_everywhere_finds_tso(shape in shape(3, 4)) {
        agree(&build(&shape, Order::Plain), Model::Tso)?;
    }
}

/// What a lock protects is no point, and the transitions that it saves are.
#[test]
fn protected_data_costs_nothing() {
    let program = catalogue::locked_increment(4);
    let (_, auto) = explore(&program, Model::Tso, Preempt::Auto);
    assert_eq!((auto.counts.executions, auto.rounds), (24, 1));
    assert!(auto.sites.is_empty());
    let (_, everywhere) = explore(&program, Model::Tso, Preempt::Everywhere);
    assert_eq!(everywhere.counts.executions, 24);
    assert!(auto.counts.steps * 2 <= everywhere.counts.steps);
}
