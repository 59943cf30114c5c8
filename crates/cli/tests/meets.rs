//! What threads can meet, drawn at random, through the whole command: read-modify-writes of assembly without a lock, memory that one thread takes
//! away, a signal whose handler interrupts another anywhere. What `landfall check` finds of such a C program is what trying everything finds of the
//! same program as data: every end, and who can die of memory that is gone. And loops that wait, for locks of the program's own and under them:
//! every end, and whether somebody can wait for ever.
//!
//! `MEETS_PROGRAMS=300` tries more of them, `MEETS_SEED=7` others. A program that differs is left in the temporary directory.

use landfall_testkit::program::{
    Cmp, FAULT, Instr, Model, Op, Operand, Order, Place, Program, Reg,
};
use landfall_testkit::schedules::signals::{handler, interrupted};
use landfall_testkit::schedules::{Draft, Keep, brute_force, build, try_states};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");
/// States of one program that are tried.
const MOST: usize = 30_000;
/// Registers that are told.
const TOLD: usize = 15;
/// Variables; the first two are in the mapping.
const VARS: u64 = 3;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % sides
    }

    fn draft(&mut self) -> Draft {
        let var = self.roll(VARS) as u8;
        match self.roll(16) {
            0..4 => Draft::Store(var),
            4..7 => Draft::Load(var),
            7..11 => Draft::Update(var),
            11 => Draft::FetchAdd(var),
            12 => Draft::Cas(var, self.roll(2)),
            13 => Draft::SkipIf(self.roll(2)),
            14 => Draft::Fence,
            _ => Draft::Unmap,
        }
    }

    fn drafts(&mut self, most: u64) -> Vec<Draft> {
        (0..self.roll(most + 1)).map(|_| self.draft()).collect()
    }
}

/// A program, and the handler of a signal for its first thread.
struct Case {
    program: Program,
    handler: Option<Vec<Instr>>,
}

impl Case {
    fn draw(dice: &mut Dice) -> Case {
        let signal = dice.roll(2) == 0;
        let threads = 2 + dice.roll(2);
        let most = if threads == 2 { 3 } else { 2 };
        let mut shape: Vec<Vec<Draft>> = (0..threads).map(|_| dice.drafts(most)).collect();
        if dice.roll(2) == 0 {
            let at = dice.roll(shape[1].len() as u64 + 1) as usize;
            shape[1].insert(at, Draft::Unmap);
        }
        if signal {
            shape.push(dice.drafts(2));
        }
        let mut program = build(&shape, Order::Atomic);
        let code = signal.then(|| program.threads.pop()).flatten();
        program.started = (1 << program.threads.len()) - 1;
        Case {
            program,
            handler: code.map(|code| handler(&code, 0)),
        }
    }

    /// One with loops that wait.
    fn draw_waiting(dice: &mut Dice) -> Case {
        let threads = 2 + dice.roll(2);
        let most = if threads == 2 { 3 } else { 1 };
        let mut shape: Vec<Vec<Draft>> = Vec::new();
        for _ in 0..threads {
            let mut drafts = dice.drafts(most);
            drafts.retain(|draft| !matches!(draft, Draft::Unmap | Draft::Update(_)));
            shape.push(drafts);
        }
        for _ in 0..1 + dice.roll(2) {
            let thread = dice.roll(threads) as usize;
            let (v, w, wanted) = (dice.roll(2) as u8, dice.roll(VARS) as u8, dice.roll(3));
            let draft = match dice.roll(8) {
                0 => Draft::Await(v, wanted),
                1 => Draft::SpinLock(v),
                2 => Draft::Announce(v, w, wanted),
                3 => Draft::Keep(v, w, wanted),
                _ => Draft::AwaitSpinning(v, w, wanted),
            };
            let at = dice.roll(shape[thread].len() as u64 + 1) as usize;
            shape[thread].insert(at, draft);
        }
        let mut program = build(&shape, Order::Atomic);
        program.started = (1 << program.threads.len()) - 1;
        Case {
            program,
            handler: None,
        }
    }

