//! Programs everyone knows: what goes wrong in them is found, and nothing where nothing does.

use landfall_explore::schedule::{Counts, Options, Wait, search};
use landfall_testkit::catalogue;
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::*;
use std::ops::ControlFlow;

fn explore(program: &Program, model: Model) -> Counts {
    program.validate().expect("valid");
    let mut threads = Interpreter::new(program, model);
    let counts = search(&mut threads, Options::default(), |_, _| {
        ControlFlow::Continue(())
    })
    .expect("runs");
    assert!(counts.complete && counts.blocked == 0, "{counts:?}");
    counts
}

fn load(to: Reg, at: Place) -> Instr {
    Instr::Load {
        to,
        at,
        order: Order::Atomic,
    }
}

fn store(at: Place, value: impl Into<Operand>) -> Instr {
    Instr::Store {
        at,
        value: value.into(),
        order: Order::Atomic,
    }
}

fn element(array: Place, index: u32) -> Place {
    Place {
        cell: array.cell + index,
        index: None,
    }
}

const R: [Reg; 6] = [Reg(0), Reg(1), Reg(2), Reg(3), Reg(4), Reg(5)];

/// Enters, fails if someone else is inside, leaves.
fn critical(inside: Place) -> Vec<Instr> {
    let add = |op| Instr::Rmw {
        to: R[2],
        at: inside,
        op,
        value: 1.into(),
    };
    let alone = Instr::Assert {
        a: R[2].into(),
        cmp: Cmp::Eq,
        b: 0.into(),
        code: 1,
    };
    vec![add(Op::Add), alone, add(Op::Sub)]
}

fn peterson(fences: bool) -> Program {
    let mut program = Program::default();
    let flags = program.array(2, 0);
    let turn = program.cell(0);
    let inside = program.cell(0);
    for me in 0..2u32 {
        let other = 1 - me;
        let fence = if fences { Instr::Fence } else { Instr::Jump(3) };
        let mut code = vec![
            store(element(flags, me), 1),
            store(turn, u64::from(other)),
            fence,
            load(R[0], element(flags, other)),
            Instr::JumpIf {
                a: R[0].into(),
                cmp: Cmp::Eq,
                b: 0.into(),
                to: 7,
            },
            load(R[1], turn),
            Instr::JumpIf {
                a: R[1].into(),
                cmp: Cmp::Eq,
                b: u64::from(other).into(),
                to: 3,
            },
        ];
        code.extend(critical(inside));
        code.push(store(element(flags, me), 0));
        program.thread(code);
    }
    program
}

#[test]
fn dekker_needs_its_fences() {
    assert_eq!(explore(&catalogue::dekker(false), Model::Sc).failing, 0);
    assert!(explore(&catalogue::dekker(false), Model::Tso).failing > 0);
    assert_eq!(explore(&catalogue::dekker(true), Model::Tso).failing, 0);
}

#[test]
fn peterson_needs_its_fences() {
    for (fences, model, fails) in [
        (false, Model::Sc, false),
        (false, Model::Tso, true),
        (true, Model::Tso, false),
    ] {
        let counts = explore(&peterson(fences), model);
        assert_eq!(counts.failing > 0, fails, "{fences} {model:?} {counts:?}");
        assert_eq!(counts.deadlocks, 0, "{fences} {model:?} {counts:?}");
    }
}

#[test]
fn two_locks_in_two_orders() {
    let mut program = Program::default();
    let locks = program.array(2, 0);
    for me in 0..2 {
        let (first, second) = (element(locks, me), element(locks, 1 - me));
        program.thread(vec![
            Instr::Sync(Sync::Lock, first),
            Instr::Sync(Sync::Lock, second),
            Instr::Sync(Sync::Unlock, second),
            Instr::Sync(Sync::Unlock, first),
        ]);
    }
    let mut threads = Interpreter::new(&program, Model::Tso);
    let mut waits = Vec::new();
    let counts = search(&mut threads, Options::default(), |_, trace| {
        if !trace.blocked.is_empty() {
            waits.push(trace.blocked.clone());
        }
        ControlFlow::Continue(())
    })
    .expect("runs");
    assert_eq!(
        (counts.executions, counts.deadlocks, counts.blocked),
        (3, 1, 0)
    );
    let objects: Vec<u32> = waits[0]
        .iter()
        .map(|wait| match wait {
            Wait::Step(step) => step.object,
            Wait::Join { .. } | Wait::Barrier { .. } => panic!("nobody joins"),
        })
        .collect();
    assert_eq!(objects, [1, 0], "each waits for the other's lock");
}

