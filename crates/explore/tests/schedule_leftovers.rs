//! What turns of loops in vain leave behind: overlooked where nobody reads it, and every outcome is seen all the same.

use landfall_explore::schedule::saturate::{Preempt, Saturated, saturate};
use landfall_explore::schedule::{End, Options};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{Cmp, Instr, Model, Op, Order, Place, Program, Reg, Sync};
use landfall_testkit::schedules::{Outcome, assume, plain, try_states};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Variables are atomic; each thread has two plain cells of its own, which others read where they are told.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Store(u8),
    Load(u8),
    FetchAdd(u8),
    LoadOwn(u8),
    StoreOwn(u8),
    /// Reads a cell of the thread before, if a variable is not 0.
    LoadOther(u8, u8),
    Fence,
    /// Waits for a variable, and keeps what it found: in every turn, also in the last; or not in the last.
    Await(u8, u8, u64),
    AwaitLeaving(u8, u8, u64),
    /// Waits for one variable while it keeps another one.
    AwaitKeeping(u8, u8, u8, u64),
    /// Counts its turns in a cell of its own.
    AwaitCounting(u8, u8, u64),
    /// The same under a lock.
    AwaitLocked(u8, u8, u64),
    /// A read-modify-write that is tried again, with what it found kept.
    Count(u8, u8),
    /// Adds to what the lock protects.
    Locked,
    /// Meets one other thread.
    Meet,
}

fn deed() -> impl Strategy<Value = Deed> {
    let var = || 0u8..2;
    let own = || 0u8..2;
    let value = || 1u64..4;
    prop_oneof![
        1 => var().prop_map(Deed::Store),
        2 => var().prop_map(Deed::Load),
        6 => var().prop_map(Deed::FetchAdd),
        2 => own().prop_map(Deed::LoadOwn),
        1 => own().prop_map(Deed::StoreOwn),
        1 => (var(), own()).prop_map(|(v, o)| Deed::LoadOther(v, o)),
        1 => Just(Deed::Fence),
        3 => (var(), own(), value()).prop_map(|(v, o, w)| Deed::Await(v, o, w)),
        4 => (var(), own(), value()).prop_map(|(v, o, w)| Deed::AwaitLeaving(v, o, w)),
        2 => (var(), var(), own(), value()).prop_map(|(v, u, o, w)| Deed::AwaitKeeping(v, u, o, w)),
        1 => (var(), own(), value()).prop_map(|(v, o, w)| Deed::AwaitCounting(v, o, w)),
        1 => (var(), own(), value()).prop_map(|(v, o, w)| Deed::AwaitLocked(v, o, w)),
        2 => (var(), own()).prop_map(|(v, o)| Deed::Count(v, o)),
    ]
}

/// With locks, and barriers.
fn meeting(threads: usize, most: usize) -> impl Strategy<Value = Vec<Vec<Deed>>> {
    let deed = prop_oneof![4 => deed(), 2 => Just(Deed::Locked), 3 => Just(Deed::Meet)];
    prop::collection::vec(prop::collection::vec(deed, 1..=most), 2..=threads)
}

fn deeds(threads: usize, most: usize) -> impl Strategy<Value = Vec<Vec<Deed>>> {
    prop::collection::vec(prop::collection::vec(deed(), 1..=most), 2..=threads)
}

/// Loads a variable.
fn load(to: Reg, at: Place) -> Instr {
    let order = Order::Atomic;
    Instr::Load { to, at, order }
}