    /// Every end by its code, and whether somebody can wait for ever; none if there is too much to try.
    fn tried_waiting(&self, model: Model) -> Option<(BTreeSet<i64>, bool)> {
        let (outcomes, stuck) = try_states(&self.program, model, MOST)?;
        let codes = outcomes.iter();
        let codes = codes.map(|outcome| self.code(&outcome.memory, &outcome.regs));
        Some((codes.collect(), stuck))
    }

    /// Every end by its code, and who can die; none if there is too much to try.
    fn tried(&self, model: Model) -> Option<(BTreeSet<i64>, BTreeSet<String>)> {
        let placed = match &self.handler {
            Some(handler) => interrupted(&self.program, 0, handler),
            None => vec![self.program.clone()],
        };
        let (mut codes, mut dying) = (BTreeSet::new(), BTreeSet::new());
        for program in &placed {
            for outcome in brute_force(program, model, Keep::States, MOST)?.0 {
                let dies = |regs: &&Vec<u64>| regs[FAULT.0 as usize] != 0;
                if !outcome.regs.iter().any(|regs| dies(&regs)) {
                    codes.insert(self.code(&outcome.memory, &outcome.regs));
                }
                let who = outcome.regs.iter().enumerate();
                dying.extend(
                    who.filter(|(_, regs)| dies(regs))
                        .map(|(who, _)| format!("{who}")),
                );
            }
        }
        Some((codes, dying))
    }

    /// What an end is told as: the same computation as in the program.
    fn code(&self, memory: &[u64], regs: &[Vec<u64>]) -> i64 {
        let gone = self
            .program
            .mappings
            .iter()
            .any(|of| memory[of.word as usize] != 0);
        let told = regs.iter().flat_map(|regs| &regs[..TOLD]).copied();
        let left = (0..VARS as usize).map(|var| if gone && var < 2 { 0 } else { memory[var] });
        let digest = told.chain(left).fold(0u64, |digest, value| {
            (digest ^ value)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(7)
        });
        (1 + (digest ^ digest >> 32) % 200) as i64
    }
}

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Const(value) => value.to_string(),
        Operand::Reg(reg) => format!("r[{}]", reg.0),
    }
}

/// Statements, each on a line of its own; a read-modify-write without a lock is three instructions of the program as data, and one here.
fn statements(code: &[Instr]) -> String {
    let cell = |Place { cell, .. }| format!("(*v{cell})");
    let mut text = String::new();
    let mut skipped = 0;
    for (at, instr) in code.iter().enumerate() {
        let _ = write!(text, "l{at}:; ");
        if skipped > 0 {
            skipped -= 1;
            text += "\n";
            continue;
        }
        let updates = matches!(code.get(at + 1), Some(Instr::Calc { .. }));
        let line = match *instr {
            Instr::Load {
                to: Reg(to),
                at: place,
                ..
            } if updates => {
                skipped = 2;
                let place = cell(place);
                format!(
                    "{{ uint64_t by = 1; __asm__ volatile(\"xaddq %0, %1\" : \"+r\"(by), \"+m\"{place} : : \"memory\"); r[{to}] = by + 1; }}"
                )
            }
            Instr::Load { to, at, .. } => {
                format!(
                    "r[{}] = __atomic_load_n(&{}, __ATOMIC_ACQUIRE);",
                    to.0,
                    cell(at)
                )
            }
            Instr::Store { at, value, .. } => {
                format!(
                    "__atomic_store_n(&{}, {}, __ATOMIC_RELEASE);",
                    cell(at),
                    operand(value)
                )
            }
            Instr::Rmw {
                to,
                at,
                op: Op::Second,
                value,
            } => format!(
                "r[{}] = __atomic_exchange_n(&{}, {}, __ATOMIC_SEQ_CST);",
                to.0,
                cell(at),
                operand(value)
            ),
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
            Instr::Calc { to, .. } => format!("r[{}] = 1;", to.0),
            Instr::JumpIf { a, cmp, b, to } => {
                let cmp = if cmp == Cmp::Eq { "==" } else { "!=" };
                format!("if ({} {cmp} {}) goto l{to};", operand(a), operand(b))
            }
            Instr::Jump(to) => format!("goto l{to};"),
            Instr::Fence => "__atomic_thread_fence(__ATOMIC_SEQ_CST);".to_owned(),
            Instr::Unmap(_) => "munmap(page, 4096); gone[me] = 1;".to_owned(),
            ref other => panic!("not drawn: {other:?}"),
        };
        text += &line;
        text += "\n";
    }
    let _ = writeln!(text, "l{}:;", code.len());
    text
}

