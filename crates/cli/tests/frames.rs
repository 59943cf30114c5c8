//! Local variables that others have the address of, drawn at random, through the whole command: one thread calls functions that share a variable
//! and take it back, or not, before they return; others touch what they find. Whether `landfall check` finds a dead frame is what trying every
//! interleaving finds.
//!
//! `FRAMES_PROGRAMS=300` tries more of them, `FRAMES_SEED=7` others. A program that differs is left in the temporary directory.

use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const LANDFALL: &str = env!("CARGO_BIN_EXE_landfall");

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % sides) as usize
    }
}

/// What the thread does that has the variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Enter,
    Share,
    TakeBack,
    /// Tells others something.
    Raise(usize),
    /// Goes on when it was told.
    Await(usize),
    /// Returns at once if it was told.
    ReturnIf(usize),
    Return,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reader {
    Look,
    /// What it has found, if anything.
    Touch,
    Write,
    Raise(usize),
    /// It ends unless it was told.
    EndUnless(usize),
}

#[derive(Debug)]
struct Program {
    owner: Vec<Owner>,
    readers: Vec<Vec<Reader>>,
}

impl Program {
    fn draw(dice: &mut Dice) -> Program {
        let mut owner = Vec::new();
        for _ in 0..1 + dice.roll(2) {
            owner.push(Owner::Enter);
            for _ in 0..1 + dice.roll(4) {
                owner.push(match dice.roll(8) {
                    0..3 => Owner::Share,
                    3..5 => Owner::TakeBack,
                    5 => Owner::Raise(dice.roll(2)),
                    6 => Owner::Await(dice.roll(2)),
                    _ => Owner::ReturnIf(dice.roll(2)),
                });
            }
            owner.push(Owner::Return);
        }
        let reader = |dice: &mut Dice| {
            let draw = |dice: &mut Dice| match dice.roll(8) {
                0..2 => Reader::Look,
                2..4 => Reader::Touch,
                4 => Reader::Write,
                5..7 => Reader::Raise(dice.roll(2)),
                _ => Reader::EndUnless(dice.roll(2)),
            };
            let mut steps = vec![Reader::Look];
            steps.extend((0..1 + dice.roll(3)).map(|_| draw(dice)));
            steps
        };
        let readers = (0..1 + dice.roll(2)).map(|_| reader(dice)).collect();
        Program { owner, readers }
    }

    /// By trying every interleaving: can somebody touch what is gone?
    fn touches_the_dead(&self) -> bool {
        let start = TriedState {
            owner: 0,
            calls: 0,
            alive: false,
            shared: None,
            told: [false; 2],
            readers: vec![(0, None); self.readers.len()],
        };
        let mut seen = HashSet::from([start.clone()]);
        let mut pending = vec![start];
        while let Some(state) = pending.pop() {
            let mut next = Vec::new();
            next.extend(self.owner_steps(&state));
            for reader in 0..self.readers.len() {
                match self.reader_steps(&state, reader) {
                    Ok(stepped) => next.extend(stepped),
                    Err(Dead) => return true,
                }
            }
            pending.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
        }
        false
    }

    fn owner_steps(&self, state: &TriedState) -> Option<TriedState> {
        let mut next = state.clone();
        next.owner += 1;
        match *self.owner.get(state.owner)? {
            Owner::Enter => {
                next.calls += 1;
                next.alive = true;
            }
            Owner::Share => next.shared = Some(state.calls),
            Owner::TakeBack => next.shared = None,
            Owner::Raise(flag) => next.told[flag] = true,
            Owner::Await(flag) if !state.told[flag] => return None,
            Owner::Await(_) => {}
            Owner::ReturnIf(flag) if state.told[flag] => {
                next.alive = false;
                let rest = &self.owner[state.owner..];
                let end = rest.iter().position(|step| *step == Owner::Return)?;
                next.owner = state.owner + end + 1;
            }
            Owner::ReturnIf(_) => {}
            Owner::Return => next.alive = false,
        }
        Some(next)
    }

    fn reader_steps(&self, state: &TriedState, reader: usize) -> Result<Option<TriedState>, Dead> {
        let (at, found) = state.readers[reader];
        let Some(step) = self.readers[reader].get(at) else {
            return Ok(None);
        };
        let mut next = state.clone();
        next.readers[reader].0 += 1;
        match *step {
            Reader::Look => next.readers[reader].1 = state.shared,
            Reader::Touch | Reader::Write => {
                let dead = |call| call != state.calls || !state.alive;
                if found.is_some_and(dead) {
                    return Err(Dead);
                }
            }
            Reader::Raise(flag) => next.told[flag] = true,
            Reader::EndUnless(flag) if !state.told[flag] => {
                next.readers[reader].0 = self.readers[reader].len();
            }
            Reader::EndUnless(_) => {}
        }
        Ok(Some(next))
    }
}

struct Dead;

