//! Memory that one thread takes away while others use it, and read-modify-writes without a lock: what the search shows is what trying
//! everything shows, each graph once.

use landfall_testkit::program::{FAULT, Model, Order};
use landfall_testkit::schedules::agree::{agree, explore};
use landfall_testkit::schedules::{Draft, build, draft_of_all};
use proptest::prelude::*;

/// States of a program that is tried.
const MOST: usize = 60_000;

fn shape(threads: usize, instrs: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    let code = prop::collection::vec(draft_of_all(3, 2), 0..=instrs);
    prop::collection::vec(code, 2..=threads)
}

/// Some thread takes memory away for certain.
fn unmapping(threads: usize, instrs: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    (shape(threads, instrs), any::<prop::sample::Index>()).prop_map(|(mut shape, at)| {
        let at = at.index(shape[0].len() + 1);
        shape[0].insert(at, Draft::Unmap);
        shape
    })
}

fn holds(shape: &[Vec<Draft>], model: Model) -> Result<(), TestCaseError> {
    agree(&build(shape, Order::Atomic), model, MOST)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sc(shape in shape(3, 3)) {
        holds(&shape, Model::Sc)?;
    }

    #[test]
    fn tso(shape in shape(3, 3)) {
        holds(&shape, Model::Tso)?;
    }

    #[test]
    fn taken_away_sc(shape in unmapping(3, 2)) {
        holds(&shape, Model::Sc)?;
    }

    #[test]
    fn taken_away_tso(shape in unmapping(3, 2)) {
        holds(&shape, Model::Tso)?;
    }
}

/// A thread whose last step was before the memory went may still store to it, and dies of that: the store was not yet issued.
#[test]
fn a_store_is_issued_too_late() {
    use Draft::{Exchange, Load, Store, Unmap};
    let program = build(
        &[vec![Load(2), Store(0)], vec![Exchange(2), Unmap]],
        Order::Atomic,
    );
    for model in [Model::Sc, Model::Tso] {
        let (outcomes, _) = explore(&program, model);
        let dies_of_it = outcomes.iter().any(|outcome| {
            let thread = &outcome.regs[0];
            thread[0] == 0 && thread[FAULT.0 as usize] == 1
        });
        assert!(dies_of_it, "{model:?}");
    }
}

/// Two threads that add one without a lock lose one of the two, or not.
#[test]
fn an_update_is_lost() {
    let program = build(
        &[vec![Draft::Update(0)], vec![Draft::Update(0)]],
        Order::Atomic,
    );
    for model in [Model::Sc, Model::Tso] {
        let (outcomes, _) = explore(&program, model);
        let ends: Vec<u64> = outcomes.iter().map(|outcome| outcome.memory[0]).collect();
        assert!(ends.contains(&1) && ends.contains(&2), "{ends:?}");
    }
}

/// Where the buffer holds a store when a locked access dies, whose taking away it finds depends on whether it waits for that store.
#[test]
fn two_take_it_away() {
    use Draft::{FetchAdd, Store, Unmap, Update};
    let shape = [vec![Unmap, Store(2), FetchAdd(0)], vec![Unmap, Update(2)]];
    for model in [Model::Sc, Model::Tso] {
        holds(&shape, model).unwrap();
    }
}
