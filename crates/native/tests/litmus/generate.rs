//! Litmus tests as one C program: each test a function with its threads, chosen by the first argument. What is observed is looked
//! up in the list of expected outcomes; the exit code is its place there, from 1 on, or 255 if it is not in the list.

use landfall_litmus::program::{
    FlushKind, Instr, LitmusOutcome, Location, Observe, Operand, Reg, RmwOp, Test, Thread, Var,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Codes besides places in a list.
pub(crate) const UNEXPECTED: i32 = 255;
/// The power failed before the initial values were there.
pub(crate) const TOO_EARLY: i32 = 254;

const HEAD: &str = r#"#include <immintrin.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
struct line { _Alignas(64) _Atomic int64_t word[8]; };
static struct line volatile_memory[32];
static struct line *M;
static int64_t R[8][32];
static struct { _Alignas(64) int64_t word[8]; } own[8];
#define AT(l, w) (&M[l].word[w])
#define LOAD(l, w) atomic_load_explicit(AT(l, w), memory_order_relaxed)
#define STORE(l, w, v) atomic_store_explicit(AT(l, w), v, memory_order_relaxed)
static int64_t cas(_Atomic int64_t *at, int64_t expected, int64_t desired) {
  atomic_compare_exchange_strong(at, &expected, desired);
  return expected;
}
static int place(const int64_t *list, int length, int width, const int64_t *found) {
  for (int i = 0; i < length; i++)
    if (!memcmp(list + i * width, found, width * sizeof *found))
      return i + 1;
  return 255;
}
"#;

/// Who executes a test's code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Threads,
    /// Its only thread is main.
    Main,
}

/// What threads do besides.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Besides {
    Nothing,
    /// Stores of both kinds to a volatile line of each thread's own, which nobody else looks at; and full fences are locked
    /// instructions on local variables.
    OwnStores,
}

/// Can it be executed like this?
pub(crate) fn is_native(test: &Test, by: By) -> bool {
    by == By::Threads || test.program.threads.len() == 1
}

pub(crate) fn program(tests: &[(Test, Vec<LitmusOutcome>)], by: By, besides: Besides) -> String {
    let mut out = HEAD.to_owned();
    for (number, (test, outcomes)) in tests.iter().enumerate() {
        one(&mut out, number, test, outcomes, (by, besides));
    }
    out += "int main(int count, char **arguments) {\n  switch (count > 1 ? atoi(arguments[1]) : -1) {\n";
    for number in 0..tests.len() {
        let _ = writeln!(out, "  case {number}: return test_{number}();");
    }
    out += "  }\n  return 253;\n}\n";
    out
}

const STREAM: &str = "_mm_stream_si64((long long *)&own[I].word[2], 3);";

const FULL_FENCES: [&str; 5] = [
    "_mm_mfence();",
    "__atomic_fetch_add(&local, 1, __ATOMIC_RELAXED);",
    "__atomic_compare_exchange_n(&local, &other, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);",
    "{ volatile int kept = 0; __atomic_store_n(&kept, 1, __ATOMIC_SEQ_CST); }",
    "__asm__ volatile(\"lock; orl $0, (%%rsp)\" ::: \"memory\", \"cc\");",
];

/// Line and word of each variable.
fn places(test: &Test) -> Vec<(u8, u8)> {
    let mut words: BTreeMap<u8, u8> = BTreeMap::new();
    test.program
        .vars
        .iter()
        .map(|var| {
            let word = words.entry(var.line.0).or_default();
            *word += 1;
            (var.line.0, *word - 1)
        })
        .collect()
}

fn one(
    out: &mut String,
    number: usize,
    test: &Test,
    outcomes: &[LitmusOutcome],
    (by, besides): (By, Besides),
) {
    let at = places(test);
    for (index, thread) in test.program.threads.iter().enumerate() {
        let _ = writeln!(out, "static void *thread_{number}_{index}(void *unused) {{");
        let mut choices = Choices {
            besides,
            state: (number * 8 + index + 1) as u64,
        };
        body(out, index, thread, &at, &mut choices);
        *out += "  return unused;\n}\n";
    }
    let observed = test.observe.places();
    let width = observed.len();
    let values: Vec<String> = outcomes.iter().flatten().map(i64::to_string).collect();
    let _ = writeln!(
        out,
        "static const int64_t list_{number}[] = {{{}}};\nstatic int test_{number}(void) {{",
        values.join(", ")
    );
    let look = observed.iter().map(|place| match *place {
        Location::Var(Var(var)) => {
            let (line, word) = at[usize::from(var)];
            format!("LOAD({line}, {word})")
        }
        Location::Reg { thread, reg } => format!("R[{thread}][{}]", reg.0),
    });
    // In this order.
    let looks: Vec<String> = look
        .enumerate()
        .map(|(i, look)| format!("found[{i}] = {look};"))
        .collect();
    let result = format!(
        "int64_t found[{}]; {} return place(list_{number}, {}, {width}, found);",
        width.max(1),
        looks.join(" "),
        outcomes.len()
    );
    let lines = 1 + at.iter().map(|(line, _)| *line).max().unwrap_or(0);
    let initialised = test.program.vars.iter().any(|var| var.init != 0);
    match &test.observe {
        Observe::Final(_) => *out += "  M = volatile_memory;\n",
        Observe::Recover(_) => {
            let _ = writeln!(out, "  M = lf_pm({} * sizeof *M);", lines + 1);
            let early = match initialised {
                true => format!("if (!LOAD({lines}, 0)) return {TOO_EARLY}; "),
                false => String::new(),
            };
            let _ = writeln!(out, "  if (lf_failures()) {{ {early}{result} }}");
        }
    }
    for (var, &(line, word)) in test.program.vars.iter().zip(&at) {
        if var.init != 0 {
            let _ = writeln!(out, "  STORE({line}, {word}, {});", var.init);
        }
    }
    if test.observe.is_recovery() && initialised {
        let _ = writeln!(
            out,
            "  lf_persist(M, {lines} * sizeof *M);\n  STORE({lines}, 0, 1);\n  lf_persist(AT({lines}, 0), 8);"
        );
    }
    let threads = match by {
        By::Threads => test.program.threads.len(),
        By::Main => 0,
    };
    let _ = match by {
        By::Threads => writeln!(out, "  pthread_t threads[{threads}];"),
        By::Main => writeln!(out, "  thread_{number}_0(0);"),
    };
    for index in 0..threads {
        let _ = writeln!(
            out,
            "  pthread_create(&threads[{index}], 0, thread_{number}_{index}, 0);"
        );
    }
    for index in 0..threads {
        let _ = writeln!(out, "  pthread_join(threads[{index}], 0);");
    }
    match &test.observe {
        Observe::Final(_) => {
            let _ = writeln!(out, "  {result}");
        }
        Observe::Recover(_) => *out += "  return 0;\n",
    }
    *out += "}\n";
}