fn build(threads: &[Vec<Deed>]) -> Program {
    let mut program = Program::default();
    let vars = program.array(2, 0);
    let lock = program.cell(0);
    let protected = program.cell(0);
    let barrier = program.cell(0);
    let owns: Vec<Place> = threads.iter().map(|_| program.array(2, 0)).collect();
    let at = |base: Place, index: u8| Place {
        cell: base.cell + u32::from(index),
        index: None,
    };
    let mut number = 0u64;
    for (thread, deeds) in threads.iter().enumerate() {
        let mut code: Vec<Instr> = Vec::new();
        let mut regs = 0u8;
        let own = |cell: u8| at(owns[thread], cell);
        let keep = |cell: u8, from: Reg| Instr::Store {
            at: own(cell),
            value: from.into(),
            order: Order::Plain,
        };
        let back = |reg: Reg, wanted: u64, head: usize| Instr::JumpIf {
            a: reg.into(),
            cmp: Cmp::Ne,
            b: wanted.into(),
            to: head as u32,
        };
        for deed in deeds {
            number += 1;
            let head = code.len();
            let mut fresh = || {
                regs += 1;
                Reg(regs - 1)
            };
            match *deed {
                Deed::Store(v) => code.push(Instr::Store {
                    at: at(vars, v),
                    value: (number % 4).into(),
                    order: Order::Atomic,
                }),
                Deed::Load(v) => code.push(load(fresh(), at(vars, v))),
                Deed::FetchAdd(v) => code.push(Instr::Rmw {
                    to: fresh(),
                    at: at(vars, v),
                    op: Op::Add,
                    value: 1.into(),
                }),
                Deed::LoadOwn(o) => code.push(Instr::Load {
                    to: fresh(),
                    at: own(o),
                    order: Order::Plain,
                }),
                Deed::StoreOwn(o) => code.push(Instr::Store {
                    at: own(o),
                    value: number.into(),
                    order: Order::Plain,
                }),
                Deed::LoadOther(v, o) => {
                    let told = fresh();
                    code.push(load(told, at(vars, v)));
                    code.push(Instr::JumpIf {
                        a: told.into(),
                        cmp: Cmp::Eq,
                        b: 0.into(),
                        to: head as u32 + 3,
                    });
                    code.push(Instr::Load {
                        to: fresh(),
                        at: at(owns[(thread + 1) % owns.len()], o),
                        order: Order::Plain,
                    });
                }
                Deed::Fence => code.push(Instr::Fence),
                Deed::Meet => code.push(Instr::Arrive {
                    at: barrier,
                    parties: 2,
                    to: None,
                }),
                Deed::Locked => {
                    let (to, order) = (fresh(), Order::Plain);
                    let at = protected;
                    code.push(Instr::Sync(Sync::Lock, lock));
                    code.push(Instr::Load { to, at, order });
                    code.push(Instr::Calc {
                        to: Reg(15),
                        a: to.into(),
                        op: Op::Add,
                        b: 1.into(),
                    });
                    code.push(Instr::Store {
                        at,
                        value: Reg(15).into(),
                        order,
                    });
                    code.push(Instr::Sync(Sync::Unlock, lock));
                }
                Deed::Await(v, o, wanted) => {
                    let to = fresh();
                    let turn = [load(to, at(vars, v)), keep(o, to), back(to, wanted, head)];
                    code.extend(turn);
                }
                Deed::AwaitLeaving(v, o, wanted) => {
                    let to = fresh();
                    code.push(load(to, at(vars, v)));
                    code.push(Instr::JumpIf {
                        a: to.into(),
                        cmp: Cmp::Eq,
                        b: wanted.into(),
                        to: head as u32 + 4,
                    });
                    code.push(keep(o, to));
                    code.push(Instr::Jump(head as u32));
                }
                Deed::AwaitKeeping(v, u, o, wanted) => {
                    let (to, kept) = (fresh(), fresh());
                    code.push(load(kept, at(vars, u)));
                    code.push(keep(o, kept));
                    code.push(load(to, at(vars, v)));
                    code.push(back(to, wanted, head));
                }
                Deed::AwaitCounting(v, o, wanted) => {
                    let (to, count) = (fresh(), fresh());
                    code.push(load(to, at(vars, v)));
                    code.push(Instr::Load {
                        to: count,
                        at: own(o),
                        order: Order::Plain,
                    });
                    code.push(Instr::Calc {
                        to: count,
                        a: count.into(),
                        op: Op::Second,
                        b: to.into(),
                    });
                    code.push(keep(o, count));
                    code.push(back(to, wanted, head));
                }
                Deed::AwaitLocked(v, o, wanted) => {
                    let to = fresh();
                    code.push(Instr::Sync(Sync::Lock, lock));
                    code.push(load(to, at(vars, v)));
                    code.push(keep(o, to));
                    code.push(Instr::Sync(Sync::Unlock, lock));
                    code.push(back(to, wanted, head));
                }
                Deed::Count(v, o) => {
                    let (to, new) = (fresh(), fresh());
                    code.push(load(to, at(vars, v)));
                    code.push(keep(o, to));
                    code.push(Instr::Calc {
                        to: new,
                        a: to.into(),
                        op: Op::Add,
                        b: 1.into(),
                    });
                    code.push(Instr::Cas {
                        to: new,
                        at: at(vars, v),
                        expect: to.into(),
                        new: new.into(),
                    });
                    code.push(Instr::JumpIf {
                        a: new.into(),
                        cmp: Cmp::Ne,
                        b: to.into(),
                        to: head as u32,
                    });
                }
            }
        }
        program.thread(code);
    }
    program
}

