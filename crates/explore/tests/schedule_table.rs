//! The programs of the first table of BENCHMARKS.md have exactly their known numbers of executions, and none is blocked.

use landfall_explore::schedule::{Counts, Options, search};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Model, Program};
use std::ops::ControlFlow;

fn count(program: &Program, model: Model) -> Counts {
    program.validate().expect("valid");
    let mut threads = Interpreter::new(program, model);
    search(&mut threads, Options::default(), |_, _| {
        ControlFlow::Continue(())
    })
    .expect("runs")
}

fn check(name: &str, make: impl Fn(usize) -> Program, expected: &[(usize, u64)]) {
    for model in [Model::Sc, Model::Tso] {
        for &(n, executions) in expected {
            let counts = count(&make(n), model);
            assert_eq!(
                counts.executions, executions,
                "{name} {n} {model:?}: {counts:?}"
            );
            assert_eq!(counts.blocked, 0, "{name} {n} {model:?}: {counts:?}");
            assert!(
                counts.complete && counts.deadlocks == 0,
                "{name} {n} {model:?}: {counts:?}"
            );
        }
    }
}

#[test]
fn fetch_add() {
    check(
        "fetch-add",
        catalogue::fetch_add,
        &[(2, 2), (3, 6), (4, 24), (5, 120), (6, 720), (7, 5040)],
    );
}

#[test]
fn cas_rotation() {
    let expected = [
        (2, 2),
        (3, 5),
        (4, 14),
        (5, 43),
        (6, 144),
        (7, 523),
        (8, 2048),
    ];
    check("cas rotation", catalogue::cas_rotation, &expected);
}

#[test]
fn cas_then_write() {
    check(
        "cas then write",
        catalogue::cas_then_write,
        &[(2, 6), (3, 66), (4, 1200)],
    );
}

#[test]
fn write_then_cas() {
    let expected = [
        (2, 5),
        (3, 13),
        (4, 33),
        (5, 81),
        (6, 193),
        (7, 449),
        (8, 1025),
        (9, 2305),
    ];
    check("write then cas", catalogue::write_then_cas, &expected);
}

#[test]
fn last_zero() {
    check("last zero", catalogue::last_zero, &[(5, 64), (10, 3328)]);
}

#[test]
fn readers() {
    check(
        "readers",
        catalogue::readers,
        &[(2, 4), (8, 256), (13, 8192)],
    );
}

#[test]
fn indexer() {
    check("indexer", catalogue::indexer, &[(12, 8), (15, 4096)]);
}

#[test]
fn locked_increment() {
    check(
        "locked increment",
        catalogue::locked_increment,
        &[(2, 2), (3, 6), (6, 720)],
    );
}

#[test]
fn dekker_with_fences() {
    check("dekker", |_| catalogue::dekker(true), &[(2, 3)]);
}

#[test]
fn fibonacci() {
    // Five rounds, with the published counts: below.
    let small = |model| count(&catalogue::fibonacci(2), model).executions;
    assert!(small(Model::Sc) < small(Model::Tso));
}

#[test]
fn large_writes() {
    check("cas then write", catalogue::cas_then_write, &[(5, 32880)]);
}

#[test]
fn large_arrays() {
    check("last zero", catalogue::last_zero, &[(15, 147456)]);
}

#[test]
fn fibonacci_under_sc() {
    let counted = count(&catalogue::fibonacci(5), Model::Sc);
    assert_eq!(counted.executions, 218_243);
}

#[test]
fn fibonacci_under_tso() {
    let counted = count(&catalogue::fibonacci(5), Model::Tso);
    assert_eq!(counted.executions, 525_630);
}
