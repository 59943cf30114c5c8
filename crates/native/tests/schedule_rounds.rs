//! Loops that look so often and no more, or pause longer and longer: that all looks but the first happen with it, and that the length of pauses is
//! overlooked, shows every result that is there if each of them is a step of its own. Where the number of turns is wanted behind the loop, each is:
//! the same random programs with and without that.

use crate::support::Scratch;
use landfall_explore::schedule::Options;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_native::compiler::{self, Language};
use landfall_native::{Isolation, Job, Model, NativeThreads, Outcome, Program, Server};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

/// A loop that does not give up.
const FOR_EVER: u64 = 3;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn cell(&mut self) -> String {
        format!("cells[{}].value", self.roll(2))
    }

    fn load(&mut self) -> String {
        let cell = self.cell();
        match self.roll(4) {
            0 => cell,
            1 => format!("__atomic_load_n(&{cell}, __ATOMIC_SEQ_CST)"),
            _ => format!("__atomic_load_n(&{cell}, __ATOMIC_ACQUIRE)"),
        }
    }

    fn store(&mut self) -> String {
        let (cell, value) = (self.cell(), self.roll(3));
        match self.roll(4) {
            0 => format!("{cell} = {value};"),
            1 => format!("__atomic_store_n(&{cell}, {value}, __ATOMIC_SEQ_CST);"),
            2 => format!("__atomic_fetch_add(&{cell}, 1, __ATOMIC_SEQ_CST);"),
            _ => format!("__atomic_store_n(&{cell}, {value}, __ATOMIC_RELEASE);"),
        }
    }

    fn condition(&mut self) -> String {
        let (load, value) = (self.load(), self.roll(3));
        match self.roll(2) {
            0 => format!("{load} == {value}"),
            _ => format!("look(&{}, {value})", self.cell()),
        }
    }

    /// A loop; `r` is different if it saw what it looks for.
    fn waits(&mut self, number: u64) -> String {
        let (condition, times, mark) = (self.condition(), 1 + self.roll(3), 1 + self.roll(3));
        let kind = self.roll(5);
        // Who never gives up does nothing but look and pause: else it goes round for ever.
        let pause = match self.roll(if kind == FOR_EVER { 5 } else { 8 }) {
            0 => "__builtin_ia32_pause();".to_owned(),
            1 => "sched_yield();".to_owned(),
            2 => "if (i < 1) __builtin_ia32_pause(); else sched_yield();".to_owned(),
            // Longer and longer, up to a bound.
            3 => "for (int w = 0; w < d; w++) __builtin_ia32_pause(); if (d < 2) d *= 2;".to_owned(),
            4 => "if (d < 3) { for (int w = d; w; w--) __builtin_ia32_pause(); d++; } else sched_yield();".to_owned(),
            // These make the turns different, or more than a look.
            5 => format!("if (i == 1) {}", self.store()),
            6 => format!("if ({}) r += 7;", self.condition()),
            _ => String::new(),
        };
        let known = "KNOWN(i); KNOWN(d);";
        match kind {
            0 => format!(
                "{{ int i = 0, d = 1; for (; i < {times}; i++) {{ if ({condition}) {{ r += {mark}; break; }} {pause} }} {known} }}"
            ),
            1 => format!(
                "{{ int i = 0, d = 1; while (i < {times} && !({condition})) {{ {pause} i++; }} {known} }}"
            ),
            2 => format!(
                "{{ int i = 0, d = 1; for (;;) {{ int s = {condition}; if (s || i == {times}) {{ r += s * {mark}; break; }} {pause} i++; }} {known} }}"
            ),
            // Never gives up: whoever waits in vain does not end.
            FOR_EVER => format!(
                "{{ int i = 0, d = 1; while (!({condition})) {{ {pause} }} r += {mark}; {known} }}"
            ),
            _ => format!(
                "{{ int i = 0, d = 1, k = 0; for (k = 0; k < 2; k++) {{ for (i = 0; i < {times}; i++) if ({condition}) {{ r += {mark}; goto out{number}; }} {pause} }} out{number}: {known} }}"
            ),
        }
    }
}

