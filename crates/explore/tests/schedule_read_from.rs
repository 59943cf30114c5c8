//! Executions that differ in nothing anybody reads: how many classes of them there are.

use landfall_testkit::catalogue;
use landfall_testkit::program::{Model, Program};
use landfall_testkit::schedules::read_from::read_from;

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
