//! Random programs with hardware transactions as C: natively they come to what a machine comes to that runs them instruction by instruction and aborts
//! whom others meet, under both models.

use crate::support::Scratch;
use landfall_explore::schedule::Options;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_native::compiler::{self, Language};
use landfall_native::{Job, NativeThreads, Outcome, Program as Native, Server};
use landfall_testkit::program::{
    AbortReasons, Cmp, Instr, Model, Op, Operand, Order, Place, Program, REGISTERS, Reg, STARTED,
};
use landfall_testkit::schedules::transactions::try_transactions;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

/// States of a program that is tried.
const MOST: usize = 100_000;
const PROGRAMS: usize = 120;
const CELLS: u64 = 3;
/// Ways to make a small number of what a program came to.
const DIGESTS: u64 = 3;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

struct Writer<'d> {
    code: Vec<Instr>,
    dice: &'d mut Dice,
    order: Order,
    regs: u8,
    value: u64,
}

impl Writer<'_> {
    fn fresh(&mut self) -> Reg {
        self.regs += 1;
        Reg(self.regs % 14)
    }

    fn place(&mut self) -> Place {
        Place {
            cell: self.dice.roll(CELLS) as u32,
            index: None,
        }
    }

    fn load(&mut self) -> Reg {
        let (to, at, order) = (self.fresh(), self.place(), self.order);
        self.code.push(Instr::Load { to, at, order });
        to
    }

    fn store(&mut self) {
        self.value += 1;
        let (at, value, order) = (self.place(), self.value.into(), self.order);
        self.code.push(Instr::Store { at, value, order });
    }

    /// The next `count` instructions only if what was loaded is 0, or is not.
    fn only_if(&mut self, reg: Reg, cmp: Cmp, count: u32) {
        let to = self.code.len() as u32 + 1 + count;
        let (a, b) = (reg.into(), 0.into());
        self.code.push(Instr::JumpIf { a, cmp, b, to });
    }

    fn access(&mut self) {
        match self.dice.roll(8) {
            0..3 => _ = self.load(),
            3..6 => self.store(),
            6 => {
                let (to, at) = (self.fresh(), self.place());
                let (op, value) = (Op::Add, 1.into());
                self.code.push(Instr::Rmw { to, at, op, value });
            }
            _ => {
                let reg = self.load();
                self.only_if(reg, Cmp::Ne, 1);
                self.store();
            }
        }
    }

    fn inside(&mut self) {
        match self.dice.roll(10) {
            0 | 1 => {
                let reg = self.load();
                self.only_if(reg, Cmp::Eq, 1);
                self.code.push(Instr::Abort(1 + self.dice.roll(2) as u8));
            }
            2 => {
                let to = self.fresh();
                self.code.push(Instr::Begin { to });
                self.store();
                self.code.push(Instr::End);
            }
            _ => self.access(),
        }
    }

    fn attempt(&mut self) {
        let status = self.fresh();
        self.code.push(Instr::Begin { to: status });
        let jump = self.code.len();
        self.code.push(Instr::Jump(0));
        for _ in 0..self.dice.roll(4) {
            self.inside();
        }
        self.code.push(Instr::End);
        let over = self.code.len();
        self.code.push(Instr::Jump(0));
        self.code[jump] = Instr::JumpIf {
            a: status.into(),
            cmp: Cmp::Ne,
            b: STARTED.into(),
            to: self.code.len() as u32,
        };
        for _ in 0..self.dice.roll(2) {
            self.access();
        }
        self.code[over] = Instr::Jump(self.code.len() as u32);
    }
}

fn random(dice: &mut Dice) -> Program {
    let mut program = Program::default();
    program.array(CELLS as usize, 0);
    let order = [Order::Plain, Order::Atomic][dice.roll(2) as usize];
    for thread in 0..2 + dice.roll(2) {
        let mut writer = Writer {
            code: Vec::new(),
            dice,
            order,
            regs: 0,
            value: 10 * (thread + 1),
        };
        for _ in 0..1 + writer.dice.roll(2) {
            match writer.dice.roll(7) {
                0..4 => writer.attempt(),
                4 => writer.code.push(Instr::Fence),
                _ => writer.access(),
            }
        }
        program.thread(writer.code);
    }
    program.validate().expect("valid");
    program
}

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Const(value) => format!("{value}u"),
        Operand::Reg(reg) => format!("r[{}]", reg.0),
    }
}

fn statement(program: &Program, instr: &Instr, label: impl Fn(u32) -> String) -> String {
    let cell = |place: Place| {
        let cell = program.cells[place.cell as usize];
        format!("lines[{}].words[{}]", cell.line, cell.word)
    };
    let atomic = |order: Order| order == Order::Atomic;
    match *instr {
        Instr::Load { to, at, order } if atomic(order) => format!(
            "r[{}] = __atomic_load_n(&{}, __ATOMIC_ACQUIRE);",
            to.0,
            cell(at)
        ),
        Instr::Load { to, at, .. } => format!("r[{}] = {};", to.0, cell(at)),
        Instr::Store { at, value, order } if atomic(order) => format!(
            "__atomic_store_n(&{}, {}, __ATOMIC_RELEASE);",
            cell(at),
            operand(value)
        ),
        Instr::Store { at, value, .. } => format!("{} = {};", cell(at), operand(value)),
        Instr::Rmw { to, at, value, .. } => format!(
            "r[{}] = __atomic_fetch_add(&{}, {}, __ATOMIC_SEQ_CST);",
            to.0,
            cell(at),
            operand(value)
        ),
        Instr::Fence => "__atomic_thread_fence(__ATOMIC_SEQ_CST);".to_owned(),
        Instr::Begin { to } => format!("r[{}] = began(_xbegin());", to.0),
        Instr::End => "_xend();".to_owned(),
        Instr::Abort(code) => format!("_xabort({code});"),
        Instr::Jump(to) => format!("goto {};", label(to)),
        Instr::JumpIf { a, cmp, b, to } => {
            let cmp = if cmp == Cmp::Eq { "==" } else { "!=" };
            format!(
                "if ({} {cmp} {}) goto {};",
                operand(a),
                operand(b),
                label(to)
            )
        }
        ref other => panic!("not in these programs: {other:?}"),
    }
}

