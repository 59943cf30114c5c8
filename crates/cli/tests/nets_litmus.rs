//! The reference that random native programs are held against (`nets/meaning.rs`) allows exactly what the operational definition allows: on
//! every bundled litmus test that fits its programs.

use crate::nets::meaning::{Model, Platform, Question, outcomes};
use crate::nets::program::{
    At, Flush, How, LINE, Language, Phase, Program, REGISTERS, Source, Space, Stmt, Update, Value,
};
use landfall_litmus::operational::{self, explore};
use landfall_litmus::parse::parse;
use landfall_litmus::program::{FlushKind, Instr, Location, Observe, Operand, RmwOp, Test};
use landfall_model::order::Platform as LitmusPlatform;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("litmus directory") {
        let path = entry.expect("entry").path();
        match path.is_dir() {
            true => files(&path, out),
            false if path.extension().is_some_and(|e| e == "lit") => out.push(path),
            false => {}
        }
    }
}

/// Where the variables are, in order.
fn places(test: &Test, space: Space) -> Vec<At> {
    let line_of = |line: u8| {
        let before = (test.program.vars.iter())
            .map(|var| var.line.0)
            .collect::<BTreeSet<_>>();
        before.range(..line).count()
    };
    let vars = test.program.vars.iter().enumerate();
    vars.map(|(number, var)| {
        let before = test.program.vars[..number]
            .iter()
            .filter(|other| other.line == var.line)
            .count();
        At {
            space,
            offset: line_of(var.line.0) * LINE + 8 * before,
        }
    })
    .collect()
}

fn value(operand: Operand) -> Value {
    match operand {
        Operand::Const(value) => Value::Const(value as u64),
        Operand::Reg(reg) => Value::Plus(reg.0, 0),
    }
}

/// A condition holds the rest of its thread.
fn thread(body: &[Instr], at: &[At]) -> Option<Vec<Stmt>> {
    let mut list = Vec::new();
    for (number, instr) in body.iter().enumerate() {
        let place = |var: landfall_litmus::program::Var| at[usize::from(var.0)];
        list.push(match *instr {
            Instr::Load { reg, var } => Stmt::Load {
                register: reg.0,
                at: place(var),
                size: 8,
                how: How::Plain,
            },
            Instr::Store { var, value: stored } => Stmt::Store {
                at: place(var),
                size: 8,
                value: value(stored),
                how: How::Plain,
            },
            Instr::NtStore { var, value: stored } => Stmt::Stream {
                at: place(var),
                size: 8,
                value: value(stored),
            },
            Instr::Rmw {
                reg: Some(reg),
                var,
                op,
                operand,
            } => Stmt::Update {
                register: reg.0,
                at: place(var),
                size: 8,
                with: match op {
                    RmwOp::Xchg => Update::Exchange,
                    RmwOp::Add => Update::Add,
                    #[allow(unreachable_patterns, reason = "there may be more")]
                    _ => return None,
                },
                value: value(operand),
            },
            Instr::Cas {
                reg,
                var,
                expected: Operand::Const(expected),
                desired,
            } => Stmt::CompareAndSwap {
                register: reg.0,
                at: place(var),
                size: 8,
                expected: expected as u64,
                new: value(desired),
            },
            Instr::Flush { var, kind } => Stmt::Flush {
                with: match kind {
                    FlushKind::Clflush => Flush::Clflush,
                    FlushKind::Clflushopt => Flush::Clflushopt,
                    FlushKind::Clwb => Flush::Clwb,
                },
                at: place(var),
            },
            Instr::Sfence => Stmt::Sfence,
            Instr::Mfence => Stmt::Mfence,
            Instr::If { reg, equals } => {
                let then = thread(&body[number + 1..], at)?;
                list.push(Stmt::If {
                    register: reg.0,
                    is: equals as u64,
                    then,
                    otherwise: Vec::new(),
                });
                return Some(list);
            }
            _ => return None,
        });
    }
    Some(list)
}

/// A test as a program, if it has no more registers and variables than fit, and all begins with 0; and where its outcomes are observed.
fn translate(test: &Test) -> Option<(Program, Vec<usize>)> {
    let many = test
        .program
        .threads
        .iter()
        .any(|thread| thread.regs.len() > REGISTERS);
    let other = (test.program.vars.iter()).any(|var| var.init != 0)
        || (test.program.threads.iter().flat_map(|thread| &thread.regs)).any(|reg| reg.init != 0);
    if many || other {
        return None;
    }
    let (space, observed) = match &test.observe {
        Observe::Recover(vars) => (
            Space::Persistent,
            vars.iter().map(|&var| Location::Var(var)).collect(),
        ),
        Observe::Final(places) => (Space::Volatile, places.clone()),
    };
    let at = places(test, space);
    let threads: Option<Vec<_>> = (test.program.threads.iter())
        .map(|t| thread(&t.body, &at))
        .collect();
    let mut looks = Vec::new();
    let mut slots = Vec::new();
    for place in observed {
        slots.push(match place {
            // Main is before the threads.
            Location::Reg { thread, reg } => {
                (usize::from(thread) + 1) * REGISTERS + usize::from(reg.0)
            }
            Location::Var(var) => {
                let register = looks.len() as u8;
                looks.push(Stmt::Load {
                    register,
                    at: at[usize::from(var.0)],
                    size: 8,
                    how: How::Plain,
                });
                usize::from(register)
            }
        });
    }
    if looks.len() > REGISTERS {
        return None;
    }
    let lines = 1 + at.iter().map(|at| at.offset / LINE).max().unwrap_or(0);
    let mut first = Phase {
        threads: threads?,
        ..Phase::default()
    };
    let mut recovery = Phase::default();
    let (persistent_lines, volatile_lines) = match space {
        Space::Persistent => {
            recovery.before = looks;
            (lines, 1)
        }
        Space::Volatile => {
            first.after = looks;
            (1, lines)
        }
    };
    let phases = vec![first, recovery];
    let (language, source) = (Language::C, Source::Region);
    Some((
        Program {
            language,
            source,
            persistent_lines,
            volatile_lines,
            constructor: Vec::new(),
            phases,
        },
        slots,
    ))
}

#[test]
fn the_reference_allows_what_the_operational_definition_allows() {
    let mut paths = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus"),
        &mut paths,
    );
    let mut compared = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let test =
            parse("test.lit", &text).unwrap_or_else(|error| panic!("{}:{error}", path.display()));
        let Some((program, slots)) = translate(&test) else {
            continue;
        };
        let failures = usize::from(test.observe.is_recovery());
        let question = Question {
            failures,
            model: Model::Tso,
            platform: match test.platform {
                LitmusPlatform::Adr => Platform::Adr,
                LitmusPlatform::Eadr => Platform::Eadr,
            },
        };
        let Some(all) = outcomes(&program, question, 60_000) else {
            continue;
        };
        let found: BTreeSet<Vec<i64>> = (all[failures].iter())
            .map(|registers| slots.iter().map(|&slot| registers[slot] as i64).collect())
            .collect();
        let model = landfall_litmus::Model::px86(test.platform);
        let defined = explore(
            &test.program,
            &test.observe,
            &model,
            &operational::ExploreOptions::default(),
        );
        assert_eq!(
            found,
            defined.expect("small").outcomes.into_iter().collect(),
            "{}",
            path.display()
        );
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}
