//! Random programs as C: natively they have exactly the executions that the interpreter of `explore::schedule` has, read by
//! read, under both models; and preempting at race sites shows every result that preempting everywhere shows.

use crate::support::Scratch;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Act, Options, Persistency, Threads, Trace};
use landfall_native::compiler::{self, Language};
use landfall_native::{Isolation, Job, NativeThreads, Outcome, Program as Native, Server};
use landfall_testkit::interpret::Interpreter;
use landfall_testkit::program::{
    Cell, Cmp, Instr, Model, Op, Operand, Order, Place, Program, Reg, Sync,
};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

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

/// Shared cells, each on a line of its own. Behind them on the same lines each thread has cells that nobody else touches.
const CELLS: u64 = 2;
const THREADS: u64 = 3;

/// A word on the line of an earlier cell.
fn beside(program: &mut Program, cell: Place, word: u8) -> Place {
    let line = program.cells[cell.cell as usize].line;
    program.cells.push(Cell {
        line,
        word,
        init: 0,
    });
    Place {
        cell: program.cells.len() as u32 - 1,
        index: None,
    }
}

/// Main creates two or three threads of a few instructions and joins them.
fn random(dice: &mut Dice) -> Program {
    let mut program = Program::default();
    let shared: Vec<Place> = (0..CELLS).map(|_| program.cell(0)).collect();
    let lock = program.cell(0);
    let own: Vec<Vec<Place>> = (1..=THREADS)
        .map(|thread| {
            let own = shared
                .iter()
                .map(|&cell| beside(&mut program, cell, thread as u8));
            own.collect()
        })
        .collect();
    let threads = 2 + dice.roll(2);
    let length = if threads == 2 { 4 } else { 3 };
    let start = (1..=threads as u8).map(Instr::Create);
    let end = (1..=threads as u8).map(Instr::Join);
    program.thread(start.chain(end).collect());
    for own in own.iter().take(threads as usize) {
        let mut code = Vec::new();
        let locked = dice.roll(5) == 0;
        if locked {
            code.push(Instr::Sync(Sync::Lock, lock));
        }
        for number in 0..1 + dice.roll(length) {
            let cells = if dice.roll(3) == 0 { own } else { &shared };
            let at = cells[dice.roll(CELLS) as usize];
            let to = Reg(number as u8);
            let order = match dice.roll(2) {
                0 => Order::Plain,
                _ => Order::Atomic,
            };
            let value: Operand = match dice.roll(3) {
                0 if number > 0 => Reg(number as u8 - 1).into(),
                _ => (1 + dice.roll(2)).into(),
            };
            code.push(match dice.roll(11) {
                9 => Instr::Stream {
                    at,
                    value,
                    order: Order::Plain,
                },
                10 => Instr::Sfence,
                0..3 => Instr::Load { to, at, order },
                3..6 => Instr::Store { at, value, order },
                6 => Instr::Rmw {
                    to,
                    at,
                    op: Op::Add,
                    value,
                },
                7 => Instr::Cas {
                    to,
                    at,
                    expect: dice.roll(2).into(),
                    new: value,
                },
                _ => Instr::Fence,
            });
            // The rest only if what was read last is not 0.
            if dice.roll(6) == 0 {
                code.push(Instr::JumpIf {
                    a: to.into(),
                    cmp: Cmp::Eq,
                    b: 0.into(),
                    to: u32::MAX,
                });
            }
        }
        let end = code.len() as u32;
        for instr in &mut code {
            if let Instr::JumpIf { to, .. } = instr {
                *to = end;
            }
        }
        if locked {
            code.push(Instr::Sync(Sync::Unlock, lock));
        }
        program.created(code);
    }
    program.validate().expect("valid");
    program
}

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Const(value) => value.to_string(),
        Operand::Reg(reg) => format!("r[{}]", reg.0),
    }
}

