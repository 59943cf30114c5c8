//! Independent definitions give the same outcomes: on random programs, under Px86 and under mutated tables.

use landfall_litmus::operational::{self, ExploreOptions, Reduction};
use landfall_litmus::print::to_lit;
use landfall_litmus::program::{LitmusOutcome, Test};
use landfall_litmus::{Model, axiomatic, buffers};
use landfall_model::order::{Keep, OpKind, OrderTable, Platform};
use landfall_testkit::litmus::random::{build, shape, transactional};
use proptest::prelude::*;
use std::collections::BTreeSet;

const MAX_GRAPHS: usize = 2_000_000;

fn operational(test: &Test, model: &Model, reduction: Reduction) -> BTreeSet<LitmusOutcome> {
    let options = ExploreOptions {
        reduction,
        max_states: 3_000_000,
    };
    operational::explore(&test.program, &test.observe, model, &options)
        .expect("small enough")
        .outcomes
}

fn agree(test: &Test, model: &Model) -> Result<(), TestCaseError> {
    let reduced = operational(test, model, Reduction::On);
    let Ok(graphs) = axiomatic::outcomes(&test.program, &test.observe, model, MAX_GRAPHS) else {
        // Says nothing, and must stay rare: proptest fails when too much is rejected.
        return Err(TestCaseError::reject("too many graphs"));
    };
    if reduced != graphs {
        let mut test = test.clone();
        test.platform = model.platform;
        let only_machine: Vec<_> = reduced.difference(&graphs).collect();
        let only_graphs: Vec<_> = graphs.difference(&reduced).collect();
        return Err(TestCaseError::fail(format!(
            "the definitions disagree on\n{}only operational: {only_machine:?}\nonly axiomatic: {only_graphs:?}",
            to_lit(&test) + &changed_cells(&model.table)
        )));
    }
    Ok(())
}

/// How a table differs from Px86, as comments of a `.lit` file.
fn changed_cells(table: &OrderTable) -> String {
    let mut out = String::new();
    for a in OpKind::ALL {
        for b in OpKind::ALL {
            if table.keep(a, b) != OrderTable::PX86.keep(a, b) {
                out += &format!("# table: {a} {b} {}\n", table.keep(a, b).symbol());
            }
        }
    }
    out
}

fn platform() -> impl Strategy<Value = Platform> {
    prop_oneof![3 => Just(Platform::Adr), 1 => Just(Platform::Eadr)]
}

/// Tables that differ from Px86 in up to three cells. Reads stay before later writes: graphs are built along
/// `po ∪ rf` (docs/design/model.md §6), so the axiomatic definition has no meaning for a table that lets a write pass a read.
fn mutated() -> impl Strategy<Value = OrderTable> {
    let causal = |a: OpKind, b: OpKind| {
        matches!(a, OpKind::Read | OpKind::Rmw)
            && matches!(b, OpKind::Write | OpKind::NtWrite | OpKind::Rmw)
    };
    let kind = || prop::sample::select(&OpKind::ALL[..]);
    let keep = prop::sample::select(&Keep::ALL[..]);
    prop::collection::vec((kind(), kind(), keep), 1..4).prop_map(move |cells| {
        cells
            .into_iter()
            .filter(|&(a, b, _)| !causal(a, b))
            .fold(OrderTable::PX86, |table, (a, b, keep)| {
                table.with(a, b, keep)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|c| c.parse().ok()).unwrap_or(2000), max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn machine_and_graphs_agree(shape in shape(3, 5), platform in platform()) {
        agree(&build(&shape), &Model::px86(platform))?;
    }

    #[test]
    fn machine_and_graphs_agree_under_any_table(shape in shape(3, 4), platform in platform(), table in mutated()) {
        agree(&build(&shape), &Model { table, platform })?;
    }

    #[test]
    fn machine_and_buffers_agree(shape in shape(3, 3), platform in platform()) {
        let (test, model) = (build(&shape), Model::px86(platform));
        if let Ok(literal) = buffers::outcomes(&test.program, &test.observe, &model, 100_000) {
            let reduced = operational(&test, &model, Reduction::On);
            prop_assert_eq!(reduced, literal, "the buffers of the model disagree on\n{}", to_lit(&test));
        }
    }

    #[test]
    fn transactions_on_machine_and_graphs_agree(shape in transactional(3, 3), platform in platform()) {
        agree(&build(&shape), &Model::px86(platform))?;
    }

    #[test]
    fn transactions_on_machine_and_buffers_agree(shape in transactional(3, 2), platform in platform()) {
        let (test, model) = (build(&shape), Model::px86(platform));
        if let Ok(literal) = buffers::outcomes(&test.program, &test.observe, &model, 100_000) {
            let reduced = operational(&test, &model, Reduction::On);
            let full = operational(&test, &model, Reduction::Off);
            prop_assert_eq!(&full, &literal, "the buffers of the model disagree on\n{}", to_lit(&test));
            prop_assert_eq!(&reduced, &full, "reduction changes the outcomes of\n{}", to_lit(&test));
        }
    }

    #[test]
    fn reduction_loses_nothing(shape in shape(3, 4), platform in platform(), table in mutated()) {
        let test = build(&shape);
        for model in [Model::px86(platform), Model { table, platform }] {
            let reduced = operational(&test, &model, Reduction::On);
            let full = operational(&test, &model, Reduction::Off);
            prop_assert_eq!(reduced, full, "reduction changes the outcomes of\n{}", to_lit(&test));
        }
    }
}
