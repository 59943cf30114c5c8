//! Small random C programs whose threads hand blocks to each other, free them, and wait in loops get the same verdict from
//! `landfall prove` and from `landfall check`: whether some schedule fails, be it by an assertion, a block that is used or freed when
//! it is gone, or a wait that never ends.
//!
//! `RANDOM_PROGRAMS=300` tries more of them, `RANDOM_SEED=7` others. A program that differs is left in the temporary directory.

use crate::prove_random::{Random, json};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// One statement of a thread; `number` makes its variables its own.
fn statement(dice: &mut Random, number: usize) -> String {
    let (slot, word, flag) = (dice.below(2), dice.below(2), dice.below(2));
    let value = 1 + dice.below(2);
    let q = format!("q{number}");
    match dice.below(16) {
        0..=2 => format!("number *{q} = slot[{slot}]; if ({q}) word[{word}] = *{q};"),
        3 => format!("number *{q} = slot[{slot}]; if ({q}) atomic_store(&{q}[0], {value});"),
        4 | 5 => format!("number *{q} = atomic_exchange(&slot[{slot}], NULL); free({q});"),
        6 => format!("number *{q} = slot[{slot}]; slot[{slot}] = NULL; free({q});"),
        7 => {
            format!("number *{q} = malloc(8); atomic_store({q}, {value}); slot[{slot}] = {q};")
        }
        8 | 9 => format!("flag[{flag}] = 1;"),
        10 => format!("while (!flag[{flag}]) ;"),
        11 => {
            format!(
                "long {q} = word[{word}]; while (!atomic_compare_exchange_strong(&word[{word}], &{q}, {q} + 1)) ;"
            )
        }
        12 => format!("while (atomic_exchange(&spin, 1)) ; word[{word}]++; spin = 0;"),
        13 => format!(
            "pthread_mutex_lock(&lock); word[{word}] = {value}; pthread_mutex_unlock(&lock);"
        ),
        14 => format!("atomic_store_explicit(&word[{word}], {value}, memory_order_release);"),
        _ => format!("if (word[{word}] == {value}) flag[{flag}] = 1;"),
    }
}

fn body(dice: &mut Random, numbers: &mut usize, most: usize) -> String {
    (0..1 + dice.below(most)).fold(String::new(), |body, _| {
        *numbers += 1;
        body + "  " + &statement(dice, *numbers) + "\n"
    })
}

fn program(seed: u64) -> String {
    let mut dice = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..9).for_each(|_| _ = dice.below(2));
    let mut numbers = 0;
    let mut text = String::from(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\ntypedef _Atomic long number;\n\
         static _Atomic(number *) slot[2];\nstatic number word[2], flag[2], spin;\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n",
    );
    let threads = 1 + dice.below(2);
    for t in 1..=threads {
        let body = body(&mut dice, &mut numbers, 4 - threads);
        let _ = writeln!(text, "static void *t{t}(void *u) {{\n{body}  return u;\n}}");
    }
    text += "int main(void) {\n  pthread_t p[3];\n";
    for slot in 0..dice.below(3) {
        let _ = writeln!(
            text,
            "  number *b{slot} = malloc(8); atomic_store(b{slot}, 1); slot[{slot}] = b{slot};"
        );
    }
    for t in 1..=threads {
        let _ = writeln!(text, "  pthread_create(&p[{t}], NULL, t{t}, NULL);");
    }
    text += &body(&mut dice, &mut numbers, 2);
    for t in 1..=threads {
        let _ = writeln!(text, "  pthread_join(p[{t}], NULL);");
    }
    let (a, b) = (dice.below(3), dice.below(4));
    let _ = writeln!(text, "  assert(!(word[0] == {a} && word[1] == {b}));");
    text + "  (void)spin, (void)lock;\n  return 0;\n}\n"
}

/// Do the two agree? `None` where one of them did not look at everything.
fn agree(directory: &Path, name: &str) -> Result<Option<()>, String> {
    let proof = json(
        &["prove", "--format", "json", "--property", "invariant", name],
        directory,
    );
    let out = format!("{name}-out");
    let checks = [
        "check",
        "--format",
        "json",
        "--checks",
        "crash,heap",
        "--out",
        &out,
    ];
    let found = json(&[&checks[..], &["--time", "60s", name]].concat(), directory);
    let _ = fs::remove_dir_all(directory.join(&out));
    let findings = found["findings"].as_array().cloned().unwrap_or_default();
    let kinds: Vec<&Value> = findings.iter().map(|f| &f["kind"]).collect();
    let fails = findings.iter().any(|f| f["severity"] == "error");
    let complete = found["complete"] == true;
    match proof["properties"][0]["verdict"].as_str() {
        Some("refuted") if !fails && complete => {
            let why = &proof["properties"][0]["witness"]["broken"];
            Err(format!("refuted ({why}), check found {kinds:?}"))
        }
        Some("proved" | "bounded") if fails => {
            Err(format!("{}, check found {kinds:?}", proof["verdict"]))
        }
        Some("refuted") if fails => Ok(Some(())),
        Some("proved") if complete => Ok(Some(())),
        _ => Ok(None),
    }
}

#[test]
fn random_programs_with_blocks_and_waits_get_the_same_verdicts() {
    let number = |name: &str, default: u64| {
        let asked = std::env::var(name).ok();
        asked.and_then(|n| n.parse().ok()).unwrap_or(default)
    };
    let (programs, seed) = (number("RANDOM_PROGRAMS", 40), number("RANDOM_SEED", 1));
    let directory = std::env::temp_dir().join(format!("landfall-lifetimes-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let (mut decided, mut wrong) = (0, Vec::new());
    for n in 0..programs {
        let name = format!("{}.c", seed << 32 | n);
        fs::write(directory.join(&name), program(seed << 32 | n)).unwrap();
        match agree(&directory, &name) {
            Ok(known) => {
                decided += usize::from(known.is_some());
                let _ = fs::remove_file(directory.join(&name));
            }
            Err(why) => wrong.push(format!("{}: {why}", directory.join(&name).display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let _ = fs::remove_dir_all(&directory);
    // Most are decided by both.
    assert!(2 * decided as u64 >= programs, "{decided} of {programs}");
}