fn statement(instr: &Instr) -> String {
    let cell = |Place { cell, .. }| match u64::from(cell).checked_sub(CELLS + 1) {
        None => format!("cells[{cell}].value[0]"),
        Some(own) => format!("cells[{}].value[{}]", own % CELLS, own / CELLS + 1),
    };
    match *instr {
        Instr::Load { to, at, order } => match order {
            Order::Plain => format!("r[{}] = {};", to.0, cell(at)),
            Order::Atomic => format!(
                "r[{}] = __atomic_load_n(&{}, __ATOMIC_ACQUIRE);",
                to.0,
                cell(at)
            ),
        },
        Instr::Store { at, value, order } => match order {
            Order::Plain => format!("{} = {};", cell(at), operand(value)),
            Order::Atomic => format!(
                "__atomic_store_n(&{}, {}, __ATOMIC_RELEASE);",
                cell(at),
                operand(value)
            ),
        },
        Instr::Stream { at, value, .. } => format!(
            "_mm_stream_si64((long long *)&{}, {});",
            cell(at),
            operand(value)
        ),
        Instr::Sfence => "_mm_sfence();".to_owned(),
        Instr::Rmw { to, at, value, .. } => format!(
            "r[{}] = __atomic_fetch_add(&{}, {}, __ATOMIC_SEQ_CST);",
            to.0,
            cell(at),
            operand(value)
        ),
        Instr::Cas {
            to,
            at,
            expect,
            new,
        } => format!(
            "{{ uint64_t e = {}; __atomic_compare_exchange_n(&{}, &e, {}, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); r[{}] = e; }}",
            operand(expect),
            cell(at),
            operand(new),
            to.0
        ),
        Instr::Fence => "__atomic_thread_fence(__ATOMIC_SEQ_CST);".to_owned(),
        Instr::Sync(Sync::Lock, _) => "pthread_mutex_lock(&lock);".to_owned(),
        Instr::Sync(_, _) => "pthread_mutex_unlock(&lock);".to_owned(),
        Instr::JumpIf { a, .. } => format!("if ({} == 0) goto end;", operand(a)),
        _ => String::new(),
    }
}

/// All programs in one file, chosen by the first argument. The exit code is a digest of registers and memory.
fn source(programs: &[Program]) -> String {
    let mut out = String::from(
        "#include <immintrin.h>\n#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n\
         static struct { _Alignas(64) uint64_t value[8]; } cells[8];\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static uint64_t seen[4];\n",
    );
    for (number, program) in programs.iter().enumerate() {
        for (thread, code) in program.threads.iter().enumerate().skip(1) {
            let _ = writeln!(
                out,
                "static void *p{number}_{thread}(void *_) {{\n  uint64_t r[16] = {{0}};"
            );
            let end = code
                .iter()
                .position(|i| matches!(i, Instr::Sync(Sync::Unlock, _)));
            for (at, instr) in code.iter().enumerate() {
                if Some(at) == end {
                    let _ = writeln!(out, "end:;");
                }
                let _ = writeln!(out, "  {}", statement(instr));
            }
            if end.is_none() {
                let _ = writeln!(out, "end:;");
            }
            let _ = writeln!(
                out,
                "  uint64_t d = 0; for (int i = 0; i < 6; i++) d = d * 5 + r[i];\n  return (void *)d;\n}}"
            );
        }
    }
    out += "static void *(*threads[][4])(void *) = {\n";
    for (number, program) in programs.iter().enumerate() {
        let names = (1..program.threads.len()).map(|thread| format!("p{number}_{thread}"));
        let _ = writeln!(out, "  {{{}}},", names.collect::<Vec<_>>().join(", "));
    }
    out += "};\n\
        int main(int count, char **arguments) {\n\
          int program = atoi(arguments[1]), n = 0;\n\
          pthread_t t[3];\n\
          for (; n < 3 && threads[program][n]; n++) pthread_create(&t[n], 0, threads[program][n], 0);\n\
          // Nobody looks at what came of it.\n\
          if (count > 2) return 0;\n\
          uint64_t d = 0;\n\
          for (int i = 0; i < n; i++) { void *r; pthread_join(t[i], &r); d = d * 31 + (uint64_t)r; }\n\
          for (int i = 0; i < 4; i++) d = d * 31 + cells[0].value[i] * 7 + cells[1].value[i];\n\
          return (d ^ d >> 8 ^ d >> 16 ^ d >> 24) & 255;\n\
        }\n";
    out
}

/// What each thread but main saw and did, in its order.
type Signature = Vec<Vec<(u8, u64, u64)>>;

