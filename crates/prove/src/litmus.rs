//! Litmus tests as programs: the same instructions, with registers as terms.

use crate::builder::{Path, Recovering};
use crate::program::{Check, Home, LocId, ProofEventKind, ProofProgram};
use crate::program::{FlushKind as Flush, LineId};
use crate::term::{Op, Term};
use landfall_litmus::expect::{Prop, Quantifier};
use landfall_litmus::program::{
    FlushKind, Instr, Location, Observe, Operand, RmwOp, ShowInstr, Test,
};

use landfall_litmus::transaction::TxInstr;

/// A variable is 8 bytes wide.
const WIDTH: u8 = 64;

/// A litmus test as a program, and the terms of what it observes, in the order of [`Observe::places`].
#[derive(Clone, Debug)]
pub struct Litmus {
    pub program: ProofProgram,
    pub observed: Vec<Term>,
}

/// The encoding knows no transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HasTransactions;

/// What the test forbids becomes what the program must keep: checks of the recovery, or at the end.
pub fn translate(test: &Test) -> Result<Litmus, HasTransactions> {
    if test.program.has_transactions() {
        return Err(HasTransactions);
    }
    let mut program = ProofProgram {
        platform: test.platform,
        ..ProofProgram::default()
    };
    for _ in 0..test.program.line_count() {
        program.add_line();
    }
    let locs: Vec<LocId> = test
        .program
        .vars
        .iter()
        .map(|var| {
            let home = Home::Persistent(LineId(var.line.0.into()));
            program.add_location(&var.name, WIDTH, home, var.init as u64)
        })
        .collect();
    let mut registers = Vec::new();
    for number in 0..test.program.threads.len() {
        registers.push(thread(&mut program, test, number, &locs));
    }
    let mut recovering = Recovering::new(&mut program);
    let always = program.terms.truth(true);
    let mut observed = Vec::new();
    for place in test.observe.places() {
        observed.push(match (place, &test.observe) {
            (Location::Var(var), Observe::Recover(_)) => {
                recovering.load(&mut program, locs[usize::from(var.0)], always)
            }
            (Location::Var(var), Observe::Final(_)) => program.at_the_end(locs[usize::from(var.0)]),
            (Location::Reg { thread, reg }, _) => {
                registers[usize::from(thread)][usize::from(reg.0)]
            }
        });
    }
    let mut checks = Vec::new();
    for expectation in &test.expect {
        let holds = proposition(&mut program, &expectation.prop, &observed);
        let holds = match expectation.quantifier {
            Quantifier::Exists => continue,
            Quantifier::Never => program.terms.not(holds),
            Quantifier::Always => holds,
        };
        checks.push(Check {
            guard: always,
            holds,
            label: expectation.text.clone(),
        });
    }
    match test.observe {
        Observe::Recover(_) => program.recovery.checks = checks,
        Observe::Final(_) => program.at_the_end = checks,
    }
    Ok(Litmus { program, observed })
}

/// Adds a thread; the terms of its registers at its end.
fn thread(program: &mut ProofProgram, test: &Test, number: usize, locs: &[LocId]) -> Vec<Term> {
    let source = &test.program.threads[number];
    let mut path = program.add_thread(&format!("T{number}"));
    let mut registers: Vec<Term> = source
        .regs
        .iter()
        .map(|reg| program.terms.constant(WIDTH, reg.init as u64))
        .collect();
    for instr in &source.body {
        let label = ShowInstr {
            program: &test.program,
            thread: number,
            instr,
        }
        .to_string();
        step(
            program,
            &mut path,
            &mut registers,
            instr,
            &label,
            (test, locs),
        );
    }
    registers
}