#[test]
fn created_and_joined_threads() {
    // main: create both, join both, then the sum must be there: joins order it, and the children's stores are drained.
    let mut program = Program::default();
    let cells = program.array(2, 0);
    let main = vec![
        Instr::Create(1),
        Instr::Create(2),
        Instr::Join(1),
        Instr::Join(2),
        load(R[0], element(cells, 0)),
        load(R[1], element(cells, 1)),
        Instr::Calc {
            to: R[0],
            a: R[0].into(),
            op: Op::Add,
            b: R[1].into(),
        },
        Instr::Assert {
            a: R[0].into(),
            cmp: Cmp::Eq,
            b: 3.into(),
            code: 1,
        },
    ];
    program.thread(main);
    program.created(vec![store(element(cells, 0), 1)]);
    program.created(vec![store(element(cells, 1), 2)]);
    for model in [Model::Sc, Model::Tso] {
        let counts = explore(&program, model);
        assert_eq!((counts.executions, counts.failing), (1, 0), "{model:?}");
    }
    // Without the second join it may be missing.
    program.threads[0].remove(3);
    for model in [Model::Sc, Model::Tso] {
        let counts = explore(&program, model);
        assert_eq!((counts.executions, counts.failing), (2, 1), "{model:?}");
    }
}

/// A stack with nodes 1 and 2 (`next[i]` is node i's successor): one thread pops by compare-and-swap, another pops two and
/// pushes the first again. The head is the same, its successor is not: node 2 is popped twice.
#[test]
fn a_b_a_in_a_stack() {
    assert!(explore(&stack(true), Model::Tso).failing > 0);
    assert_eq!(explore(&stack(false), Model::Tso).failing, 0);
}

fn stack(pushes_again: bool) -> Program {
    let mut program = Program::default();
    let head = program.cell(1);
    let next = program.array(3, 0);
    program.cells[next.cell as usize + 1].init = 2;
    let popped = program.array(3, 0);
    let at = |array: Place, reg| Place {
        cell: array.cell,
        index: Some(reg),
    };
    let take = |node: Reg| Instr::Rmw {
        to: R[4],
        at: at(popped, node),
        op: Op::Add,
        value: 1.into(),
    };
    let once = Instr::Assert {
        a: R[4].into(),
        cmp: Cmp::Eq,
        b: 0.into(),
        code: 1,
    };
    let swing = |from: Reg, to: Reg| Instr::Cas {
        to: R[3],
        at: head,
        expect: from.into(),
        new: to.into(),
    };
    let pop = |end: u32| {
        vec![
            load(R[0], head),
            Instr::JumpIf {
                a: R[0].into(),
                cmp: Cmp::Eq,
                b: 0.into(),
                to: end,
            },
            load(R[1], at(next, R[0])),
            swing(R[0], R[1]),
            Instr::JumpIf {
                a: R[3].into(),
                cmp: Cmp::Ne,
                b: R[0].into(),
                to: end,
            },
        ]
    };
    // Pops one, then another, and keeps that.
    let mut first = pop(12);
    first.extend(pop(12));
    first.extend([take(R[0]), once]);
    program.thread(first);
    // Pops node 1, pops node 2 and keeps it, pushes node 1 again.
    let keep = |reg: Reg| Instr::Calc {
        to: reg,
        a: R[0].into(),
        op: Op::Add,
        b: 0.into(),
    };
    let end = if pushes_again { 16 } else { 13 };
    let mut second = pop(end);
    second.push(keep(R[5]));
    second.extend(pop(end));
    second.extend([take(R[0]), once]);
    if pushes_again {
        second.extend([
            load(R[1], head),
            store(at(next, R[5]), R[1]),
            swing(R[1], R[5]),
        ]);
    }
    program.thread(second);
    program
}
