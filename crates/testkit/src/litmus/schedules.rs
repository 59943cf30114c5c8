//! Litmus tests as programs of the schedule search, with a recovery that reads.

use crate::program as target;
use landfall_explore::subject::{Ended, Execution, Job, Subject, SubjectError};
use landfall_litmus::program::*;
use landfall_model::event::{Event, FirstRead, Read};
use landfall_model::image::Image;
use landfall_model::line::{Addr, Line, LineBytes};
use std::collections::BTreeMap;

/// The program as the schedule search's interpreter reads it; `None` where it has no such instruction.
pub fn translate(test: &Test) -> Option<target::Program> {
    translate_as(test, target::Order::Atomic)
}

pub fn translate_as(test: &Test, order: target::Order) -> Option<target::Program> {
    let mut program = target::Program {
        persistent: true,
        ..target::Program::default()
    };
    let mut words: BTreeMap<u8, u8> = BTreeMap::new();
    for var in &test.program.vars {
        let word = words.entry(var.line.0).or_default();
        program.cells.push(target::Cell {
            line: u32::from(var.line.0),
            word: *word,
            init: var.init as u64,
        });
        *word += 1;
    }
    for thread in &test.program.threads {
        program.thread(translate_thread(thread, order)?);
    }
    program.validate().ok()?;
    Some(program)
}

fn translate_thread(thread: &Thread, order: target::Order) -> Option<Vec<target::Instr>> {
    let at = |var: Var| target::Place {
        cell: u32::from(var.0),
        index: None,
    };
    let operand = |operand: Operand| match operand {
        Operand::Const(value) => target::Operand::Const(value as u64),
        Operand::Reg(reg) => target::Operand::Reg(target::Reg(reg.0)),
    };
    let calc = |reg: Reg, a: target::Operand, op, b| target::Instr::Calc {
        to: target::Reg(reg.0),
        a,
        op,
        b,
    };
    let op = |op: RmwOp| match op {
        RmwOp::Xchg => target::Op::Second,
        RmwOp::Add => target::Op::Add,
        RmwOp::Sub => target::Op::Sub,
        RmwOp::And => target::Op::And,
        RmwOp::Or => target::Op::Or,
        RmwOp::Xor => target::Op::Xor,
    };
    let scratch = Reg(target::REGISTERS as u8 - 1);
    let mut code = Vec::new();
    for (reg, declared) in (0u8..).zip(&thread.regs) {
        code.push(calc(
            Reg(reg),
            0.into(),
            target::Op::Second,
            (declared.init as u64).into(),
        ));
    }
    let end = (code.len() + thread.body.len()) as u32;
    for instr in &thread.body {
        code.push(match *instr {
            Instr::Load { reg, var } => target::Instr::Load {
                to: target::Reg(reg.0),
                at: at(var),
                order,
            },
            Instr::Store { var, value } => target::Instr::Store {
                at: at(var),
                value: operand(value),
                order,
            },
            Instr::NtStore { var, value } => target::Instr::Stream {
                at: at(var),
                value: operand(value),
                order,
            },
            Instr::Rmw {
                reg,
                var,
                op: kind,
                operand: value,
            } => target::Instr::Rmw {
                to: target::Reg(reg.unwrap_or(scratch).0),
                at: at(var),
                op: op(kind),
                value: operand(value),
            },
            Instr::Cas {
                reg,
                var,
                expected,
                desired,
            } => target::Instr::Cas {
                to: target::Reg(reg.0),
                at: at(var),
                expect: operand(expected),
                new: operand(desired),
            },
            Instr::Flush { var, kind } => target::Instr::Flush {
                at: at(var),
                kind: match kind {
                    FlushKind::Clflush => target::WriteBack::Clflush,
                    FlushKind::Clflushopt | FlushKind::Clwb => target::WriteBack::Opt,
                },
            },
            Instr::Sfence => target::Instr::Sfence,
            Instr::Mfence => target::Instr::Fence,
            Instr::Move { reg, value } => calc(reg, 0.into(), target::Op::Second, operand(value)),
            Instr::Arith {
                reg,
                op: kind,
                operand: value,
            } => calc(reg, target::Reg(reg.0).into(), op(kind), operand(value)),
            Instr::If { reg, equals } => target::Instr::JumpIf {
                a: target::Reg(reg.0).into(),
                cmp: target::Cmp::Ne,
                b: (equals as u64).into(),
                to: end,
            },
            Instr::Tx(_) => return None,
        });
    }
    Some(code)
}

/// A recovery that reads variables in their order; with `hasty`, only up to one that holds nothing.
#[derive(Debug)]
pub struct Recovery<'a> {
    pub program: &'a target::Program,
    pub vars: &'a [Var],
    pub hasty: bool,
    pub paths: Vec<Vec<Read>>,
}

impl Recovery<'_> {
    pub fn reads(&self, line: impl Fn(Line) -> LineBytes) -> Vec<Read> {
        let mut reads: Vec<Read> = Vec::new();
        for var in self.vars {
            let cell = &self.program.cells[var.0 as usize];
            let line_number = Line(u64::from(cell.line));
            let read = FirstRead {
                word: Addr(line_number.start().0 + 8 * u64::from(cell.word)),
                mask: 0xff,
            };
            if reads.iter().any(|r| r.read == read) {
                continue;
            }
            let value = read.value(&line(line_number));
            reads.push(Read { read, value });
            if self.hasty && value == 0 {
                break;
            }
        }
        reads
    }
}

impl Subject for Recovery<'_> {
    fn run(&mut self, job: &Job<'_>) -> Result<Execution, SubjectError> {
        let reads = self.reads(|line| job.line(line));
        self.paths.push(reads.clone());
        let events = reads.into_iter().map(Event::read).collect();
        Ok(Execution::new(events, Ended::Well))
    }
}

pub fn initial(program: &target::Program) -> Image {
    let mut image = Image::default();
    for cell in &program.cells {
        let at = Line(u64::from(cell.line)).start().0 + 8 * u64::from(cell.word);
        image.write(Addr(at), &cell.init.to_le_bytes());
    }
    image
}
