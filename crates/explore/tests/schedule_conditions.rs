//! Whom a signal wakes is found out when somebody goes on. That must show what POSIX says: each signal chooses one of those who wait at that
//! moment, and who is chosen goes on, whoever comes to the queue later.

use landfall_testkit::program::{Instr, Model, Op, Program, Reg, Sync};
use landfall_testkit::schedules::agree::explore;
use landfall_testkit::schedules::{Keep, brute_force};
use proptest::prelude::*;

/// States of a program that is tried.
const MOST: usize = 60_000;

#[derive(Clone, Copy, Debug)]
enum Draft {
    Wait,
    TimedWait,
    Signal,
    Broadcast,
    /// Waits for a gift, and gives: orders between threads, so that queues fill up before a signal.
    Take(u8),
    Give(u8),
}

fn draft() -> impl Strategy<Value = Draft> {
    prop_oneof![
        6 => Just(Draft::Wait),
        1 => Just(Draft::TimedWait),
        5 => Just(Draft::Signal),
        1 => Just(Draft::Broadcast),
        1 => (0u8..2).prop_map(Draft::Take),
        2 => (0u8..2).prop_map(Draft::Give),
    ]
}

fn shape(threads: usize, drafts: usize) -> impl Strategy<Value = Vec<Vec<Draft>>> {
    prop::collection::vec(prop::collection::vec(draft(), 1..=drafts), 2..=threads)
}

/// Each thread counts how far it came: that is what an outcome tells.
fn build(shape: &[Vec<Draft>]) -> Program {
    let mut program = Program::default();
    let condition = program.cell(0);
    let gifts = [program.cell(0), program.cell(0)];
    for drafts in shape {
        let mut code = Vec::new();
        for draft in drafts {
            let sync = |op, at| Instr::Sync(op, at);
            match *draft {
                Draft::Wait => {
                    code.extend([sync(Sync::Wait, condition), sync(Sync::Wake, condition)]);
                }
                Draft::TimedWait => code.extend([
                    sync(Sync::Wait, condition),
                    Instr::Ask {
                        op: Sync::TimedWake,
                        at: condition,
                        to: Reg(1),
                    },
                    Instr::Calc {
                        to: Reg(2),
                        a: Reg(2).into(),
                        op: Op::Add,
                        b: Reg(1).into(),
                    },
                ]),
                Draft::Signal => code.push(sync(Sync::Signal, condition)),
                Draft::Broadcast => code.push(sync(Sync::Broadcast, condition)),
                Draft::Take(gift) => code.push(sync(Sync::Take, gifts[usize::from(gift)])),
                Draft::Give(gift) => code.push(sync(Sync::Give, gifts[usize::from(gift)])),
            }
            code.push(Instr::Calc {
                to: Reg(0),
                a: Reg(0).into(),
                op: Op::Add,
                b: 1.into(),
            });
        }
        program.thread(code);
    }
    program
}

fn agree(shape: &[Vec<Draft>], model: Model) -> Result<(), TestCaseError> {
    let program = build(shape);
    program.validate().expect("valid");
    let Some((outcomes, _)) = brute_force(&program, model, Keep::States, MOST) else {
        return Ok(());
    };
    let (found, counts) = explore(&program, model);
    prop_assert_eq!(&found, &outcomes, "{:?} {:?}", model, counts);
    prop_assert_eq!(counts.blocked, 0, "{:?} {:?}", model, counts);
    Ok(())
}

/// The first signal finds two waiters, two more come, and the second signal finds all four: one of the first two goes on at least.
#[test]
fn newcomers_take_no_more_than_their_share() {
    use Draft::{Give, Signal, Take, Wait};
    let late = || vec![Take(0), Wait];
    let shape = [
        vec![Wait],
        vec![Wait],
        late(),
        late(),
        vec![Signal, Give(0), Give(0), Signal],
    ];
    for model in [Model::Sc, Model::Tso] {
        agree(&shape, model).expect("agrees");
    }
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_waiters(shape in shape(4, 3)) {
        agree(&shape, Model::Sc)?;
        agree(&shape, Model::Tso)?;
    }

    #[test]
    fn many_waiters(shape in shape(6, 2)) {
        agree(&shape, Model::Sc)?;
    }
}