/// All programs in one file, chosen by the first argument.
fn source(cases: &[Case]) -> String {
    let mut text = String::from(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <signal.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n\
         static uint64_t *v0, *v1, *v2, *page, third, told[4][16], gone[4];\n",
    );
    for (number, case) in cases.iter().enumerate() {
        if let Some(handler) = &case.handler {
            let _ = writeln!(
                text,
                "static void p{number}_handler(int signal) {{\n  enum {{ me = 3 }}; uint64_t *r = told[3];\n{}}}",
                statements(handler)
            );
        }
        for (thread, code) in case.program.threads.iter().enumerate() {
            let _ = writeln!(
                text,
                "static void *p{number}_{thread}(void *_) {{\n  enum {{ me = {thread} }}; uint64_t r[16] = {{0}};\n{}  for (int i = 0; i < 16; i++) told[me][i] = r[i];\n  return 0;\n}}",
                statements(code)
            );
        }
    }
    text += "static void *(*threads[][4])(void *) = {\n";
    for (number, case) in cases.iter().enumerate() {
        let names = (0..case.program.threads.len()).map(|thread| format!("p{number}_{thread}"));
        let _ = writeln!(text, "  {{{}}},", names.collect::<Vec<_>>().join(", "));
    }
    text += "};\nstatic void (*handlers[])(int) = {\n";
    for (number, case) in cases.iter().enumerate() {
        match case.handler {
            Some(_) => _ = writeln!(text, "  p{number}_handler,"),
            None => text += "  0,\n",
        }
    }
    text += "};\n\
        static void tell(uint64_t *d, uint64_t value) { *d = (*d ^ value) * 0x100000001b3; *d = *d << 7 | *d >> 57; }\n\
        int main(int count, char **arguments) {\n\
          int program = atoi(arguments[1]), n = 0;\n\
          page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n\
          v0 = page, v1 = page + 8, v2 = &third;\n\
          if (handlers[program]) signal(SIGUSR1, handlers[program]);\n\
          pthread_t t[3];\n\
          for (; n < 3 && threads[program][n]; n++) pthread_create(&t[n], 0, threads[program][n], 0);\n\
          if (handlers[program]) pthread_kill(t[0], SIGUSR1);\n\
          for (int i = 0; i < n; i++) pthread_join(t[i], 0);\n\
          int away = gone[0] | gone[1] | gone[2] | gone[3];\n\
          for (int i = 0; i < 16; i++) told[0][i] |= told[3][i];\n\
          uint64_t d = 0;\n\
          for (int i = 0; i < n; i++) for (int k = 0; k < 15; k++) tell(&d, told[i][k]);\n\
          tell(&d, away ? 0 : *v0); tell(&d, away ? 0 : *v1); tell(&d, *v2);\n\
          return 1 + (d ^ d >> 32) % 200;\n\
        }\n";
    text
}

fn landfall(arguments: &[&str], directory: &Path) -> (Option<i32>, Vec<u8>, String) {
    let output = Command::new(LANDFALL)
        .args(arguments)
        .current_dir(directory)
        .output();
    let output = output.expect("landfall runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.stdout, said)
}

/// Every end by its code, and who dies.
fn found(run: &Value) -> Result<(BTreeSet<i64>, BTreeSet<String>), String> {
    let (mut codes, mut dying) = (BTreeSet::new(), BTreeSet::new());
    if run["complete"] != true {
        return Err(format!("not complete: {}", run["limits"]));
    }
    for finding in run["findings"].as_array().into_iter().flatten() {
        let messages = std::iter::once(&finding["message"])
            .chain(finding["other_messages"].as_array().into_iter().flatten());
        for message in messages.filter_map(Value::as_str) {
            match message.rsplit_once("exited with ") {
                Some((_, code)) => codes.extend(code.parse::<i64>()),
                None if message.contains("segmentation fault") => {
                    let function = finding["at"]["function"].as_str().unwrap_or_default();
                    let who = function.rsplit_once('_').map_or(function, |(_, who)| who);
                    // The first thread runs it.
                    dying.insert(if who == "handler" { "0" } else { who }.to_owned());
                }
                None => return Err(message.to_owned()),
            }
        }
    }
    Ok((codes, dying))
}

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok());
    value.unwrap_or(otherwise)
}

