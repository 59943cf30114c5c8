//! Executions that are put together from what threads are known to do are those that the program runs, to the byte.

use crate::schedules::{build, directory, expected};
use crate::support::Scratch;
use landfall_explore::schedule::saturate::{Preempt, saturate};
use landfall_explore::schedule::{Counts, Options};
use landfall_native::{HeapChecks, Isolation, Job, Model, NativeThreads, Program, Server};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Most are put together where threads only access memory.
#[test]
fn what_is_put_together_is_what_runs() {
    let scratch = Scratch::new("recalled");
    for source in crate::support::sources(&directory()) {
        let text = std::fs::read_to_string(&source).expect("readable");
        let program = build(&source, &scratch.0);
        let known = text.lines().any(|line| line == "// put together");
        for model in [Model::Sc, Model::Tso] {
            let few = |(_, executions): &(u64, u64)| *executions < 1500;
            for (n, executions) in expected(&text, model).into_iter().filter(few) {
                let mut program = Program::new(&program).arguments([n.to_string()]);
                program.isolation = Isolation::Auto;
                let mut server = Server::start(&program).expect("serves");
                let mut threads = NativeThreads::new(&mut server, Job::default(), 17, model);
                threads.compare_everything();
                let preempt = Preempt::Auto;
                let found = saturate(&mut threads, preempt, Options::default(), |_, _| {
                    ControlFlow::Continue(())
                });
                let what = format!("{} {n} {model:?}", source.display());
                if found.is_err() && threads.several_create() {
                    continue;
                }
                let counts = found.expect(&what).counts;
                assert_eq!(counts.executions, executions, "{what}");
                if known && executions > 100 {
                    assert!(threads.recalled > executions / 2, "{what}");
                    // Also where the variables of functions that return are looked at.
                    program.heap = HeapChecks::On;
                    let mut server = Server::start(&program).expect("serves");
                    let mut threads = NativeThreads::new(&mut server, Job::default(), 17, model);
                    let found = saturate(&mut threads, preempt, Options::default(), |_, _| {
                        ControlFlow::Continue(())
                    });
                    assert_eq!(found.expect(&what).counts, counts, "{what}");
                    let continued = threads.continued;
                    assert!(continued > executions / 2, "{what}: {continued}");
                }
            }
        }
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }
}

/// One statement of a thread; what it found goes into `r`.
fn statement(dice: &mut Dice) -> String {
    let place = match dice.throw(3) {
        0 => "&narrow[1]".to_owned(),
        which => format!("&wide[{}]", which - 1),
    };
    let (order, value) = (
        ["relaxed", "seq_cst"][dice.throw(2) as usize],
        dice.throw(3),
    );
    let condition = match dice.throw(8) {
        0 => "if (r & 1) ",
        1 => "if (r == 0) ",
        _ => "",
    };
    let access = match dice.throw(14) {
        0..4 => format!("r = r * 3 + atomic_load_explicit({place}, memory_order_{order});"),
        4..6 => format!("atomic_store_explicit({place}, r % 2 + {value}, memory_order_{order});"),
        6 => format!("r += atomic_fetch_add({place}, {value} + 1);"),
        7 => format!(
            "{{ uint8_t e = {value}; r += 2 * atomic_compare_exchange_strong(&narrow[1], &e, 7) + e; }}"
        ),
        8 => "atomic_thread_fence(memory_order_seq_cst);".to_owned(),
        9 => format!(
            "{{ pthread_mutex_lock(&locks[0]); r += atomic_load({place}); atomic_store({place}, r % 4 + {value}); pthread_mutex_unlock(&locks[0]); }}"
        ),
        // What is under the lock is no step.
        10 => format!(
            "{{ pthread_mutex_lock(&locks[1]); under[{value}] += r % 3; r += under[{}]; pthread_mutex_unlock(&locks[1]); }}",
            dice.throw(3)
        ),
        11 => format!(
            "{{ pthread_mutex_lock(&locks[1]); if (under[{value}] % 2) under[0] = {value}; else for (int i = 0; i < 3; i++) r += ++parts.bytes[i]; pthread_mutex_unlock(&locks[1]); }}"
        ),
        12 => format!(
            "{{ pthread_mutex_lock(&locks[1]); parts.bytes[{value}] = r; r ^= parts.word; pthread_mutex_lock(&locks[0]); parts.word += {value}; pthread_mutex_unlock(&locks[0]); pthread_mutex_unlock(&locks[1]); }}"
        ),
        _ => format!(
            "if (!pthread_mutex_trylock(&locks[{}])) {{ atomic_fetch_add({place}, {value}); pthread_mutex_unlock(&locks[{0}]); }} else r++;",
            value % 2
        ),
    };
    format!("{condition}{access}")
}

