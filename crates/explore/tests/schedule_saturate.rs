//! Preempting where data races finds what preempting everywhere finds.

use landfall_explore::schedule::saturate::{Preempt, Saturated, saturate};
use landfall_explore::schedule::{End, Options};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Cell, Instr, Model, Order, Place, Program, Reg};
use landfall_testkit::schedules::{Outcome, build, create_and_join, shape};
use proptest::prelude::*;
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

/// What a thread does to one of two lines. On each there is a word for all, and one that is the thread's own.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Load(u32, Order),
    Store(u32, Order),
    Stream(u32),
    StoreOwn(u32),
    StreamOwn(u32),
    Sfence,
    Fence,
}

fn deed() -> impl Strategy<Value = Deed> {
    let line = || 0u32..2;
    let order = || prop_oneof![Just(Order::Plain), Just(Order::Atomic)];
    prop_oneof![
        3 => (line(), order()).prop_map(|(l, o)| Deed::Load(l, o)),
        3 => (line(), order()).prop_map(|(l, o)| Deed::Store(l, o)),
        2 => line().prop_map(Deed::Stream),
        4 => line().prop_map(Deed::StoreOwn),
        3 => line().prop_map(Deed::StreamOwn),
        1 => Just(Deed::Sfence),
        1 => Just(Deed::Fence),
    ]
}

fn deeds() -> impl Strategy<Value = Vec<Vec<Deed>>> {
    prop::collection::vec(prop::collection::vec(deed(), 0..=4), 2..=2)
}

fn streaming(threads: &[Vec<Deed>]) -> Program {
    let mut program = Program::default();
    for word in 0..=threads.len() as u8 {
        for line in 0..2 {
            program.cells.push(Cell {
                line,
                word,
                init: 0,
            });
        }
    }
    let mut value = 0;
    for (thread, deeds) in threads.iter().enumerate() {
        let own = 2 * (thread as u32 + 1);
        let mut code = Vec::new();
        for deed in deeds {
            value += 1;
            let at = |cell| Place { cell, index: None };
            let value = value.into();
            let store = |cell, order| Instr::Store {
                at: at(cell),
                value,
                order,
            };
            let stream = |cell| Instr::Stream {
                at: at(cell),
                value,
                order: Order::Plain,
            };
            code.push(match *deed {
                Deed::Load(line, order) => Instr::Load {
                    to: Reg(code.len() as u8),
                    at: at(line),
                    order,
                },
                Deed::Store(line, order) => store(line, order),
                Deed::Stream(line) => stream(line),
                Deed::StoreOwn(line) => store(own + line, Order::Plain),
                Deed::StreamOwn(line) => stream(own + line),
                Deed::Sfence => Instr::Sfence,
                Deed::Fence => Instr::Fence,
            });
        }
        program.thread(code);
    }
    program
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

    /// Stores that are no points wait for non-temporal ones on their line, and others wait for them.
    #[test]
    fn also_with_stores_past_the_caches(deeds in deeds()) {
        agree(&streaming(&deeds), Model::Tso)?;
    }
}

/// A fence waited for two stores, and what comes behind the first of them by its line still comes behind both.
#[test]
fn what_a_fence_waited_for_comes_first() {
    let stores = [
        Deed::Store(0, Order::Plain),
        Deed::Store(1, Order::Plain),
        Deed::Fence,
        Deed::StreamOwn(0),
    ];
    let loads = [Deed::Load(1, Order::Plain)];
    let program = streaming(&[stores.to_vec(), loads.to_vec()]);
    agree(&program, Model::Tso).expect("agrees");
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
