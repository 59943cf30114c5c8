//! Random litmus programs that shrink well.

use landfall_litmus::program::*;
use landfall_litmus::transaction::{Aborts, MAX_NESTING, TxInstr};
use proptest::prelude::*;

/// An instruction before it has registers and values: those follow from its place.
#[derive(Clone, Copy, Debug)]
pub enum Draft {
    Load(u8),
    Store(u8),
    /// Stores what the thread read last.
    StoreRead(u8),
    Nt(u8),
    Xchg(u8),
    Cas(u8, i64),
    Faa(u8),
    Flush(u8, FlushKind),
    Sfence,
    Mfence,
    /// Goes on only if the last read returned this.
    If(i64),
    /// Adds to what the thread read last, in its register.
    Arith(i64),
    /// Copies what the thread read last into a register of its own.
    Move,
    /// Exchanges with what the thread read last.
    XchgRead(u8),
    Begin,
    End,
    /// Inside a transaction: always, or if the last read returned this.
    Abort(Option<i64>),
    Test,
}

#[derive(Clone, Debug)]
pub struct Shape {
    pub threads: Vec<Vec<Draft>>,
    /// The line of each variable.
    pub lines: Vec<u8>,
    /// What each variable holds at first.
    pub init: Vec<i64>,
    pub recover: bool,
    pub aborts: Aborts,
    /// Which variables and registers are looked at, as bits by their order.
    pub look: u32,
}

pub fn draft(vars: u8) -> impl Strategy<Value = Draft> {
    let var = move || 0..vars;
    prop_oneof![
        5 => var().prop_map(Draft::Store),
        4 => var().prop_map(Draft::Load),
        1 => var().prop_map(Draft::StoreRead),
        2 => var().prop_map(Draft::Nt),
        1 => var().prop_map(Draft::Xchg),
        1 => (var(), 0i64..3).prop_map(|(v, e)| Draft::Cas(v, e)),
        1 => var().prop_map(Draft::Faa),
        2 => var().prop_map(|v| Draft::Flush(v, FlushKind::Clflush)),
        2 => var().prop_map(|v| Draft::Flush(v, FlushKind::Clflushopt)),
        1 => var().prop_map(|v| Draft::Flush(v, FlushKind::Clwb)),
        2 => Just(Draft::Sfence),
        1 => Just(Draft::Mfence),
        1 => (0i64..3).prop_map(Draft::If),
        1 => (1i64..3).prop_map(Draft::Arith),
        1 => Just(Draft::Move),
        1 => var().prop_map(Draft::XchgRead),
    ]
}

/// The shape: 2-3 threads, up to 5 instructions each, 2-3 variables on 1-3 lines, all kinds.
pub fn shape(max_threads: usize, max_instrs: usize) -> impl Strategy<Value = Shape> {
    (2u8..=3, 1u8..=3).prop_flat_map(move |(vars, lines)| {
        (
            prop::collection::vec(
                prop::collection::vec(draft(vars), 0..=max_instrs),
                2..=max_threads,
            ),
            prop::collection::vec(0..lines, vars as usize),
            prop::collection::vec(prop_oneof![3 => Just(0i64), 1 => Just(1)], vars as usize),
            any::<bool>(),
            prop_oneof![2 => Just(u32::MAX), 1 => any::<u32>()],
        )
            .prop_map(|(threads, lines, init, recover, look)| Shape {
                threads,
                lines,
                init,
                recover,
                aborts: Aborts::default(),
                look,
            })
    })
}

/// Programs in which one or two threads begin with a transaction, or come to one after an instruction.
pub fn transactional(max_threads: usize, max_instrs: usize) -> impl Strategy<Value = Shape> {
    let aborts = prop_oneof![2 => Just(Aborts::Caused), 1 => Just(Aborts::Spurious)];
    (shape(max_threads, max_instrs), aborts).prop_flat_map(|(shape, aborts)| {
        let vars = shape.lines.len() as u8;
        let inside = prop_oneof![
            12 => draft(vars).prop_filter("rare", |draft| !matches!(draft, Draft::Flush(..) | Draft::Nt(_) | Draft::Sfence)),
            1 => draft(vars),
            1 => prop::option::of(0i64..3).prop_map(Draft::Abort),
            1 => Just(Draft::Test),
            1 => Just(Draft::Begin),
            1 => Just(Draft::End),
        ];
        let region = prop::collection::vec(inside, 0..=3);
        let placed = (0..shape.threads.len(), 0..=2usize, region);
        (Just(shape), prop::collection::vec(placed, 1..=2)).prop_map(move |(mut shape, regions)| {
            shape.aborts = aborts;
            for (thread, at, body) in regions {
                let code = &mut shape.threads[thread];
                let at = at.min(code.len());
                let region = [vec![Draft::Begin], body, vec![Draft::End]].concat();
                code.splice(at..at, region);
            }
            shape
        })
    })
}