/// Programs of three threads, by the first argument; with a second one nobody joins them, and main looks at nothing.
fn source(dice: &mut Dice, programs: usize) -> String {
    let mut out = String::from(
        "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdint.h>\n#include <stdlib.h>\n\
         static _Atomic uint32_t wide[4];\nstatic _Atomic uint8_t narrow[4];\nstatic uint64_t own[4];\n\
         static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};\n\
         static uint32_t under[3];\nstatic union { uint8_t bytes[4]; uint32_t word; } parts;\n",
    );
    for program in 0..programs {
        for thread in 0..3 {
            let _ = writeln!(
                out,
                "static void *p{program}_{thread}(void *_) {{\n  uint32_t r = 0;"
            );
            for _ in 0..4 + dice.throw(2) {
                let _ = writeln!(out, "  {}", statement(dice));
            }
            let returns = ["0", "(void *)(uintptr_t)r", "(own[%] = r, (void *)0)"];
            let returns = returns[dice.throw(3) as usize].replace('%', &thread.to_string());
            let _ = writeln!(out, "  return {returns};\n}}");
        }
    }
    out += "static void *(*threads[][3])(void *) = {\n";
    for program in 0..programs {
        let _ = writeln!(out, "  {{p{program}_0, p{program}_1, p{program}_2}},");
    }
    out += "};\n\
        int main(int count, char **arguments) {\n\
          int program = atoi(arguments[1]);\n\
          pthread_t t[3];\n\
          for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, threads[program][i], 0);\n\
          if (count > 2) return 0;\n\
          uint64_t d = 0;\n\
          for (int i = 0; i < 3; i++) { void *r; pthread_join(t[i], &r); d = d * 31 + (uint64_t)r + own[i]; }\n\
          for (int i = 0; i < 4; i++) d = d * 31 + wide[i] + 7 * narrow[i];\n\
          return (d ^ d >> 8) & 127;\n\
        }\n";
    out
}

/// A whole search; each execution as text, if there are not too many, and how many were put together, and of those at once.
fn search(
    program: &Program,
    model: Model,
    how: impl Fn(&mut NativeThreads<'_>),
) -> (Counts, BTreeSet<String>, u64, u64) {
    let mut server = Server::start(program).expect("serves");
    let mut threads = NativeThreads::new(&mut server, Job::default(), 4, model);
    how(&mut threads);
    let mut seen = BTreeSet::new();
    let options = Options {
        executions: 600,
        ..Options::default()
    };
    let found = saturate(&mut threads, Preempt::Auto, options, |threads, search| {
        seen.insert(format!("{:?} {:?}", threads.outcome, search.trace()));
        ControlFlow::Continue(())
    });
    let counts = found.expect("searches").counts;
    (counts, seen, threads.recalled, threads.continued)
}

#[test]
fn random_programs_do_what_is_put_together() {
    const PROGRAMS: usize = 16;
    let scratch = Scratch::new("recall-random");
    let file = scratch.0.join("programs.c");
    std::fs::write(&file, source(&mut Dice(7), PROGRAMS)).expect("writable");
    let path = build(&file, &scratch.0);
    let (mut recalled, mut continued, mut all) = (0, 0, 0);
    for number in 0..PROGRAMS {
        for arguments in [
            vec![number.to_string()],
            vec![number.to_string(), "x".into()],
        ] {
            let mut program = Program::new(&path).arguments(arguments);
            program.isolation = Isolation::Auto;
            program.heap = match number % 2 {
                0 => HeapChecks::Off,
                _ => HeapChecks::On,
            };
            for model in [Model::Sc, Model::Tso] {
                let run = search(&program, model, |threads| threads.run_everything());
                assert_eq!(run.2, 0);
                let (counts, seen, _, _) =
                    search(&program, model, |threads| threads.compare_everything());
                assert_eq!(
                    (counts, &seen),
                    (run.0, &run.1),
                    "program {number} {model:?}"
                );
                let (counts, seen, put_together, at_once) = search(&program, model, |_| {});
                assert_eq!(
                    (counts, &seen),
                    (run.0, &run.1),
                    "program {number} {model:?}"
                );
                recalled += put_together;
                continued += at_once;
                all += counts.executions;
            }
        }
    }
    assert!(recalled > all / 2, "{recalled} of {all}");
    assert!(continued > all / 4, "{continued} of {all}");
}