/// All programs in one file, chosen by the first argument; the exit code is a digest of what threads saw and of memory.
fn source(dice: &mut Dice, programs: u64) -> String {
    let mut out = String::from(
        "#include <pthread.h>\n#include <sched.h>\n#include <stdint.h>\n#include <stdlib.h>\n\
         static struct { _Alignas(64) uint64_t value; } cells[2];\n\
         static int look(uint64_t *cell, uint64_t value) { return __atomic_load_n(cell, __ATOMIC_ACQUIRE) == value; }\n\
         #ifdef APART\n#define KNOWN(i) __asm__ volatile(\"\" : : \"r\"(i))\n#else\n#define KNOWN(i)\n#endif\n",
    );
    let mut table = String::new();
    for program in 0..programs {
        let threads = 2 + dice.roll(2);
        table += "  {";
        for thread in 0..threads {
            let _ = write!(
                out,
                "static void *p{program}_{thread}(void *_) {{ uint64_t r = 0; int i = 0; "
            );
            let _ = write!(table, "p{program}_{thread}, ");
            let loops = u64::from(thread == 0) + dice.roll(2);
            let stores = if thread == 0 {
                dice.roll(2)
            } else {
                1 + dice.roll(2)
            };
            for number in 0..loops.max(stores) {
                if number < stores && dice.roll(2) == 0 {
                    let _ = write!(out, "{} ", dice.store());
                }
                if number < loops {
                    let _ = write!(out, "{} ", dice.waits(number));
                }
                if number < stores {
                    let _ = write!(out, "{} ", dice.store());
                }
            }
            let _ = writeln!(out, "(void)i; return (void *)r; }}");
        }
        table += "},\n";
    }
    let _ = write!(
        out,
        "static void *(*threads[][4])(void *) = {{\n{table}}};\n\
         int main(int count, char **arguments) {{\n\
           int program = atoi(arguments[1]), n = 0;\n\
           pthread_t t[3];\n\
           for (; n < 3 && threads[program][n]; n++) pthread_create(&t[n], 0, threads[program][n], 0);\n\
           uint64_t d = 0;\n\
           for (int i = 0; i < n; i++) {{ void *r; pthread_join(t[i], &r); d = d * 31 + (uint64_t)r; }}\n\
           d = d * 31 + cells[0].value * 7 + cells[1].value;\n\
           return (d ^ d >> 8 ^ d >> 16) & 255;\n\
         }}\n"
    );
    out
}

/// The exit codes that there are, and how many executions they took.
fn results(server: &mut Server, model: Model, preempt: Preempt) -> (BTreeSet<i32>, u64) {
    let mut results = BTreeSet::new();
    let mut threads = NativeThreads::new(server, Job::default(), 4, model);
    let found = saturate(&mut threads, preempt, Options::default(), |threads, _| {
        if let Outcome::Exited { code } = threads.outcome {
            results.insert(code);
        }
        ControlFlow::Continue(())
    });
    let executions = found.expect("runs").counts.executions;
    (results, executions)
}

#[test]
fn looks_that_are_one_show_what_looks_one_by_one_do() {
    let seed = std::env::var("ROUNDS_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
    let programs = 60;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let text = source(&mut dice, programs);
    let scratch = Scratch::new("rounds");
    let file = scratch.0.join("rounds.c");
    std::fs::write(&file, text).expect("writable");
    if let Ok(keep) = std::env::var("ROUNDS_KEEP") {
        std::fs::copy(&file, keep).expect("writable");
    }
    let (mut cheaper, mut all) = (0, 0);
    for level in ["-O0", "-O2"] {
        let build = |name: &str, flag: &str| {
            let path = scratch.0.join(format!("{name}{level}"));
            let arguments = [
                "-w".into(),
                level.into(),
                flag.into(),
                file.clone().into(),
                "-o".into(),
                path.clone().into(),
            ];
            let mut clang = compiler::command(Language::C, &arguments).expect("clang is installed");
            assert!(clang.command.status().expect("clang runs").success());
            path
        };
        let (together, apart) = (build("together", "-DTOGETHER"), build("apart", "-DAPART"));
        for number in 0..programs {
            let serve = |path| {
                let mut program = Program::new(path).arguments([number.to_string()]);
                program.isolation = Isolation::Auto;
                Server::start(&program).expect("serves")
            };
            let (mut together, mut apart) = (serve(&together), serve(&apart));
            for model in [Model::Sc, Model::Tso] {
                for preempt in [Preempt::Everywhere, Preempt::Auto] {
                    let what =
                        format!("seed {seed}, program {number}, {level} {model:?} {preempt:?}");
                    let (expected, most) = results(&mut apart, model, preempt);
                    let (found, executions) = results(&mut together, model, preempt);
                    assert_eq!(found, expected, "{what}");
                    assert!(executions <= most, "{what}: {executions} of {most}");
                    cheaper += u32::from(executions < most);
                    all += 1;
                }
            }
        }
    }
    assert!(cheaper * 5 > all, "{cheaper} of {all}");
}
