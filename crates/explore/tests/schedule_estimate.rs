//! The estimators: exact at the end, within a factor on the way, and never far from the known counts of the table.

use landfall_explore::schedule::{Options, Search};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Model, Program};

/// After each execution: the share done, the estimated size, the estimated work.
fn estimates(program: &Program) -> (Vec<(f64, f64, f64)>, f64) {
    let mut threads = Interpreter::new(program, Model::Tso);
    let mut search = Search::new(&threads, Options::default()).expect("few threads");
    let mut all = Vec::new();
    while search.next(&mut threads).expect("runs") {
        let estimate = &search.estimate;
        all.push((estimate.share(), estimate.size(), estimate.work()));
    }
    (all, search.estimate.executed())
}

#[test]
fn exact_at_the_end_and_close_before() {
    let programs: [(&str, Program); 8] = [
        ("fetch-add", catalogue::fetch_add(6)),
        ("cas rotation", catalogue::cas_rotation(7)),
        ("cas then write", catalogue::cas_then_write(4)),
        ("write then cas", catalogue::write_then_cas(8)),
        ("last zero", catalogue::last_zero(8)),
        ("readers", catalogue::readers(9)),
        ("fibonacci", catalogue::fibonacci(2)),
        ("locked increment", catalogue::locked_increment(6)),
    ];
    for (name, program) in programs {
        let (all, executed) = estimates(&program);
        let size = all.len() as f64;
        let last = all.last().expect("one");
        assert!((last.0 - 1.0).abs() < 1e-6, "{name}: {last:?}");
        assert!(
            (last.1 - size).abs() / size < 1e-6,
            "{name}: {last:?} of {size}"
        );
        assert!(
            (last.2 - executed).abs() / executed < 1e-6,
            "{name}: {last:?} of {executed}"
        );
        // Half way, within a factor of three.
        let half = all[all.len() / 2];
        for (what, guess, truth) in [("size", half.1, size), ("work", half.2, executed)] {
            let factor = f64::max(guess / truth, truth / guess);
            assert!(
                factor < 3.0,
                "{name}: {what} half way is {guess:.0}, not {truth}"
            );
        }
        // The share never passes 1 and does not run backwards by much.
        for pair in all.windows(2) {
            assert!(
                pair[1].0 <= 1.0 + 1e-9 && pair[1].0 > pair[0].0 * 0.3,
                "{name}: {pair:?}"
            );
        }
    }
}

/// Seed 002 §3.4.3, figure 3.5's shape: one execution alone estimates itself.
#[test]
fn one_execution_is_all() {
    let (all, executed) = estimates(&catalogue::readers(0));
    assert_eq!(all, [(1.0, 1.0, executed)]);
}
