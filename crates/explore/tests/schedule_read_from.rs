//! Executions that differ in nothing anybody reads: how many classes of them there are.

use landfall_explore::schedule::Options;
use landfall_explore::schedule::read_from::ReadsTold::{ByStores, ByValues};
use landfall_explore::schedule::read_from::{SearchedReads, read_all};
use landfall_explore::schedule::saturate::Preempt;
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Model, Order, Program};
use landfall_testkit::schedules::agree_reads::{agree, agree_in_the_end, explore};
use landfall_testkit::schedules::read_from::read_from;
use landfall_testkit::schedules::{build, create_and_join, shape};
use proptest::prelude::*;
use std::ops::ControlFlow;

/// States of a program that is tried.
const MOST: usize = 60_000;

/// Orders of stores, stores read, values read: by trying everything.
fn classes(program: &Program, model: Model) -> (usize, usize, usize) {
    let all = read_from(program, model, 500_000).expect("few states");
    (all.orders, all.reads, all.values)
}

#[test]
fn what_trying_everything_finds() {
    for model in [Model::Sc, Model::Tso] {
        let of = |program: Program| classes(&program, model);
        // A read, then the same store or another one, but for the first value.
        assert_eq!(of(catalogue::stores(3, false, 2)), (60, 13, 13));
        assert_eq!(of(catalogue::stores(3, true, 1)), (24, 4, 2));
        assert_eq!(of(catalogue::fetch_add(3)), (6, 6, 6));
        assert_eq!(of(catalogue::readers(3)), (8, 8, 8));
    }
}

#[test]
fn programs_with_known_numbers() {
    for model in [Model::Sc, Model::Tso] {
        let of = |program: Program| {
            let (_, counts) =
                explore(&program, model, ByStores, Options::default()).expect("is known");
            assert!(counts.complete);
            counts.executions
        };
        assert_eq!(of(catalogue::stores(5, false, 2)), 31);
        assert_eq!(of(catalogue::stores(6, true, 1)), 7);
        assert_eq!(of(catalogue::fetch_add(5)), 120);
        assert_eq!(of(catalogue::cas_rotation(6)), 144);
        assert_eq!(of(catalogue::cas_then_write(4)), 200);
        assert_eq!(of(catalogue::last_zero(5)), 64);
        assert_eq!(of(catalogue::readers(8)), 256);
        assert_eq!(of(catalogue::indexer(12)), 8);
        assert_eq!(of(catalogue::locked_increment(4)), 24);
    }
}

#[test]
fn what_is_read_tells_apart_no_more_than_it_must() {
    for model in [Model::Sc, Model::Tso] {
        let of = |program: Program| {
            let (_, counts) =
                explore(&program, model, ByValues, Options::default()).expect("is known");
            assert!(counts.complete);
            counts.executions
        };
        assert_eq!(of(catalogue::stores(5, false, 2)), 31);
        assert_eq!(of(catalogue::stores(6, true, 1)), 2);
        assert_eq!(of(catalogue::fetch_add(5)), 120);
        assert_eq!(of(catalogue::readers(8)), 256);
        assert_eq!(of(catalogue::locked_increment(4)), 24);
    }
}

/// Whoever wants no more than so many executions is told of those that are like one before.
#[test]
fn each_execution_is_told() {
    let of = |program: Program, told| {
        let mut threads = Interpreter::new(&program, Model::Sc).blind_in_the_end();
        let (mut all, mut again) = (0, 0);
        let preempt = Preempt::Everywhere;
        let searched = read_all(
            &mut threads,
            told,
            preempt,
            Options::default(),
            |_, search| {
                all += 1;
                again += u64::from(search.repeats());
                ControlFlow::Continue(())
            },
        );
        let Ok(SearchedReads::Searched(found)) = searched else {
            panic!("{searched:?}");
        };
        let counts = found.counts;
        assert_eq!(all, counts.executions + counts.repeated);
        assert_eq!(again, counts.repeated);
        again
    };
    assert!(of(catalogue::fibonacci(3), ByStores) > 0);
    assert!(of(catalogue::fibonacci(3), ByValues) > 0);
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_execution_for_each_way_to_read_sc(shape in shape(3, 4)) {
        let program = build(&shape, Order::Atomic);
        agree(&program, Model::Sc, ByStores, MOST)?;
        agree(&program, Model::Sc, ByValues, MOST)?;
    }

    #[test]
    fn one_execution_for_each_way_to_read_tso(shape in shape(3, 4)) {
        let program = build(&shape, Order::Atomic);
        agree(&program, Model::Tso, ByStores, MOST)?;
        agree(&program, Model::Tso, ByValues, MOST)?;
    }

    #[test]
    fn created_and_joined_threads(shape in shape(3, 3), places in prop::collection::vec(any::<u8>(), 4)) {
        let mut program = build(&shape, Order::Atomic);
        create_and_join(&mut program, &places);
        for told in [ByStores, ByValues] {
            agree(&program, Model::Sc, told, MOST)?;
            agree(&program, Model::Tso, told, MOST)?;
        }
    }

    #[test]
    fn memory_that_is_read_in_the_end(shape in shape(3, 4)) {
        for model in [Model::Sc, Model::Tso] {
            for told in [ByStores, ByValues] {
                agree_in_the_end(&build(&shape, Order::Atomic), model, told, MOST)?;
            }
        }
    }

    #[test]
    fn two_longer_threads(shape in shape(2, 6)) {
        let program = build(&shape, Order::Atomic);
        for told in [ByStores, ByValues] {
            agree(&program, Model::Sc, told, MOST)?;
            agree(&program, Model::Tso, told, MOST)?;
        }
    }
}