#[derive(Clone, PartialEq, Eq, Hash)]
struct TriedState {
    owner: usize,
    /// How many functions were called, and whether the last one is still there.
    calls: usize,
    alive: bool,
    shared: Option<usize>,
    told: [bool; 2],
    readers: Vec<(usize, Option<usize>)>,
}

/// All programs in one file, chosen by the first argument.
fn source(programs: &[Program]) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
         static _Atomic int *_Atomic shared;\nstatic atomic_int told[2];\n",
    );
    for (number, program) in programs.iter().enumerate() {
        let mut calls = 0;
        for step in &program.owner {
            match *step {
                Owner::Enter => {
                    let _ = writeln!(
                        text,
                        "__attribute__((noinline)) static void p{number}_f{calls}(void) {{ _Atomic int x = 1;"
                    );
                    calls += 1;
                }
                Owner::Share => text += "  shared = &x;\n",
                Owner::TakeBack => text += "  shared = 0;\n",
                Owner::Raise(flag) => _ = writeln!(text, "  told[{flag}] = 1;"),
                Owner::Await(flag) => _ = writeln!(text, "  while (!told[{flag}]);"),
                Owner::ReturnIf(flag) => _ = writeln!(text, "  if (told[{flag}]) return;"),
                Owner::Return => text += "}\n",
            }
        }
        let _ = writeln!(text, "static void *p{number}_owner(void *unused) {{");
        for call in 0..calls {
            let _ = writeln!(text, "  p{number}_f{call}();");
        }
        text += "  return unused;\n}\n";
        for (reader, steps) in program.readers.iter().enumerate() {
            let _ = writeln!(
                text,
                "static void *p{number}_r{reader}(void *unused) {{ _Atomic int *found = 0;"
            );
            for step in steps {
                match *step {
                    Reader::Look => text += "  found = shared;\n",
                    Reader::Touch => {
                        text += "  if (found) atomic_load_explicit(found, memory_order_relaxed);\n"
                    }
                    Reader::Write => {
                        text +=
                            "  if (found) atomic_store_explicit(found, 2, memory_order_relaxed);\n"
                    }
                    Reader::Raise(flag) => _ = writeln!(text, "  told[{flag}] = 1;"),
                    Reader::EndUnless(flag) => {
                        let _ = writeln!(text, "  if (!told[{flag}]) return 0;");
                    }
                }
            }
            text += "  return unused;\n}\n";
        }
    }
    text += "static void *(*threads[][3])(void *) = {\n";
    for (number, program) in programs.iter().enumerate() {
        let _ = write!(text, "  {{p{number}_owner");
        for reader in 0..program.readers.len() {
            let _ = write!(text, ", p{number}_r{reader}");
        }
        text += "},\n";
    }
    text += "};\nint main(int count, char **arguments) {\n  int program = atoi(arguments[1]), n = 0;\n  pthread_t t[3];\n  \
        for (; n < 3 && threads[program][n]; n++) pthread_create(&t[n], 0, threads[program][n], 0);\n  \
        for (int i = 0; i < n; i++) pthread_join(t[i], 0);\n  return 0;\n}\n";
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

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn dead_frames_are_found_where_trying_everything_finds_them() {
    let mut dice = Dice(number("FRAMES_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let programs: Vec<Program> = (0..number("FRAMES_PROGRAMS", 40))
        .map(|_| Program::draw(&mut dice))
        .collect();
    let directory = std::env::temp_dir().join(format!("landfall-frames-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("frames.c"), source(&programs)).expect("writable");
    let cc = ["cc", "-w", "-g", "-O1", "frames.c", "-o", "frames"];
    let (built, _, said) = landfall(&cc, &directory);
    assert_eq!(built, Some(0), "{said}");
    let (mut dead, mut differences) = (0, Vec::new());
    for (number, program) in programs.iter().enumerate() {
        let tried = program.touches_the_dead();
        dead += usize::from(tried);
        for model in ["sc", "tso"] {
            let of = number.to_string();
            let arguments = [
                "check", "--model", model, "--format", "json", "--", "./frames", &of,
            ];
            let (_, out, said) = landfall(&arguments, &directory);
            let run = serde_json::from_slice::<Value>(&out).unwrap_or_default();
            let findings = run["findings"].as_array().into_iter().flatten();
            let found = findings
                .filter_map(|finding| finding["kind"].as_str())
                .any(|kind| kind == "use-after-free");
            if run["complete"] != true || found != tried {
                differences.push(format!(
                    "program {number}, {model}: {found}, and by trying everything {tried}: {program:?}\n{said}"
                ));
            }
        }
    }
    assert!(0 < dead && dead < programs.len(), "{dead}");
    assert!(
        differences.is_empty(),
        "in {}:\n{}",
        directory.display(),
        differences.join("\n")
    );
    let _ = std::fs::remove_dir_all(directory);
}