/// Every store writes a value of its own, so that outcomes tell stores apart.
pub fn build(shape: &Shape) -> Test {
    let mut next_value = 0;
    let mut value = || {
        next_value += 1;
        Operand::Const(next_value)
    };
    let mut program = LitmusProgram {
        vars: shape
            .lines
            .iter()
            .enumerate()
            .map(|(i, &line)| VarDecl {
                name: ["x", "y", "z"][i].to_owned(),
                line: LineId(line),
                init: shape.init[i],
            })
            .collect(),
        aborts: shape.aborts,
        ..LitmusProgram::default()
    };
    let mut places: Vec<Location> = Vec::new();
    for (t, drafts) in shape.threads.iter().enumerate() {
        let mut regs: Vec<RegDecl> = Vec::new();
        let mut body: Vec<Instr> = Vec::new();
        let mut depth = 0;
        for draft in drafts {
            let last = regs
                .len()
                .checked_sub(1)
                .map(|n| Operand::Reg(Reg(n as u8)));
            let mut fresh = || {
                regs.push(RegDecl {
                    name: format!("r{}", regs.len() + 1),
                    init: 0,
                });
                Reg(regs.len() as u8 - 1)
            };
            body.push(match *draft {
                Draft::Load(v) => Instr::Load {
                    reg: fresh(),
                    var: Var(v),
                },
                Draft::Store(v) => Instr::Store {
                    var: Var(v),
                    value: value(),
                },
                Draft::StoreRead(v) => Instr::Store {
                    var: Var(v),
                    value: match regs.len() {
                        0 => value(),
                        n => Operand::Reg(Reg(n as u8 - 1)),
                    },
                },
                Draft::Nt(v) => Instr::NtStore {
                    var: Var(v),
                    value: value(),
                },
                Draft::Xchg(v) => Instr::Rmw {
                    reg: Some(fresh()),
                    var: Var(v),
                    op: RmwOp::Xchg,
                    operand: value(),
                },
                Draft::Cas(v, expected) => Instr::Cas {
                    reg: fresh(),
                    var: Var(v),
                    expected: Operand::Const(expected),
                    desired: value(),
                },
                Draft::Faa(v) => Instr::Rmw {
                    reg: Some(fresh()),
                    var: Var(v),
                    op: RmwOp::Add,
                    operand: Operand::Const(100),
                },
                Draft::Flush(v, kind) => Instr::Flush { var: Var(v), kind },
                Draft::Arith(by) => match regs.len() {
                    0 => Instr::Sfence,
                    n => Instr::Arith {
                        reg: Reg(n as u8 - 1),
                        op: RmwOp::Add,
                        operand: Operand::Const(by),
                    },
                },
                Draft::Move => match last {
                    None => Instr::Mfence,
                    Some(value) => Instr::Move {
                        reg: fresh(),
                        value,
                    },
                },
                Draft::XchgRead(v) => Instr::Rmw {
                    reg: Some(fresh()),
                    var: Var(v),
                    op: RmwOp::Xchg,
                    operand: last.unwrap_or_else(&mut value),
                },
                Draft::Sfence => Instr::Sfence,
                Draft::Mfence => Instr::Mfence,
                Draft::Begin if depth < MAX_NESTING => {
                    depth += 1;
                    let reg = Some(fresh());
                    Instr::Tx(TxInstr::Begin { reg })
                }
                Draft::Begin => Instr::Mfence,
                Draft::End => match depth {
                    0 => Instr::Mfence,
                    _ => {
                        depth -= 1;
                        Instr::Tx(TxInstr::End)
                    }
                },
                Draft::Abort(when) => Instr::Tx(TxInstr::Abort {
                    code: 7,
                    when: when
                        .and_then(|value| Some((Reg(regs.len().checked_sub(1)? as u8), value))),
                }),
                Draft::Test => Instr::Tx(TxInstr::Test { reg: fresh() }),
                Draft::If(equals) if depth > 0 => Instr::Tx(TxInstr::Abort {
                    code: 3,
                    when: regs.len().checked_sub(1).map(|n| (Reg(n as u8), equals)),
                }),
                Draft::If(equals) => match regs.len() {
                    0 => Instr::Mfence,
                    n => Instr::If {
                        reg: Reg(n as u8 - 1),
                        equals,
                    },
                },
            });
        }
        body.extend((0..depth).map(|_| Instr::Tx(TxInstr::End)));
        places.extend((0..regs.len()).map(|r| Location::Reg {
            thread: t as u8,
            reg: Reg(r as u8),
        }));
        program.threads.push(Thread { regs, body });
    }
    let vars = (0..shape.lines.len() as u8).map(Var);
    let looked_at = |i: usize| i == 0 || shape.look & (1 << (i % 32)) != 0;
    let observe = if shape.recover {
        let vars = vars.enumerate().filter(|&(i, _)| looked_at(i));
        Observe::Recover(vars.map(|(_, var)| var).collect())
    } else {
        places.extend(vars.map(Location::Var));
        let places = places.into_iter().enumerate();
        Observe::Final(
            places
                .filter(|&(i, _)| looked_at(i))
                .map(|(_, p)| p)
                .collect(),
        )
    };
    Test {
        asked: None,
        name: "random".to_owned(),
        program,
        observe,
        platform: Default::default(),
        expect: Vec::new(),
        source: "found by the agreement test".to_owned(),
    }
}