fn explore(program: &Program, model: Model) -> (BTreeSet<Outcome>, Saturated) {
    let mut outcomes = BTreeSet::new();
    let mut threads = Interpreter::new(program, model);
    let options = Options {
        executions: 1_000,
        limit: 80,
        ..Options::default()
    };
    let found = saturate(&mut threads, Preempt::Auto, options, |threads, search| {
        let regs = (0..program.threads.len()).map(|thread| threads.registers(thread).to_vec());
        if search.trace().end == End::Complete {
            outcomes.insert(Outcome {
                memory: plain(program, threads.memory()),
                regs: regs.collect(),
                stuck: false,
            });
        }
        ControlFlow::Continue(())
    });
    (outcomes, found.expect("runs"))
}

/// Every outcome, and whether somebody can wait for ever.
fn agree(program: &Program, model: Model) -> Result<(), TestCaseError> {
    program.validate().expect("valid");
    let Some((outcomes, stuck)) = try_states(program, model, 4_000) else {
        return Ok(());
    };
    let (found, saturated) = explore(program, model);
    if !saturated.counts.complete {
        prop_assert!(found.is_subset(&outcomes), "{:?}", model);
        return Ok(());
    }
    prop_assert_eq!(&found, &outcomes, "{:?} {:?}", model, saturated);
    prop_assert_eq!(saturated.counts.deadlocks > 0, stuck, "{:?}", model);
    prop_assert_eq!(saturated.counts.blocked, 0, "{:?} {:?}", model, saturated);
    Ok(())
}

fn executions(program: &Program, model: Model) -> u64 {
    let counts = explore(program, model).1.counts;
    assert!(counts.complete && counts.blocked == 0);
    counts.executions - counts.deadlocks
}

/// As if the turns were left out by hand, where the last turn writes again what the others left.
#[test]
fn leftovers_cost_nothing() {
    let shapes = [
        vec![vec![Deed::Await(0, 0, 3)], vec![Deed::FetchAdd(0); 3]],
        vec![vec![Deed::Count(0, 0)]; 3],
        vec![
            vec![Deed::AwaitKeeping(0, 1, 0, 2), Deed::LoadOwn(0)],
            vec![Deed::FetchAdd(0), Deed::FetchAdd(1), Deed::FetchAdd(0)],
        ],
    ];
    for shape in shapes {
        let program = build(&shape);
        for model in [Model::Sc, Model::Tso] {
            let by_hand = executions(&assume(&program), model);
            assert_eq!(executions(&program, model), by_hand, "{shape:?} {model:?}");
        }
    }
}

/// What a turn left is seen at the end, by another thread that is told, by the next deed of its own.
#[test]
fn what_is_read_counts() {
    let shapes = [
        vec![
            vec![Deed::AwaitLeaving(0, 0, 2)],
            vec![Deed::FetchAdd(0); 2],
        ],
        vec![
            vec![
                Deed::AwaitLeaving(0, 0, 2),
                Deed::LoadOwn(0),
                Deed::StoreOwn(0),
            ],
            vec![Deed::FetchAdd(0); 2],
        ],
        vec![
            vec![
                Deed::AwaitLeaving(0, 0, 2),
                Deed::FetchAdd(1),
                Deed::StoreOwn(0),
            ],
            vec![Deed::FetchAdd(0), Deed::FetchAdd(0), Deed::LoadOther(1, 0)],
        ],
    ];
    for shape in shapes {
        for model in [Model::Sc, Model::Tso] {
            agree(&build(&shape), model).expect("agrees");
        }
    }
}

fn cases() -> u32 {
    let asked = std::env::var("LANDFALL_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_outcome(deeds in deeds(3, 3)) {
        let program = build(&deeds);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn every_outcome_of_two_longer_threads(deeds in deeds(2, 5)) {
        let program = build(&deeds);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }

    #[test]
    fn also_with_locks_and_barriers(deeds in meeting(3, 3)) {
        let program = build(&deeds);
        agree(&program, Model::Sc)?;
        agree(&program, Model::Tso)?;
    }
}
