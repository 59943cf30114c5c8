//! Programs with known numbers of executions (BENCHMARKS.md), for tests and benchmarks.

use crate::program::{Cmp, Instr, Op, Operand, Order, Place, Program, Reg, Sync};

const A: Reg = Reg(0);
const B: Reg = Reg(1);
const I: Reg = Reg(2);

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

fn cas(at: Place, expect: u64, new: u64) -> Instr {
    Instr::Cas {
        to: A,
        at,
        expect: expect.into(),
        new: new.into(),
    }
}

fn element(array: Place, index: usize) -> Place {
    Place {
        cell: array.cell + index as u32,
        index: None,
    }
}

pub fn fetch_add(n: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    for _ in 0..n {
        program.thread(vec![Instr::Rmw {
            to: A,
            at: x,
            op: Op::Add,
            value: 1.into(),
        }]);
    }
    program
}

pub fn cas_rotation(n: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    for i in 1..=n as u64 {
        program.thread(vec![cas(x, i - 1, i)]);
    }
    program
}

pub fn cas_then_write(n: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    for i in 0..n as u64 {
        program.thread(vec![cas(x, 0, 1), store(x, i + 3)]);
    }
    program
}

pub fn write_then_cas(n: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    program.thread(vec![store(x, 2)]);
    for _ in 0..n {
        program.thread(vec![cas(x, 2, 3)]);
    }
    program
}

pub fn last_zero(n: usize) -> Program {
    let mut program = Program::default();
    let a = program.array(n + 1, 0);
    let indexed = Place {
        cell: a.cell,
        index: Some(I),
    };
    program.thread(vec![
        Instr::Calc {
            to: I,
            a: (n as u64).into(),
            op: Op::Add,
            b: 0.into(),
        },
        load(A, indexed),
        Instr::JumpIf {
            a: A.into(),
            cmp: Cmp::Eq,
            b: 0.into(),
            to: 5,
        },
        Instr::Calc {
            to: I,
            a: I.into(),
            op: Op::Sub,
            b: 1.into(),
        },
        Instr::Jump(1),
    ]);
    for j in 1..=n {
        program.thread(vec![
            load(A, element(a, j - 1)),
            Instr::Calc {
                to: A,
                a: A.into(),
                op: Op::Add,
                b: 1.into(),
            },
            store(element(a, j), A),
        ]);
    }
    program
}

pub fn readers(n: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    program.thread(vec![store(x, 1)]);
    for _ in 0..n {
        program.thread(vec![load(A, x)]);
    }
    program
}

pub fn indexer(n: usize) -> Program {
    const SIZE: usize = 128;
    let mut program = Program::default();
    let table = program.array(SIZE, 0);
    let slot = Place {
        cell: table.cell,
        index: Some(I),
    };
    for tid in 0..n as u64 {
        let mut code = Vec::new();
        for i in 0..4 {
            let w = 11 * i + tid;
            code.push(Instr::Calc {
                to: I,
                a: (7 * w % SIZE as u64).into(),
                op: Op::Add,
                b: 0.into(),
            });
            let retry = code.len() as u32;
            code.extend([
                Instr::Cas {
                    to: A,
                    at: slot,
                    expect: 0.into(),
                    new: (w + 1).into(),
                },
                Instr::JumpIf {
                    a: A.into(),
                    cmp: Cmp::Eq,
                    b: 0.into(),
                    to: retry + 5,
                },
                Instr::Calc {
                    to: I,
                    a: I.into(),
                    op: Op::Add,
                    b: 1.into(),
                },
                Instr::Calc {
                    to: I,
                    a: I.into(),
                    op: Op::Rem,
                    b: (SIZE as u64).into(),
                },
                Instr::Jump(retry),
            ]);
        }
        program.thread(code);
    }
    program
}

pub fn fibonacci(rounds: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(1);
    let y = program.cell(1);
    for target in [x, y] {
        let mut code = Vec::new();
        for _ in 0..rounds {
            code.push(load(A, x));
            code.push(load(B, y));
            code.push(Instr::Calc {
                to: A,
                a: A.into(),
                op: Op::Add,
                b: B.into(),
            });
            code.push(store(target, A));
        }
        program.thread(code);
    }
    program.thread(vec![load(A, x), load(B, y)]);
    program
}

pub fn locked_increment(n: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    let lock = program.cell(0);
    for _ in 0..n {
        program.thread(vec![
            Instr::Sync(Sync::Lock, lock),
            Instr::Load {
                to: A,
                at: x,
                order: Order::Plain,
            },
            Instr::Calc {
                to: A,
                a: A.into(),
                op: Op::Add,
                b: 1.into(),
            },
            Instr::Store {
                at: x,
                value: A.into(),
                order: Order::Plain,
            },
            Instr::Sync(Sync::Unlock, lock),
        ]);
    }
    program
}

/// Two threads that raise a flag, look at the other's and enter if it is down.
pub fn dekker(fences: bool) -> Program {
    let mut program = Program::default();
    let flags = program.array(2, 0);
    let inside = program.cell(0);
    for me in 0..2 {
        let mut code = vec![store(element(flags, me), 1)];
        if fences {
            code.push(Instr::Fence);
        }
        code.push(load(A, element(flags, 1 - me)));
        let enter = code.len() as u32;
        code.push(Instr::JumpIf {
            a: A.into(),
            cmp: Cmp::Ne,
            b: 0.into(),
            to: enter + 4,
        });
        code.push(Instr::Rmw {
            to: B,
            at: inside,
            op: Op::Add,
            value: 1.into(),
        });
        code.push(Instr::Assert {
            a: B.into(),
            cmp: Cmp::Eq,
            b: 0.into(),
            code: 1,
        });
        code.push(Instr::Rmw {
            to: B,
            at: inside,
            op: Op::Sub,
            value: 1.into(),
        });
        program.thread(code);
    }
    program
}

/// `n` threads store to one variable, each its number or all the same; one more reads it so often.
pub fn stores(n: usize, equal: bool, loads: usize) -> Program {
    let mut program = Program::default();
    let x = program.cell(0);
    for i in 1..=n as u64 {
        program.thread(vec![store(x, if equal { 1 } else { i })]);
    }
    let reads = (0..loads).map(|at| load(Reg(at as u8), x));
    program.thread(reads.collect());
    program
}