/// What is done besides, at some place of the code: the same every time.
struct Choices {
    besides: Besides,
    state: u64,
}

impl Choices {
    fn one_of<'a>(&mut self, these: &[&'a str]) -> &'a str {
        self.state = (self.state.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(17) ^ 0x5bd1;
        match self.besides {
            Besides::Nothing => these[0],
            Besides::OwnStores => these[(self.state >> 20) as usize % these.len()],
        }
    }
}

fn body(out: &mut String, index: usize, thread: &Thread, at: &[(u8, u8)], choices: &mut Choices) {
    let reg = |reg: Reg| format!("r{}", reg.0);
    let value = |operand: Operand| match operand {
        Operand::Const(value) => value.to_string(),
        Operand::Reg(of) => reg(of),
    };
    let place = |Var(var): Var| {
        let (line, word) = at[usize::from(var)];
        format!("{line}, {word}")
    };
    for (number, declared) in thread.regs.iter().enumerate() {
        let _ = writeln!(out, "  int64_t r{number} = {};", declared.init);
    }
    let _ = writeln!(out, "  int local = 0, other = 5;");
    for instr in &thread.body {
        let store = choices.one_of(&["", "own[I].word[0]++;", "own[I].word[1] = 1;", STREAM]);
        let _ = writeln!(out, "  {}", store.replace('I', &index.to_string()));
        let line = match *instr {
            Instr::Load { reg: to, var } => format!("{} = LOAD({});", reg(to), place(var)),
            Instr::Store { var, value: of } => format!("STORE({}, {});", place(var), value(of)),
            Instr::NtStore { var, value: of } => {
                format!(
                    "_mm_stream_si64((long long *)AT({}), {});",
                    place(var),
                    value(of)
                )
            }
            Instr::Rmw {
                reg: to,
                var,
                op,
                operand,
            } => {
                let name = match op {
                    RmwOp::Xchg => "exchange",
                    RmwOp::Add => "fetch_add",
                    RmwOp::Sub => "fetch_sub",
                    RmwOp::And => "fetch_and",
                    RmwOp::Or => "fetch_or",
                    RmwOp::Xor => "fetch_xor",
                };
                let call = format!("atomic_{name}(AT({}), {})", place(var), value(operand));
                match to {
                    Some(to) => format!("{} = {call};", reg(to)),
                    None => format!("{call};"),
                }
            }
            Instr::Cas {
                reg: to,
                var,
                expected,
                desired,
            } => format!(
                "{} = cas(AT({}), {}, {});",
                reg(to),
                place(var),
                value(expected),
                value(desired)
            ),
            Instr::Flush { var, kind } => {
                let name = match kind {
                    FlushKind::Clflush => "_mm_clflush",
                    FlushKind::Clflushopt => "_mm_clflushopt",
                    FlushKind::Clwb => "_mm_clwb",
                };
                format!("{name}((void *)AT({}));", place(var))
            }
            Instr::Sfence => "_mm_sfence();".to_owned(),
            Instr::Mfence => choices.one_of(&FULL_FENCES).to_owned(),
            Instr::Move { reg: to, value: of } => format!("{} = {};", reg(to), value(of)),
            Instr::Arith {
                reg: to,
                op,
                operand,
            } => {
                let (a, b) = (reg(to), value(operand));
                match op {
                    RmwOp::Xchg => format!("{a} = {b};"),
                    RmwOp::Add => format!("{a} += {b};"),
                    RmwOp::Sub => format!("{a} -= {b};"),
                    RmwOp::And => format!("{a} &= {b};"),
                    RmwOp::Or => format!("{a} |= {b};"),
                    RmwOp::Xor => format!("{a} ^= {b};"),
                }
            }
            Instr::If { reg: of, equals } => format!("if ({} != {equals}) goto end;", reg(of)),
            Instr::Tx(_) => unreachable!("tests with transactions are not generated"),
        };
        let _ = writeln!(out, "  {line}");
    }
    *out += "end:;\n";
    for number in 0..thread.regs.len() {
        let _ = writeln!(out, "  R[{index}][{number}] = r{number};");
    }
}
