//! Threads that are alike: one execution for each class of renamed traces, and nothing is lost.

use landfall_testkit::program::{Instr, Model, Order, Program};
use landfall_testkit::schedules::agree::agree_renamed;
use landfall_testkit::schedules::{Draft, build, draft, shape};
use proptest::prelude::*;

/// Executions of a program that is tried.
const MOST: u64 = 3_000;

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// Threads of which the first is there several times.
fn alike(others: usize, instrs: usize) -> impl Strategy<Value = Program> {
    (1u8..=3, 2usize..=4).prop_flat_map(move |(vars, copies)| {
        let code = move |most| prop::collection::vec(draft(vars, 2), 0..=most);
        let others = prop::collection::vec(code(instrs), 0..=others);
        (code(instrs), others, 0usize..3).prop_map(move |(same, others, place)| {
            let mut shape = others;
            let place = place.min(shape.len());
            shape.insert(place, same);
            copied(&shape, place, copies)
        })
    })
}

/// The program with a thread of its there so many times.
fn copied(shape: &[Vec<Draft>], of: usize, copies: usize) -> Program {
    let mut program = build(shape, Order::Atomic);
    let code = program.threads[of].clone();
    for _ in 1..copies {
        program.thread(code.clone());
    }
    program
}

/// The first thread creates the others, after it did something, and joins them in order.
fn created(mut program: Program, after: usize) -> Program {
    program.started = 1;
    let threads = program.threads.len() as u8;
    let code = &mut program.threads[0];
    let straight = |instr: &Instr| !matches!(instr, Instr::JumpIf { .. } | Instr::Jump(_));
    let after = after.min(code.len());
    if !code.iter().all(straight) {
        code.clear();
    }
    let after = after.min(code.len());
    let rest = code.split_off(after);
    code.extend((1..threads).map(Instr::Create));
    let (middle, end) = rest.split_at(rest.len() / 2);
    code.extend_from_slice(middle);
    code.extend((1..threads).map(Instr::Join));
    code.extend_from_slice(end);
    program
}

fn holds(program: &Program) -> Result<(), TestCaseError> {
    for model in [Model::Sc, Model::Tso] {
        agree_renamed(program, model, MOST)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_of_each_class(program in alike(2, 3)) {
        holds(&program)?;
    }

    #[test]
    fn one_of_each_class_of_longer_threads(program in alike(1, 5)) {
        holds(&program)?;
    }

    #[test]
    fn two_classes(shape in shape(2, 3), copies in (2usize..=3, 2usize..=3)) {
        let mut program = copied(&shape, 0, copies.0);
        let code = program.threads[1].clone();
        for _ in 1..copies.1 {
            program.thread(code.clone());
        }
        holds(&program)?;
    }

    #[test]
    fn created_and_joined(program in alike(1, 3), after in 0usize..3) {
        let mut program = program;
        program.threads.insert(0, Vec::new());
        program.started = 0;
        holds(&created(program, after))?;
    }
}

fn counts(program: &Program, model: Model) -> (u64, u64) {
    let counts = agree_renamed(program, model, 100_000).expect("agrees");
    counts.expect("not too many")
}

/// So many threads that do this.
fn same(drafts: &[Draft], copies: usize) -> Program {
    copied(&[drafts.to_vec()], 0, copies)
}

#[test]
fn who_counts_does_not_matter() {
    for copies in 2..=6 {
        let all = (1..=copies as u64).product();
        let program = same(&[Draft::FetchAdd(0)], copies);
        assert_eq!(counts(&program, Model::Sc), (1, all));
        assert_eq!(counts(&program, Model::Tso), (1, all));
    }
}
