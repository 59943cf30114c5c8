//! A thread that looks for a signal before its instructions shows what it shows when the handler may stand anywhere between them.

use landfall_testkit::program::{Instr, Model, Order, Program};
use landfall_testkit::schedules::agree::explore;
use landfall_testkit::schedules::signals::{comparable, handler, interrupted, looking};
use landfall_testkit::schedules::{Draft, Keep, Outcome, brute_force, build, draft, draft_of_all};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// States of a program that is tried.
const MOST: usize = 40_000;

/// Threads, and two handlers.
fn shape(threads: usize, instrs: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    of_drafts(threads, instrs, || draft(3, 2))
}

/// With read-modify-writes that have no lock, and memory that is taken away.
fn shape_of_all(threads: usize, instrs: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    of_drafts(threads, instrs, || draft_of_all(3, 2))
}

fn of_drafts<S: Strategy<Value = Draft>>(
    threads: usize,
    instrs: usize,
    draft: impl Fn() -> S,
) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    let code = move |most: usize| prop::collection::vec(draft(), 0..=most);
    let threads = prop::collection::vec(code(instrs), 1..=threads);
    (threads, code(2), code(2)).prop_map(|(mut threads, first, second)| {
        threads.extend([first, second]);
        threads
    })
}

/// The program without the handlers, and those.
fn split(shape: &[Vec<Draft>]) -> (Program, [Vec<Instr>; 2]) {
    let mut program = build(shape, Order::Atomic);
    let second = program.threads.pop().unwrap_or_default();
    let first = program.threads.pop().unwrap_or_default();
    program.started = (1 << program.threads.len()) - 1;
    (program, [handler(&first, 0), handler(&second, 1)])
}

fn all(programs: &[Program], model: Model) -> Option<BTreeSet<Outcome>> {
    let mut all = BTreeSet::new();
    for program in programs {
        all.extend(brute_force(program, model, Keep::States, MOST)?.0);
    }
    Some(all)
}

/// Can anybody tell when it happens?
fn is_visible(instr: &Instr) -> bool {
    instr.place().is_some() || matches!(instr, Instr::Fence)
}

fn agree(shape: &[Vec<Draft>], model: Model) -> Result<(), TestCaseError> {
    let (program, [first, _]) = split(shape);
    let Some(expected) = all(&interrupted(&program, 0, &first), model) else {
        return Ok(());
    };
    let expected = comparable(&program, 0, 1, expected);
    let looks = looking(&program, 0, &first, is_visible);
    looks.validate().expect("valid");
    let (found, counts) = explore(&looks, model);
    prop_assert_eq!(comparable(&program, 0, 1, found), expected, "{:?}", model);
    prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_handler_anywhere_sc(shape in shape(3, 3)) {
        agree(&shape, Model::Sc)?;
    }

    #[test]
    fn a_handler_anywhere_tso(shape in shape(3, 3)) {
        agree(&shape, Model::Tso)?;
    }

    /// A handler does not come between the load and the store of one instruction; others do. What anyone takes away is gone for all.
    #[test]
    fn a_handler_between_instructions_sc(shape in shape_of_all(3, 3)) {
        agree(&shape, Model::Sc)?;
    }

    #[test]
    fn a_handler_between_instructions_tso(shape in shape_of_all(3, 3)) {
        agree(&shape, Model::Tso)?;
    }

    /// A second signal may interrupt the handler of the first.
    #[test]
    fn two_handlers(shape in shape(2, 2), tso in any::<bool>()) {
        let model = if tso { Model::Tso } else { Model::Sc };
        let (program, [first, second]) = split(&shape);
        let once = interrupted(&program, 0, &first);
        let twice: Vec<Program> = once.iter().flat_map(|once| interrupted(once, 0, &second)).collect();
        if let Some(expected) = all(&twice, model) {
            let once = looking(&program, 0, &first, is_visible);
            let twice = looking(&once, 0, &second, |instr| is_visible(instr) && !is_look(instr));
            let (found, counts) = explore(&twice, model);
            prop_assert_eq!(comparable(&program, 0, 2, found), comparable(&program, 0, 2, expected), "{:?}", model);
            prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
        }
    }

    /// Where there is nobody else, it is enough to look before what the handler touches, and before locks.
    #[test]
    fn alone_it_is_enough_to_look_where_they_meet(shape in shape(1, 6), tso in any::<bool>()) {
        let model = if tso { Model::Tso } else { Model::Sc };
        let (program, [first, _]) = split(&shape);
        if let Some(expected) = all(&interrupted(&program, 0, &first), model) {
            let touched: Vec<u32> = first.iter().filter_map(|instr| Some(instr.place()?.cell)).collect();
            let meets = |instr: &Instr| {
                instr.sync().is_some() || instr.place().is_some_and(|place| touched.contains(&place.cell))
            };
            let (found, counts) = explore(&looking(&program, 0, &first, meets), model);
            let ends = |outcomes| ends(comparable(&program, 0, 1, outcomes));
            prop_assert_eq!(ends(found), ends(expected), "{:?}", model);
            prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
        }
    }
}

/// The outcomes in which the handler came back, and whether there are others: what the thread had done by then is not told.
fn ends(outcomes: BTreeSet<Outcome>) -> (BTreeSet<Outcome>, bool) {
    let (stuck, ended): (BTreeSet<Outcome>, BTreeSet<Outcome>) =
        outcomes.into_iter().partition(|outcome| outcome.stuck);
    (ended, !stuck.is_empty())
}

fn is_look(instr: &Instr) -> bool {
    instr.sync().is_some_and(|op| !op.drains())
}

/// What the handler does is seen between the two stores of its thread, also by somebody who shares neither with it.
#[test]
fn others_see_a_handler_that_shares_nothing_with_its_thread() {
    use Draft::{Load, Store};
    let shape = [
        vec![Store(0), Store(0)],
        vec![Load(1), Load(0)],
        vec![Store(1)],
        vec![],
    ];
    let (program, [first, _]) = split(&shape);
    let seen = |looks: fn(&Instr) -> bool| {
        explore(&looking(&program, 0, &first, looks), Model::Sc)
            .0
            .len()
    };
    assert!(seen(is_visible) > seen(|_| false));
    agree(&shape, Model::Sc).expect("agrees");
}