fn signature(trace: &Trace, threads: &impl Threads) -> Signature {
    let order = threads.order(Persistency::Ignored);
    let mut all = vec![Vec::new(); order.processes()];
    for step in &trace.steps {
        let act = match step.act {
            Act::Load => 0,
            Act::Store => 1,
            Act::Commit => 2,
            Act::Rmw => 3,
            Act::Cas => 4,
            Act::Sync(_) => 5,
            Act::Flush | Act::Fence | Act::Other | Act::Transaction => continue,
        };
        if order.thread(step.process) != 0 {
            all[usize::from(step.process)].push((act, step.found, step.left));
        }
    }
    all
}

fn explore<T: Threads>(threads: &mut T, preempt: Preempt, mut see: impl FnMut(&T, &Trace)) -> u64 {
    let found = saturate(threads, preempt, Options::default(), |threads, search| {
        see(threads, search.trace());
        ControlFlow::Continue(())
    })
    .expect("runs");
    assert_eq!(found.counts.blocked, 0);
    found.counts.executions
}

#[test]
fn native_executions_are_those_of_the_interpreter() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let programs: Vec<Program> = (0..100).map(|_| random(&mut dice)).collect();
    let scratch = Scratch::new("random");
    let (file, path) = (scratch.0.join("random.c"), scratch.0.join("random"));
    std::fs::write(&file, source(&programs)).expect("writable");
    let arguments = [
        "-w".into(),
        "-O1".into(),
        file.into(),
        "-o".into(),
        path.clone().into(),
    ];
    let mut clang = compiler::command(Language::C, &arguments).expect("clang is installed");
    assert!(clang.command.status().expect("clang runs").success());
    let (mut recalled, mut all) = (0, 0);
    for (number, program) in programs.iter().enumerate() {
        let count = program.threads.len();
        let mut native = Native::new(&path).arguments([number.to_string()]);
        native.isolation = Isolation::Auto;
        let unseen = native
            .clone()
            .arguments([number.to_string(), "unseen".into()]);
        let mut server = Server::start(&native).expect("serves");
        for (model, native_model) in [
            (Model::Sc, landfall_native::Model::Sc),
            (Model::Tso, landfall_native::Model::Tso),
        ] {
            let what = format!("program {number} {model:?}: {:#?}", program.threads);
            let mut expected = BTreeSet::new();
            let mut interpreter = Interpreter::new(program, model);
            let executions = explore(
                &mut interpreter,
                Preempt::Everywhere,
                |interpreter, trace| {
                    expected.insert(signature(trace, interpreter));
                },
            );
            let (mut found, mut results) = (BTreeSet::new(), BTreeSet::new());
            let mut threads = NativeThreads::new(&mut server, Job::default(), count, native_model)
                .with_streams(program.streams());
            let natively = explore(&mut threads, Preempt::Everywhere, |native, trace| {
                found.insert(signature(trace, native));
                results.insert(code(&native.outcome));
            });
            assert_eq!(found, expected, "{what}");
            assert_eq!(natively, executions, "{what}");
            let mut fewer = BTreeSet::new();
            let mut threads = NativeThreads::new(&mut server, Job::default(), count, native_model)
                .with_streams(program.streams());
            explore(&mut threads, Preempt::Auto, |native, _| {
                fewer.insert(code(&native.outcome));
            });
            assert_eq!(fewer, results, "auto, {what}");
            // What threads do is known after a while, and executions are put together from that; here all of them run as well.
            let mut server = Server::start(&unseen).expect("serves");
            let mut threads = NativeThreads::new(&mut server, Job::default(), count, native_model)
                .with_streams(program.streams());
            threads.compare_everything();
            found.clear();
            let natively = explore(&mut threads, Preempt::Everywhere, |native, trace| {
                found.insert(signature(trace, native));
            });
            assert_eq!(found, expected, "unseen, {what}");
            assert_eq!(natively, executions, "unseen, {what}");
            recalled += threads.recalled;
            all += executions;
        }
    }
    assert!(recalled > all / 10, "{recalled} of {all}");
}

fn code(outcome: &Outcome) -> i32 {
    match outcome {
        Outcome::Exited { code } => *code,
        other => panic!("{other:?}"),
    }
}
