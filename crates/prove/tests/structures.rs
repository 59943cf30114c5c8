//! Programs with branches, pointers, created and joined threads, from the benchmarks: proved as they are, refuted with a
//! flush missing, under every encoding, and not because nothing happens in them.
#![allow(dead_code, reason = "shared with the benchmark")]

#[path = "../../../benches/prove/families.rs"]
mod families;
#[path = "../../../benches/prove/flit.rs"]
mod flit;
#[path = "../../../benches/prove/queue.rs"]
mod queue;

use families::Flushes;
use landfall_prove::encode::{CrashEncoding, View};
use landfall_prove::outcomes::outcomes;
use landfall_prove::program::{Kind, LocId, Program};
use landfall_prove::prove::{Options, Verdict, bounds, invariant};
use landfall_prove::solver::{SearchOptions, Solver};
use landfall_prove::term::Node;
use std::collections::BTreeSet;

fn holds(name: &str, program: &Program, expected: bool, solvers: &[Solver]) {
    for crash in CrashEncoding::ALL {
        for &solver in solvers {
            let search = SearchOptions {
                solver,
                ..SearchOptions::default()
            };
            let options = Options {
                crash,
                search,
                ..Options::default()
            };
            match invariant(program, &options).verdict {
                Verdict::Proved => assert!(expected, "{name} is broken: {crash:?} {solver:?}"),
                Verdict::Refuted(witness) => {
                    assert!(!expected, "{name}: {crash:?} {solver:?}\n{witness}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

const BOTH: [Solver; 2] = [Solver::Cadical, Solver::Batsat];

#[test]
fn families_are_as_they_were_built() {
    type Family = fn(usize, usize, Flushes) -> Program;
    let families: [(&str, Family); 4] = [
        ("relay", families::relay),
        ("counter", families::counter),
        ("chain", families::chain),
        ("contended", families::contended),
    ];
    for (name, family) in families {
        holds(name, &family(2, 2, Flushes::All), true, &BOTH);
        holds(name, &family(2, 2, Flushes::OneMissing), false, &BOTH);
    }
}

#[test]
fn flit_clients_need_their_flush() {
    for (name, _) in flit::CLIENTS.into_iter().take(7) {
        holds(name, &flit::client(name, Flushes::All), true, &BOTH);
        holds(name, &flit::client(name, Flushes::OneMissing), false, &BOTH);
    }
}

#[test]
fn queue_clients_need_their_flush() {
    for name in ["dw", "e+d", "e+e", "ee+dw"] {
        let solvers = [Solver::Cadical];
        holds(name, &queue::client(name, Flushes::All), true, &solvers);
        holds(
            name,
            &queue::client(name, Flushes::OneMissing),
            false,
            &solvers,
        );
    }
}

/// Three tries are enough for two threads with one operation each, not always for more.
#[test]
fn retries_are_reported_as_the_limit() {
    let exceeded = |name| bounds(&queue::client(name, Flushes::All), &Options::default()).exceeded;
    assert_eq!(exceeded("dw"), Vec::<String>::new());
    assert_eq!(exceeded("e+e"), Vec::<String>::new());
    assert_eq!(exceeded("e+d"), Vec::<String>::new());
    assert_eq!(exceeded("e+e+e"), ["enqueue: tries"]);
}

/// What a location can hold after a crash.
fn contents(program: &Program, name: &str) -> BTreeSet<i64> {
    let loc = program
        .locations
        .iter()
        .position(|location| location.name == name)
        .map(|loc| LocId(loc as u32))
        .expect("a location of that name");
    let width = program.location(loc).width;
    let term = program.terms.find(Node::Recovered(loc), width);
    let term = term.expect("the recovery reads it");
    let view = View::AfterFailure(CrashEncoding::default());
    let found = outcomes(program, &[term], view, &SearchOptions::default());
    found.expect("no limit").into_iter().flatten().collect()
}

/// A proof that rests on nothing ever happening would be worth nothing.
#[test]
fn operations_of_the_queue_do_happen() {
    let program = queue::client("ee+dw", Flushes::All);
    assert_eq!(contents(&program, "cell1"), [0, 12, 99].into());
    assert_eq!(contents(&program, "head"), [1, 2].into());
    assert_eq!(contents(&program, "n1.next"), [0, 2].into());
    assert_eq!(contents(&program, "n2.next"), [0, 3].into());
    assert_eq!(contents(&program, "n2.taken_by"), [0, 2].into());
    assert_eq!(contents(&program, "w1"), [0, 1].into());
    // Two that race for one node: either may lose its compare-and-swap, and goes on.
    let program = queue::client("e+e", Flushes::All);
    assert_eq!(contents(&program, "n1.next"), [0, 2, 3].into());
    assert_eq!(contents(&program, "n2.next"), [0, 3].into());
    assert_eq!(contents(&program, "n3.next"), [0, 2].into());
    let conditional = |event: &&landfall_prove::program::GuardedEvent| matches!(event.kind, Kind::Rmw { when, .. } if program.terms.constant_of(when).is_none());
    assert!(program.events.iter().filter(conditional).count() > 10);
}
