//! On random programs the search shows every outcome, in exactly one execution per graph of reads-from and coherence,
//! and no execution is cut short by a sleep set.

use landfall_testkit::program::{Model, Order};
use landfall_testkit::schedules::agree::{agree, agree_with_loops, counts_as_assumed};
use landfall_testkit::schedules::{Draft, build, create_and_join, shape};
use proptest::prelude::*;

/// States of a program that is tried.
const MOST: usize = 60_000;

/// Loops that wait and change nothing.
fn pure_loop() -> impl Strategy<Value = Draft> {
    prop_oneof![
        3 => (0u8..2, 0u64..4).prop_map(|(v, value)| Draft::Await(v, value)),
        2 => (0u8..3, 0u8..3, 0u64..5).prop_map(|(v, w, sum)| Draft::AwaitSum(v, w, sum)),
    ]
}

/// Loops that wait.
fn any_loop() -> impl Strategy<Value = Draft> {
    prop_oneof![
        2 => pure_loop(),
        1 => (0u8..2).prop_map(Draft::SpinLock),
        1 => (0u8..2, 0u8..2, 0u64..4).prop_map(|(l, v, value)| Draft::AwaitLocked(l, v, value)),
        1 => (0u8..2, 0u8..2, 0u64..4).prop_map(|(v, w, value)| Draft::AwaitSpinning(v, w, value)),
        1 => (0u8..2).prop_map(Draft::Count),
        1 => (0u8..2).prop_map(Draft::Try),
    ]
}

/// A program with some of these in its threads.
fn with(
    loops: impl Strategy<Value = Draft>,
    threads: usize,
    instrs: usize,
) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    let places = prop::collection::vec((0usize..3, 0usize..4, loops), 1..=3);
    (shape(threads, instrs), places).prop_map(|(mut shape, places)| {
        for (thread, at, draft) in places {
            let thread = thread % shape.len();
            let at = at.min(shape[thread].len());
            shape[thread].insert(at, draft);
        }
        shape
    })
}

fn agree_spinning(shape: &[Vec<Draft>]) -> Result<(), TestCaseError> {
    for model in [Model::Sc, Model::Tso] {
        agree_with_loops(&build(shape, Order::Atomic), model)?;
    }
    Ok(())
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
    // What one waits for is there while the other one's turn lasts, which is in vain: no livelock.
    let shape = [
        vec![AwaitSpinning(0, 1, 1), Exchange(0)],
        vec![AwaitLocked(0, 0, 1), FetchAdd(1)],
    ];
    agree_spinning(&shape).expect("agrees");
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
    fn threads_that_wait(shape in with(any_loop(), 3, 3)) {
        agree_spinning(&shape)?;
    }

    #[test]
    fn two_longer_threads_that_wait(shape in with(any_loop(), 2, 5)) {
        agree_spinning(&shape)?;
    }

    #[test]
    fn one_that_others_see_undo_its_turn(mut shape in with(any_loop(), 3, 2), at in 0usize..3, v in 0u8..2, w in 0u8..2, value in 0u64..4) {
        let at = at.min(shape[0].len());
        shape[0].insert(at, Draft::Announce(v, w, value));
        agree_spinning(&shape)?;
    }

    #[test]
    fn one_that_leaves_a_store_in_its_buffer(mut shape in with(any_loop(), 3, 2), at in 0usize..3, lock: bool, v in 0u8..2, w in 0u8..2, value in 0u64..4) {
        let at = at.min(shape[0].len());
        let draft = if lock { Draft::AwaitSpinning(v, w, value) } else { Draft::Keep(v, w, value) };
        shape[0].insert(at, draft);
        agree_spinning(&shape)?;
    }

    #[test]
    fn two_that_take_turns_with_a_lock_of_their_own(shape in shape(2, 2), at in 0usize..3, others in 0usize..3, w in 1u8..3, value in 0u64..4, other in 0u64..4) {
        let mut shape = shape;
        for (thread, at, value) in [(0, at, value), (1, others, other)] {
            let at = at.min(shape[thread].len());
            shape[thread].insert(at, Draft::AwaitSpinning(0, w, value));
        }
        agree_spinning(&shape)?;
    }

    #[test]
    fn waiting_costs_nothing(shape in with(pure_loop(), 3, 3)) {
        for model in [Model::Sc, Model::Tso] {
            counts_as_assumed(&build(&shape, Order::Atomic), model)?;
        }
    }

    #[test]
    fn two_longer_threads(shape in shape(2, 6)) {
        agree(&build(&shape, Order::Atomic), Model::Sc, MOST)?;
        agree(&build(&shape, Order::Atomic), Model::Tso, MOST)?;
    }
}

proptest! {
    // Programs with hundreds of executions each.
    #![proptest_config(ProptestConfig { cases: cases() / 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_that_see_each_other_undo_their_turns(mut shape in with(any_loop(), 3, 2), at in 0usize..3, others in 0usize..3, v in 0u8..2, value in 0u64..2, other in 0u64..2) {
        for (thread, at, mine, value) in [(0, at, v, value), (1, others, 1 - v, other)] {
            let at = at.min(shape[thread].len());
            shape[thread].insert(at, Draft::Announce(mine, 1 - mine, value));
        }
        agree_spinning(&shape)?;
    }

    #[test]
    fn two_that_only_see_each_other(mut shape in shape(3, 2), at in 0usize..3, others in 0usize..3, v in 0u8..2, value in 0u64..2, other in 0u64..2) {
        for (thread, at, mine, value) in [(0, at, v, value), (1, others, 1 - v, other)] {
            let at = at.min(shape[thread].len());
            shape[thread].insert(at, Draft::Announce(mine, 1 - mine, value));
        }
        agree_spinning(&shape)?;
    }

    #[test]
    fn two_that_look_twice_at_each_other(mut shape in shape(2, 2), third in prop::option::of(0u8..2), at in 0usize..3, others in 0usize..3, v in 0u8..2, value in 0usize..5, other in 0usize..5) {
        let sums = [0, 9, 18, 1, 10];
        for (thread, at, mine, value) in [(0, at, v, value), (1, others, 1 - v, other)] {
            let at = at.min(shape[thread].len());
            shape[thread].insert(at, Draft::AnnounceTwice(mine, 1 - mine, sums[value]));
        }
        shape.extend(third.map(|third| vec![Draft::StoreRead(third), Draft::Load(1 - third)]));
        agree_spinning(&shape)?;
    }
}