/// Programs, built.
fn built(cases: &[Case], name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("landfall-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("meets.c"), source(cases)).expect("writable");
    let (built, _, said) = landfall(
        &["cc", "-w", "-g", "-O1", "meets.c", "-o", "meets"],
        &directory,
    );
    assert_eq!(built, Some(0), "{said}");
    directory
}

#[test]
fn random_programs_that_wait_end_as_trying_everything_ends() {
    let mut dice = Dice(number("MEETS_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let cases: Vec<Case> = (0..number("MEETS_PROGRAMS", 20))
        .map(|_| Case::draw_waiting(&mut dice))
        .collect();
    let directory = built(&cases, "waits");
    let (mut compared, mut tried_all, mut differences) = (0, 0, Vec::new());
    for (number, case) in cases.iter().enumerate() {
        for (model, name) in [(Model::Sc, "sc"), (Model::Tso, "tso")] {
            let Some(tried) = case.tried_waiting(model) else {
                continue;
            };
            tried_all += 1;
            let of = number.to_string();
            let arguments = [
                "check", "--checks", "crash", "--model", name, "--format", "json", "--time", "20s",
                "--events", "3000", "--", "./meets", &of,
            ];
            let (_, out, said) = landfall(&arguments, &directory);
            let mut run = serde_json::from_slice::<Value>(&out).unwrap_or_default();
            // Two that see each other go round for ever; then what was found must be among what there is.
            let complete = run["complete"] == true;
            let findings = run["findings"].as_array_mut();
            let (waits, others): (Vec<Value>, Vec<Value>) = (findings.into_iter().flatten())
                .map(|finding| finding.take())
                .partition(|finding| finding["kind"] == "deadlock");
            run["findings"] = Value::Array(others);
            run["complete"] = true.into();
            let found = found(&run).map(|(codes, _)| (codes, !waits.is_empty()));
            compared += usize::from(complete);
            let agrees = match &found {
                Ok(found) if complete => *found == tried,
                Ok((codes, waits)) => codes.is_subset(&tried.0) && (!waits || tried.1),
                Err(_) => false,
            };
            if !agrees {
                let threads = &case.program.threads;
                differences.push(format!(
                    "program {number}, {name}: {found:?} ({complete}), and by trying everything {tried:?}\n{threads:?}\n{said}"
                ));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "in {}:\n{}",
        directory.display(),
        differences.join("\n")
    );
    assert!(4 * compared > 3 * tried_all, "{compared} of {tried_all}");
    let _ = std::fs::remove_dir_all(directory);
}

#[test]
fn random_programs_end_as_trying_everything_ends() {
    let mut dice = Dice(number("MEETS_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let cases: Vec<Case> = (0..number("MEETS_PROGRAMS", 40))
        .map(|_| Case::draw(&mut dice))
        .collect();
    let directory = built(&cases, "meets");
    let (mut compared, mut differences) = (0, Vec::new());
    for (number, case) in cases.iter().enumerate() {
        for (model, name) in [(Model::Sc, "sc"), (Model::Tso, "tso")] {
            let Some(tried) = case.tried(model) else {
                continue;
            };
            let of = number.to_string();
            let arguments = [
                "check", "--checks", "crash", "--model", name, "--format", "json", "--", "./meets",
                &of,
            ];
            let (_, out, said) = landfall(&arguments, &directory);
            let run = serde_json::from_slice::<Value>(&out).unwrap_or_default();
            compared += 1;
            let found = found(&run).map_err(|what| format!("{what}\n{said}"));
            if found.as_ref() != Ok(&tried) {
                let threads = &case.program.threads;
                differences.push(format!(
                    "program {number}, {name}: {found:?}, and by trying everything {tried:?}\n{threads:?}\n{:?}",
                    case.handler
                ));
            }
        }
    }
    assert!(compared > cases.len(), "{compared} of {}", cases.len());
    assert!(
        differences.is_empty(),
        "in {}:\n{}",
        directory.display(),
        differences.join("\n")
    );
    let _ = std::fs::remove_dir_all(directory);
}