fn step(
    program: &mut ProofProgram,
    path: &mut Path,
    registers: &mut [Term],
    instr: &Instr,
    label: &str,
    (test, locs): (&Test, &[LocId]),
) {
    let old = registers.to_vec();
    let value = |program: &mut ProofProgram, operand: Operand| match operand {
        Operand::Const(value) => program.terms.constant(WIDTH, value as u64),
        Operand::Reg(reg) => old[usize::from(reg.0)],
    };
    // An `if` that fails leaves the registers as they are: those set after it keep their old value then.
    let mut set = |program: &mut ProofProgram, reg: landfall_litmus::program::Reg, to: Term| {
        let at = usize::from(reg.0);
        registers[at] = program.terms.choose(path.condition, to, old[at]);
    };
    match *instr {
        Instr::Load { reg, var } => {
            let loaded = path.load(program, locs[usize::from(var.0)], label);
            set(program, reg, loaded);
        }
        Instr::Store { var, value: v } => {
            let v = value(program, v);
            path.store(program, locs[usize::from(var.0)], v, label);
        }
        Instr::NtStore { var, value: v } => {
            let (loc, value) = (locs[usize::from(var.0)], value(program, v));
            path.event(program, ProofEventKind::NtStore { loc, value }, label);
        }
        Instr::Rmw {
            reg,
            var,
            op,
            operand,
        } => {
            let operand = value(program, operand);
            let loaded = path.rmw(program, locs[usize::from(var.0)], label, |terms, loaded| {
                let value = match operator(op) {
                    None => operand,
                    Some(op) => terms.binary(op, loaded, operand),
                };
                (terms.truth(true), value)
            });
            if let Some(reg) = reg {
                set(program, reg, loaded);
            }
        }
        Instr::Cas {
            reg,
            var,
            expected,
            desired,
        } => {
            let values = (value(program, expected), value(program, desired));
            let (loaded, _) = path.cas(program, locs[usize::from(var.0)], values, label);
            set(program, reg, loaded);
        }
        Instr::Flush { var, kind } => {
            let line = LineId(test.program.line_of(var).0.into());
            let kind = match kind {
                FlushKind::Clflush => Flush::Clflush,
                FlushKind::Clflushopt => Flush::Clflushopt,
                FlushKind::Clwb => Flush::Clwb,
            };
            path.flush(program, line, kind, label);
        }
        Instr::Sfence => {
            path.event(program, ProofEventKind::Sfence, label);
        }
        Instr::Mfence => {
            path.event(program, ProofEventKind::Mfence, label);
        }
        Instr::Move { reg, value: v } => {
            let v = value(program, v);
            set(program, reg, v);
        }
        Instr::Arith { reg, op, operand } => {
            let operand = value(program, operand);
            let result = match operator(op) {
                None => operand,
                Some(op) => program.terms.binary(op, old[usize::from(reg.0)], operand),
            };
            set(program, reg, result);
        }
        Instr::If { reg, equals } => {
            let equals = program.terms.constant(WIDTH, equals as u64);
            let holds = program.terms.eq(old[usize::from(reg.0)], equals);
            path.assume(program, holds);
        }
        Instr::Tx(TxInstr::Test { reg }) => {
            let outside = program.terms.constant(WIDTH, 0);
            set(program, reg, outside);
        }
        // There are no transactions, and outside of one an `xabort` does nothing.
        Instr::Tx(_) => {}
    }
}

fn operator(op: RmwOp) -> Option<Op> {
    Some(match op {
        RmwOp::Xchg => return None,
        RmwOp::Add => Op::Add,
        RmwOp::Sub => Op::Sub,
        RmwOp::And => Op::And,
        RmwOp::Or => Op::Or,
        RmwOp::Xor => Op::Xor,
    })
}

fn proposition(program: &mut ProofProgram, prop: &Prop, observed: &[Term]) -> Term {
    match prop {
        Prop::True => program.terms.truth(true),
        Prop::Eq(place, value) => {
            let value = program.terms.constant(WIDTH, *value as u64);
            program.terms.eq(observed[*place], value)
        }
        Prop::Not(inner) => {
            let inner = proposition(program, inner, observed);
            program.terms.not(inner)
        }
        Prop::And(all) => {
            let all: Vec<Term> = all
                .iter()
                .map(|p| proposition(program, p, observed))
                .collect();
            program.terms.conjunction(&all)
        }
        Prop::Or(any) => {
            let none = program.terms.truth(false);
            any.iter().fold(none, |either, p| {
                let p = proposition(program, p, observed);
                program.terms.or(either, p)
            })
        }
    }
}