/// All programs in one file, chosen by the first argument; the second says how what came of it is told.
fn source(programs: &[Program]) -> String {
    let mut out = String::from(
        "#include <immintrin.h>\n#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n\
         static struct { _Alignas(64) uint64_t words[8]; } lines[8];\n\
         static uint64_t seen[3][16];\n\
         // Why it failed for no reason is not told by the machine.\n\
         static inline uint64_t began(unsigned status) {\n\
           return status == _XBEGIN_STARTED ? status : status & 1 ? status & ~32u : 0;\n}\n",
    );
    for (number, program) in programs.iter().enumerate() {
        for (thread, code) in program.threads.iter().enumerate() {
            let _ = writeln!(
                out,
                "static void *p{number}_{thread}(void *unused) {{\n  uint64_t *r = seen[{thread}];"
            );
            let label = |at: u32| format!("l{at}");
            for (at, instr) in code.iter().enumerate() {
                let _ = writeln!(out, "l{at}:;  {}", statement(program, instr, label));
            }
            let _ = writeln!(out, "l{}:;  return unused;\n}}", code.len());
        }
    }
    out += "static void *(*threads[][4])(void *) = {\n";
    for (number, program) in programs.iter().enumerate() {
        let names = (0..program.threads.len()).map(|thread| format!("p{number}_{thread}"));
        let _ = writeln!(out, "  {{{}}},", names.collect::<Vec<_>>().join(", "));
    }
    let _ = write!(
        out,
        "}};\n\
        int main(int count, char **arguments) {{\n\
          int program = atoi(arguments[1]), n = 0;\n\
          uint64_t d = atoi(arguments[2]);\n\
          pthread_t t[3];\n\
          for (; n < 3 && threads[program][n]; n++) pthread_create(&t[n], 0, threads[program][n], 0);\n\
          for (int i = 0; i < n; i++) pthread_join(t[i], 0);\n\
          for (int i = 0; i < {CELLS}; i++) d = (d + lines[i].words[0]) * 0x9e3779b97f4a7c15u ^ d >> 29;\n\
          for (int i = 0; i < n; i++) for (int k = 0; k < {REGISTERS}; k++)\n\
            d = (d + seen[i][k]) * 0x9e3779b97f4a7c15u ^ d >> 29;\n\
          return d >> 56;\n\
        }}\n"
    );
    out
}

/// The same number of what the machine came to.
fn digest(program: &Program, salt: u64, memory: &[u64], regs: &[Vec<u64>]) -> i32 {
    let regs = regs[..program.threads.len()].iter().flatten();
    let all = memory[..CELLS as usize].iter().chain(regs);
    let spread =
        |d: u64, &word: &u64| d.wrapping_add(word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ d >> 29;
    (all.fold(salt, spread) >> 56) as i32
}

#[test]
fn native_transactions_come_to_what_their_instructions_come_to() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let programs: Vec<Program> = (0..PROGRAMS).map(|_| random(&mut dice)).collect();
    let scratch = Scratch::new("transactions");
    let (file, path) = (scratch.0.join("random.c"), scratch.0.join("random"));
    std::fs::write(&file, source(&programs)).expect("writable");
    let arguments = [
        "-w".into(),
        "-mrtm".into(),
        "-O1".into(),
        file.into(),
        "-o".into(),
        path.clone().into(),
    ];
    let mut clang = compiler::command(Language::C, &arguments).expect("clang is installed");
    assert!(clang.command.status().expect("clang runs").success());
    let mut compared = 0;
    for (number, program) in programs.iter().enumerate() {
        for (model, native_model) in [
            (Model::Sc, landfall_native::Model::Sc),
            (Model::Tso, landfall_native::Model::Tso),
        ] {
            let Some(outcomes) = try_transactions(program, (model, AbortReasons::Untold), MOST)
            else {
                continue;
            };
            for salt in 0..DIGESTS {
                let expected: BTreeSet<i32> = { outcomes.iter() }
                    .map(|outcome| digest(program, salt, &outcome.memory, &outcome.regs))
                    .collect();
                let native = Native::new(&path).arguments([number.to_string(), salt.to_string()]);
                let mut server = Server::start(&native).expect("serves");
                let mut job = Job::default();
                job.threads.transactions = true;
                let count = program.threads.len() + 1;
                let mut threads = NativeThreads::new(&mut server, job, count, native_model);
                let mut found = BTreeSet::new();
                let searched = saturate(
                    &mut threads,
                    Preempt::Auto,
                    Options::default(),
                    |native, search| {
                        match &native.outcome {
                            Outcome::Exited { code } if !search.racy => _ = found.insert(*code),
                            Outcome::Exited { .. } | Outcome::InVain => {}
                            other => panic!("program {number} {model:?}: {other:?}"),
                        }
                        ControlFlow::Continue(())
                    },
                )
                .expect("runs");
                assert!(searched.counts.complete);
                assert_eq!(
                    found, expected,
                    "program {number} {model:?}: {:#?}",
                    program.threads
                );
            }
            compared += 1;
        }
    }
    assert!(compared > PROGRAMS, "{compared}");
}
